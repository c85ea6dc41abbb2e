import numpy as np
import pytest

from captionlab.errors import CaptionlabError
from captionlab.evaluation.suites import evaluate
from captionlab.sources.pairs import Pair

VECTORS = {"east": [1, 0], "north": [0, 2], "north-east": [3, 3], "west": [-1, 0]}


class Counter:
    """Encodes by table and remembers what it was asked."""

    def __init__(self):
        self.calls = []

    def __call__(self, texts, ceiling):
        self.calls.append((list(texts), ceiling))
        return np.array([VECTORS[text] for text in texts], dtype=np.float32), 1


def pairs(*rows):
    return [Pair("s", score, one, two) for one, two, score in rows]


def test_each_sentence_is_encoded_once_and_cosines_are_fp64():
    encode = Counter()
    held = pairs(
        ("east", "north", 1.0), ("east", "north-east", 3.0), ("west", "east", 0.0), ("east", "east", 5.0)
    )
    reading = evaluate(encode, held, 64)
    ((texts, ceiling),) = encode.calls
    assert (sorted(texts), ceiling) == (["east", "north", "north-east", "west"], 64)
    assert reading.cosines == pytest.approx([0.0, np.sqrt(0.5), -1.0, 1.0], abs=1e-15)
    assert (reading.pairs, reading.unique_sentences, reading.truncated) == (4, 4, 1)
    # Cosines and gold are in the same order, so the ranks agree.
    assert reading.spearman == pytest.approx(1.0, abs=1e-15)
    # Deviations (-.177, .530, -1.177, .823) and (-1.25, .75, -2.25, 2.75) of cosine and gold.
    assert reading.pearson == pytest.approx(
        np.corrcoef([0, np.sqrt(0.5), -1, 1], [1, 3, 0, 5])[0, 1], abs=1e-12
    )


def test_an_encoder_that_tells_nothing_apart_has_no_score():
    held = pairs(("east", "east", 1.0), ("north", "north", 2.0))
    with pytest.raises(CaptionlabError, match="undefined where all 2 values"):
        evaluate(Counter(), held, 64)
