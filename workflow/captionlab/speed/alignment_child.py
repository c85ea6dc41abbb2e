"""The alignment of two stored teachers, in a process of its own, by ours or as a user would write it.

`python -m captionlab.speed.alignment_child ours|peer FOLDER THREADS` reads `FOLDER/teachers` and writes
`FOLDER/<way>.npz` (each teacher's map [d, D] and the mean cosines to the consensus). The last line printed is a
JSON object: seconds of the work on wall and processor, and the process's peak in bytes.
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from captionlab.speed.children import peak_bytes
from captionlab.speed.synthetic import TEACHERS
from captionlab.speed.timing import timed
from captionlab.targets.threads import blas_threads

ITERATIONS = 20
TOLERANCE = 1e-7
RIDGE = 1e-4

Result = Mapping[str, NDArray[np.float64]]


def ours(folder: Path) -> Result:
    """The library's fit, called as its step calls it."""
    from captionlab.targets.alignment import fit_alignment
    from captionlab.targets.embeddings import fit_reader, open_chunk_embeddings

    read, _ = fit_reader({"chunk": open_chunk_embeddings(folder / "teachers", TEACHERS, "chunk")}, None)
    width = next(read(TEACHERS[0])).shape[1]
    fit = fit_alignment(
        TEACHERS, read, target_width=width, iterations=ITERATIONS, tolerance=TOLERANCE, ridge=RIDGE
    )
    agreement = fit.agreement.as_json()
    cosines = np.array([agreement[name]["cosine_after"] for name in TEACHERS], dtype=np.float64)
    return {**{name: fit.alignment.matrices[name] for name in TEACHERS}, "cosines": cosines}


def peer(folder: Path) -> Result:
    """Whole arrays in memory: np.cov, eigh, scipy's orthogonal_procrustes, and the normalised mean of both.

    The same method: whitening with the same ridge, rows scaled to unit length, the second teacher turned onto
    the first, whose frame is given back. Two teachers need no sweep, so the peer takes none either.
    """
    from scipy.linalg import orthogonal_procrustes

    first, second = (np.load(folder / "teachers" / name / "chunk.npy") for name in TEACHERS)
    whiteners = [_whitener(rows, -0.5) for rows in (first, second)]
    one, two = _unit(_centred(first) @ whiteners[0]), _unit(_centred(second) @ whiteners[1])
    turn, _ = orthogonal_procrustes(two, one)
    del one, two
    back = _whitener(first, 0.5)
    matrices = [whiteners[0] @ back, whiteners[1] @ turn @ back]
    origin = first.mean(axis=0, dtype=np.float64)
    aligned = [_centred(first) @ matrices[0] + origin, _centred(second) @ matrices[1] + origin]
    consensus = _unit(aligned[0] + aligned[1])
    cosines = np.array([(_unit(rows) * consensus).sum(axis=1).mean() for rows in aligned])
    return {**dict(zip(TEACHERS, matrices, strict=True)), "cosines": cosines}


def _centred(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.asarray(rows - rows.mean(axis=0, dtype=np.float64))


def _whitener(rows: NDArray[np.float32], power: float) -> NDArray[np.float64]:
    values, vectors = np.linalg.eigh(np.cov(rows, rowvar=False))
    powered: NDArray[np.float64] = (vectors * (values + RIDGE * values.mean()) ** power) @ vectors.T
    return powered


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    scaled: NDArray[np.float64] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return scaled


WAYS: dict[str, Callable[[Path], Result]] = {"ours": ours, "peer": peer}


def main(way: str, folder: Path, threads: int) -> None:
    """Align and print the figures."""
    found: list[Result] = []
    with blas_threads(threads):
        sample = timed(lambda: found.append(WAYS[way](folder)))
    figures: dict[str, Any] = {"wall": sample.wall, "cpu": sample.cpu, "peak": peak_bytes()}
    np.savez(folder / f"{way}.npz", allow_pickle=False, **found[0])
    print(json.dumps(figures))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
