"""Spearman's rank correlation and row cosines, in FP64 and without a BLAS call (its threads change bits)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from captionlab.errors import CaptionlabError

FloatArray = NDArray[np.float64]
_BLOCK_ROWS = 256


def average_ranks(values: ArrayLike) -> FloatArray:
    """Ranks 1..n of `values` [n], ties sharing the mean of the ranks they span; float64 [n]."""
    array = np.asarray(values)
    order = np.argsort(array, kind="stable")
    ordered = array[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    counts = np.diff(np.append(first, len(array)))
    ranks = np.empty(len(array), dtype=np.float64)
    ranks[order] = np.repeat(first + (counts + 1) / 2, counts)
    return ranks


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's correlation of two [n] vectors, in FP64 and clipped to [-1, 1].

    Raises CaptionlabError where it is undefined: unequal lengths, fewer than two values, a value that is
    not finite, or all values of one side equal.
    """
    a, b = _finite_vectors(x, y)
    a = a - a.mean()
    b = b - b.mean()
    scale = np.sqrt((a * a).sum()) * np.sqrt((b * b).sum())
    return float(np.clip((a * b).sum() / scale, -1.0, 1.0))


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's correlation of two [n] vectors: Pearson's of their average ranks.

    Average ranks, because the 1 - 6 d^2 / n(n^2-1) formula and ordinal ranks are both wrong under ties.
    Raises CaptionlabError as `pearson` does.
    """
    a, b = _finite_vectors(x, y)
    return pearson(average_ranks(a), average_ranks(b))


def cosine_rows(a: NDArray[Any], b: NDArray[Any]) -> FloatArray:
    """Cosine of row i of `a` with row i of `b` (both [n, d], any float dtype), computed in FP64; float64 [n].

    A zero row (the vector of an empty text) has cosine 0 with everything. Equal rows have cosine 1 exactly,
    whatever their length, so that pairs of equal sentences tie: one root of the product gives that, the product
    of two roots does not.
    """
    one, two = np.asarray(a), np.asarray(b)
    if one.shape != two.shape:
        raise CaptionlabError(f"cosines need rows of equal shape, not {one.shape} and {two.shape}")
    cosines = np.empty(len(one), dtype=np.float64)
    # In blocks, so that FP64 copies and products stay in cache; a row's sums do not depend on its neighbours.
    for start in range(0, len(one), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        cosines[rows] = _block_cosines(one[rows].astype(np.float64), two[rows].astype(np.float64))
    return cosines


def _block_cosines(x: FloatArray, y: FloatArray) -> FloatArray:
    scale = np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    products = (x * y).sum(axis=1)
    cosines: FloatArray = np.divide(products, scale, out=np.zeros_like(products), where=scale > 0)
    return np.clip(cosines, -1.0, 1.0)


def _finite_vectors(x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    a = np.asarray(x, dtype=np.float64)
    b = np.asarray(y, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1 or len(a) < 2:
        raise CaptionlabError(
            f"a correlation needs two equal vectors of 2 or more, not {a.shape} and {b.shape}"
        )
    for side in (a, b):
        if not np.isfinite(side).all():
            raise CaptionlabError(f"a correlation needs finite values: {(~np.isfinite(side)).sum()} are not")
        if (side == side[0]).all():
            raise CaptionlabError(f"a correlation is undefined where all {len(side)} values equal {side[0]}")
    return a, b
