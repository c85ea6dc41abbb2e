"""Captions of a chunk in blocks of rows, straight from its Parquet file."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from captionlab.errors import DamagedFileError


def caption_blocks(path: Path, block_rows: int) -> Iterator[list[str]]:
    """Captions in order, `block_rows` at a time (the last block may be shorter), whatever the row groups are.

    Raises DamagedFileError when the file is not Parquet or has no `caption` column.
    """
    waiting: list[str] = []
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=["caption"]):
                waiting += batch.column("caption").to_pylist()
                while len(waiting) >= block_rows:
                    yield waiting[:block_rows]
                    del waiting[:block_rows]
    except (pa.ArrowInvalid, OSError, KeyError) as error:
        raise DamagedFileError(f"{path} cannot be read as captions ({error}): make the chunk again") from None
    if waiting:
        yield waiting
