"""The pairs of a sentence suite, and the one form of file that holds them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from captionlab.errors import CaptionlabError, DamagedFileError, MissingFileError

HEADER = "subset\tscore\tsentence1\tsentence2"


@dataclass(frozen=True)
class Pair:
    """Two sentences and the similarity people (or a grammar) gave them, on the suite's own scale."""

    subset: str
    score: float
    sentence1: str
    sentence2: str


def read_pairs(path: Path | str) -> list[Pair]:
    """All pairs of a TSV file: header `subset score sentence1 sentence2`, no quoting (a quote is a
    character).

    Raises MissingFileError, or DamagedFileError naming file and line: wrong columns, an empty sentence, a
    score that is no finite number, no rows, or fewer than two distinct scores (no rank correlation exists).
    """
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise MissingFileError(f"{path} is missing: run prepare_suite or correct the path") from None
    except UnicodeDecodeError as error:
        raise DamagedFileError(f"{path} is not UTF-8 ({error.reason}): convert the file") from None
    except OSError as error:
        raise CaptionlabError(f"{path} cannot be read ({error.strerror})") from None
    # Not splitlines: it also breaks at characters that may stand inside a sentence.
    lines = text.removesuffix("\n").split("\n")
    if lines[0].removesuffix("\r") != HEADER:
        raise DamagedFileError(f"{path} line 1 is {lines[0][:80]!r}: the header is {HEADER!r}")
    pairs = [
        _pair(line.removesuffix("\r"), f"{path} line {number}") for number, line in enumerate(lines[1:], 2)
    ]
    check_pairs(pairs, str(path))
    return pairs


def distinct_sentences(pairs: Sequence[Pair]) -> list[str]:
    """Every sentence once, in the order of the pairs, a pair's first sentence before its second."""
    return list(dict.fromkeys(text for pair in pairs for text in (pair.sentence1, pair.sentence2)))


def check_pairs(pairs: Sequence[Pair], where: str) -> None:
    """Refuse pairs that cannot be scored or written; raises DamagedFileError naming the pair (from 1)."""
    for number, pair in enumerate(pairs, 1):
        fields = (pair.subset, pair.sentence1, pair.sentence2)
        if any(mark in text for text in fields for mark in "\t\n\r"):
            raise DamagedFileError(f"{where}: pair {number} holds a tab or a line break")
        if not pair.sentence1.strip() or not pair.sentence2.strip():
            raise DamagedFileError(f"{where}: pair {number} has an empty sentence")
        if not math.isfinite(pair.score):
            raise DamagedFileError(f"{where}: pair {number} has score {pair.score}, which is not finite")
    distinct = len({pair.score for pair in pairs})
    if distinct < 2:
        raise DamagedFileError(f"{where} has {len(pairs)} pairs, {distinct} distinct scores: it needs two")


def _pair(line: str, where: str) -> Pair:
    fields = line.split("\t")
    if len(fields) != 4:
        raise DamagedFileError(f"{where} has {len(fields)} columns, expected 4 separated by tabs")
    subset, score, sentence1, sentence2 = fields
    try:
        value = float(score)
    except ValueError:
        raise DamagedFileError(f"{where} has score {score!r}, which is no number") from None
    if not math.isfinite(value) or not sentence1.strip() or not sentence2.strip():
        raise DamagedFileError(f"{where} has an empty sentence or a score that is not finite ({score})")
    return Pair(subset, value, sentence1, sentence2)
