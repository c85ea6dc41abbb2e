"""A teacher's stored embeddings of a chunk, with the JSON that vouches for them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from captionlab.errors import ConfigError, DamagedFileError
from captionlab.files import read_json, sha256_file
from captionlab.targets.procrustes import Matrix
from captionlab.targets.rows import RowFile, block_ranges


@dataclass(frozen=True)
class Embeddings:
    """One teacher, one chunk: float32 [rows, width] on disk, and its JSON's facts."""

    teacher: str
    file: RowFile
    facts: Mapping[str, Any]

    @property
    def captions_sha256(self) -> str:
        """Digest of the captions that were encoded."""
        return str(self.facts["captions_sha256"])

    @property
    def origin(self) -> dict[str, Any]:
        """What the teacher's vectors of all chunks must have in common: its weights, tokenizer and source."""
        return {key: self.facts.get(key) for key in ("weights_sha256", "tokenizer_sha256", "source")}


def open_embeddings(root: Path, teacher: str, chunk: str) -> Embeddings:
    """ROOT/<teacher>/<chunk>.npy, checked against the shape and digest in the JSON beside it.

    Raises MissingFileError or DamagedFileError, naming both files where they disagree.
    """
    path, beside = root / teacher / f"{chunk}.npy", root / teacher / f"{chunk}.json"
    facts = read_json(beside)
    file = RowFile.open(path)
    if (file.rows, file.width) != (facts["rows"], facts["width"]):
        raise DamagedFileError(
            f"{path} holds {file.rows} x {file.width}, {beside} says "
            f"{facts['rows']} x {facts['width']}: encode it again"
        )
    if sha256_file(path) != facts["files"][path.name]["sha256"]:
        raise DamagedFileError(f"{path} has another sha256 than {beside} says: encode it again")
    return Embeddings(teacher, file, facts)


def open_chunk_embeddings(root: Path, teachers: Sequence[str], chunk: str) -> dict[str, Embeddings]:
    """All teachers' embeddings of one chunk; raises DamagedFileError when they encoded different captions."""
    found = {teacher: open_embeddings(root, teacher, chunk) for teacher in teachers}
    first = found[teachers[0]]
    for other in found.values():
        if (other.file.rows, other.captions_sha256) != (first.file.rows, first.captions_sha256):
            raise DamagedFileError(
                f"{first.file.path} has {first.file.rows} rows of captions {first.captions_sha256[:12]}, "
                f"{other.file.path} {other.file.rows} of {other.captions_sha256[:12]}: encode both again"
            )
    return found


def fit_rows(available: int, wanted: int | None, chunk: str) -> NDArray[np.int64]:
    """Row numbers of a chunk to fit on: all, or `wanted` of them spread evenly (floor(i available / wanted)).

    Spread, because a chunk may be sorted by its source. Raises ConfigError when there are not as many.
    """
    if wanted is None:
        return np.arange(available, dtype=np.int64)
    if wanted > available:
        raise ConfigError(
            f"targets.fit.rows is {wanted}, chunk {chunk} has {available}: ask for that or fewer, or null"
        )
    return np.arange(wanted, dtype=np.int64) * available // wanted


def fit_reader(
    chunks: Mapping[str, Mapping[str, Embeddings]], rows: int | None
) -> tuple[Callable[[str], Iterator[Matrix]], dict[str, int]]:
    """A reader of the fit set (teacher -> its rows in blocks, chunk after chunk) and the rows of each chunk."""
    chosen = {
        chunk: fit_rows(next(iter(teachers.values())).file.rows, rows, chunk)
        for chunk, teachers in chunks.items()
    }

    def read(teacher: str) -> Iterator[Matrix]:
        for chunk, teachers in chunks.items():
            file, wanted = teachers[teacher].file, chosen[chunk]
            for start, stop in block_ranges(file.rows):
                inside = wanted[np.searchsorted(wanted, start) : np.searchsorted(wanted, stop)]
                if len(inside):
                    block = file.read(start, stop)
                    # Picking all rows of a block would copy it.
                    yield block if len(inside) == len(block) else block[inside - start]

    return read, {chunk: len(numbers) for chunk, numbers in chosen.items()}
