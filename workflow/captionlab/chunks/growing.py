"""A one-dimensional .npy file that is written block by block, its length known only at the end."""

from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy


class GrowingArray:
    """Writes a .npy file of one dtype; memory stays flat however long it becomes. Use it as a context.

    numpy leaves room in a header for the first axis to grow, so the final header fits over the first one.
    """

    def __init__(self, path: Path, dtype: npt.DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self.length = 0
        self._handle = path.open("wb")
        self._write_header()
        self._start = self._handle.tell()

    def append(self, values: npt.NDArray[Any]) -> None:
        """Append a one-dimensional array of the file's dtype."""
        if values.dtype != self.dtype or values.ndim != 1:
            raise ValueError(f"{values.dtype} {values.shape} does not fit a flat file of {self.dtype}")
        self._handle.write(values.tobytes())
        self.length += len(values)

    def __enter__(self) -> "GrowingArray":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._handle:
            if kind is None:
                self._handle.seek(0)
                self._write_header()
                if self._handle.tell() != self._start:
                    raise ValueError("the final .npy header does not fit over the first one")

    def _write_header(self) -> None:
        header = {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": (self.length,)}
        npy.write_array_header_1_0(self._handle, header)
