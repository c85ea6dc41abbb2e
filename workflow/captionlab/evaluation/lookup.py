"""The lookup reading: does the designated head, asked at a repeated word, find the word's earlier records?

Read for every option, with or without lookup training, at the same layer and heads. The distribution is the
one of `rotary.lookup`: a softmax over the first pieces of strictly earlier words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from captionlab.evaluation.encode import padded_tensors
from captionlab.packing import pack
from captionlab.rotary.encoder import CaptionEncoder
from captionlab.rotary.lookup import lookup_reading


@dataclass(frozen=True)
class LookupRows:
    """Rows to read: their name (a chunk or a suite), token ids, and a number for each."""

    name: str
    rows: Sequence[NDArray[Any]]
    numbers: Sequence[int] | NDArray[np.int64]


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
        return {**vars(self), "records": list(self.records)}


def read_queries(
    encoder: CaptionEncoder, read: LookupRows, *, sub_batch_tokens: int, binding_path: bool = True
) -> list[Query]:
    """Every target-bearing query of some rows for each designated head, ordered by head, row and position.

    `binding_path=False` is the frozen path removal: the trained weights' forward pass without key phase and
    record norm. It bypasses the norm too, so it does not show what the phase alone contributes.
    """
    device = next(encoder.parameters()).device
    found: list[Query] = []
    with torch.inference_mode():
        # A reading takes one group, so a group more is worth as much padding as there may be.
        for batch in pack([len(row) for row in read.rows], sub_batch_tokens, overhead=sub_batch_tokens):
            ids, mask = padded_tensors([read.rows[index] for index in batch], device)
            lookup = encoder.lookup(ids, mask, binding_path=binding_path)
            for index, head in enumerate(encoder.config.lookup_heads):
                reading = lookup_reading(lookup, index)
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
                    place = (int(read.numbers[batch[row]]), head, position, tuple(records), distance)
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


def lookup_document(
    encoder: CaptionEncoder,
    read: Sequence[LookupRows],
    *,
    sub_batch_tokens: int,
    path_removal: bool,
    born: CaptionEncoder,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """lookup.json's content and the lines of lookup-queries.jsonl, for captions (first of `read`) and suites.

    The captions' summary of the first designated head stands at the top; other heads, suites, the frozen
    path removal and the reading at birth below it. `born` is the same encoder before its first step: what an
    option reads without having learned anything is not its training's merit. Lines are those of the trained,
    untouched path.
    """
    heads = encoder.config.lookup_heads
    summaries: dict[str, dict[str, Any]] = {}
    lines = []
    for entry in read:
        queries = read_queries(encoder, entry, sub_batch_tokens=sub_batch_tokens)
        lines += [{"source": entry.name, **query.as_json()} for query in queries]
        own, *others = [summarise_queries(queries, len(entry.rows), head) for head in heads]
        removed = None
        if path_removal:
            without = read_queries(encoder, entry, sub_batch_tokens=sub_batch_tokens, binding_path=False)
            removed = summarise_queries(without, len(entry.rows), heads[0])
        before = read_queries(born, entry, sub_batch_tokens=sub_batch_tokens)
        at_birth = summarise_queries(before, len(entry.rows), heads[0])
        summaries[entry.name] = {**own, "other_heads": others, "path_removed": removed, "at_birth": at_birth}
    captions, *suites = read
    document = {
        "layer": encoder.config.lookup_layer,
        "heads": list(heads),
        "source": captions.name,
        **summaries[captions.name],
        "suites": {entry.name: summaries[entry.name] for entry in suites},
    }
    return document, lines


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(np.asarray(values, dtype=np.float64))) if values else None
