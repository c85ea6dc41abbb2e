"""The order of batches: a pure function of seed, epoch and step, so that a resumed run needs no saved order.

In each epoch the chunks are visited in a new order and each chunk's rows are permuted anew. A batch never
crosses a chunk, and the last partial batch of each chunk is dropped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from captionlab.errors import ConfigError

_CHUNK_ORDER = 0


@dataclass(frozen=True)
class Place:
    """Where a step (from 1) lies: its epoch (from 0), its chunk's index and the batch's number in it."""

    epoch: int
    chunk: int
    batch: int


def steps_per_epoch(rows_per_chunk: Sequence[int], batch: int) -> int:
    """Whole batches of one epoch: the sum over chunks of rows // batch.

    Raises ConfigError when a chunk is smaller than a batch, because none of its rows would ever be seen.
    """
    for index, rows in enumerate(rows_per_chunk):
        if rows < batch:
            raise ConfigError(
                f"training.batch is {batch} but chunk {index} has {rows} rows: a batch never crosses a chunk, "
                f"so batch must be at most {rows}"
            )
    return sum(rows // batch for rows in rows_per_chunk)


def steps(rows_per_chunk: Sequence[int], batch: int, epochs: int) -> int:
    """Steps of a run."""
    return steps_per_epoch(rows_per_chunk, batch) * epochs


def place(seed: int, step: int, rows_per_chunk: Sequence[int], batch: int) -> Place:
    """The epoch, chunk and batch of `step`, counted from 1."""
    epoch, left = divmod(step - 1, steps_per_epoch(rows_per_chunk, batch))
    for chunk in chunk_order(seed, epoch, len(rows_per_chunk)):
        batches = rows_per_chunk[chunk] // batch
        if left < batches:
            return Place(epoch, chunk, left)
        left -= batches
    raise AssertionError("a step of an epoch lies in one of its chunks")


def rows_of_step(
    seed: int, step: int, rows_per_chunk: Sequence[int], batch: int
) -> tuple[Place, NDArray[np.int64]]:
    """The place of `step` and its row numbers int64 [batch] inside the place's chunk, in O(rows of the chunk)."""
    where = place(seed, step, rows_per_chunk, batch)
    rows = row_order(seed, where.epoch, where.chunk, rows_per_chunk[where.chunk])
    return where, rows[where.batch * batch : (where.batch + 1) * batch]


def chunk_order(seed: int, epoch: int, chunks: int) -> list[int]:
    """The order in which an epoch visits the chunks."""
    return [int(chunk) for chunk in _permutation(seed, epoch, _CHUNK_ORDER, chunks)]


@lru_cache(maxsize=2)
def row_order(seed: int, epoch: int, chunk: int, rows: int) -> NDArray[np.int64]:
    """The permutation int64 [rows] of a chunk's rows in an epoch; read-only."""
    order = _permutation(seed, epoch, chunk + 1, rows)
    order.flags.writeable = False
    return order


def _permutation(seed: int, epoch: int, stream: int, length: int) -> NDArray[np.int64]:
    """Ranks of raw Philox words: NumPy keeps raw words the same for ever, but not its own permutations."""
    key = np.array([seed, (epoch << 32) | stream], dtype=np.uint64)
    words = np.random.Philox(key=key).random_raw(length)
    return np.argsort(words, kind="stable").astype(np.int64)
