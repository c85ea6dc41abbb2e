"""Evaluation from vectors: ours and the peers' numbers agree, and rows say what was compared."""

import numpy as np
import pytest

from captionlab.speed import arithmetic
from captionlab.speed.rows import part_json


@pytest.fixture
def part(campaign_root, bench_spec, monkeypatch):
    monkeypatch.setattr(arithmetic, "WIDTH", 24)
    monkeypatch.setattr(arithmetic, "GEOMETRY_ROWS", 80)
    monkeypatch.setattr(arithmetic, "PEER_RESAMPLES", 6)
    return arithmetic.measure(bench_spec, campaign_root, 1)


def test_results_are_the_peers(part):
    suites, geometry, bootstrap = part.rows
    # FP32 cosines of the peer; its ties may break apart, so ranks move a little.
    assert suites.agreement < 1e-2
    assert geometry.agreement < 1e-6
    assert bootstrap.agreement < 1e-12


def test_rows_say_what_they_are(part, bench_spec):
    suites, geometry, bootstrap = part_json(part, bench_spec)["rows"]
    assert (suites["unit"], geometry["unit"], bootstrap["unit"]) == ("s", "s", "resamples/s")
    assert suites["size"].startswith("2 suites, 85 pairs")
    assert [row["less_is_better"] for row in (suites, geometry, bootstrap)] == [True, True, False]
    assert all(row["ratio"] > 0 for row in (suites, geometry, bootstrap))


def test_vectors_are_seeded_unit_rows():
    one = arithmetic.unit_vectors(5, 8, 1)
    assert one.dtype == np.float32
    assert np.linalg.norm(one, axis=1) == pytest.approx(np.ones(5), abs=1e-6)
    assert (one == arithmetic.unit_vectors(5, 8, 1)).all()
    assert (one != arithmetic.unit_vectors(5, 8, 2)).any()
