"""Sentence pairs with graded gold similarity, fixed by construction before any model is seen.

Eight test suites and a development suite that mixes their kinds. How a pair is made decides its score, and every rule
is in `KINDS` with its score; a pair's `subset` names its rule. Sentences of one suite occur in no other
(`material`), and the scenes they are drawn from belong to rows that captions never use.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from captionlab.errors import CaptionlabError
from captionlab.sources.scenes import binding, meaning
from captionlab.sources.scenes.material import Material

KINDS: dict[str, Mapping[str, tuple[float, str]]] = {
    "paraphrase": meaning.PARAPHRASE,
    "attribute-swap": binding.ATTRIBUTE_SWAP,
    "role-swap": binding.ROLE_SWAP,
    "count": binding.COUNT,
    "negation": binding.NEGATION,
    "relation": binding.RELATION,
    "detail": meaning.DETAIL,
    "topic": meaning.TOPIC,
}
_MAKERS: dict[str, Callable[[Material, str], tuple[str, str]]] = {
    "paraphrase": meaning.paraphrase,
    "attribute-swap": binding.attribute_swap,
    "role-swap": binding.role_swap,
    "count": binding.count,
    "negation": binding.negation,
    "relation": binding.relation,
    "detail": meaning.detail,
    "topic": meaning.topic,
}
# These kinds come twice in the development suite. On the others even a good sentence encoder stays near zero, and
# a development score that no training moves could not choose.
_GRADED_BY_MEANING = ("paraphrase", "detail", "topic")

SUITES: tuple[str, ...] = tuple(f"scenes-{kind}" for kind in KINDS)
DEVELOPMENT = "scenes-development"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences and their gold similarity, 0 (unrelated) to 5 (the same said twice)."""

    subset: str
    score: float
    sentence1: str
    sentence2: str


def suite(name: str, seed: int, rows: int) -> list[Pair]:
    """The pairs of one suite: `rows` of them, the first ones the same for any number of rows.

    The rules of the suite's kind take turns, so that every score is as frequent as its rules are many; the
    development suite takes turns over all kinds. No two pairs of a suite are equal.

    Raises CaptionlabError for an unknown name or more rows than the suite's scenes can fill.
    """
    if name == DEVELOPMENT:
        turns = [(kind, rule) for kind in (*KINDS, *_GRADED_BY_MEANING) for rule in KINDS[kind]]
        material = Material(seed, len(SUITES))
    elif name in SUITES:
        kind = name.removeprefix("scenes-")
        turns = [(kind, rule) for rule in KINDS[kind]]
        material = Material(seed, SUITES.index(name))
    else:
        raise CaptionlabError(
            f"scenes: there is no suite {name!r}: choose from {', '.join((*SUITES, DEVELOPMENT))}"
        )
    pairs: list[Pair] = []
    seen: set[tuple[str, str]] = set()
    while len(pairs) < rows:
        kind, rule = turns[len(pairs) % len(turns)]
        sentences = _MAKERS[kind](material, rule)
        if sentences in seen or sentences[0] == sentences[1]:
            continue
        seen.add(sentences)
        if material.choices.chance(0.5):
            sentences = sentences[::-1]
        subset = f"{kind}/{rule}" if name == DEVELOPMENT else rule
        pairs.append(Pair(subset, KINDS[kind][rule][0], *sentences))
    return pairs
