"""Whitening and Procrustes: by hand, against scipy, and properties that must hold for any data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes
from scipy.stats import ortho_group

from captionlab.errors import ConfigError
from captionlab.targets.procrustes import (
    generalised_procrustes,
    mean_and_covariance,
    procrustes,
    whitened_rows,
    whitening,
)

seeds = st.integers(0, 2**31)


def rows(seed, count=60, width=5):
    random = np.random.default_rng(seed)
    return random.normal(size=(count, width)) @ random.normal(size=(width, width)) + random.normal(size=width)


def unit(matrix):
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def fit(sets, **settings):
    moments = {(s, t): sets[s].T @ sets[t] for t in range(len(sets)) for s in range(t)}
    given = {"frame": 0, "iterations": 50, "tolerance": 1e-12} | settings
    return generalised_procrustes(moments, len(sets[0]), len(sets), sets[0].shape[1], **given)


def test_procrustes_by_hand():
    # A quarter turn: rows (1, 0), (0, 2) onto (0, 1), (-2, 0).
    source, target = np.array([[1.0, 0], [0, 2]]), np.array([[0, 1.0], [-2, 0]])
    assert np.allclose(procrustes(source.T @ target), [[0, 1], [-1, 0]], atol=1e-15)


def test_procrustes_may_reflect():
    source = np.array([[1.0, 0], [0, 1], [1, 1]])
    assert np.allclose(procrustes(source.T @ (source * [1, -1])), np.diag([1, -1]), atol=1e-15)


@given(seed=seeds)
def test_procrustes_equals_scipy(seed):
    source, target = rows(seed), rows(seed + 1)
    expected, _ = orthogonal_procrustes(source, target)
    assert np.allclose(procrustes(source.T @ target), expected, atol=1e-6)


@given(seed=seeds)
def test_procrustes_recovers_a_known_turn(seed):
    source, turn = rows(seed), ortho_group.rvs(5, random_state=seed)
    assert np.allclose(procrustes(source.T @ (source @ turn)), turn, atol=1e-6)


def test_mean_and_covariance_by_hand():
    count, mean, covariance = mean_and_covariance([np.array([[0.0, 0]]), np.array([[2.0, 2], [4, -2]])])
    assert count == 3
    assert mean.tolist() == [2, 0]
    assert np.allclose(covariance, [[4, -2], [-2, 4]], atol=1e-15)


@given(seed=seeds, cuts=st.lists(st.integers(1, 59), max_size=4))
def test_mean_and_covariance_of_blocks_equal_numpys(seed, cuts):
    data = rows(seed) + 1e4
    blocks = [block for block in np.split(data, sorted(set(cuts))) if len(block)]
    count, mean, covariance = mean_and_covariance(blocks)
    assert count == 60
    assert np.allclose(mean, data.mean(0), rtol=1e-12)
    assert np.allclose(covariance, np.cov(data, rowvar=False), rtol=1e-7, atol=1e-9)


def test_one_row_has_no_covariance():
    with pytest.raises(ConfigError, match="1 rows"):
        mean_and_covariance([np.ones((1, 3))])


@given(seed=seeds)
def test_whitening_leaves_the_identity_as_covariance(seed):
    data = rows(seed)
    by = whitening(*mean_and_covariance([data])[1:], 0.0, 5)
    white = (data - by.mean) @ by.matrix
    assert np.allclose(white.mean(0), 0, atol=1e-6)
    assert np.allclose(np.cov(white, rowvar=False), np.eye(5), atol=1e-6)
    assert np.allclose(by.matrix, by.matrix.T, atol=1e-8 * np.abs(by.matrix).max())
    assert np.allclose(white @ by.inverse + by.origin, data, atol=1e-8)


def test_whitening_by_hand():
    # Variances 4 and 1 without covariance; a ridge of 0.5 adds 0.5 x their mean, 1.25.
    by = whitening(np.array([1.0, 2.0]), np.diag([4.0, 1.0]), 0.5, 2)
    assert np.allclose(by.matrix, np.diag([5.25**-0.5, 2.25**-0.5]), atol=1e-15)
    assert np.allclose(by.inverse, np.diag([5.25**0.5, 2.25**0.5]), atol=1e-15)
    assert by.origin.tolist() == [1.0, 2.0]
    assert (by.map, by.kept) == ("identity", 1.0)


def test_whitened_rows_have_unit_length_but_for_the_mean_itself():
    data = rows(4)
    by = whitening(*mean_and_covariance([data])[1:], 1e-4, 5)
    found = whitened_rows(np.vstack([data, by.mean]), by)
    assert np.allclose(np.linalg.norm(found[:-1], axis=1), 1, atol=1e-12)
    assert not found[-1].any()


def test_a_wider_teacher_is_projected_on_its_leading_directions():
    turn = ortho_group.rvs(6, random_state=1)
    data = (np.random.default_rng(0).normal(size=(400, 6)) * [9, 7, 5, 0.1, 0.1, 0.1]) @ turn + 3
    by = whitening(*mean_and_covariance([data])[1:], 0.0, 3)
    white = (data - by.mean) @ by.matrix
    assert by.map == "pca"
    assert 0.999 < by.kept < 1
    assert np.allclose(np.cov(white, rowvar=False), np.eye(3), atol=1e-9)
    # The three directions explain all but the noise: what comes back is the data seen along them.
    leading = np.linalg.svd(data - data.mean(0))[2][:3]
    back = (white @ by.inverse) @ (white @ by.inverse).T
    seen = (data - data.mean(0)) @ leading.T
    assert np.allclose(back, seen @ seen.T, atol=1e-6 * np.abs(back).max())


def test_a_narrower_teacher_is_padded_with_zeros():
    data = rows(2, width=3)
    by = whitening(*mean_and_covariance([data])[1:], 0.0, 5)
    white = (data - by.mean) @ by.matrix
    assert by.map == "padding"
    assert by.inverse is None
    assert not white[:, 3:].any()
    assert np.allclose(np.cov(white[:, :3], rowvar=False), np.eye(3), atol=1e-9)


def test_a_rank_deficient_covariance_needs_a_ridge():
    data = rows(0, count=4, width=6)
    _, mean, covariance = mean_and_covariance([data])
    with pytest.raises(ConfigError, match="rank 3"):
        whitening(mean, covariance, 0.0, 6)
    by = whitening(mean, covariance, 1e-2, 6)
    assert np.isfinite(by.matrix).all()
    # No direction is stretched beyond what the ridge allows.
    assert np.linalg.norm(by.matrix, 2) <= (1e-2 * np.trace(covariance) / 6) ** -0.5 * (1 + 1e-9)


def test_rows_that_are_all_the_same_cannot_be_whitened():
    with pytest.raises(ConfigError, match="no variance"):
        whitening(np.ones(3), np.zeros((3, 3)), 0.1, 3)


@given(seed=seeds)
def test_two_sets_are_scipys_answer(seed):
    one, other = unit(rows(seed)), unit(rows(seed + 1))
    turns = fit([one, other])
    expected, _ = orthogonal_procrustes(other, one)
    assert np.array_equal(turns.rotations[0], np.eye(5))
    assert np.allclose(turns.rotations[1], expected, atol=1e-6)
    assert turns.converged
    mean = (one + other @ expected) / 2
    residual = (np.sum((one - mean) ** 2) + np.sum((other @ expected - mean) ** 2)) / (2 * len(one))
    assert turns.residuals[-1] == pytest.approx(residual, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(seed=seeds, frame=st.integers(0, 3))
def test_turned_copies_of_one_set_fall_together(seed, frame):
    base = unit(rows(seed))
    turns = [ortho_group.rvs(5, random_state=seed + index) for index in range(4)]
    found = fit([base @ turn for turn in turns], frame=frame)
    assert np.array_equal(found.rotations[frame], np.eye(5))
    for turn, rotation in zip(turns, found.rotations, strict=True):
        assert np.allclose(base @ turn @ rotation, base @ turns[frame], atol=1e-7)
    assert found.residuals[-1] == pytest.approx(0, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_sweeps_never_raise_the_residual_and_end_at_a_fixed_point(seed):
    sets = [unit(rows(seed + index)) for index in range(4)]
    turns = fit(sets, iterations=400, tolerance=1e-13)
    assert all(
        later <= before + 1e-12 for before, later in zip(turns.residuals, turns.residuals[1:], strict=False)
    )
    turned = [data @ turn for data, turn in zip(sets, turns.rotations, strict=True)]
    mean = sum(turned) / 4
    measured = sum(np.sum((data - mean) ** 2) for data in turned) / (4 * len(mean))
    assert turns.residuals[-1] == pytest.approx(measured, abs=1e-12)
    for turn in turns.rotations:
        assert np.allclose(turn @ turn.T, np.eye(5), atol=1e-10)


def test_stops_after_the_iterations_allowed():
    sets = [unit(rows(index)) for index in range(4)]
    turns = fit(sets, iterations=2, tolerance=0.0)
    assert len(turns.residuals) == 3
    assert not turns.converged


def test_one_teacher_is_its_own_consensus():
    turns = generalised_procrustes({}, 10, 1, 3, frame=0, iterations=5, tolerance=1e-9)
    assert np.array_equal(turns.rotations[0], np.eye(3))
    assert turns.residuals == [0.0]
