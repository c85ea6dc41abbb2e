"""Duplicates: golden cases by hand, and MinHash against every pair compared."""

import pyarrow
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionlab.chunks.duplicates import (
    NearRule,
    count_chunks,
    count_near,
    jaccard,
    normalise,
    read_captions,
    shingles,
)
from captionlab.errors import MissingFileError

RULE = NearRule(threshold=0.7, permutations=128, seed=1)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("A Café, in Paris!", "a cafe in paris"),
        ("  Two\ttabs\n", "two tabs"),
        ("Straße", "strasse"),
        ("ﬁne 2×3", "fine 2 3"),
        ("...", ""),
    ],
)
def test_normalise_keeps_words_alone(text, plain):
    assert normalise(text) == plain


def test_shingles_are_neighbouring_words():
    assert shingles("A red car.") == {"a red", "red car"}
    assert shingles("Car") == {"car"}
    assert shingles("!") == frozenset()


def test_jaccard_by_hand():
    # {a b, b c} and {b c, c d}: one shared of three.
    assert jaccard(shingles("a b c"), shingles("b c d")) == pytest.approx(1 / 3)
    assert jaccard(frozenset(), frozenset()) == 0.0


def write(folder, captions):
    folder.mkdir(parents=True)
    columns = {"caption": captions, "image": [""] * len(captions)}
    parquet.write_table(pyarrow.table(columns), folder / "captions.parquet")
    return folder


def test_counts_inside_and_across_chunks(tmp_path):
    one = write(tmp_path / "one", ["A dog.", "A dog.", "a dog", "A cat."])
    two = write(tmp_path / "two", ["A dog.", "A bird."])
    three = write(tmp_path / "three", ["a bird", "a fish"])
    counts = count_chunks({"one": one, "two": two, "three": three})
    assert counts["chunks"]["one"] == {"rows": 4, "exact": 1, "normalised": 2}
    assert counts["chunks"]["two"] == {"rows": 2, "exact": 0, "normalised": 0}
    # Exact: "A dog." in two chunks. Normalised: "a dog" and "a bird".
    assert counts["across"] == {"exact": 1, "normalised": 2}
    pairs = {(pair["a"], pair["b"]): (pair["exact"], pair["normalised"]) for pair in counts["pairs"]}
    assert pairs == {("one", "two"): (1, 1), ("one", "three"): (0, 0), ("two", "three"): (0, 1)}


def test_a_missing_chunk_is_named(tmp_path):
    with pytest.raises(MissingFileError, match=r"captions\.parquet is missing"):
        list(read_captions(tmp_path / "captions.parquet"))


def test_near_and_equal_sentences_are_told_apart():
    captions = ["A small brown dog runs over the green grass near a lake today."]
    suites = {
        "suite": [
            "a small brown dog runs over the green grass near a lake today",
            "A small brown dog runs over the green grass near a lake now.",
            "Dogs.",
            "Dogs.",
        ]
    }
    assert count_near(captions, suites, RULE) == {"suite": {"sentences": 3, "equal": 1, "near": 2}}


WORDS = st.lists(st.sampled_from(["red", "dog", "runs", "over", "wet", "grass"]), min_size=4, max_size=9)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(WORDS.map(" ".join), min_size=1, max_size=8),
    st.lists(WORDS.map(" ".join), min_size=1, max_size=8),
)
def test_minhash_never_invents_and_always_finds_equals(captions, sentences):
    found = count_near(captions, {"suite": sentences}, RULE)["suite"]
    different = {normalise(sentence) for sentence in sentences}
    parts = [shingles(caption) for caption in captions]
    truly = sum(any(jaccard(shingles(s), part) >= RULE.threshold for part in parts) for s in different)
    equal = sum(s in {normalise(caption) for caption in captions} for s in different)
    assert found["equal"] == equal
    assert equal <= found["near"] <= truly
