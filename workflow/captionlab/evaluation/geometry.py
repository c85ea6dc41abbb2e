"""Geometry of a sample of sentence vectors: participation rank, self cosine, teacher cosine; all FP64."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from captionlab.errors import CaptionlabError
from captionlab.evaluation.spearman import FloatArray, cosine_rows

_BLOCK_COLUMNS = 64


def participation_rank(x: NDArray[Any]) -> float:
    """tr(C)^2 / tr(C^2) of the centred covariance C of `x` [n, d]: how many directions share the variance.

    tr(C^2) is the sum of C's squared entries, so no eigenvalue is computed; the factor 1/(n-1) cancels.
    With fewer rows than columns the n x n Gram matrix, which has the same non-zero spectrum, is cheaper.
    The product is summed by einsum, not BLAS, whose bits depend on its thread count.
    Raises CaptionlabError for fewer than two rows or rows that are all equal.
    """
    return _participation(_covariance(x))


def variance_shares(x: NDArray[Any]) -> list[float]:
    """Eigenvalues of the centred covariance of `x` [n, d] over their sum, largest first; min(n, d) of them.

    Rounded to ten decimals, below which they depend on the machine's linear algebra.
    Raises CaptionlabError as `participation_rank` does.
    """
    return _shares(_covariance(x))


def rank_and_shares(x: NDArray[Any]) -> tuple[float, list[float]]:
    """`participation_rank` and `variance_shares` of `x` [n, d] from one covariance, which is most of their cost."""
    matrix = _covariance(x)
    return _participation(matrix), _shares(matrix)


def self_cosine(x: NDArray[Any]) -> float:
    """Mean cosine over all ordered pairs of different rows of `x` [n, d]; exact, in O(n d).

    With unit rows u this is (|sum u|^2 - sum |u|^2) / (n (n - 1)). Rows are normalised here first; a zero
    row has no direction and is refused with CaptionlabError.
    """
    unit = unit_rows(x)
    count = len(unit)
    total = unit.sum(axis=0)
    return float(((total * total).sum() - (unit * unit).sum()) / (count * (count - 1)))


def teacher_cosine(x: NDArray[Any], targets: NDArray[Any]) -> float:
    """Mean cosine of row i of `x` [n, d] with row i of `targets` [n, d]; neither need be normalised."""
    return float(cosine_rows(x, targets).mean())


def unit_rows(x: NDArray[Any]) -> FloatArray:
    """Rows of `x` [n, d] scaled to length 1 in FP64.

    Raises CaptionlabError for fewer than two rows, a zero row or a value that is not finite.
    """
    rows = _rows(x)
    norms = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    if not norms.all():
        raise CaptionlabError(
            f"{int((norms == 0).sum())} of {len(rows)} vectors are zero and have no direction"
        )
    return np.asarray(rows / norms)


def _covariance(x: NDArray[Any]) -> FloatArray:
    """Covariance of centred rows times n - 1, or with fewer rows than columns their Gram matrix."""
    rows = _rows(x)
    if (rows == rows[0]).all():
        raise CaptionlabError(f"covariance is zero: all {len(rows)} vectors are equal")
    centred = rows - rows.mean(axis=0)
    if len(rows) < rows.shape[1]:
        centred = np.ascontiguousarray(centred.T)
    columns = centred.shape[1]
    matrix = np.empty((columns, columns))
    # Only blocks on and above the diagonal: their transposes hold the same sums in the same order.
    for start in range(0, columns, _BLOCK_COLUMNS):
        block = slice(start, start + _BLOCK_COLUMNS)
        matrix[block, start:] = np.einsum("ki,kj->ij", centred[:, block], centred[:, start:])
        matrix[start:, block] = matrix[block, start:].T
    return matrix


def _participation(matrix: FloatArray) -> float:
    total = float(np.trace(matrix))
    return total * total / float((matrix * matrix).sum())


def _shares(matrix: FloatArray) -> list[float]:
    values = np.linalg.eigvalsh(matrix / np.trace(matrix))[::-1]
    return [max(0.0, round(float(value), 10)) for value in values]


def _rows(x: NDArray[Any]) -> FloatArray:
    rows = np.asarray(x, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < 2:
        raise CaptionlabError(
            f"geometry needs a matrix of two or more rows, not an array of shape {rows.shape}"
        )
    if not np.isfinite(rows).all():
        raise CaptionlabError(
            f"{int((~np.isfinite(rows)).any(axis=1).sum())} of {len(rows)} vectors are not finite"
        )
    return rows
