import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from captionlab.chunks.tokenizer import build_tokenizer
from captionlab.evaluation.encode import cut_row, encode_rows, encode_sentences
from captionlab.evaluation.restore import restore_encoder
from captionlab.files import read_json


@pytest.fixture(scope="module")
def encoder(world):
    record = read_json(world.root / "runs" / "run.json")
    return restore_encoder(world.spec, world.weights, record, torch.device("cpu"))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(st.integers(5, 22), min_size=1, max_size=12), min_size=1, max_size=12),
    st.integers(3, 90),
)
def test_order_is_restored_whatever_the_sub_batches(encoder, bodies, budget):
    rows = [np.array([2, *body, 3], dtype=np.uint16) for body in bodies]
    together = encode_rows(encoder, rows, sub_batch_tokens=budget)
    assert together.dtype == np.float32
    for row, vector in zip(rows, together, strict=True):
        alone = encoder(torch.tensor(row.astype(np.int64))[None]).sentence[0].numpy()
        assert vector == pytest.approx(alone, abs=2e-6)


def test_texts_of_the_same_tokens_have_the_same_bits(encoder, world):
    """Whatever lies between them: they may otherwise fall into sub-batches of other shapes."""
    tokenizer = build_tokenizer((world.root / "tokenizer" / "vocab.txt").read_text().split())
    texts = ["A red dog", "a cat sits on the mat", "a  RED dog ", "one", "a red dog"]
    vectors, _ = encode_sentences(encoder, tokenizer, texts, ceiling=24, sub_batch_tokens=8)
    assert np.array_equal(vectors[0], vectors[2]) and np.array_equal(vectors[0], vectors[4])
    assert not np.array_equal(vectors[0], vectors[1])


def test_a_mode_is_left_as_it_was_and_no_row_gives_no_vector(encoder):
    encoder.train()
    assert encode_rows(encoder, [], sub_batch_tokens=64).shape == (0, 12)
    encode_rows(encoder, [np.array([2, 5, 3], dtype=np.uint16)], sub_batch_tokens=64)
    assert encoder.training
    encoder.eval()


def test_a_cut_keeps_the_first_ids_and_the_separator():
    row = np.array([2, 5, 6, 7, 8, 3], dtype=np.uint16)
    assert cut_row(row, 4).tolist() == [2, 5, 6, 3]
    assert cut_row(row, 4).dtype == np.uint16
    assert cut_row(row, 6) is row


def test_sentences_are_cut_and_counted(encoder, world):
    tokenizer = build_tokenizer((world.root / "tokenizer" / "vocab.txt").read_text().split())
    texts = ["a dog sees a cat", "a dog sees", "a dog"]
    vectors, cut = encode_sentences(encoder, tokenizer, texts, ceiling=5, sub_batch_tokens=64)
    assert cut == 1
    assert vectors[0] == pytest.approx(vectors[1], abs=1e-6)
    assert vectors[2] != pytest.approx(vectors[1], abs=1e-3)
