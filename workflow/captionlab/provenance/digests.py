"""SHA-256 of many files, in parallel, with a cache that any write to a file breaks."""

import json
import os
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from captionlab.files import sha256_bytes, sha256_file, write_text

# A write within the clock's step of the hashing would leave every field of the key as it was.
_SETTLED_NS = 2_000_000_000


def file_digest(path: Path, cache: Path | None = None) -> str:
    """Hex SHA-256 of one file; see `digest_many`."""
    return digest_many([path], cache, workers=1)[path]


def digest_many(
    paths: Iterable[Path], cache: Path | None = None, workers: int | None = None
) -> dict[Path, str]:
    """Hex SHA-256 of each file, in the order given.

    With `cache` a file whose path, device, inode, size, mtime and ctime are as before is not read again;
    without it every byte is read. A damaged cache is ignored. Raises MissingFileError for a missing file.
    """
    wanted = list(dict.fromkeys(paths))
    known = _load(cache) if cache is not None else {}
    started = time.time_ns()
    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        results = list(pool.map(lambda path: _digest(path, known), wanted))
    if cache is not None:
        fresh = {
            str(path.absolute()): (key, digest)
            for path, (key, digest) in zip(wanted, results, strict=True)
            if max(key[3:5]) < started - _SETTLED_NS
        }
        if any(known.get(name) != entry for name, entry in fresh.items()):
            _save(cache, {**known, **fresh})
    return {path: digest for path, (_, digest) in zip(wanted, results, strict=True)}


_Key = tuple[int, int, int, int, int]
_Entries = dict[str, tuple[_Key, str]]


def _digest(path: Path, known: _Entries) -> tuple[_Key, str]:
    before = _key(path)
    entry = known.get(str(path.absolute()))
    if entry is not None and entry[0] == before:
        return entry
    return before, sha256_file(path)


def _key(path: Path) -> _Key:
    try:
        stat = path.stat()
    except OSError:
        return (0, 0, 0, 0, 0)
    return (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


def _load(cache: Path) -> _Entries:
    try:
        text, _, check = cache.read_text(encoding="utf-8").rpartition("\n")
        if check != sha256_bytes(text.encode()):
            return {}
        return {
            name: ((key[0], key[1], key[2], key[3], key[4]), digest)
            for name, (key, digest) in json.loads(text).items()
        }
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return {}


def _save(cache: Path, entries: _Entries) -> None:
    alive = {name: entry for name, entry in entries.items() if Path(name).exists()}
    text = json.dumps(alive, separators=(",", ":"))
    write_text(cache, f"{text}\n{sha256_bytes(text.encode())}")
