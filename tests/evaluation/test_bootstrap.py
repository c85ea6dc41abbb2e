import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from captionlab.evaluation.bootstrap import (
    bootstrap_spearman,
    hub_clusters,
    rank_plan,
    weighted_ranks,
)
from captionlab.evaluation.sampling import keyed_generator


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 4)), min_size=1, max_size=30))
def test_weighted_ranks_are_the_ranks_of_the_repeated_values(items):
    values = np.array([value for value, _ in items])
    weights = np.array([copies for _, copies in items])
    expected = scipy.stats.rankdata(np.repeat(values, weights))
    ranks = weighted_ranks(rank_plan(values), weights[:, None].astype(float))[:, 0]
    assert np.array_equal(np.repeat(ranks, weights), expected)


def test_each_resample_is_ranked_anew():
    generator = np.random.default_rng(5)
    gold = generator.integers(0, 6, 40).astype(float)
    scores = gold + generator.normal(0, 2, (3, 40)).round(1)
    drawn = bootstrap_spearman(gold, scores, np.arange(40), 70, keyed_generator("a"))
    # The same stream drawn by hand, each resample scored by scipy.
    repeat = keyed_generator("a")
    for start in range(0, 70, 32):
        block = repeat.integers(0, 40, size=(min(32, 70 - start), 40))
        for row, picks in enumerate(block):
            for model in range(3):
                expected = scipy.stats.spearmanr(gold[picks], scores[model][picks]).statistic
                assert drawn[model, start + row] == pytest.approx(expected, abs=1e-12)


def test_clusters_are_drawn_whole():
    # Two clusters that agree inside: drawing one twice leaves a constant side, never a half cluster.
    gold = np.array([0.0, 0.0, 1.0, 1.0])
    scores = np.array([[0.0, 0.0, 1.0, 1.0]])
    drawn = bootstrap_spearman(gold, scores, np.array([0, 0, 1, 1]), 200, keyed_generator("b"))
    assert set(np.unique(drawn[~np.isnan(drawn)])) == {1.0}
    assert 0.4 < np.isnan(drawn).mean() < 0.6


def test_a_pair_joins_the_sentence_that_more_pairs_use():
    # b occurs in three pairs, a and c in fewer, so those three stand together; d-e stands alone; x-y twice.
    one = ["a", "b", "b", "d", "x", "x"]
    two = ["b", "c", "a", "e", "y", "y"]
    assert hub_clusters(one, two).tolist() == [0, 0, 0, 1, 2, 2]


def test_interval_agrees_with_scipy_on_a_single_model():
    generator = np.random.default_rng(1)
    gold = generator.integers(0, 6, 150).astype(float)
    scores = gold + generator.normal(0, 3, 150)
    drawn = bootstrap_spearman(gold, scores[None], np.arange(150), 4000, keyed_generator("c"))[0]
    expected = scipy.stats.bootstrap(
        (gold, scores),
        lambda x, y: scipy.stats.spearmanr(x, y).statistic,
        paired=True,
        vectorized=False,
        n_resamples=4000,
        method="percentile",
        rng=np.random.default_rng(2),
    )
    low, high = np.quantile(drawn, [0.025, 0.975])
    # Monte-Carlo error of a 2.5% quantile of 4,000 draws is about 0.04 standard deviations.
    allowed = 5 * 0.04 * expected.standard_error
    assert low == pytest.approx(expected.confidence_interval.low, abs=allowed)
    assert high == pytest.approx(expected.confidence_interval.high, abs=allowed)
    assert drawn.std() == pytest.approx(expected.standard_error, rel=0.06)
