"""Which chunk each caption of a file belongs to: a pure function of the file, its images and the quotas."""

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from captionlab.errors import ConfigError
from captionlab.files import canonical_json

Ints = npt.NDArray[np.int64]


def assign(file: str, seed: int, images: Sequence[str | None], quotas: Sequence[tuple[str, int]]) -> Ints:
    """Give each row of a file to a chunk, the captions of one image always together.

    `images`: the image of each row (None: a group of its own). `quotas`: chunk name and its rows of this
    file, in the declared order of chunks. Returns int64 [rows]: the index of the chunk in `quotas`, -1 for
    rows left over.

    Groups are put in an order keyed by `seed` and `file`; a chunk takes groups in that order until the next
    one would exceed its quota, then smaller ones that follow. Where this leaves a gap, the groups taken last
    are exchanged for a set that fills the quota exactly. A chunk's rows depend on the chunks declared before
    it only: declaring one more changes none of the others.

    Raises ConfigError when the file has too few rows, or when whole images cannot make up a quota.
    """
    asked = sum(rows for _, rows in quotas)
    if asked > len(images):
        raise ConfigError(f"{file}: {asked} captions are asked for, {len(images)} available: ask for fewer")
    groups = _groups(images)
    sizes = np.bincount(groups) if len(groups) else np.zeros(0, np.int64)
    owner = np.full(len(sizes), -1, np.int64)
    free = _keyed_order(file, seed, len(sizes))
    for number, (chunk, rows) in enumerate(quotas):
        taken = _fill(sizes[free], rows)
        if taken is None:
            largest = _largest_sum(sizes[free], rows)
            raise ConfigError(
                f"{file}: {rows} captions for chunk {chunk} cannot be made of whole images "
                f"(captions of one image stay together): ask for {largest}"
            )
        owner[free[taken]] = number
        free = free[~taken]
    return owner[groups]


def _groups(images: Sequence[str | None]) -> Ints:
    """Group number of each row, counted by first appearance."""
    numbers: dict[str, int] = {}
    groups = np.empty(len(images), np.int64)
    lonely = 0
    for row, image in enumerate(images):
        if image is None:
            groups[row] = len(numbers) + lonely
            lonely += 1
        else:
            groups[row] = numbers.setdefault(image, len(numbers) + lonely)
    return groups


def _keyed_order(file: str, seed: int, count: int) -> Ints:
    # The raw stream of a bit generator is fixed for good; Generator.permutation may change with numpy.
    key = hashlib.sha256(canonical_json([seed, file]).encode()).digest()[:16]
    raw = np.random.Philox(key=int.from_bytes(key, "little")).random_raw(count)
    return np.argsort(raw, kind="stable")


def _fill(sizes: Ints, rows: int) -> npt.NDArray[np.bool_] | None:
    """Mask of the groups whose sizes sum to `rows`, earliest first as far as possible; None when none do."""
    ends = np.cumsum(sizes)
    whole = int(np.searchsorted(ends, rows, side="right"))
    taken = np.zeros(len(sizes), bool)
    taken[:whole] = True
    gap = rows - (int(ends[whole - 1]) if whole else 0)
    for position in range(whole, len(sizes) if gap else 0):
        if sizes[position] <= gap:
            taken[position] = True
            gap -= int(sizes[position])
            if gap == 0:
                break
    undo = 1
    while gap:
        last = np.flatnonzero(taken)[-undo:]
        open_again = ~taken
        open_again[last] = True
        chosen = _exact_subset(sizes, open_again, gap + int(sizes[last].sum()))
        if chosen is not None:
            taken[last] = False
            taken[chosen] = True
            return taken
        if len(last) < undo or len(last) == 0:
            return None
        undo *= 2
    return taken


def _exact_subset(sizes: Ints, candidates: npt.NDArray[np.bool_], target: int) -> Ints | None:
    """Positions of candidates whose sizes sum to `target`, the first ones of each size; None when none do."""
    stages = _reachable(sizes[candidates], target)
    if not stages[-1][2] >> target & 1:
        return None
    chosen: list[Ints] = []
    for (_, _, before), (size, _, _) in zip(stages[-2::-1], stages[:0:-1], strict=True):
        used = 0
        while not before >> (target - used * size) & 1:
            used += 1
        target -= used * size
        chosen.append(np.flatnonzero(candidates & (sizes == size))[:used])
    return np.concatenate([*chosen, np.zeros(0, np.int64)])


def _reachable(sizes: Ints, target: int) -> list[tuple[int, int, int]]:
    """(size, count, bit set of the sums reachable with this and the earlier sizes), the most common size
    first.

    The first stage is (0, 0, 1): the empty sum. Walked backwards, rare sizes are used as little as possible.
    """
    values, counts = np.unique(sizes, return_counts=True)
    limit = (1 << (target + 1)) - 1
    stages = [(0, 0, 1)]
    for position in np.argsort(-counts, kind="stable"):
        size, left, bits = int(values[position]), int(counts[position]), stages[-1][2]
        step = 1
        while left:
            step = min(step, left)
            bits |= (bits << (step * size)) & limit
            left -= step
            step *= 2
        stages.append((size, int(counts[position]), bits))
    return stages


def _largest_sum(sizes: Ints, rows: int) -> int:
    return _reachable(sizes, rows)[-1][2].bit_length() - 1
