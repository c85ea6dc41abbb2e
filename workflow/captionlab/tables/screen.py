"""The screen: every option, seed and repeat on development numbers, and how each looks up earlier words."""

from captionlab.tables.artifacts import Artifacts, development_file, lookup_file
from captionlab.tables.cells import Cell, Column, Frame, Row, mean, text
from captionlab.tables.frames import grouped, harmonics_cell
from captionlab.tables.plan import Plan, PlannedRun
from captionlab.tables.prose import note

SCREEN = "screen"
_KEYS = (
    Column("recipe", "Recipe", machine_only=True),
    Column("option", "Option", machine_only=True),
    Column("repeat", "Repeat", machine_only=True),
    Column("model", "Option"),
    Column("seed", "Seed"),
)


def screen(plan: Plan, artifacts: Artifacts) -> Frame:
    """Development numbers of every screen run, repeats included."""
    columns = (
        *_KEYS,
        Column("harmonics", "K"),
        Column("additions", "Additions"),
        Column("parameters", "Parameters"),
        Column("spearman", f"Dev {plan.development_suite.label}", 5),
        Column("teacher_cosine", "Dev teacher cosine", 5),
        Column("participation_rank", "Dev participation rank", 2),
        Column("pairs", "Pairs"),
        Column("rows", "Rows"),
    )
    keys = (
        "additions",
        "parameters",
        "spearman",
        "teacher_cosine",
        "participation_rank",
        "pairs",
        "rows",
    )
    rows = []
    for run in plan.stage(SCREEN):
        cells = tuple(artifacts.cell(development_file(run), key) for key in keys)
        rows.append(Row((*_keys(run), harmonics_cell(artifacts, run), *cells)))
    return Frame("screen", "Screen", columns, tuple(rows))


def screen_means(plan: Plan, artifacts: Artifacts) -> Frame:
    """Seed means of the screen's development numbers; repeats stand apart and are not averaged in."""
    columns = (
        Column("option", "Option", machine_only=True),
        Column("model", "Option"),
        Column("seeds", "Seeds"),
        Column("spearman", f"Mean dev {plan.development_suite.label}", 5),
        Column("seed_spread", "Seed spread", 5),
        Column("repeat_spread", "Repeat spread", 5),
        Column("teacher_cosine", "Mean dev teacher cosine", 5),
        Column("participation_rank", "Mean dev participation rank", 2),
    )
    runs = plan.stage(SCREEN)
    rows = []
    for group in grouped(runs):
        measured = _measured(artifacts, group, "spearman")
        numbers = [cell.number for cell in measured if cell.number is not None]
        seeds = len(group) if len(numbers) == len(group) else f"{len(numbers)} of {len(group)}"
        averages = (
            Cell(mean(_measured(artifacts, group, key)).value)
            for key in ("teacher_cosine", "participation_rank")
        )
        spread = Cell(max(numbers) - min(numbers)) if numbers else Cell(None)
        repeats = _repeat_spread(artifacts, runs, group)
        cells = (text(group[0].option), text(group[0].label), text(seeds), Cell(mean(measured).value))
        rows.append(Row((*cells, spread, repeats, *averages)))
    notes = (note("screen-means"),)
    return Frame("screen-means", "Screen means over seeds", columns, tuple(rows), notes)


def lookup(plan: Plan, artifacts: Artifacts) -> Frame:
    """How often the designated head's strongest earlier word is right, for every run."""
    columns = (
        *_KEYS,
        Column("stage", "Stage"),
        Column("rows", "Rows"),
        Column("captions", "Captions"),
        Column("queries", "Queries"),
        Column("correct", "Correct"),
        Column("accuracy", "Accuracy", 4),
        Column("mean_probability", "Mean probability", 6),
        Column("mean_probability_path_removed", "Mean probability, path removed", 6),
    )
    rows = []
    for run in plan.runs:
        file = lookup_file(run)
        keys = ("rows", "captions", "queries", "correct", "accuracy", "mean_probability")
        cells = tuple(artifacts.cell(file, key) for key in keys)
        removed = _path_removed(artifacts, file)
        rows.append(Row((*_keys(run), text(run.stage), *cells, removed)))
    notes = (note("lookup"),)
    return Frame("lookup", "Lookup reading", columns, tuple(rows), notes)


def _keys(run: PlannedRun) -> tuple[Cell, ...]:
    return (text(run.recipe), text(run.option), text(run.repeat), text(run.label), text(run.seed_label))


def _measured(artifacts: Artifacts, runs: tuple[PlannedRun, ...], key: str) -> tuple[Cell, ...]:
    return tuple(artifacts.cell(development_file(run), key) for run in runs)


def _repeat_spread(artifacts: Artifacts, runs: tuple[PlannedRun, ...], group: tuple[PlannedRun, ...]) -> Cell:
    originals = {run.seed: artifacts.cell(development_file(run), "spearman").number for run in group}
    repeats = [run for run in runs if run.repeat and run.option == group[0].option]
    if not repeats:
        return text("–")
    differences = []
    for run in repeats:
        again, first = artifacts.cell(development_file(run), "spearman").number, originals.get(run.seed)
        if again is not None and first is not None:
            differences.append(abs(again - first))
    return Cell(max(differences)) if differences else Cell(None)


def _path_removed(artifacts: Artifacts, file: str) -> Cell:
    document = artifacts.document(file)
    if document is not None and document.get("path_removed") is None:
        return text("–")
    return artifacts.cell(file, "path_removed", "mean_probability")
