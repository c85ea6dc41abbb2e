"""Encoding: order, copies, cuts and sub-batches change no vector."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.targets.conftest import WORDS

from captionlab.targets.encode import encode_texts, sub_batches, tokenize_rows
from captionlab.targets.teachers import load_teacher

texts = st.lists(st.text("abc d", max_size=20), max_size=12)


@pytest.fixture
def teacher(tiny_teacher_spec):
    return load_teacher(tiny_teacher_spec, threads=1)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=texts, tokens=st.integers(1, 80))
def test_equals_one_text_at_a_time(teacher, texts, tokens):
    found, cut = encode_texts(teacher, texts, sub_batch_tokens=tokens)
    alone = [encode_texts(teacher, [text]) for text in texts]
    assert found.shape == (len(texts), 16)
    assert found.dtype == np.float32
    assert cut == sum(count for _, count in alone)
    for row, (vector, _) in zip(found, alone, strict=True):
        assert np.allclose(row, vector[0], atol=2e-6)


def test_vector_is_the_mean_over_the_rows_own_tokens(teacher):
    ids = torch.tensor([[2, WORDS.index("red"), WORDS.index("dog"), 3]])
    with torch.inference_mode():
        expected = teacher.model(ids)[0].mean(0).numpy()
    found, _ = encode_texts(teacher, ["a b c d e f g", "red dog", ""])
    assert np.allclose(found[1], expected, atol=1e-6)


def test_equal_texts_are_encoded_once_and_counted_each(teacher):
    calls = []
    model = teacher.model
    hook = model.register_forward_pre_hook(lambda _, inputs: calls.append(len(inputs[0])))
    long = "a " * 30
    found, cut = encode_texts(teacher, ["red", long, "red", long, long])
    hook.remove()
    assert sum(calls) == 2
    assert cut == 3
    assert np.array_equal(found[0], found[2])
    assert np.array_equal(found[1], found[4])


def test_a_cut_keeps_the_specials(teacher):
    rows, cut = tokenize_rows(teacher.tokenizer, ["a b c d", "a b"], 5)
    a, b, c = (WORDS.index(word) for word in "abc")
    assert [row.tolist() for row in rows] == [[2, a, b, c, 3], [2, a, b, 3]]
    assert cut.tolist() == [True, False]


def test_ceiling_defaults_to_the_teachers_own(teacher):
    long = "a b c d e f g h i j k l m n o p"
    assert encode_texts(teacher, [long])[1] == 1
    assert encode_texts(teacher, [long], ceiling=30)[1] == 0
    assert np.array_equal(encode_texts(teacher, [long])[0], encode_texts(teacher, ["a b c d e f g h i j"])[0])


def test_no_texts(teacher):
    found, cut = encode_texts(teacher, [])
    assert found.shape == (0, 16)
    assert cut == 0


def test_progress_counts_every_text(teacher):
    seen = []
    encode_texts(teacher, ["a", "b", "a", "a b c"], sub_batch_tokens=4, progress=seen.append)
    assert sum(seen) == 4
    assert len(seen) > 1


@given(lengths=st.lists(st.integers(1, 300), max_size=60), tokens=st.integers(1, 1000))
def test_sub_batches_hold_each_row_once_within_the_budget(lengths, tokens):
    groups = list(sub_batches(lengths, tokens))
    assert sorted(np.concatenate(groups).tolist() if groups else []) == list(range(len(lengths)))
    for group in groups:
        assert len(group) == 1 or len(group) * max(lengths[index] for index in group) <= tokens
    longest = [max(lengths[index] for index in group) for group in groups]
    assert longest == sorted(longest, reverse=True)
