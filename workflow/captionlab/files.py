"""Canonical JSON, digests and atomic files: the ground every artifact stands on."""

import hashlib
import importlib.metadata
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from captionlab.errors import CaptionlabError, DamagedFileError, MissingFileError

_BLOCK = 1 << 20


def canonical_json(value: Any) -> str:
    """The one spelling of a value: sorted keys, no spaces, UTF-8, NaN and infinity refused (ValueError)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def parse_spec(text: str) -> dict[str, Any]:
    """A step's spec from its JSON text.

    Raises CaptionlabError when the text is not one JSON object.
    """
    try:
        spec = json.loads(text)
    except json.JSONDecodeError as error:
        raise CaptionlabError(f"--spec is not JSON ({error}): pass one JSON object in quotes") from None
    if not isinstance(spec, dict):
        raise CaptionlabError(f"--spec holds a {type(spec).__name__}: pass one JSON object in quotes")
    return spec


def read_json(path: Path | str) -> Any:
    """The value in a JSON file.

    Raises MissingFileError or DamagedFileError with the path and what to do.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MissingFileError(f"{path} is missing: run the stage that makes it") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DamagedFileError(f"{path} is not JSON ({error}): delete it and run its stage again") from None


def write_json(path: Path | str, value: Any) -> None:
    """Write a value as readable JSON (sorted keys, indent 2, final newline), atomically."""
    text = json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def write_text(path: Path | str, text: str) -> None:
    """Write UTF-8 text with LF line ends, atomically."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path | str, data: bytes) -> None:
    """Write bytes atomically: beside, fsync, rename."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


@contextmanager
def atomic_path(path: Path | str) -> Iterator[Path]:
    """Give a temporary path beside `path`; on success it is synced and renamed to `path`, else removed.

    The folder is made where it is missing. The temporary file keeps the suffix of `path`, because some
    writers choose their format by it.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _sync(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
        _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def sha256_file(path: Path | str) -> str:
    """Hex SHA-256 of a file's bytes.

    Raises MissingFileError when there is no such file.
    """
    digest = hashlib.sha256()
    try:
        with Path(path).open("rb") as handle:
            while block := handle.read(_BLOCK):
                digest.update(block)
    except FileNotFoundError:
        raise MissingFileError(f"{path} is missing: run the stage that makes it") from None
    return digest.hexdigest()


def sha256_bytes(data: bytes) -> str:
    """Hex SHA-256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def digest_entry(path: Path | str) -> dict[str, Any]:
    """What a manifest says of a file: {"sha256": hex, "bytes": size}."""
    return {"sha256": sha256_file(path), "bytes": Path(path).stat().st_size}


def versions(*packages: str) -> dict[str, str]:
    """Installed version of each package by its distribution name, "absent" where it is not installed."""
    found = {}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "absent"
    return found


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
