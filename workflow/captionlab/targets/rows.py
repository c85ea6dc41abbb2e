"""Matrices of row vectors on disk: read block by block, written block by block, memory flat in rows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from captionlab.errors import DamagedFileError, MissingFileError

BLOCK_ROWS = 8192

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class RowFile:
    """A .npy matrix [rows, width], C order. Read with plain reads: a memory map would count as memory used."""

    path: Path
    rows: int
    width: int
    dtype: np.dtype[Any]
    start: int

    @classmethod
    def open(cls, path: Path) -> Self:
        """Raises MissingFileError, or DamagedFileError when it is no whole floating matrix in C order."""
        try:
            with path.open("rb") as handle:
                version = npy.read_magic(handle)
                read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                shape, fortran, dtype = read(handle)
                start = handle.tell()
        except FileNotFoundError:
            raise MissingFileError(f"{path} is missing: run the step that makes it") from None
        except ValueError as error:
            raise DamagedFileError(
                f"{path} is not a .npy file ({error}): delete it and make it again"
            ) from None
        if len(shape) != 2 or fortran or dtype.kind != "f":
            raise DamagedFileError(f"{path} holds {dtype} {shape}: a floating matrix in C order was expected")
        size = start + shape[0] * shape[1] * dtype.itemsize
        if path.stat().st_size != size:
            raise DamagedFileError(
                f"{path} has {path.stat().st_size} bytes, its header means {size}: make it again"
            )
        return cls(path, shape[0], shape[1], dtype, start)

    def read(self, start: int, stop: int) -> Matrix:
        """Rows start..stop as float64 [stop - start, width].

        Raises DamagedFileError naming the first row with a value that is not finite.
        """
        count = (stop - start) * self.width
        offset = self.start + start * self.width * self.dtype.itemsize
        flat = np.fromfile(self.path, dtype=self.dtype, count=count, offset=offset)
        return finite(flat.reshape(stop - start, self.width), start, self.path)

    def blocks(self) -> Iterator[Matrix]:
        """All rows in order, `BLOCK_ROWS` at a time."""
        for start, stop in block_ranges(self.rows):
            yield self.read(start, stop)


def block_ranges(rows: int, size: int = BLOCK_ROWS) -> list[tuple[int, int]]:
    """[(start, stop), ...] covering 0..rows in steps of `size`."""
    return [(start, min(start + size, rows)) for start in range(0, rows, size)]


def finite(block: NDArray[Any], first: int, where: Path) -> Matrix:
    """The block as float64; raises DamagedFileError naming the first row that holds NaN or infinity."""
    bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
    if bad.size:
        raise DamagedFileError(
            f"{where}: row {first + bad[0]} holds a value that is not finite; make the file again"
        )
    return block.astype(np.float64)


def unit_rows(block: Matrix, first: int, where: str) -> Matrix:
    """Rows divided by their norms; raises DamagedFileError naming the first row that has no direction."""
    norms = np.linalg.norm(block, axis=1, keepdims=True)
    bad = np.flatnonzero(norms[:, 0] == 0)
    if bad.size:
        raise DamagedFileError(f"{where}: row {first + bad[0]} is zero and has no direction")
    return np.asarray(block / norms)


@dataclass
class NormStatistics:
    """Least, mean and greatest row norm, gathered block by block."""

    rows: int = 0
    total: float = 0.0
    least: float = np.inf
    greatest: float = 0.0

    def add(self, block: NDArray[Any]) -> None:
        """Count the rows of a block, norms in float64."""
        norms = np.linalg.norm(block.astype(np.float64), axis=1)
        self.rows += len(norms)
        self.total += float(norms.sum())
        self.least = min(self.least, float(norms.min(initial=np.inf)))
        self.greatest = max(self.greatest, float(norms.max(initial=0.0)))

    def as_json(self) -> dict[str, float]:
        """{"min", "mean", "max"}."""
        return {"min": self.least, "mean": self.total / max(self.rows, 1), "max": self.greatest}


def write_rows(path: Path, rows: int, width: int, blocks: Iterable[NDArray[Any]]) -> NormStatistics:
    """Write blocks as one float32 .npy [rows, width]; returns the norms of what was written.

    Raises DamagedFileError when the blocks hold another number of rows or another width.
    """
    norms = NormStatistics()
    with path.open("wb") as handle:
        write_header(handle, rows, width)
        for block in blocks:
            if block.shape[1] != width:
                raise DamagedFileError(
                    f"rows {norms.rows}... are {block.shape[1]} wide, {width} was expected"
                )
            stored = np.ascontiguousarray(block, dtype="<f4")
            norms.add(stored)
            handle.write(stored.tobytes())
    if norms.rows != rows:
        raise DamagedFileError(
            f"{norms.rows} vectors were found for {rows} captions: row i of one is row i of the other"
        )
    return norms


def write_header(handle: BinaryIO, rows: int, width: int) -> None:
    """The header of a float32 .npy matrix [rows, width]."""
    npy.write_array_header_1_0(handle, {"descr": "<f4", "fortran_order": False, "shape": (rows, width)})
