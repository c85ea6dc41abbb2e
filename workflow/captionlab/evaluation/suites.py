"""Score a sentence encoder on a suite: Spearman of FP64 cosine with gold."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from captionlab.errors import DamagedFileError
from captionlab.evaluation.spearman import FloatArray, cosine_rows, pearson, spearman
from captionlab.files import read_json, sha256_file
from captionlab.sources.pairs import Pair, read_pairs

Encode = Callable[[Sequence[str], int], tuple[NDArray[np.float32], int]]


@dataclass(frozen=True)
class SuiteReading:
    """What an encoder makes of one suite; `cosines` float64 [pairs], `truncated` counts distinct sentences."""

    spearman: float
    pearson: float
    pairs: int
    unique_sentences: int
    truncated: int
    cosines: FloatArray

    def as_json(self) -> dict[str, Any]:
        """Everything but the cosines."""
        return {
            "spearman": self.spearman,
            "pearson": self.pearson,
            "pairs": self.pairs,
            "unique_sentences": self.unique_sentences,
            "truncated": self.truncated,
        }


def evaluate(encode: Encode, pairs: Sequence[Pair], ceiling: int) -> SuiteReading:
    """Encode each distinct sentence once, cut to `ceiling` tokens, and correlate the pairs' cosines with gold.

    `encode(texts, ceiling)` gives vectors [texts, width], which need not be normalised, and how many texts were
    cut. Raises CaptionlabError where no correlation is defined.
    """
    number: dict[str, int] = {}
    one = np.array([number.setdefault(pair.sentence1, len(number)) for pair in pairs])
    two = np.array([number.setdefault(pair.sentence2, len(number)) for pair in pairs])
    vectors, truncated = encode(list(number), ceiling)
    cosines = cosine_rows(vectors[one], vectors[two])
    gold = np.array([pair.score for pair in pairs], dtype=np.float64)
    return SuiteReading(
        spearman=spearman(cosines, gold),
        pearson=pearson(cosines, gold),
        pairs=len(pairs),
        unique_sentences=len(number),
        truncated=truncated,
        cosines=cosines,
    )


@dataclass(frozen=True)
class SuiteReadings:
    """All suites of one encoder: an entry each for suites.json, and the cosines by suite."""

    entries: dict[str, dict[str, Any]]
    cosines: dict[str, FloatArray]

    @property
    def mean(self) -> float | None:
        """Unweighted mean of Spearman over the suites; None without any."""
        scores = [float(entry["spearman"]) for entry in self.entries.values()]
        return sum(scores) / len(scores) if scores else None


def read_suites(encode: Encode, folder: Path, suites: Sequence[str], ceiling: int) -> SuiteReadings:
    """Evaluate an encoder on each of `suites` in `folder`.

    Suites are encoded apart from each other, so that a score does not depend on which others are read.
    """
    entries, cosines = {}, {}
    for suite in suites:
        pairs, record = open_suite(folder, suite)
        reading = evaluate(encode, pairs, ceiling)
        entries[suite] = {**reading.as_json(), "role": record["role"], "sha256": record["sha256"]}
        cosines[suite] = reading.cosines
        print(
            f"{suite}: Spearman {reading.spearman:.4f} over {reading.pairs} pairs",
            file=sys.stderr,
            flush=True,
        )
    return SuiteReadings(entries, cosines)


def open_suite(folder: Path, suite: str) -> tuple[list[Pair], dict[str, Any]]:
    """The pairs of a suite in `folder` and its record, the file checked against the record's digest.

    Raises MissingFileError or DamagedFileError.
    """
    record = read_json(folder / f"{suite}.json")
    path = folder / f"{suite}.tsv"
    if sha256_file(path) != record.get("sha256"):
        raise DamagedFileError(f"{path} is not what the JSON beside it describes: run prepare_suite again")
    return read_pairs(path), record
