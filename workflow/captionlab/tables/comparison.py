"""Ours beside published: a difference wherever a number has a twin, and a plain word wherever it has none."""

from dataclasses import replace

from captionlab.tables.artifacts import Artifacts, development_file, geometry_file, suites_file
from captionlab.tables.cells import NOT_APPLICABLE, Cell, Column, Frame, Row, derived, text
from captionlab.tables.frames import LARGER, SAMPLES, suite_mean
from captionlab.tables.plan import Plan, PlannedRun
from captionlab.tables.prose import note
from captionlab.tables.published import Published, find
from captionlab.tables.uncertainty import mean_interval, suite_interval

DEVELOPMENT_SUITE = "STS-B-dev"
QUANTITIES = {
    "spearman": "Development Spearman",
    "teacher_cosine": "teacher cosine",
    "participation_rank": "participation rank",
    "self_cosine": "self cosine",
    "rows": "rows",
}


def has_twins(plan: Plan) -> bool:
    """Whether any number of this campaign is measured on the data of a published number."""
    names = {dict(row.keys)["suite"] for row in find("benchmarks")}
    return any(suite.name in names for suite in plan.suites)


def beside_published(plan: Plan, artifacts: Artifacts) -> Frame:
    """Every number with a published twin: ours, published, difference, and inside or outside our interval.

    For another size than the published one only what is measured on the same suites has a twin.
    """
    columns = (
        Column("table", "Table", machine_only=True),
        Column("recipe", "Recipe", machine_only=True),
        Column("option", "Option", machine_only=True),
        Column("model", "Recipe / option"),
        Column("seed", "Seed"),
        Column("quantity", "Number"),
        Column("ours", "Ours", 4),
        Column("published", "Published", 4),
        Column("difference", "Difference", 4, signed=True),
        Column("inside", "Inside"),
        Column("source", "Source", machine_only=True),
        Column("revision", "Revision", machine_only=True),
        Column("read", "Read", machine_only=True),
    )
    rows: list[Row] = []
    for run in plan.stage(LARGER):
        rows += [_row(plan, run, *twin) for twin in _benchmark_twins(plan, artifacts, run)]
        rows += [_row(plan, run, *twin) for twin in _development_twins(plan, artifacts, run)]
        if plan.published_size:
            rows += [_row(plan, run, *twin) for twin in _geometry_twins(artifacts, run)]
    words = (note("beside-published"),)
    return Frame("beside-published", "Beside the published numbers", columns, tuple(rows), words)


def remark(plan: Plan) -> str:
    """What a comparison with the published numbers means for this campaign."""
    if plan.published_size:
        return note("published-scale")
    return note("beside-other-size") if has_twins(plan) else note("beside-other-data")


def _benchmark_twins(
    plan: Plan, artifacts: Artifacts, run: PlannedRun
) -> list[tuple[str, str, Cell, Published]]:
    twins = []
    for published in _twins("benchmarks", run):
        suite = dict(published.keys)["suite"]
        if suite == "mean":
            if {row.name for row in plan.suites} >= _published_suites():
                ours = _with_interval(
                    suite_mean(plan, artifacts, suites_file(run)), mean_interval(artifacts, run.place)
                )
                twins.append(("benchmarks", "Mean", ours, published))
        elif suite in {row.name for row in plan.suites}:
            score = artifacts.cell(suites_file(run), "suites", suite, "spearman")
            ours = _with_interval(score, suite_interval(artifacts, run.place, suite))
            twins.append(("benchmarks", suite, ours, published))
    return twins


def _development_twins(
    plan: Plan, artifacts: Artifacts, run: PlannedRun
) -> list[tuple[str, str, Cell, Published]]:
    if plan.development_suite.name != DEVELOPMENT_SUITE:
        return []
    twins = []
    for published in _twins("development", run):
        key = dict(published.keys)["quantity"]
        if plan.published_size or key == "spearman":
            twins.append(
                ("development", QUANTITIES[key], artifacts.cell(development_file(run), key), published)
            )
    return twins


def _geometry_twins(artifacts: Artifacts, run: PlannedRun) -> list[tuple[str, str, Cell, Published]]:
    twins = []
    for published in _twins("geometry", run):
        keys = dict(published.keys)
        ours = artifacts.cell(geometry_file(run), "samples", keys["sample"], keys["quantity"])
        words = f"{SAMPLES[keys['sample']]}: {QUANTITIES[keys['quantity']]}"
        twins.append(("geometry", words, ours, published))
    return twins


def _twins(table: str, run: PlannedRun) -> tuple[Published, ...]:
    return find(table, recipe=run.recipe, option=run.option, seed=run.seed)


def _row(plan: Plan, run: PlannedRun, table: str, quantity: str, ours: Cell, published: Published) -> Row:
    number = ours.number
    difference = derived(None if number is None else number - published.number, (ours,))
    if number is None:
        inside = Cell(None)
    elif ours.interval is None:
        inside = text(NOT_APPLICABLE)
    else:
        low, high = ours.interval
        inside = text("inside" if low <= published.number <= high else "outside")
    keys = (text(table), text(run.recipe), text(run.option), text(plan.full_label(run)), text(run.seed))
    origin = (text(published.source), text(published.revision), text(published.read))
    places = len(published.printed.partition(".")[2])
    shown = tuple(replace(cell, decimals=places) for cell in (ours, Cell(published.number), difference))
    return Row((*keys, text(quantity), *shown, inside, *origin))


def _with_interval(score: Cell, bounded: Cell) -> Cell:
    return Cell(score.value, score.source, score.note, bounded.interval if score.value is not None else None)


def _published_suites() -> set[str]:
    return {dict(row.keys)["suite"] for row in find("benchmarks")} - {"mean"}
