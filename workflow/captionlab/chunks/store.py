"""Read a chunk's tokens and targets: memory maps that are opened for each call, so that memory stays flat."""

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from captionlab.chunks.manifest import CAPTIONS_JSON, MANIFEST_JSON, read_manifest, token_statistics
from captionlab.errors import DamagedFileError, MissingFileError
from captionlab.files import sha256_file

Indices = Sequence[int] | npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class ChunkStore:
    """One chunk, opened and checked.

    `tokens` uint16 [T] and `targets` float32 [rows, width] (None when opened without) are memory maps: pages
    read through them count as the process's memory until it ends, so batches go through `rows` and
    `target_rows`. `offsets` int64 [rows + 1] is in memory: row i is tokens[offsets[i]:offsets[i + 1]], [CLS]
    first, [SEP] last.
    """

    directory: Path
    manifest: dict[str, Any]
    tokens: npt.NDArray[np.uint16]
    offsets: npt.NDArray[np.int64]
    targets: npt.NDArray[np.float32] | None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def lengths(self, ceiling: int) -> npt.NDArray[np.int64]:
        """Tokens of each row when cut to `ceiling`, int64 [rows]."""
        return np.minimum(np.diff(self.offsets), ceiling)

    def rows(self, indices: Indices, ceiling: int) -> list[npt.NDArray[np.uint16]]:
        """uint16 ids of each row asked for; longer rows keep their first `ceiling` - 1 ids and end in [SEP].

        Raises IndexError for a row that is not there, ValueError for a ceiling below 2.
        """
        if ceiling < 2:
            raise ValueError(f"ceiling {ceiling} leaves no room for [CLS] and [SEP]")
        asked = self._checked(indices)
        tokens = _mapped_anew(self.directory / "tokens.npy", self.tokens)
        starts, ends = self.offsets[asked], self.offsets[asked + 1]
        found = []
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            row = tokens[start : min(end, start + ceiling)].copy()
            row[-1] = tokens[end - 1]
            found.append(row)
        return found

    def target_rows(self, indices: Indices) -> npt.NDArray[np.float32]:
        """float32 [indices, width], copied.

        Raises IndexError for a row that is not there, ValueError when the store was opened without targets.
        """
        if self.targets is None:
            raise ValueError(f"{self.directory} was opened without targets")
        return _mapped_anew(self.directory / "targets.npy", self.targets)[self._checked(indices)]

    def _checked(self, indices: Indices) -> npt.NDArray[np.int64]:
        asked = np.asarray(indices, np.int64)
        if len(asked) and not (asked.min() >= 0 and asked.max() < len(self)):
            raise IndexError(f"rows {asked.min()} to {asked.max()} asked of a chunk of {len(self)} rows")
        return asked


def open_chunk(directory: Path | str, *, verify: bool, targets: bool = True) -> ChunkStore:
    """Open a chunk folder by its manifest.json, or without `targets` by its captions.json.

    Counts, types, shapes and offsets are always checked; `verify` also compares every array's SHA-256 and the
    token statistics. Raises MissingFileError, or DamagedFileError naming the file, what was expected and what
    was found.
    """
    directory = Path(directory)
    manifest = read_manifest(directory / (MANIFEST_JSON if targets else CAPTIONS_JSON), targets=targets)
    rows, total = manifest["rows"], manifest["tokens"]["total"]
    expected: dict[str, tuple[str, tuple[int, ...]]] = {
        "tokens.npy": ("<u2", (total,)),
        "offsets.npy": ("<i8", (rows + 1,)),
    }
    if targets:
        expected["targets.npy"] = ("<f4", tuple(manifest["targets"]["shape"]))
    arrays = {}
    for name, (dtype, shape) in expected.items():
        _check_bytes(directory / name, manifest["files"][name], verify)
        arrays[name] = _open_array(directory / name, np.dtype(dtype), shape)
    offsets = np.array(arrays["offsets.npy"])
    _check_offsets(directory / "offsets.npy", offsets, manifest, verify)
    return ChunkStore(directory, manifest, arrays["tokens.npy"], offsets, arrays.get("targets.npy"))


def pad_rows(
    rows: Sequence[npt.NDArray[np.integer[Any]]], pad_id: int = 0
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Right-padded ids int64 [B, L] and mask bool [B, L] (True at real tokens); L is the longest row."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
    ids = np.full(mask.shape, pad_id, np.int64)
    if len(rows):
        ids[mask] = np.concatenate(rows)
    return ids, mask


def _check_bytes(path: Path, entry: dict[str, Any], verify: bool) -> None:
    try:
        size = path.stat().st_size
    except OSError:
        raise MissingFileError(f"{path} is missing: run the stage that makes it") from None
    if size != entry["bytes"]:
        raise DamagedFileError(
            f"{path} has {size} bytes, its manifest says {entry['bytes']}: make the chunk again"
        )
    if verify:
        found = sha256_file(path)
        if found != entry["sha256"]:
            raise DamagedFileError(
                f"{path} has sha256 {found}, its manifest says {entry['sha256']}: make the chunk again"
            )


def _open_array(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a damaged header can raise almost anything
        raise DamagedFileError(f"{path} is no array ({type(error).__name__}): make the chunk again") from None
    if not isinstance(found, np.ndarray) or found.dtype != dtype or found.shape != shape:
        seen = f"{found.dtype} {list(found.shape)}" if isinstance(found, np.ndarray) else "an archive"
        raise DamagedFileError(f"{path} holds {seen}, expected {dtype} {list(shape)}: make the chunk again")
    return found


def _mapped_anew(path: Path, opened: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A fresh read-only map of a file that was opened and checked before, as a plain array.

    Plain, because slicing the memmap type costs several times more; and not by np.load, which would parse the
    header again: a fifth of the time that a batch of 64 rows takes.
    """
    with path.open("rb") as handle:
        content = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
    start = len(content) - opened.nbytes
    return np.frombuffer(content, opened.dtype, opened.size, start).reshape(opened.shape)


def _check_offsets(
    path: Path, offsets: npt.NDArray[np.int64], manifest: dict[str, Any], verify: bool
) -> None:
    lengths = np.diff(offsets)
    total = manifest["tokens"]["total"]
    if offsets[0] != 0 or offsets[-1] != total or lengths.min() < 2:
        raise DamagedFileError(
            f"{path} runs from {offsets[0]} to {offsets[-1]} in steps of at least {lengths.min()}, "
            f"expected 0 to {total} in steps of at least 2: make the chunk again"
        )
    if verify and (found := token_statistics(lengths)) != manifest["tokens"]:
        raise DamagedFileError(
            f"{path} gives token statistics {found}, its manifest says {manifest['tokens']}: make the chunk again"
        )
