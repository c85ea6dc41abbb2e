"""The suites, encoded by us and by the peers from the same weights, give the same scores."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.stats import spearmanr

from captionlab.sources.pairs import Pair
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
    targets = yaml.safe_load((Path(__file__).parents[2] / "config.yaml").read_text())["targets"]
    return {**bench_spec, "run": run_spec, "ceiling": 24, "targets": targets}


@pytest.mark.slow
def test_all_three_score_alike(campaign_root, spec):
    part = encoding.measure(spec, campaign_root, threads=1)
    theirs, mteb, products, teacher = part.rows
    assert (theirs.peer_name, mteb.peer_name) == ("SentenceTransformer.encode", "mteb.evaluate")
    assert teacher.peer_name == "SentenceTransformer.encode"
    for row in (theirs, mteb, teacher):
        assert row.ours.repeats == row.peer.repeats == 2
        assert row.agreement < 1e-6
        assert ratio(row) > 0
        assert "2 suites, 170 sentences" in row.size
    assert fraction(products) > 0


def test_without_a_packaged_teacher_its_row_is_left_out(campaign_root, spec):
    spec["targets"] = None
    spec["suites"] = ["two"]
    assert len(encoding.measure(spec, campaign_root, threads=1).rows) == 3


def test_the_loaded_export_gives_our_vectors(campaign_root, spec, tmp_path):
    bench = encoding.prepare(spec, campaign_root, tmp_path)
    texts = ["a dog", "a cat sits on a red mat", "a very long caption " * 30]
    ours, cut = bench.encode(texts, 24)
    assert cut == 1
    theirs = bench.peer.encode(texts, show_progress_bar=False)
    assert theirs.shape == (3, TARGET_WIDTH)
    assert theirs == pytest.approx(ours, abs=1e-6)


def test_pairs_that_must_tie_are_made_to(campaign_root, spec, tmp_path):
    """Pair 1 has the tokens of pair 0, 2 those of 0 turned round, 3 the same tokens twice; 4 is like none."""
    bench = encoding.prepare(spec, campaign_root, tmp_path)
    texts = [
        ("a dog", "a cat"),
        ("A dog ", "a CAT"),
        ("a cat", "a dog"),
        ("a dog", "A Dog"),
        ("a dog", "a pig"),
    ]
    bench = replace(bench, pairs={"one": [Pair("", 1.0, *text) for text in texts]})
    tied = encoding.tied(bench, "one", np.array([0.5, 0.4, 0.3, 0.9, 0.2]))
    assert tied.tolist() == [0.5, 0.5, 0.5, 1.0, 0.2]


def test_flops_of_a_layer_are_those_of_its_four_maps():
    by_hand = 2 * limits.TOKENS * (WIDTH * 3 * WIDTH + WIDTH * WIDTH + 2 * WIDTH * FFN)
    assert limits.layer_flops({"width": WIDTH, "ffn": FFN, "layers": LAYERS}) == by_hand


def test_distinct_lengths_counts_rows_of_tokens_once_a_suite(campaign_root, spec, tmp_path):
    """Two suites share a sentence; one has it in another spelling too: [CLS], words, [SEP]."""
    bench = encoding.prepare(spec, campaign_root, tmp_path)
    one = [Pair("", 1.0, "a dog", "A dog ")]
    bench = replace(bench, pairs={"one": one, "two": [Pair("", 1.0, "a dog", "a")]})
    assert sorted(encoding.distinct_lengths(bench)) == [3, 4, 4]


@pytest.mark.parametrize("pairs", [2, 3, 50])
def test_one_exchange_is_the_most_that_neighbouring_ranks_move_spearman(pairs):
    """Origin: scipy.stats.spearmanr of every exchange of neighbours, gold with its ends side by side."""
    ranks = np.arange(pairs)
    gold = np.roll(ranks, 1)
    moves = []
    for place in range(pairs - 1):
        exchanged = ranks.copy()
        exchanged[[place, place + 1]] = exchanged[[place + 1, place]]
        moves.append(abs(spearmanr(exchanged, gold).statistic - spearmanr(ranks, gold).statistic))
    assert max(moves) == pytest.approx(encoding.one_exchange(pairs))
