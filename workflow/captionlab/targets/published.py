"""Target vectors that someone published: read from their file in blocks, no teacher runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from captionlab.errors import ConfigError, DamagedFileError, MissingFileError
from captionlab.targets.procrustes import Matrix
from captionlab.targets.rows import BLOCK_ROWS, RowFile, block_ranges, finite


def published_blocks(path: Path, name: str | None) -> Iterator[Matrix]:
    """Rows of a published matrix in order, float64 blocks [n, width].

    `.npy`: the matrix. `.safetensors` and `.pt` (read with weights_only, so that nothing in it runs): the tensor
    called `name`, or the only one. `.parquet`: the column of lists called `name`, or the only such column.
    Raises MissingFileError, ConfigError (another suffix, no such name, several and none named) or DamagedFileError.
    """
    readers = {".npy": _npy, ".safetensors": _safetensors, ".pt": _torch, ".parquet": _parquet}
    if path.suffix not in readers:
        raise ConfigError(
            f"published targets {path}: the suffix is {path.suffix!r}; allowed are {', '.join(readers)}"
        )
    if not path.is_file():
        raise MissingFileError(f"published targets {path} are missing: fetch them or correct the path")
    return readers[path.suffix](path, name)


def _npy(path: Path, name: str | None) -> Iterator[Matrix]:
    return RowFile.open(path).blocks()


def _safetensors(path: Path, name: str | None) -> Iterator[Matrix]:
    # torch, because numpy has no bfloat16.
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            tensor = file.get_slice(_chosen(path, name, list(file.keys())))
            rows = _matrix_rows(path, tensor.get_shape())
            for start, stop in block_ranges(rows):
                yield finite(tensor[start:stop].float().numpy(), start, path)
    except SafetensorError as error:
        raise DamagedFileError(f"{path} is not a safetensors file ({error}): fetch it again") from None


def _torch(path: Path, name: str | None) -> Iterator[Matrix]:
    import torch

    try:
        held = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # torch raises many kinds for a file that it cannot read or will not trust
        reason = str(error).splitlines()[0]
        raise DamagedFileError(
            f"{path} is not a plain tensor file ({reason}): convert it to safetensors"
        ) from None
    tensor = held[_chosen(path, name, [str(key) for key in held])] if isinstance(held, dict) else held
    for start, stop in block_ranges(_matrix_rows(path, list(tensor.shape))):
        yield finite(tensor[start:stop].float().numpy(), start, path)


def _parquet(path: Path, name: str | None) -> Iterator[Matrix]:
    first = 0
    try:
        with pq.ParquetFile(path) as file:
            lists = [field.name for field in file.schema_arrow if _is_list(field.type)]
            for batch in file.iter_batches(batch_size=BLOCK_ROWS, columns=[_chosen(path, name, lists)]):
                column = batch.column(0)
                flat = column.flatten().to_numpy(zero_copy_only=False)
                if len(batch) == 0 or column.null_count or len(flat) % len(batch) or not _even(column):
                    raise DamagedFileError(
                        f"{path}: a row from {first} on is empty or not as long as the others"
                    )
                yield finite(flat.reshape(len(batch), -1), first, path)
                first += len(batch)
    except pa.ArrowInvalid as error:
        raise DamagedFileError(f"{path} is not a Parquet file ({error}): fetch it again") from None


def _chosen(path: Path, name: str | None, held: list[str]) -> str:
    if name is None and len(held) == 1:
        return held[0]
    if name not in held:
        raise ConfigError(
            f"published targets {path}: column is {name}; the file holds {', '.join(sorted(held))}"
        )
    return name


def _matrix_rows(path: Path, shape: list[int]) -> int:
    if len(shape) != 2:
        raise DamagedFileError(f"{path} holds shape {shape}: rows of vectors were expected")
    return int(shape[0])


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _even(column: Any) -> bool:
    if pa.types.is_fixed_size_list(column.type):
        return True
    return len(np.unique(np.diff(column.offsets.to_numpy()))) == 1
