"""The lookup loss and its reading: does the designated head find the earlier record of a word?

A record is an earlier occurrence of the same whole word in the caption. Each word stands for one query and
one record position, its first piece. A query's distribution is the softmax of the designated head's scores
over the first pieces of strictly earlier words: the query's own word, specials and padding take no part.
Words that occurred before bear a target; the mass on all their correct records counts. Loss and reading
share this distribution.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from .encoder import Lookup


@dataclass(frozen=True)
class LookupReading:
    """One entry a target-bearing query, in order of row and position.

    row, position int64 [Q]; correct bool [Q]: a correct record's score is above every wrong one's (a tie is
    wrong); probability float32 [Q] on correct records; candidates int64 [Q]: earlier words; records:
    positions of the correct ones.
    """

    row: Tensor
    position: Tensor
    correct: Tensor
    probability: Tensor
    candidates: Tensor
    records: list[list[int]]


@dataclass(frozen=True)
class _Queries:
    row: Tensor
    position: Tensor
    earlier: Tensor
    match: Tensor


def lookup_count(lookup: Lookup) -> int:
    """Target-bearing queries of a batch."""
    return len(_queries(lookup).row)


def lookup_sum(lookup: Lookup) -> tuple[Tensor, int]:
    """Sum over queries of -log(probability on correct records), float32 scalar, and the number of queries.

    Several lookup heads are averaged. Without a query the sum is a zero that still has a gradient.
    """
    queries = _queries(lookup)
    scores = lookup.scores[queries.row, :, queries.position]
    if not len(queries.row):
        return lookup.scores.sum() * 0.0, 0
    return -_log_probability(scores, queries).mean(1).sum(), len(queries.row)


def lookup_loss(lookup: Lookup) -> Tensor:
    """Mean over queries of -log(probability on correct records), float32 scalar; zero without a query."""
    total, count = lookup_sum(lookup)
    return total / max(count, 1)


def lookup_reading(lookup: Lookup, head: int = 0) -> LookupReading:
    """Read one of the lookup heads (an index into the designated ones) at every target-bearing query."""
    queries = _queries(lookup)
    scores = lookup.scores[queries.row, head, queries.position].detach()
    best = scores.masked_fill(~queries.match, -math.inf).amax(-1)
    rival = scores.masked_fill(queries.match | ~queries.earlier, -math.inf).amax(-1)
    return LookupReading(
        row=queries.row,
        position=queries.position,
        correct=best > rival,
        probability=_log_probability(scores[:, None], queries)[:, 0].exp(),
        candidates=queries.earlier.sum(-1),
        records=_places(queries.match),
    )


def _places(match: Tensor) -> list[list[int]]:
    """The true columns of each row of a bool matrix."""
    columns = torch.nonzero(match)[:, 1].tolist()
    ends = match.sum(-1).cumsum(0).tolist()
    return [columns[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _queries(lookup: Lookup) -> _Queries:
    identity, starts = lookup.words.identity, lookup.words.starts
    earlier = (starts[:, :, None] & starts[:, None, :]).tril(-1)
    match = earlier & (identity[:, :, None] == identity[:, None, :])
    row, position = torch.nonzero(match.any(-1), as_tuple=True)
    return _Queries(row, position, earlier[row, position], match[row, position])


def _log_probability(scores: Tensor, queries: _Queries) -> Tensor:
    """Log of the mass on correct records, [Q, heads], from scores [Q, heads, L]."""
    of_all = scores.masked_fill(~queries.earlier[:, None], -math.inf).logsumexp(-1)
    return scores.masked_fill(~queries.match[:, None], -math.inf).logsumexp(-1) - of_all
