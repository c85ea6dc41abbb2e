"""The alignment of several teachers into one space, fitted on stored embeddings in passes of flat memory."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from captionlab.errors import ConfigError, DamagedFileError, MissingFileError
from captionlab.targets.procrustes import (
    Matrix,
    Turns,
    Whitening,
    generalised_procrustes,
    mean_and_covariance,
    whitened_rows,
    whitening,
)
from captionlab.targets.rows import unit_rows

Read = Callable[[str], Iterator[Matrix]]


@dataclass(frozen=True)
class Alignment:
    """One affine map a teacher: aligned = (x - mean) matrix + origin, all in the frame teacher's space.

    mean [d_t], matrix [d_t, D] = W_t R_t pinv(W_frame), origin [D] the frame's own mean; float64.
    """

    means: Mapping[str, Matrix]
    matrices: Mapping[str, Matrix]
    origin: Matrix

    def aligned(self, teacher: str, block: Matrix) -> Matrix:
        """Rows [n, d_t] of a teacher in the common space [n, D].

        The unit length that whitened rows have in the fit is not applied here: so the frame teacher maps onto
        itself exactly, and every teacher's rows keep the spread that its origin is meant for.
        """
        return np.asarray((block - self.means[teacher]) @ self.matrices[teacher] + self.origin)

    def consensus(
        self, blocks: Mapping[str, Matrix], first: int, where: str
    ) -> tuple[Matrix, dict[str, Matrix]]:
        """The target rows [n, D], unit length: the normalised centroid of the aligned teachers, equal weights.

        Also each teacher's aligned rows. `first` and `where` name the rows in errors (DamagedFileError).
        """
        aligned = {teacher: self.aligned(teacher, block) for teacher, block in blocks.items()}
        return unit_rows(np.asarray(sum(aligned.values())) / len(aligned), first, where), aligned


class Agreement:
    """Mean cosine of each teacher to the consensus, gathered block by block, before and after alignment."""

    def __init__(self) -> None:
        self._rows = 0
        self._before: dict[str, float] = {}
        self._after: dict[str, float] = {}

    def add(self, raw: Mapping[str, Matrix], aligned: Mapping[str, Matrix], consensus: Matrix) -> None:
        """Count a block: raw rows [n, d_t], aligned rows and unit consensus rows [n, D]."""
        self._rows += len(consensus)
        for teacher, rows in aligned.items():
            self._after[teacher] = self._after.get(teacher, 0.0) + _cosine_sum(rows, consensus)
            if raw[teacher].shape[1] == consensus.shape[1]:
                self._before[teacher] = self._before.get(teacher, 0.0) + _cosine_sum(raw[teacher], consensus)

    def as_json(self) -> dict[str, dict[str, float | None]]:
        """{teacher: {"cosine_before", "cosine_after"}}; before is null where the widths differ."""
        result = {}
        for teacher, after in self._after.items():
            before = self._before[teacher] / self._rows if teacher in self._before else None
            result[teacher] = {"cosine_before": before, "cosine_after": after / self._rows}
        return result


@dataclass(frozen=True)
class Fit:
    """A fitted alignment and what the fit says of itself."""

    alignment: Alignment
    whitenings: Mapping[str, Whitening]
    turns: Turns
    frame: str
    rows: int
    agreement: Agreement


def fit_alignment(
    names: Sequence[str],
    read: Read,
    *,
    target_width: int,
    iterations: int,
    tolerance: float,
    ridge: float,
) -> Fit:
    """Whitened generalised Procrustes over the fit set: three passes, memory of d x d matrices and one block.

    Pass 1 takes means and covariances, pass 2 the cross moments of whitened unit rows; the turns need no rows;
    pass 3 measures each teacher's cosine to the consensus. The frame - whose whitening is undone, and whose mean
    is added, at the end - is the first teacher at least as wide as the target: a narrower one has no place
    for all of the target's directions. Raises ConfigError when there is none.

    `read(teacher)` gives that teacher's rows of the fit set in blocks [n, d_t] float64, anew at each call; block i
    of every teacher holds the same captions.
    """
    count, whitenings = 0, {}
    for name in names:
        count, mean, covariance = mean_and_covariance(read(name))
        whitenings[name] = whitening(mean, covariance, ridge, target_width)
    frame = next((name for name in names if whitenings[name].inverse is not None), None)
    if frame is None:
        widths = ", ".join(f"{name} {len(whitenings[name].mean)}" for name in names)
        raise ConfigError(f"targets.width is {target_width}, wider than every teacher ({widths}): lower it")
    turns = generalised_procrustes(
        _cross_moments(names, read, whitenings, target_width),
        count,
        len(names),
        target_width,
        frame=names.index(frame),
        iterations=iterations,
        tolerance=tolerance,
    )
    alignment = _compose(whitenings, turns, names, frame)
    agreement = Agreement()
    for first, blocks in _together(names, read):
        consensus, aligned = alignment.consensus(blocks, first, "fit set")
        agreement.add(blocks, aligned, consensus)
    return Fit(alignment, whitenings, turns, frame, count, agreement)


def save_alignment(path: Path, fit: Fit) -> None:
    """Write `origin` and, a teacher, `<name>.mean`, `<name>.matrix`, `<name>.whitener` and `<name>.rotation`."""
    tensors = {"origin": fit.alignment.origin}
    for index, (name, by) in enumerate(fit.whitenings.items()):
        tensors[f"{name}.mean"] = by.mean
        tensors[f"{name}.matrix"] = fit.alignment.matrices[name]
        tensors[f"{name}.whitener"] = by.matrix
        tensors[f"{name}.rotation"] = fit.turns.rotations[index]
    save_file({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, path)


def load_alignment(path: Path, teachers: Sequence[str]) -> Alignment:
    """The alignment of `teachers`; raises DamagedFileError when the file holds another set of them."""
    try:
        tensors = load_file(path)
    except FileNotFoundError:
        raise MissingFileError(f"{path} is missing: run fit_alignment") from None
    except SafetensorError as error:
        raise DamagedFileError(
            f"{path} is not a safetensors file ({error}): run fit_alignment again"
        ) from None
    held = sorted(name.removesuffix(".matrix") for name in tensors if name.endswith(".matrix"))
    if held != sorted(teachers):
        raise DamagedFileError(
            f"{path} aligns {', '.join(held)}; asked for {', '.join(sorted(teachers))}: fit it again"
        )
    return Alignment(
        {name: tensors[f"{name}.mean"] for name in teachers},
        {name: tensors[f"{name}.matrix"] for name in teachers},
        tensors["origin"],
    )


def describe_fit(fit: Fit) -> dict[str, Any]:
    """What alignment.json says of the fit: frame, sweeps, residuals and each teacher's map and cosines."""
    cosines = fit.agreement.as_json()
    return {
        "frame": fit.frame,
        "iterations": len(fit.turns.residuals) - 1,
        "converged": fit.turns.converged,
        "residual": fit.turns.residuals[-1],
        "residuals": fit.turns.residuals,
        "teachers": {
            name: {"width": len(by.mean), "map": by.map, "variance_kept": by.kept, **cosines[name]}
            for name, by in fit.whitenings.items()
        },
    }


def _cross_moments(
    names: Sequence[str], read: Read, whitenings: Mapping[str, Whitening], target_width: int
) -> dict[tuple[int, int], Matrix]:
    moments = {pair: np.zeros((target_width, target_width)) for pair in combinations(range(len(names)), 2)}
    for _, blocks in _together(names, read):
        white = [whitened_rows(blocks[name], whitenings[name]) for name in names]
        for (one, other), moment in moments.items():
            moment += white[one].T @ white[other]
    return moments


def _compose(
    whitenings: Mapping[str, Whitening], turns: Turns, names: Sequence[str], frame: str
) -> Alignment:
    inverse, origin = whitenings[frame].inverse, whitenings[frame].origin
    assert inverse is not None and origin is not None
    matrices = {}
    for index, name in enumerate(names):
        matrices[name] = whitenings[name].matrix @ turns.rotations[index] @ inverse
    return Alignment({name: whitenings[name].mean for name in names}, matrices, origin)


def _together(names: Sequence[str], read: Read) -> Iterator[tuple[int, dict[str, Matrix]]]:
    """(first row, {teacher: block}) over all teachers at once."""
    first = 0
    for blocks in zip(*(read(name) for name in names), strict=True):
        yield first, dict(zip(names, blocks, strict=True))
        first += len(blocks[0])


def _cosine_sum(rows: Matrix, unit: Matrix) -> float:
    norms = np.linalg.norm(rows, axis=1)
    return float(np.sum(np.einsum("ij,ij->i", rows, unit) / np.where(norms == 0, 1.0, norms)))
