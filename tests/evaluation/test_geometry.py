import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionlab.errors import CaptionlabError
from captionlab.evaluation.geometry import (
    participation_rank,
    rank_and_shares,
    self_cosine,
    teacher_cosine,
    variance_shares,
)


def by_eigenvalues(x):
    values = np.linalg.eigvalsh(np.cov(x, rowvar=False))
    return values.sum() ** 2 / (values**2).sum()


def test_participation_rank_by_hand():
    # Two directions with variances in the ratio 9:1 -> 10^2 / (81 + 1).
    corners = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    assert participation_rank(corners + 100.0) == pytest.approx(100 / 82, rel=1e-12)
    assert participation_rank(np.array([[0.0, 1.0], [5.0, 1.0], [9.0, 1.0]])) == pytest.approx(1.0, rel=1e-12)


def test_variance_shares_by_hand_and_against_the_rank():
    corners = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    assert variance_shares(corners) == [0.9, 0.1]
    x = np.random.default_rng(0).normal(size=(20, 50))
    shares = np.array(variance_shares(x))
    assert len(shares) == 20
    assert shares.sum() == pytest.approx(1, abs=1e-8)
    assert (np.diff(shares) <= 0).all()
    assert 1 / (shares**2).sum() == pytest.approx(participation_rank(x), rel=1e-7)


@pytest.mark.parametrize(("rows", "width"), [(400, 24), (24, 400), (300, 130)])
def test_rank_and_shares_together_are_those_apart(rows, width):
    x = np.random.default_rng(rows).normal(size=(rows, width)) + 5
    assert rank_and_shares(x) == (participation_rank(x), variance_shares(x))


def test_a_covariance_of_several_blocks_is_the_whole_product_bit_for_bit():
    x = np.random.default_rng(1).normal(size=(300, 130))
    centred = x - x.mean(axis=0)
    whole = np.einsum("ki,kj->ij", centred, centred)
    assert participation_rank(x) == np.trace(whole) ** 2 / (whole * whole).sum()


@pytest.mark.parametrize(("rows", "width"), [(400, 24), (24, 400), (50, 50)])
def test_participation_rank_against_eigenvalues(rows, width):
    generator = np.random.default_rng(rows)
    x = generator.normal(size=(rows, width)) * np.linspace(0.1, 3, width) + 5
    assert participation_rank(x) == pytest.approx(by_eigenvalues(x), rel=1e-10)


def test_participation_rank_of_float32_is_summed_in_fp64():
    x = (np.random.default_rng(0).normal(size=(2000, 64)) + 30).astype(np.float32)
    assert participation_rank(x) == pytest.approx(by_eigenvalues(x.astype(np.float64)), rel=1e-12)


@settings(max_examples=40)
@given(st.integers(2, 12), st.integers(1, 8), st.integers(0, 10**6))
def test_self_cosine_is_the_off_diagonal_mean_of_the_gram_matrix(rows, width, seed):
    x = np.random.default_rng(seed).normal(size=(rows, width)) + 0.5
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    gram = unit @ unit.T
    assert self_cosine(x) == pytest.approx(gram[~np.eye(rows, dtype=bool)].mean(), abs=1e-12)


@given(st.integers(0, 10**6))
def test_participation_rank_ignores_shift_scale_and_rotation(seed):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(30, 6)) * np.arange(1, 7)
    rotation = np.linalg.qr(generator.normal(size=(6, 6)))[0]
    assert participation_rank(3 * x @ rotation + 7) == pytest.approx(participation_rank(x), rel=1e-9)
    assert 1 <= participation_rank(x) <= 6


def test_teacher_cosine_by_hand():
    x = np.array([[2.0, 0.0], [1.0, 1.0]], dtype=np.float32)
    targets = np.array([[0.5, 0.0], [1.0, 0.0]], dtype=np.float32)
    assert teacher_cosine(x, targets) == pytest.approx((1 + np.sqrt(0.5)) / 2, rel=1e-15)


def test_what_has_no_geometry_is_refused():
    with pytest.raises(CaptionlabError, match="all 3 vectors are equal"):
        participation_rank(np.ones((3, 4)))
    with pytest.raises(CaptionlabError, match="1 of 3 vectors are zero"):
        self_cosine(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]))
    with pytest.raises(CaptionlabError, match="1 of 2 vectors are not finite"):
        participation_rank(np.array([[1.0, np.nan], [0.0, 1.0]]))
    with pytest.raises(CaptionlabError, match="two or more rows"):
        participation_rank(np.ones((1, 4)))
