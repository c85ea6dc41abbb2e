"""The lookup reading: does the designated head, asked at a repeated word, find the word's earlier records?

Read for every option, with or without lookup training, at the same layer and heads. The distribution is the
one of `rotary.lookup`: a softmax over the first pieces of strictly earlier words.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from captionlab.chunks.store import pad_rows
from captionlab.evaluation.encode import sub_batches
from captionlab.rotary.encoder import CaptionEncoder
from captionlab.rotary.lookup import lookup_reading


@dataclass(frozen=True)
class Query:
    """One target-bearing word of one row, seen by one head.

    `row` is the caller's number of the row, `position` and `records` are token positions ([CLS] is 0),
    `distance` the tokens back to the nearest record, `candidates` the earlier words, `probability` the mass on
    all records.
    """

    row: int
    head: int
    position: int
    records: tuple[int, ...]
    distance: int
    candidates: int
    probability: float
    correct: bool

    def as_json(self) -> dict[str, Any]:
        """A JSON line's content."""
        return asdict(self) | {"records": list(self.records)}


def read_queries(
    encoder: CaptionEncoder,
    rows: Sequence[NDArray[Any]],
    numbers: Sequence[int] | NDArray[np.int64],
    *,
    sub_batch_tokens: int,
    binding_path: bool = True,
) -> list[Query]:
    """Every target-bearing query of `rows` (arrays of token ids) for each designated head.

    `numbers[i]` is what row i is called. Ordered by head, row and position. `binding_path=False` is the frozen
    path removal: key phase and record norm are left out of the trained weights' forward pass.
    """
    device = next(encoder.parameters()).device
    found: list[Query] = []
    with torch.inference_mode():
        for batch in sub_batches([len(row) for row in rows], sub_batch_tokens):
            ids, mask = pad_rows([rows[index] for index in batch])
            output = encoder(
                torch.from_numpy(ids).to(device),
                torch.from_numpy(mask).to(device),
                want_lookup=True,
                binding_path=binding_path,
            )
            for index, head in enumerate(encoder.config.lookup_heads):
                reading = lookup_reading(output.lookup, index)
                entries = zip(
                    reading.row.tolist(),
                    reading.position.tolist(),
                    reading.records,
                    reading.candidates.tolist(),
                    reading.probability.tolist(),
                    reading.correct.tolist(),
                    strict=True,
                )
                for row, position, records, candidates, probability, correct in entries:
                    distance = position - max(records)
                    place = (int(numbers[batch[row]]), head, position, tuple(records), distance)
                    found.append(Query(*place, candidates, probability, correct))
    return sorted(found, key=lambda query: (query.head, query.row, query.position))


def summarise_queries(queries: Sequence[Query], rows: int, head: int) -> dict[str, Any]:
    """Counts and means of one head over `rows` rows read; accuracy and means are None without a query.

    `chance` is the mean share of records among the earlier words: what a blind choice would get right.
    """
    mine = [query for query in queries if query.head == head]
    count = len(mine)
    correct = sum(query.correct for query in mine)
    return {
        "head": head,
        "rows": rows,
        "captions": len({query.row for query in mine}),
        "queries": count,
        "correct": correct,
        "accuracy": correct / count if count else None,
        "mean_probability": _mean([query.probability for query in mine]),
        "chance": _mean([len(query.records) / query.candidates for query in mine]),
        "mean_distance": _mean([query.distance for query in mine]),
    }


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(np.asarray(values, dtype=np.float64))) if values else None
