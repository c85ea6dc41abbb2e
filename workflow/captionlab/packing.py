"""Cut a batch into groups of rows with as little padding as pays for one more group, and groups into sub-batches."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# What a group of rows of one length costs by itself, in padded tokens: on a CPU its own attention (measured best at 8
# of 4 to 24 at 12 x 512, and of 4 to 48 at 2 x 256); on a CUDA device kernel launches, during which it could do
# thousands of tokens.
OVERHEAD = {"cpu": 8, "cuda": 8192}


def sub_batches(
    lengths: Sequence[int] | NDArray[Any], budget: int, device: str, *, joins: bool = True
) -> list[list[NDArray[np.int64]]]:
    """The groups of each sub-batch of at most `budget` padded tokens for a kind of device ("cpu" or "cuda").

    joins: a sub-batch is as many groups as its tokens allow, for one product a weight; else it is one group.
    """
    groups = pack(lengths, budget, OVERHEAD[device])
    return joined(groups, lengths, budget) if joins else [[group] for group in groups]


def pack(lengths: Sequence[int] | NDArray[Any], budget: int, overhead: int) -> list[NDArray[np.int64]]:
    """Row numbers of each group: rows sorted by length (ties keep their order) and cut where the sum over
    groups of rows x longest row + `overhead` is least, with rows x longest row <= `budget`.

    Every row is in exactly one group; a row longer than the budget gets one of its own. Rows of equal
    length are kept together as far as the budget allows, which leaves few places to cut: the search is
    quadratic in the number of different lengths, not of rows.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    if not len(sizes):
        return []
    order = np.argsort(sizes, kind="stable")
    starts = _places_to_cut(sizes[order], budget)
    ends = np.append(starts[1:], len(sizes))
    longest = sizes[order][starts]
    cost = np.zeros(len(starts) + 1)
    previous = np.zeros(len(starts) + 1, dtype=np.int64)
    for last, (end, length) in enumerate(zip(ends, longest, strict=True)):
        padded = (end - starts[: last + 1]) * length
        total = np.where(padded <= budget, cost[: last + 1] + padded, np.inf)
        total[last] = cost[last] + padded[last]
        previous[last + 1] = np.argmin(total)
        cost[last + 1] = total[previous[last + 1]] + overhead
    batches = []
    stop = len(starts)
    while stop:
        first = previous[stop]
        batches.append(order[starts[first] : ends[stop - 1]])
        stop = first
    return batches[::-1]


def joined(
    groups: Sequence[NDArray[np.int64]], lengths: Sequence[int] | NDArray[Any], budget: int
) -> list[list[NDArray[np.int64]]]:
    """The groups of each sub-batch: consecutive ones of those that `pack` gives, as many as hold at most `budget`
    padded tokens together."""
    lists: list[list[NDArray[np.int64]]] = []
    room = 0
    for group in groups:
        padded = len(group) * lengths[group[-1]]
        if padded > room:
            lists.append([])
            room = budget
        lists[-1].append(group)
        room -= padded
    return lists


def _places_to_cut(ordered: NDArray[np.int64], budget: int) -> NDArray[np.int64]:
    """Where a group may start: at a new length, and inside equal lengths that exceed the budget."""
    changes = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    ends = np.append(changes[1:], len(ordered))
    return np.concatenate(
        [
            np.arange(start, end, max(1, budget // int(ordered[start])))
            for start, end in zip(changes, ends, strict=True)
        ]
    )
