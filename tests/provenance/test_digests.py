"""File digests: right, incremental, and never fooled by the clock."""

import hashlib
import os
import time
from pathlib import Path

import pytest

from captionlab.errors import MissingFileError
from captionlab.provenance import digests


def make(folder: Path, count: int) -> list[Path]:
    paths = [folder / f"{number}.bin" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_bytes(bytes([number]) * (number * 7000))
    return paths


def settle(paths: list[Path]) -> None:
    """Wait until the cache may keep the files' entries."""
    time.sleep(max(0.0, max(path.stat().st_ctime for path in paths) + 2.1 - time.time()))


def test_digests_are_sha256_in_order(tmp_path: Path) -> None:
    paths = make(tmp_path, 9)
    expected = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    assert list(digests.digest_many(paths, workers=3).items()) == list(expected.items())
    assert digests.file_digest(paths[3]) == expected[paths[3]]


def test_cache_is_used_and_broken_by_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths, cache = make(tmp_path, 4), tmp_path / "cache" / "digests.json"
    digests.digest_many(paths, cache)
    assert not cache.exists(), "files written just now are not cached"
    settle(paths)
    first = digests.digest_many(paths, cache)
    read = []
    real = digests.sha256_file
    monkeypatch.setattr(digests, "sha256_file", lambda path: read.append(path) or real(path))
    assert digests.digest_many(paths, cache) == first
    assert read == []
    stamp = paths[2].stat()
    paths[2].write_bytes(b"x" * stamp.st_size)
    os.utime(paths[2], ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    again = digests.digest_many(paths, cache)
    assert read == [paths[2]]
    assert again[paths[2]] == hashlib.sha256(b"x" * stamp.st_size).hexdigest()
    text = cache.read_text()
    for damaged in ("", "{}", text[:-5], text.replace(first[paths[1]], "0" * 64)):
        cache.write_text(damaged)
        assert digests.digest_many(paths, cache) == again


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"gone\.bin is missing"):
        digests.digest_many([tmp_path / "gone.bin"], tmp_path / "cache.json")
