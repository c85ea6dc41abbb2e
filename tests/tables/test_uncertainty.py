"""Intervals and comparisons come from the statistics file and nowhere else."""

import json
import shutil

import pytest

from captionlab.tables import comparison, uncertainty
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.plan import plan_from_spec


@pytest.fixture
def plan(plan_spec):
    return plan_from_spec(plan_spec)


def test_a_score_carries_its_interval(plan, results):
    cell = uncertainty.suite_interval(Artifacts(results), "larger/relative-16/seed-1", "BIOSSES")
    # The generator's half width is 1.5 / sqrt(100 pairs).
    assert cell.value == 0.5169
    assert cell.interval == pytest.approx((0.3669, 0.6669))
    assert cell.source is not None and cell.source.pointer.startswith("/rows/")


def test_differences_are_named_by_recipe_and_option(plan, results):
    frame = uncertainty.option_differences(plan, Artifacts(results))
    pairs = [(row.cells[0].value, row.cells[1].value) for row in frame.rows]
    assert pairs == [
        ("4M × 4 epochs / Hierarchical", "4M × 4 epochs / Relative 16 heads"),
        ("4M × 4 epochs / Hierarchical", "1M × 16 epochs / Hierarchical"),
        ("4M × 4 epochs / Relative 16 heads", "1M × 16 epochs / Hierarchical"),
    ]
    assert all(row.cells[2].value == "items | items" for row in frame.rows)


def test_the_smallest_suite_is_named_in_the_heading(plan, results):
    frame = uncertainty.mean_intervals(plan, Artifacts(results))
    assert [column.heading for column in frame.columns[2:]] == ["Mean", "Mean without BIOSSES"]
    assert len(frame.rows) == 10


def test_gains_stand_for_every_larger_run(plan, results):
    gains = uncertainty.untrained_gains(plan, Artifacts(results)).column("mean_difference")
    assert len(gains) == 6
    assert all(cell.interval is not None and cell.interval[0] > 0 for cell in gains)


def test_without_statistics_the_tables_show_gaps(plan, tmp_path):
    for frame in uncertainty.uncertainty(plan, Artifacts(tmp_path)):
        assert frame.rows
        assert all(row.cells[-1].value is None for row in frame.rows), frame.name


def test_inside_and_outside_the_interval(plan, results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "results")
    file = copy / "statistics/suites.json"
    statistics = json.loads(file.read_text())
    row = next(
        row
        for row in statistics["rows"]
        if row["model"] == "larger/hierarchical/seed-1" and row["suite"] == "STS-B"
    )
    row["low"], row["high"] = 0.50, 0.54
    file.write_text(json.dumps(statistics))
    frame = comparison.beside_published(plan, Artifacts(copy))
    inside = {
        (row.cells[1].value, row.cells[2].value, row.cells[4].value, row.cells[5].value): row.cells[9].value
        for row in frame.rows
    }
    # The card prints 0.5427 and 0.6536; the first lies above the narrowed interval.
    assert inside[("larger", "hierarchical", 1, "STS-B")] == "outside"
    assert inside[("larger", "hierarchical", 1, "SICK-R")] == "inside"
    assert inside[("larger", "hierarchical", 1, "teacher cosine")] == "–"


def test_the_published_campaign_compares_every_number_of_the_card(plan, results):
    frame = comparison.beside_published(plan, Artifacts(results))
    # 54 benchmark numbers, 18 of development, 48 of geometry.
    assert len(frame.rows) == 54 + 18 + 48
    assert {cell.value for cell in frame.column("revision")} == {"ad14b77f4cc9017d513173f3b340e735af02ef14"}


def test_another_size_compares_what_it_measures_on_the_same_data(tree, results):
    plan = plan_from_spec(tree.spec(published_size=False))
    frame = comparison.beside_published(plan, Artifacts(results))
    # Suites and the development suite are the published ones; captions and targets are not.
    assert len(frame.rows) == 54 + 6
