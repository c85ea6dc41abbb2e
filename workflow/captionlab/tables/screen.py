"""The screen: every option, seed and repeat on development numbers, and how each looks up earlier words."""

from dataclasses import replace

from captionlab.tables.artifacts import Artifacts, development_file, lookup_file, suites_file
from captionlab.tables.cells import Cell, Column, Frame, Row, derived, mean, text
from captionlab.tables.frames import grouped, harmonics_cell, seed_spread
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
_READING = ("captions", "queries", "correct", "accuracy", "mean_probability", "chance")
_READING_COLUMNS = (
    Column("captions", "Captions"),
    Column("queries", "Queries"),
    Column("correct", "Correct"),
    Column("accuracy", "Accuracy", 4),
    Column("mean_probability", "Mean probability", 6),
    Column("chance", "Chance", 4),
    Column("accuracy_at_birth", "Accuracy, at birth", 4),
    Column("mean_probability_at_birth", "Probability, at birth", 6),
    Column("accuracy_path_removed", "Accuracy, path removed", 4),
    Column("mean_probability_path_removed", "Probability, path removed", 6),
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
    return Frame("screen", "Screen runs", columns, tuple(rows))


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
            replace(mean(_measured(artifacts, group, key)), note="")
            for key in ("teacher_cosine", "participation_rank")
        )
        spread = seed_spread(measured)
        repeats = _repeat_spread(artifacts, runs, group)
        cells = (text(group[0].option), text(group[0].label), text(seeds), replace(mean(measured), note=""))
        rows.append(Row((*cells, spread, repeats, *averages)))
    notes = (note("screen-means"),)
    return Frame("screen-means", "Screen means over seeds", columns, tuple(rows), notes)


def screen_suites(plan: Plan, artifacts: Artifacts) -> Frame:
    """The suites that screen runs are read on (they test binding), with the binding path on and off."""
    columns = [*_KEYS, Column("ceiling", "Ceiling")]
    for name in plan.screen_suites:
        label = plan.suite_label(name)
        columns += [Column(f"{name}_pairs", "n"), Column(name, label, 4)]
        columns.append(Column(f"{name}_path_removed", f"{label}, path removed", 4))
    rows = []
    for run in plan.stage(SCREEN):
        file = suites_file(run)
        cells = [artifacts.cell(file, "ceiling")]
        for name in plan.screen_suites:
            cells += [artifacts.cell(file, "suites", name, key) for key in ("pairs", "spearman")]
            cells.append(_removed(artifacts, file, "suites", name, "spearman"))
        rows.append(Row((*_keys(run), *cells)))
    return Frame(
        "screen-suites", "Suites of the screen", tuple(columns), tuple(rows), (note("screen-suites"),)
    )


def lookup(plan: Plan, artifacts: Artifacts) -> Frame:
    """How often the designated head's strongest earlier word is right, for every run."""
    rows = []
    for run in plan.runs:
        file = lookup_file(run)
        cells = tuple(artifacts.cell(file, key) for key in ("rows", *_READING))
        beside = _beside(artifacts, file)
        rows.append(Row((*_keys(run, _label(plan, run)), text(run.stage), *cells, *beside)))
    columns = (*_KEYS, Column("stage", "Stage"), Column("rows", "Rows"), *_READING_COLUMNS)
    return Frame("lookup", "Lookup reading of development captions", columns, tuple(rows), (note("lookup"),))


def lookup_suites(plan: Plan, artifacts: Artifacts) -> Frame:
    """The same reading on the sentences of suites, for every run that was read there."""
    rows = []
    for run in plan.runs:
        file = lookup_file(run)
        document = artifacts.document(file)
        for name in document.get("suites", {}) if document else ():
            cells = tuple(artifacts.cell(file, "suites", name, key) for key in ("rows", *_READING))
            beside = _beside(artifacts, file, "suites", name)
            suite = text(plan.suite_label(name))
            rows.append(Row((*_keys(run, _label(plan, run)), text(run.stage), suite, *cells, *beside)))
    head = (Column("stage", "Stage"), Column("suite", "Suite"), Column("rows", "Sentences"))
    return Frame("lookup-suites", "Lookup reading on suites", (*_KEYS, *head, *_READING_COLUMNS), tuple(rows))


def _keys(run: PlannedRun, label: str = "") -> tuple[Cell, ...]:
    words = (run.recipe, run.option, run.repeat, label or run.label, run.seed_label)
    return tuple(text(word) for word in words)


def _label(plan: Plan, run: PlannedRun) -> str:
    return run.label if run.stage == SCREEN else plan.full_label(run)


def _measured(artifacts: Artifacts, runs: tuple[PlannedRun, ...], key: str) -> tuple[Cell, ...]:
    return tuple(artifacts.cell(development_file(run), key) for run in runs)


def _repeat_spread(artifacts: Artifacts, runs: tuple[PlannedRun, ...], group: tuple[PlannedRun, ...]) -> Cell:
    originals = {run.seed: artifacts.cell(development_file(run), "spearman") for run in group}
    repeats = [run for run in runs if run.repeat and run.option == group[0].option]
    if not repeats:
        return text("–")
    differences, cells = [], []
    for run in repeats:
        again, first = artifacts.cell(development_file(run), "spearman"), originals.get(run.seed, Cell(None))
        if again.number is not None and first.number is not None:
            differences.append(abs(again.number - first.number))
            cells += [again, first]
    return derived(max(differences), cells) if differences else Cell(None)


def _beside(artifacts: Artifacts, file: str, *before: str) -> tuple[Cell, ...]:
    """Accuracy and mean probability of the untrained encoder, then those with the binding path removed."""
    keys = ("accuracy", "mean_probability")
    born = tuple(artifacts.cell(file, *before, "at_birth", key) for key in keys)
    return (*born, *(_removed(artifacts, file, key, before=before) for key in keys))


def _removed(artifacts: Artifacts, file: str, *path: str, before: tuple[str, ...] = ()) -> Cell:
    part = artifacts.cell(file, *before, "path_removed")
    return part if part.value is not None else artifacts.cell(file, *before, "path_removed", *path)
