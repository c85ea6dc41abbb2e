"""Captions of the scene grammar: row -> text, the same for ever for one seed."""

from collections.abc import Iterator

from captionlab.errors import CaptionlabError
from captionlab.sources.scenes.choices import ROWS, Choices, key
from captionlab.sources.scenes.drawing import draw
from captionlab.sources.scenes.wording import tell

CAPTION_ROWS = 3 * (ROWS // 4)  # 12,582,912; the rows from here to ROWS belong to the suites
_STREAM = 2


def caption(seed: int, row: int) -> str:
    """The caption of a global row, 0 <= row < CAPTION_ROWS, of a seed >= 0: a pure function of the two.

    Two rows of a seed never have the same caption. (1) `permuted` is one to one, so the rows have different codes.
    (2) A code names a length class, a family of core and, within the two, a core number; different numbers
    give different cores (`drawing`). (3) The text tells the class: a short caption is one sentence, a
    middle one 2 or 3, a long one 13 or more, and a full stop followed by a space separates sentences. (4) The first
    sentence tells the family: a relation (standing), a verb with patient (meeting, or handling when the patient
    is a thing), a verb without (doing), neither (group); the brief ones name no place and the others do. (5) The first
    sentence tells the core: every form names each role once and by its place in the sentence, and no word or phrase
    belongs to two concepts that could stand there; what is drawn besides - secondary modifiers, a moment where
    the core has none, synonyms, articles, form - uses words that no core concept has in that place.

    Raises CaptionlabError for a seed or row outside its range.
    """
    if seed < 0 or not 0 <= row < CAPTION_ROWS:
        raise CaptionlabError(
            f"scenes: seed {seed}, row {row} is outside the grammar: give a seed of 0 or more and rows below"
            f" {CAPTION_ROWS:,}"
        )
    return tell(draw(seed, row), Choices(key(seed, _STREAM, row)))


def captions(seed: int, first: int, rows: int) -> Iterator[str]:
    """The captions of rows first .. first + rows - 1."""
    return (caption(seed, row) for row in range(first, first + rows))
