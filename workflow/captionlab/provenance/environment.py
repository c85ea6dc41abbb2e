"""The environment as a value: which versions of the packages that touch numbers are installed."""

import platform

from captionlab.files import canonical_json, sha256_bytes, versions

NUMERIC_PACKAGES = ("numpy", "onnx", "safetensors", "scipy", "tokenizers", "torch")


def environment() -> dict[str, str]:
    """Versions of Python and of the numeric packages, "absent" where one is not installed; nothing is imported."""
    return {"python": platform.python_version(), **versions(*NUMERIC_PACKAGES)}


def environment_digest() -> str:
    """Hex SHA-256 of `environment()`: as a job's param it makes another version a visible reason to run again."""
    return sha256_bytes(canonical_json(environment()).encode())
