"""What each figure shows, as a table: the figure is drawn from it and it is kept as the figure's CSV."""

import json
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from captionlab.tables.artifacts import (
    ALIGNMENT_FILE,
    Artifacts,
    development_file,
    geometry_file,
    history_file,
    lookup_file,
    queries_file,
    reference_file,
    suites_file,
)
from captionlab.tables.cells import Cell, Column, Frame, Row, text
from captionlab.tables.frames import LARGER, SAMPLES, selected_place, suite_mean
from captionlab.tables.plan import Plan, PlannedRun
from captionlab.tables.uncertainty import mean_interval, suite_interval

POINTS = 120
DISTANCES = ((1, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 64), (65, 8192))
_RUN = (
    Column("stage", "Stage"),
    Column("recipe", "Recipe"),
    Column("option", "Option"),
    Column("label", "Label"),
    Column("seed", "Seed"),
    Column("repeat", "Repeat"),
)


def training_curves(plan: Plan, artifacts: Artifacts) -> Frame:
    """Loss of every run, the mean over at most `POINTS` equal stretches of its steps."""
    rows = []
    for run in plan.runs:
        losses = [
            (line["step"], line["loss"]) for line in _lines(artifacts, history_file(run)) if "loss" in line
        ]
        for step, loss in _thinned(losses):
            rows.append(Row((*_run_cells(plan, run), Cell(step), Cell(loss))))
    columns = (*_RUN, Column("step", "Step"), Column("loss", "Loss", 4))
    return Frame("training-curves", "Training loss", columns, tuple(rows))


def development_curves(plan: Plan, artifacts: Artifacts) -> Frame:
    """Development Spearman and teacher cosine of every run at its declared steps."""
    columns = (
        *_RUN,
        Column("step", "Step"),
        Column("spearman", "Spearman", 5),
        Column("teacher_cosine", "Teacher cosine", 5),
    )
    rows = []
    for run in plan.runs:
        document = artifacts.document(development_file(run))
        for entry in document.get("evaluations", []) if document else []:
            values = (Cell(entry["step"]), Cell(entry["spearman"]), Cell(entry.get("teacher_cosine")))
            rows.append(Row((*_run_cells(plan, run), *values)))
    return Frame("development-curves", "Development during training", columns, tuple(rows))


def development_against_test(plan: Plan, artifacts: Artifacts) -> Frame:
    """Development Spearman beside the suite mean of every larger run."""
    columns = (
        *_RUN,
        Column("selected", "Selected"),
        Column("development", "Development Spearman", 5),
        Column("test", "Suite mean", 4),
    )
    rows = []
    for run in plan.stage(LARGER):
        development = artifacts.cell(development_file(run), "spearman")
        test = suite_mean(plan, artifacts, suites_file(run))
        marked = run.place == selected_place(artifacts)
        rows.append(Row((*_run_cells(plan, run), text(marked), development, test), marked))
    return Frame("development-against-test", "Development against test", columns, tuple(rows))


def suite_scores(plan: Plan, artifacts: Artifacts) -> Frame:
    """Scores with intervals of every larger run and reference on every suite and in the mean."""
    columns = (
        Column("model", "Model"),
        Column("label", "Label"),
        Column("kind", "Kind"),
        Column("suite", "Suite"),
        Column("spearman", "Spearman", 4),
    )
    rows = []
    for name, label, kind, file in _models(plan):
        for suite in plan.suites:
            cell = suite_interval(artifacts, name, suite.name)
            if cell.value is None:
                cell = artifacts.cell(file, "suites", suite.name, "spearman")
            rows.append(Row((text(name), text(label), text(kind), text(suite.label), cell)))
        cell = mean_interval(artifacts, name)
        if cell.value is None:
            cell = suite_mean(plan, artifacts, file)
        rows.append(Row((text(name), text(label), text(kind), text("Mean"), cell)))
    return Frame("suite-scores", "Suite scores with 95% intervals", columns, tuple(rows))


def spectrum(plan: Plan, artifacts: Artifacts) -> Frame:
    """Cumulative share of caption variance by component, test sample, of every larger run."""
    columns = (*_RUN, Column("component", "Component"), Column("cumulative", "Cumulative share", 6))
    rows = []
    for run in plan.stage(LARGER):
        document = artifacts.document(geometry_file(run))
        sample = document["samples"].get("test:all", {}) if document else {}
        for place, share in enumerate(accumulate(sample.get("variance_shares") or ()), start=1):
            rows.append(Row((*_run_cells(plan, run), Cell(place), Cell(share))))
    return Frame("spectrum", "Covariance spectrum of captions", columns, tuple(rows))


def participation(plan: Plan, artifacts: Artifacts) -> Frame:
    """Participation rank of every larger run on each caption sample."""
    columns = (
        *_RUN,
        Column("sample", "Sample"),
        Column("rows", "n"),
        Column("rank", "Participation rank", 3),
    )
    rows = []
    for run in plan.stage(LARGER):
        for sample in SAMPLES:
            path = ("samples", sample)
            count, rank = (
                artifacts.cell(geometry_file(run), *path, key) for key in ("rows", "participation_rank")
            )
            rows.append(Row((*_run_cells(plan, run), text(SAMPLES[sample]), count, rank)))
    return Frame("participation", "Participation rank", columns, tuple(rows))


def lookup_by_distance(plan: Plan, artifacts: Artifacts) -> Frame:
    """Mean probability on the correct records by the distance in tokens to the nearest, for every run."""
    columns = (
        *_RUN,
        Column("first", "From"),
        Column("last", "To"),
        Column("queries", "Queries"),
        Column("probability", "Mean probability", 6),
    )
    rows = []
    for run in plan.runs:
        document = artifacts.document(lookup_file(run)) or {}
        held: dict[tuple[int, int], list[float]] = {span: [] for span in DISTANCES}
        for query in _lines(artifacts, queries_file(run)):
            if query["source"] == document.get("source") and query["head"] == document.get("head"):
                span = next(span for span in DISTANCES if query["distance"] <= span[1])
                held[span].append(query["probability"])
        for (first, last), values in held.items():
            if values:
                cells = (Cell(first), Cell(last), Cell(len(values)), Cell(sum(values) / len(values)))
                rows.append(Row((*_run_cells(plan, run), *cells)))
    return Frame("lookup-distance", "Lookup probability by distance", columns, tuple(rows))


def consensus(plan: Plan, artifacts: Artifacts) -> Frame:
    """Each teacher's cosine to the consensus before and after alignment, and the residual by iteration."""
    columns = (
        Column("quantity", "Quantity"),
        Column("name", "Teacher or sweep"),
        Column("value", "Value", 6),
    )
    rows = []
    document = artifacts.document(ALIGNMENT_FILE) or {}
    for teacher, entry in document.get("teachers", {}).items():
        for key in ("cosine_before", "cosine_after"):
            rows.append(Row((text(key), text(teacher), Cell(entry[key]))))
    for place, residual in enumerate(document.get("residuals", [])):
        rows.append(Row((text("residual"), text(str(place)), Cell(residual))))
    return Frame("consensus", "Consensus of the teachers", columns, tuple(rows))


def _models(plan: Plan) -> Iterator[tuple[str, str, str, str]]:
    for run in plan.stage(LARGER):
        yield run.place, f"{plan.full_label(run)}, seed {run.seed_label}", "run", suites_file(run)
    for reference in plan.references:
        yield f"reference/{reference.name}", reference.label, "reference", reference_file(reference.name)


def _run_cells(plan: Plan, run: PlannedRun) -> tuple[Cell, ...]:
    label = run.label if run.stage != LARGER else plan.full_label(run)
    words = (run.stage, run.recipe, run.option, label, run.seed, run.repeat)
    return tuple(text(word) for word in words)


def _lines(artifacts: Artifacts, file: str) -> Iterator[dict[str, Any]]:
    path = artifacts.root / file
    if path.is_file():
        with path.open(encoding="utf-8") as handle:
            for line in handle:
                yield json.loads(line)


def _thinned(values: list[tuple[int, float]]) -> Iterator[tuple[float, float]]:
    stretch = max(1, -(-len(values) // POINTS))
    for start in range(0, len(values), stretch):
        part = values[start : start + stretch]
        yield sum(step for step, _ in part) / len(part), sum(loss for _, loss in part) / len(part)
