"""The run table: every planned run is a row, whatever became of it."""

import json
import shutil

import pytest

from captionlab.tables.artifacts import Artifacts
from captionlab.tables.plan import plan_from_spec
from captionlab.tables.runs import run_groups, runs


@pytest.fixture
def plan(plan_spec):
    return plan_from_spec(plan_spec)


@pytest.fixture
def copy(results, tmp_path):
    return shutil.copytree(results, tmp_path / "results")


def statuses(plan, root):
    frame = runs(plan, Artifacts(root))
    return {
        f"{row.cells[1].value}/{row.cells[2].value}/{row.cells[3].value}.{row.cells[4].value}": row.cells[
            5
        ].value
        for row in frame.rows
    }


def test_each_status(plan, copy):
    shutil.rmtree(copy / "runs/larger/hierarchical/seed-1")
    (copy / "state/larger/hierarchical/seed-1").mkdir(parents=True)
    shutil.rmtree(copy / "runs/larger/hierarchical/seed-2")
    (copy / "evaluation/larger/relative-16/seed-1/suites.json").unlink()
    found = statuses(plan, copy)
    assert found["larger/hierarchical/1.0"] == "unfinished"
    assert found["larger/hierarchical/2.0"] == "missing"
    assert found["larger/relative-16/1.0"] == "trained"
    assert found["larger/relative-16/2.0"] == "complete"
    assert len(found) == 16


def test_spec_and_digests_stand_in_the_csv(plan, results):
    row = runs(plan, Artifacts(results)).rows[0]
    assert json.loads(row.cells[-1].value)["training"] == {"batch": 2048}
    assert row.cells[-2].value == "0f" * 32


def test_means_and_sd_by_hand(plan, results):
    groups = run_groups(plan, Artifacts(results))
    row = next(row for row in groups.rows if row.cells[1].value == "larger")
    # The card's hierarchical pair: 0.68295 and 0.68854; sd = difference / sqrt 2.
    assert row.cells[3].value == "2 of 2"
    assert row.cells[4].number == pytest.approx(0.685745)
    assert row.cells[5].number == pytest.approx(0.00559 / 2**0.5)


def test_a_lost_seed_lowers_n_and_takes_the_sd(plan, copy):
    shutil.rmtree(copy / "runs/larger/hierarchical/seed-2")
    groups = run_groups(plan, Artifacts(copy))
    row = next(row for row in groups.rows if row.cells[1].value == "larger")
    assert [row.cells[place].value for place in (3, 5)] == ["1 of 2", "–"]


def test_repeats_are_rows_but_not_in_means(plan, results):
    assert sum(cell.value == 1 for cell in runs(plan, Artifacts(results)).column("repeat")) == 2
    groups = run_groups(plan, Artifacts(results))
    row = next(row for row in groups.rows if row.cells[2].value == "relative-16")
    assert row.cells[3].value == "2 of 2"
