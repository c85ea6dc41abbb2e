"""The suites, encoded by us and by the peers from the same weights, give the same scores."""

import os

import pytest

from captionlab.evaluation.encode import encode_sentences
from captionlab.speed import encoding, limits
from captionlab.speed.rows import fraction, ratio

from .conftest import FFN, LAYERS, TARGET_WIDTH, WIDTH

pytest.importorskip("mteb")


@pytest.fixture
def spec(bench_spec, run_spec, monkeypatch):
    # The measure goes offline for good; here only for a test.
    for name in ("HF_HUB_OFFLINE", "TOKENIZERS_PARALLELISM"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    bench_spec["speed"] |= {"model": run_spec["model"], "encoding": {"suites": None, "repeats": 2}}
    return {**bench_spec, "run": run_spec, "ceiling": 24}


@pytest.mark.slow
def test_all_three_score_alike(campaign_root, spec):
    part = encoding.measure(spec, campaign_root, threads=1)
    theirs, mteb, products = part.rows
    assert (theirs.peer_name, mteb.peer_name) == ("SentenceTransformer.encode", "mteb.evaluate")
    for row in (theirs, mteb):
        assert row.ours.repeats == row.peer.repeats == 2
        assert row.agreement < 1e-6
        assert ratio(row) > 0
        assert "2 suites, 170 sentences" in row.size
    assert fraction(products) > 0


def test_the_loaded_export_gives_our_vectors(campaign_root, spec, tmp_path):
    bench = encoding.prepare(spec, campaign_root, tmp_path)
    texts = ["a dog", "a cat sits on a red mat", "a very long caption " * 30]
    ours, cut = encode_sentences(bench.encoder, bench.tokenizer, texts, ceiling=24, sub_batch_tokens=512)
    assert cut == 1
    theirs = bench.peer.encode(texts, show_progress_bar=False)
    assert theirs.shape == (3, TARGET_WIDTH)
    assert theirs == pytest.approx(ours, abs=1e-6)


def test_flops_of_a_layer_are_those_of_its_four_maps():
    by_hand = 2 * limits.TOKENS * (WIDTH * 3 * WIDTH + WIDTH * WIDTH + 2 * WIDTH * FFN)
    assert limits.layer_flops({"width": WIDTH, "ffn": FFN, "layers": LAYERS}) == by_hand
