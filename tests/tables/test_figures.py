"""Figures: same table, same bytes; every figure stands on an opaque ground and keeps its numbers beside it."""

import xml.etree.ElementTree as ElementTree
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from captionlab.tables import figure_frames
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.figure_names import FIGURES
from captionlab.tables.figures import draw, figure_frame
from captionlab.tables.plan import plan_from_spec


@pytest.fixture(scope="module")
def plan(plan_spec):
    return plan_from_spec({**plan_spec, "chunks": ["000", "060", "061"], "teachers": ["minilm-l6"]})


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_twice_alike_and_opaque(plan, results, name):
    frame = figure_frame(name, plan, Artifacts(results))
    assert frame.rows
    first, second = draw(frame), draw(frame)
    assert first == second
    root = ElementTree.fromstring(first["svg"])
    assert root.tag.endswith("svg")
    assert b"date" not in first["svg"]
    image = Image.open(BytesIO(first["png"])).convert("RGBA")
    pixels = np.asarray(image)
    assert (pixels[..., 3] == 255).all()
    assert tuple(pixels[0, 0]) == (255, 255, 255, 255)
    assert "Software" not in image.info
    assert (pixels[..., :3].min(axis=2) < 128).mean() > 0.002


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "stages"])
def test_a_figure_without_results_says_so(plan, tmp_path, name):
    drawn = draw(figure_frame(name, plan, Artifacts(tmp_path)))
    assert drawn["png"].startswith(b"\x89PNG")


def test_training_curves_keep_every_run_and_the_mean(plan, results):
    frame = figure_frames.training_curves(plan, Artifacts(results))
    runs = {tuple(cell.value for cell in row.cells[:6]) for row in frame.rows}
    assert len(runs) == 16
    assert len(frame.rows) <= 16 * figure_frames.POINTS


def test_a_long_history_is_thinned_to_means(plan_spec, tmp_path):
    plan = plan_from_spec({**plan_spec, "runs": plan_spec["runs"][:1]})
    folder = tmp_path / "runs/screen/relative-8/seed-1"
    folder.mkdir(parents=True)
    lines = "".join(f'{{"step": {step}, "loss": {step}.0}}\n' for step in range(1, 241))
    (folder / "history.jsonl").write_text(lines)
    frame = figure_frames.training_curves(plan, Artifacts(tmp_path))
    # 240 steps in 120 stretches of two: the first mean is of steps 1 and 2.
    assert len(frame.rows) == 120
    assert (frame.column("step")[0].value, frame.column("loss")[0].value) == (1.5, 1.5)


def test_lookup_distances_are_binned_by_hand(plan_spec, tmp_path):
    plan = plan_from_spec({**plan_spec, "runs": plan_spec["runs"][:1]})
    folder = tmp_path / "evaluation/screen/relative-8/seed-1"
    folder.mkdir(parents=True)
    (folder / "lookup.json").write_text('{"source": "061", "head": 0}')
    queries = [
        ("061", 0, 2, 0.5),
        ("061", 0, 1, 0.7),
        ("061", 0, 3, 0.1),
        ("061", 1, 2, 0.9),
        ("other", 0, 2, 0.9),
    ]
    lines = (
        f'{{"source": "{source}", "head": {head}, "distance": {distance}, "probability": {probability}}}\n'
        for source, head, distance, probability in queries
    )
    (folder / "lookup-queries.jsonl").write_text("".join(lines))
    frame = figure_frames.lookup_by_distance(plan, Artifacts(tmp_path))
    bins = [tuple(cell.value for cell in row.cells[6:]) for row in frame.rows]
    assert bins == [(1, 2, 2, pytest.approx(0.6)), (3, 4, 1, pytest.approx(0.1))]


def test_the_spectrum_is_cumulative(plan, results):
    cells = figure_frames.spectrum(plan, Artifacts(results)).column("cumulative")[:3]
    assert [cell.value for cell in cells] == pytest.approx([0.02, 0.0398, 0.059402])


def test_stages_count_what_the_campaign_holds(plan, results):
    frame = figure_frame("stages", plan, Artifacts(results))
    counts = {row.cells[0].value: row.cells[1].value for row in frame.rows}
    assert (counts["screen"], counts["larger"], counts["evaluation"]) == (10, 6, 16)
    assert (counts["chunks"], counts["suites"], counts["references"]) == (3, 9, 4)
