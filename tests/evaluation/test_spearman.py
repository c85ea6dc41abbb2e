import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from captionlab.errors import CaptionlabError
from captionlab.evaluation.spearman import average_ranks, cosine_rows, pearson, spearman

few_labels = st.lists(st.tuples(st.integers(0, 5), st.integers(-3, 3)), min_size=2, max_size=60).filter(
    lambda pairs: len({a for a, _ in pairs}) > 1 and len({b for _, b in pairs}) > 1
)


def test_ranks_by_hand():
    # 3 ties of 1.0 span ranks 2,3,4 and share 3; two of 7.5 span 5,6.
    assert average_ranks([1.0, 7.5, 1.0, -2.0, 7.5, 1.0]).tolist() == [3.0, 5.5, 3.0, 1.0, 5.5, 3.0]


def test_correlations_by_hand():
    # Ranks (1, 2.5, 2.5, 4) and (1, 3, 2, 4): deviations give 4.5 / sqrt(4.5 * 5).
    assert spearman([0, 1, 1, 2], [0.1, 0.5, 0.4, 0.9]) == pytest.approx(4.5 / np.sqrt(4.5 * 5.0), abs=1e-15)
    # Deviations (-1, 0, 1) and (-1, -1, 2): 3 / sqrt(2 * 6).
    assert pearson([1, 2, 3], [1, 1, 4]) == pytest.approx(3 / np.sqrt(12), abs=1e-15)


@given(few_labels)
def test_agrees_with_scipy_under_ties(pairs):
    x, y = np.array(pairs, dtype=float).T
    assert spearman(x, y) == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-12)
    assert (average_ranks(x) == scipy.stats.rankdata(x)).all()


@given(few_labels)
def test_blind_to_a_monotone_map_and_to_order(pairs):
    x, y = np.array(pairs, dtype=float).T
    assert spearman(x, np.exp(y)) == spearman(x, y)
    assert spearman(x[::-1], y[::-1]) == pytest.approx(spearman(x, y), abs=1e-12)
    assert spearman(-x, y) == pytest.approx(-spearman(x, y), abs=1e-12)


def test_ordinal_ranks_and_the_difference_formula_would_be_wrong():
    generator = np.random.default_rng(3)
    labels = generator.integers(0, 6, 1186)
    scores = labels + generator.normal(0, 3, 1186)
    right = scipy.stats.spearmanr(labels, scores).statistic
    ordinal = [np.argsort(np.argsort(side, kind="stable")) for side in (labels, scores)]
    assert spearman(labels, scores) == pytest.approx(right, abs=1e-12)
    assert abs(np.corrcoef(*ordinal)[0, 1] - right) > 1e-3


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ([1.0, 2.0], [3.0, 3.0], "all 2 values equal 3.0"),
        ([1.0, np.nan], [3.0, 4.0], "1 are not"),
        ([1.0], [3.0], "2 or more"),
        ([1.0, 2.0, 3.0], [3.0, 4.0], "two equal vectors"),
    ],
)
def test_undefined_correlations_are_refused(x, y, words):
    with pytest.raises(CaptionlabError, match=words):
        spearman(x, y)


def test_cosines_are_fp64_and_a_zero_row_has_none():
    a = np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 1.0]], dtype=np.float32)
    b = np.array([[4.0, 3.0], [1.0, 0.0], [-2.0, -2.0]], dtype=np.float32)
    cosines = cosine_rows(a, b)
    assert cosines.dtype == np.float64
    assert cosines == pytest.approx([0.96, 0.0, -1.0], abs=1e-15)


def test_cosines_in_half_precision_input_keep_distinct_scores():
    generator = np.random.default_rng(0)
    a = generator.normal(size=(500, 32)).astype(np.float16)
    b = generator.normal(size=(500, 32)).astype(np.float16)
    assert len(np.unique(cosine_rows(a, b))) == 500


@given(st.integers(0, 10**6))
def test_equal_rows_tie_at_one(seed):
    x = np.random.default_rng(seed).normal(size=(50, 7)).astype(np.float32)
    assert (cosine_rows(x, x) == 1.0).all()
    assert (cosine_rows(x, -x) == -1.0).all()


def test_cosines_of_unequal_shapes_are_refused():
    with pytest.raises(CaptionlabError, match="equal shape"):
        cosine_rows(np.ones((2, 3)), np.ones((3, 3)))
