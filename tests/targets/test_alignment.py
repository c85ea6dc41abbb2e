"""The fit as a whole: against an independent computation from all rows, and invariances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes, sqrtm
from scipy.stats import ortho_group

from captionlab.errors import ConfigError, DamagedFileError, MissingFileError
from captionlab.targets.alignment import fit_alignment, load_alignment, save_alignment

SETTINGS = {"iterations": 300, "tolerance": 1e-14, "ridge": 1e-6}


def make(seed, widths, count=200):
    """Teachers that see the same six facts of a caption, each in its own way, with noise."""
    random = np.random.default_rng(seed)
    facts = random.normal(size=(count, 6)) * [3, 2, 2, 1, 1, 1]
    return {
        f"t{index}": facts @ random.normal(size=(6, width))
        + 0.3 * random.normal(size=(count, width))
        + random.normal(size=width)
        for index, width in enumerate(widths)
    }


def fit(sets, width, block=64, **changes):
    def read(name):
        return (sets[name][start : start + block] for start in range(0, len(sets[name]), block))

    return fit_alignment(list(sets), read, target_width=width, **(SETTINGS | changes))


def consensus(found, sets):
    return found.alignment.consensus(sets, 0, "test")[0]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_two_teachers_equal_the_formula_on_all_rows(seed):
    sets = make(seed, [8, 8])
    found = fit(sets, 8)
    # Computed apart: scipy's matrix root and Procrustes on whole arrays, source t1 onto target t0.
    centred = {name: data - data.mean(0) for name, data in sets.items()}
    white = {}
    for name, data in centred.items():
        covariance = np.cov(data, rowvar=False)
        white[name] = np.linalg.inv(np.real(sqrtm(covariance + 1e-6 * np.trace(covariance) / 8 * np.eye(8))))
    unit = {name: data @ white[name] for name, data in centred.items()}
    unit = {name: data / np.linalg.norm(data, axis=1, keepdims=True) for name, data in unit.items()}
    turn, _ = orthogonal_procrustes(unit["t1"], unit["t0"])
    moved = centred["t1"] @ white["t1"] @ turn @ np.linalg.pinv(white["t0"]) + sets["t0"].mean(0)
    expected = (sets["t0"] + moved) / 2
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.allclose(consensus(found, sets), expected, atol=1e-6)
    cosine = np.mean(np.sum(moved * expected, axis=1) / np.linalg.norm(moved, axis=1))
    agreement = found.agreement.as_json()
    assert agreement["t1"]["cosine_after"] == pytest.approx(cosine, abs=1e-6)
    before = np.mean(np.sum(sets["t1"] * expected, axis=1) / np.linalg.norm(sets["t1"], axis=1))
    assert agreement["t1"]["cosine_before"] == pytest.approx(before, abs=1e-6)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_turning_moving_and_scaling_a_teacher_leaves_the_consensus(seed):
    sets = make(seed, [6, 6, 6])
    turn = ortho_group.rvs(6, random_state=seed)
    other = sets | {"t2": 4.0 * sets["t2"] @ turn + 7.0}
    assert np.allclose(consensus(fit(sets, 6), sets), consensus(fit(other, 6), other), atol=1e-5)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_a_linear_copy_of_the_frame_gives_the_frame_back(seed):
    sets = make(seed, [6])
    random = np.random.default_rng(seed)
    sets["t1"] = sets["t0"] @ (random.normal(size=(6, 6)) + 4 * np.eye(6))
    expected = sets["t0"] / np.linalg.norm(sets["t0"], axis=1, keepdims=True)
    assert np.allclose(consensus(fit(sets, 6, ridge=0.0), sets), expected, atol=1e-5)


def test_unit_rows_and_the_same_bytes_again_whatever_the_order_of_reading(tmp_path):
    sets = make(1, [9, 6, 4])
    found = fit(sets, 6)
    assert np.allclose(np.linalg.norm(consensus(found, sets), axis=1), 1, atol=1e-14)
    save_alignment(tmp_path / "a.safetensors", found)
    save_alignment(tmp_path / "b.safetensors", fit(sets, 6))
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()


def test_other_widths_reach_the_target():
    sets = make(2, [4, 9, 6])
    found = fit(sets, 6)
    # The first teacher is narrower than the target: the next one lends its frame.
    assert found.frame == "t1"
    assert [by.map for by in found.whitenings.values()] == ["padding", "pca", "identity"]
    agreement = found.agreement.as_json()
    assert agreement["t0"]["cosine_before"] is None
    assert agreement["t2"]["cosine_before"] is not None
    assert min(row["cosine_after"] for row in agreement.values()) > 0.7


def test_a_target_wider_than_every_teacher_is_refused():
    with pytest.raises(ConfigError, match="wider than every teacher"):
        fit(make(0, [4, 5]), 6)


def test_alignment_survives_its_file(tmp_path):
    sets = make(3, [6, 6])
    found = fit(sets, 6)
    save_alignment(tmp_path / "a.safetensors", found)
    loaded = load_alignment(tmp_path / "a.safetensors", ["t0", "t1"])
    assert np.array_equal(loaded.consensus(sets, 0, "test")[0], consensus(found, sets))


def test_alignment_of_other_teachers_is_refused(tmp_path):
    save_alignment(tmp_path / "a.safetensors", fit(make(3, [6, 6]), 6))
    with pytest.raises(DamagedFileError, match="t0, t1; asked for t0, t9"):
        load_alignment(tmp_path / "a.safetensors", ["t0", "t9"])
    (tmp_path / "a.safetensors").write_bytes(b"short")
    with pytest.raises(DamagedFileError, match="not a safetensors file"):
        load_alignment(tmp_path / "a.safetensors", ["t0", "t1"])
    with pytest.raises(MissingFileError):
        load_alignment(tmp_path / "b.safetensors", ["t0", "t1"])
