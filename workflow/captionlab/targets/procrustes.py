"""Whitening and generalised Procrustes on matrices of moments: d x d arithmetic in float64, no rows.

Conventions. A whitened row is z = (x - mean) W with W = (Cov + ridge)^(-1/2); rows are then scaled to unit length,
so that each caption weighs the same. Teachers are turned by orthogonal matrices R_t (reflections allowed) that
maximise the agreement sum over s < t of tr(R_s^T M_st R_t), where M_st = Z_s^T Z_t: generalised Procrustes (Gower
1975), each turn the polar factor of the teacher's moments with the sum of all *others* (Ten Berge 1977), which never
lowers the agreement. The reference of that sum is the plain mean of the turned rows, not scaled to unit length:
then a turn needs the M_st only and no pass over the rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from captionlab.errors import ConfigError

Matrix = NDArray[np.float64]
Moments = Mapping[tuple[int, int], Matrix]


@dataclass(frozen=True)
class Whitening:
    """A teacher's map into the whitened target space, and back for the teacher that lends its frame.

    `matrix` [d, D] whitens centred rows; `inverse` [D, D] and `origin` [D] take whitened rows back into the
    teacher's own space (reduced to D dimensions where it is wider), None for a teacher narrower than D.
    `map` says how the widths met: identity, pca or padding. `kept` is the share of variance that `map` keeps.
    """

    mean: Matrix
    matrix: Matrix
    inverse: Matrix | None
    origin: Matrix | None
    map: str
    kept: float


@dataclass(frozen=True)
class Turns:
    """Rotations [D, D], one a teacher (the frame's is the identity), and how the fit went.

    `residuals[i]` after i sweeps: mean over rows and teachers of |z_t R_t - mean_t z_t R_t|^2, between 0 and 1.
    """

    rotations: list[Matrix]
    residuals: list[float]
    converged: bool


def mean_and_covariance(blocks: Iterable[Matrix]) -> tuple[int, Matrix, Matrix]:
    """Row count, mean [d] and covariance [d, d] (divisor n - 1) in one pass.

    Sums are taken about the mean of the first block, so that nothing cancels. Raises ConfigError for fewer than
    two rows.
    """
    rows, about, total, square = 0, np.zeros(0), np.zeros(0), np.zeros((0, 0))
    for block in blocks:
        if rows == 0:
            about = block.mean(axis=0)
            total, square = np.zeros_like(about), np.zeros((len(about), len(about)))
        centred = block - about
        rows += len(block)
        total += centred.sum(axis=0)
        square += centred.T @ centred
    if rows < 2:
        raise ConfigError(f"the fit set has {rows} rows: a covariance needs two or more")
    shift = total / rows
    return rows, about + shift, (square - rows * np.outer(shift, shift)) / (rows - 1)


def whitening(mean: Matrix, covariance: Matrix, ridge: float, target_width: int) -> Whitening:
    """The whitening of a teacher of width d for targets of width D.

    d = D: W = (Cov + ridge v I)^(-1/2), symmetric; v is the mean variance, so `ridge` is relative and has no unit.
    d > D: the rows are first projected on their D leading principal directions (of all linear maps to D dimensions
    the one that loses least variance). d < D: whitened rows are padded with zeros (an isometry: cosines stay, and
    nothing is invented). The ridge bounds what directions without variance can do to rows outside the fit set; a
    rank-deficient covariance with ridge 0 raises ConfigError.
    """
    width = len(mean)
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    vectors = vectors * np.where(
        np.take_along_axis(vectors, np.abs(vectors).argmax(0)[None], 0) < 0, -1.0, 1.0
    )
    kept = min(width, target_width)
    share = float(values[:kept].sum() / values.sum()) if values.sum() > 0 else 1.0
    leading, axes = values[:kept], vectors[:, :kept]
    if ridge == 0 and leading[-1] <= values[0] * width * np.finfo(np.float64).eps:
        rank = int((leading > values[0] * width * np.finfo(np.float64).eps).sum())
        raise ConfigError(
            f"a covariance of width {kept} has rank {rank}: give a ridge over 0 or more rows to fit on"
        )
    scales = np.sqrt(leading + ridge * values.mean())
    if scales[-1] == 0:
        raise ConfigError("all rows of the fit set are the same: there is no variance to whiten")
    if width > target_width:
        return Whitening(mean, axes / scales, np.diag(scales), mean @ axes, "pca", share)
    matrix = (axes / scales) @ axes.T
    if width < target_width:
        return Whitening(
            mean, np.pad(matrix, ((0, 0), (0, target_width - width))), None, None, "padding", share
        )
    return Whitening(mean, matrix, (axes * scales) @ axes.T, mean, "identity", share)


def whitened_rows(block: Matrix, by: Whitening) -> Matrix:
    """Centred, whitened rows of unit length [n, D]; a row that is the mean itself stays zero."""
    rows = (block - by.mean) @ by.matrix
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms == 0, 1.0, norms))


def procrustes(cross: Matrix) -> Matrix:
    """The orthogonal R that maximises tr(R^T cross): with cross = S^T T it turns rows of S onto rows of T.

    cross = U s V^T, R = U V^T (Schoenemann 1966); a reflection is allowed.
    """
    left, _, right = np.linalg.svd(cross)
    return np.asarray(left @ right)


def generalised_procrustes(
    moments: Moments, rows: int, teachers: int, width: int, *, frame: int, iterations: int, tolerance: float
) -> Turns:
    """Turn all teachers onto each other from their cross moments M_st (keys s < t, each [width, width]).

    Start: the frame is not turned; each other teacher, in order, is turned onto the sum of those before it. A
    sweep turns each teacher once, in order; sweeps stop when the residual falls by less than `tolerance` or after
    `iterations`. In the end all are turned back together so that the frame is not turned. Two teachers need no
    sweep: the start is the optimum.
    """

    def cross(one: int, other: int) -> Matrix:
        return moments[one, other] if one < other else moments[other, one].T

    turned: dict[int, Matrix] = {frame: np.eye(width)}
    for teacher in range(teachers):
        if teacher != frame:
            turned[teacher] = procrustes(_sum(cross(teacher, other) @ turned[other] for other in turned))
    residuals = [_residual(moments, turned, rows, teachers)]
    converged = teachers <= 2
    while not converged and len(residuals) <= iterations:
        for teacher in range(teachers):
            others = [other for other in range(teachers) if other != teacher]
            turned[teacher] = procrustes(_sum(cross(teacher, other) @ turned[other] for other in others))
        residuals.append(_residual(moments, turned, rows, teachers))
        converged = residuals[-2] - residuals[-1] < tolerance
    back = turned[frame].T
    rotations = [np.eye(width) if index == frame else turned[index] @ back for index in range(teachers)]
    return Turns(rotations, residuals, converged)


def _residual(moments: Moments, turned: Mapping[int, Matrix], rows: int, teachers: int) -> float:
    # Unit rows: sum |z_t R_t|^2 = rows for each teacher, and the mean's norm follows from the cross terms.
    agreement = sum(float(np.sum((turned[s].T @ m) * turned[t].T)) for (s, t), m in moments.items())
    return 1.0 - (teachers + 2.0 * agreement / rows) / teachers**2


def _sum(terms: Iterable[Matrix]) -> Matrix:
    parts: Sequence[Matrix] = list(terms)
    return np.asarray(np.sum(parts, axis=0))
