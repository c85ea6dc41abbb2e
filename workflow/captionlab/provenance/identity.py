"""What a run depends on, hashed; what two identities differ in; and the canonical digest of tensors.

A run's key is {"spec": ..., "code": hex, "inputs": {...}}: everything that decides its result.
"""

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.errors import DamagedFileError, MissingFileError
from captionlab.files import canonical_json, digest_entry, read_json, sha256_bytes

_HEADER_LIMIT = 1 << 28
_BLOCK = 1 << 20
_ABSENT = "absent"


def run_key(spec: Mapping[str, Any], code: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The values behind an identity: a run's spec, the fingerprint of its code and the digests it read."""
    return {"spec": dict(spec), "code": code, "inputs": dict(inputs)}


def identity(spec: Mapping[str, Any], code: str, inputs: Mapping[str, Any]) -> str:
    """Hex SHA-256 of the canonical JSON of a run's key."""
    return sha256_bytes(canonical_json(run_key(spec, code, inputs)).encode("utf-8"))


def differences(old: Any, new: Any) -> list[str]:
    """Where two keys (or any two JSON values) differ, one line a leaf: `spec.training.clip: 1.0 -> 0.5`."""
    before, after = dict(_leaves(old, "")), dict(_leaves(new, ""))
    return [
        f"{name}: {before.get(name, _ABSENT)} -> {after.get(name, _ABSENT)}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name, _ABSENT) != after.get(name, _ABSENT)
    ]


def mismatches(record: Path, wanted_identity: str) -> list[str] | None:
    """Why the run described by `record` (a run.json) does not stand for `wanted_identity`.

    [] means that it is complete: same identity, and every output matches its recorded size and hash.
    None means that there is no record. A record that cannot be read is a mismatch, not an error, because the
    run is then simply made again.
    """
    if not record.exists():
        return None
    try:
        content = read_json(record)
        found, outputs = content["identity"], dict(content["outputs"])
        if found != wanted_identity:
            return [f"{record} belongs to identity {str(found)[:12]}, not {wanted_identity[:12]}"]
        return [
            f"{record.parent / name} does not match {record.name}"
            for name, entry in sorted(outputs.items())
            if not _matches(record.parent / name, entry)
        ]
    except (DamagedFileError, MissingFileError, OSError, KeyError, TypeError, ValueError, RecursionError):
        return [f"{record} is damaged"]


def tensors_sha256(path: Path) -> str:
    """Hex SHA-256 of the tensors in a safetensors file, whatever their order or the file's metadata.

    Hashed, by rising name: canonical JSON of [name, dtype, shape], a line feed, the bytes. It tells a change
    of format from a change of numbers. Raises DamagedFileError when the file is not safetensors.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as handle:
            (length,) = struct.unpack("<Q", handle.read(8))
            if length > _HEADER_LIMIT:
                raise ValueError("header too long")
            header = json.loads(handle.read(length))
            header.pop("__metadata__", None)
            for name in sorted(header):
                entry = header[name]
                start, stop = entry["data_offsets"]
                digest.update(canonical_json([name, entry["dtype"], entry["shape"]]).encode() + b"\n")
                handle.seek(8 + length + start)
                for block in _blocks(stop - start):
                    digest.update(handle.read(block))
    except FileNotFoundError:
        raise MissingFileError(f"{path} is missing: run the stage that makes it") from None
    except (OSError, struct.error, ValueError, KeyError, TypeError, AttributeError):
        raise DamagedFileError(
            f"{path} is not a safetensors file: delete it and run its stage again"
        ) from None
    return digest.hexdigest()


def _blocks(size: int) -> Iterator[int]:
    while size > 0:
        yield min(size, _BLOCK)
        size -= _BLOCK


def _matches(path: Path, entry: Mapping[str, Any]) -> bool:
    if not path.is_file() or path.stat().st_size != entry["bytes"]:
        return False
    return bool(digest_entry(path)["sha256"] == entry["sha256"])


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key in sorted(value):
            yield from _leaves(value[key], f"{name}.{key}" if name else str(key))
    else:
        yield name, canonical_json(value)
