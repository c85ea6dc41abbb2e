"""What resampling says: intervals of scores, means and differences, and the spread over seeds beside them."""

from collections.abc import Mapping
from typing import Any

from captionlab.tables.artifacts import STATISTICS_FILE, Artifacts, pointer
from captionlab.tables.cells import NOT_APPLICABLE, Cell, Column, Frame, Row, Source, text
from captionlab.tables.frames import LARGER, grouped, selected_place
from captionlab.tables.plan import Plan, PlannedRun
from captionlab.tables.prose import note

_MODEL = (Column("model_key", "Model key", machine_only=True), Column("model", "Model"))


def uncertainty(plan: Plan, artifacts: Artifacts) -> tuple[Frame, ...]:
    """All tables of intervals, in the order they are read."""
    return (
        suite_intervals(plan, artifacts),
        mean_intervals(plan, artifacts),
        group_intervals(plan, artifacts),
        option_differences(plan, artifacts),
        untrained_gains(plan, artifacts),
        seed_spread(plan, artifacts),
    )


def interval_cell(artifacts: Artifacts, key: str, *path: str | int) -> Cell:
    """The value `key` at a place in the statistics with its bounds `low` and `high`."""
    value = artifacts.cell(STATISTICS_FILE, *path, key)
    low, high = (artifacts.cell(STATISTICS_FILE, *path, bound).number for bound in ("low", "high"))
    if value.number is None or low is None or high is None:
        return Cell(None)
    return Cell(value.value, Source(STATISTICS_FILE, pointer(*path)), interval=(low, high))


def suite_interval(artifacts: Artifacts, model: str, suite: str) -> Cell:
    """Spearman of one model on one suite with its interval."""
    place = _place(artifacts, "rows", model=model, suite=suite)
    return Cell(None) if place is None else interval_cell(artifacts, "spearman", "rows", place)


def mean_interval(artifacts: Artifacts, model: str) -> Cell:
    """The suite mean of one model with its interval."""
    place = _place(artifacts, "means", model=model)
    return Cell(None) if place is None else interval_cell(artifacts, "mean", "means", place)


def resamples(artifacts: Artifacts) -> str:
    """How many resamples the intervals rest on, as text."""
    number = artifacts.cell(STATISTICS_FILE, "resamples").number
    return "missing" if number is None else f"{number:,.0f}"


def suite_intervals(plan: Plan, artifacts: Artifacts) -> Frame:
    """Every larger run on every suite, with intervals."""
    columns = (*_MODEL, *(Column(suite.name, suite.label, 4) for suite in plan.suites))
    rows = []
    for run, name, label in _trained(plan, artifacts):
        cells = tuple(suite_interval(artifacts, name, suite.name) for suite in plan.suites)
        rows.append(Row((text(name), text(label), *cells), run.place == selected_place(artifacts)))
    words = (note("intervals", resamples=resamples(artifacts)),)
    return Frame("suite-intervals", "Suite scores with intervals", columns, tuple(rows), words)


def mean_intervals(plan: Plan, artifacts: Artifacts) -> Frame:
    """The suite mean of every larger run and reference, with and without the suite of fewest pairs."""
    columns = (
        *_MODEL,
        Column("mean", "Mean", 4),
        Column("without_smallest", f"Mean without {_smallest(plan, artifacts)}", 4),
    )
    models = [(run.place, plan.full_label(run) + f", seed {run.seed}") for run in plan.stage(LARGER)]
    models += [(f"reference/{row.name}", f"Reference / {row.label}") for row in plan.references]
    rows = []
    for name, label in models:
        place = _place(artifacts, "means", model=name)
        without = Cell(None)
        if place is not None:
            without = interval_cell(artifacts, "mean", "means", place, "without_smallest")
        marked = name == selected_place(artifacts)
        rows.append(Row((text(name), text(label), mean_interval(artifacts, name), without), marked))
    words = (note("means", smallest=_smallest(plan, artifacts)),)
    return Frame("mean-intervals", "Means with intervals", columns, tuple(rows), words)


def group_intervals(plan: Plan, artifacts: Artifacts) -> Frame:
    """The mean over seeds of every recipe and option, with its interval."""
    columns = (
        *_MODEL,
        Column("seeds", "Seeds"),
        Column("over", "Over"),
        Column("mean", "Mean over seeds", 4),
        Column("without_smallest", f"Without {_smallest(plan, artifacts)}", 4),
    )
    rows = []
    for group in grouped(plan.stage(LARGER)):
        name = f"{group[0].recipe}/{group[0].option}"
        place = _place(artifacts, "groups", group=name)
        cells = (Cell(None), Cell(None), Cell(None))
        if place is not None:
            path = ("groups", place)
            over = artifacts.cell(STATISTICS_FILE, *path, "over")
            without = interval_cell(artifacts, "mean", *path, "without_smallest")
            cells = (over, interval_cell(artifacts, "mean", *path), without)
        rows.append(Row((text(name), text(plan.full_label(group[0])), text(len(group)), *cells)))
    return Frame("group-intervals", "Pair means with intervals", columns, tuple(rows), (note("groups"),))


def option_differences(plan: Plan, artifacts: Artifacts) -> Frame:
    """Differences of seed means between recipes and options, paired over items."""
    columns = (
        Column("a", "A"),
        Column("b", "B"),
        Column("over", "Over"),
        Column("mean_difference", "A − B, mean", 4, signed=True),
        Column("without_smallest", f"Without {_smallest(plan, artifacts)}", 4, signed=True),
    )
    rows = []
    for place, entry in enumerate(_entries(artifacts, "differences")):
        if entry["kind"] == "groups":
            names = tuple(text(_group_label(plan, entry[side])) for side in ("a", "b"))
            rows.append(Row((*names, text(entry["over"]), *_difference(artifacts, place))))
    if not rows:
        rows = [Row((Cell(None),) * len(columns))]
    return Frame("option-differences", "Differences of options", columns, tuple(rows), (note("differences"),))


def untrained_gains(plan: Plan, artifacts: Artifacts) -> Frame:
    """What training added to each larger run over its own untrained initialisation."""
    columns = (
        *_MODEL,
        Column("mean_difference", "Gain in the mean", 4, signed=True),
        Column("without_smallest", f"Without {_smallest(plan, artifacts)}", 4, signed=True),
    )
    rows = []
    for run, name, label in _trained(plan, artifacts):
        place = _place(artifacts, "differences", kind="untrained", a=name)
        cells = (Cell(None), Cell(None)) if place is None else _difference(artifacts, place)
        rows.append(Row((text(name), text(label), *cells), run.place == selected_place(artifacts)))
    return Frame("untrained-gains", "Gain over own initialisation", columns, tuple(rows), (note("gains"),))


def seed_spread(plan: Plan, artifacts: Artifacts) -> Frame:
    """The suite mean under every seed of a recipe and option, and their spread."""
    columns = (
        *_MODEL,
        Column("n", "Seeds"),
        Column("values", "Mean under each seed"),
        Column("spread", "Spread", 4),
    )
    rows = []
    for group in grouped(plan.stage(LARGER)):
        name = f"{group[0].recipe}/{group[0].option}"
        place = _place(artifacts, "seeds", group=name)
        if place is None:
            cells = (Cell(None), Cell(None))
        else:
            values = _entries(artifacts, "seeds")[place]["values"]
            written = ", ".join(f"{value:.4f}" for value in values)
            source = Source(STATISTICS_FILE, pointer("seeds", place, "values"))
            cells = (Cell(written, source), artifacts.cell(STATISTICS_FILE, "seeds", place, "spread"))
        rows.append(Row((text(name), text(plan.full_label(group[0])), text(len(group)), *cells)))
    return Frame("seed-spread", "Spread over seeds", columns, tuple(rows), (note("seed-spread"),))


def _trained(plan: Plan, artifacts: Artifacts) -> list[tuple[PlannedRun, str, str]]:
    return [(run, run.place, f"{plan.full_label(run)}, seed {run.seed_label}") for run in plan.stage(LARGER)]


def _entries(artifacts: Artifacts, part: str) -> list[Mapping[str, Any]]:
    document = artifacts.document(STATISTICS_FILE)
    entries: list[Mapping[str, Any]] = document[part] if document else []
    return entries


def _place(artifacts: Artifacts, part: str, **wanted: str) -> int | None:
    for place, entry in enumerate(_entries(artifacts, part)):
        if all(entry.get(key) == value for key, value in wanted.items()):
            return place
    return None


def _difference(artifacts: Artifacts, place: int) -> tuple[Cell, Cell]:
    key, path = "mean_difference", ("differences", place)
    return (
        interval_cell(artifacts, key, *path),
        interval_cell(artifacts, key, *path, "without_smallest"),
    )


def _smallest(plan: Plan, artifacts: Artifacts) -> str:
    for entry in _entries(artifacts, "means"):
        if entry.get("without_smallest"):
            name = str(entry["without_smallest"]["suite"])
            return next((suite.label for suite in plan.suites if suite.name == name), name)
    return "the smallest suite"


def _group_label(plan: Plan, name: str) -> str:
    for run in plan.stage(LARGER):
        if f"{run.recipe}/{run.option}" == name:
            return plan.full_label(run)
    return name or NOT_APPLICABLE
