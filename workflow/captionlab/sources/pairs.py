"""One line of a sentence-pair suite."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """Two sentences and the similarity people (or a grammar) gave them, on the suite's own scale."""

    subset: str
    score: float
    sentence1: str
    sentence2: str
