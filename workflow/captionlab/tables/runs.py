"""Every run the campaign planned: its status, spec, digests and numbers, and what its seeds agree on."""

from statistics import fmean, stdev

from captionlab.files import canonical_json
from captionlab.tables.artifacts import Artifacts, development_file, run_record, suites_file
from captionlab.tables.cells import Cell, Column, Frame, Row, derived, text
from captionlab.tables.frames import grouped, harmonics_cell, suite_mean
from captionlab.tables.plan import Plan, PlannedRun
from captionlab.tables.prose import note


def runs(plan: Plan, artifacts: Artifacts) -> Frame:
    """One row a planned run, present or not."""
    columns = (
        Column("stage", "Stage"),
        Column("recipe", "Recipe"),
        Column("option", "Option"),
        Column("seed", "Seed"),
        Column("repeat", "Repeat"),
        Column("status", "Status"),
        Column("steps", "Steps"),
        Column("presentations", "Presentations"),
        Column("parameters", "Parameters"),
        Column("harmonics", "K"),
        Column("spearman", f"Dev {plan.development_suite.label}", 5),
        Column("best_step", "Best step"),
        Column("mean", "Suite mean", 4),
        Column("suites", "Suites"),
        Column("tokens", "Tokens", machine_only=True),
        Column("identity", "Identity", machine_only=True),
        Column("weights_sha256", "Final weights", machine_only=True),
        Column("spec", "Spec", machine_only=True),
    )
    rows = [Row(_run_cells(plan, artifacts, run)) for run in plan.runs]
    return Frame("runs", "Runs", columns, tuple(rows), (note("runs"),))


def run_groups(plan: Plan, artifacts: Artifacts) -> Frame:
    """Seeds of one recipe and option together: n, mean and sd of development and test numbers."""
    columns = (
        Column("stage", "Stage"),
        Column("recipe", "Recipe"),
        Column("option", "Option"),
        Column("n", "n"),
        Column("spearman_mean", f"Dev {plan.development_suite.label}, mean", 5),
        Column("spearman_sd", "sd", 5),
        Column("mean_n", "n tested"),
        Column("mean_mean", "Suite mean, mean", 4),
        Column("mean_sd", "sd", 4),
    )
    rows = []
    for group in grouped(plan.runs):
        development = [artifacts.cell(development_file(run), "spearman") for run in group]
        tested = [_tested_mean(plan, artifacts, run) for run in group]
        keys = (text(group[0].stage), text(group[0].recipe), text(group[0].option))
        rows.append(Row((*keys, *_summary(development), *_summary(tested))))
    return Frame("run-groups", "Runs by recipe and option", columns, tuple(rows), (note("run-groups"),))


def status(artifacts: Artifacts, run: PlannedRun) -> str:
    """How far a run came: complete, trained, unfinished or missing."""
    if artifacts.document(run_record(run)) is None or artifacts.document(development_file(run)) is None:
        return "unfinished" if (artifacts.root / "state" / run.place).is_dir() else "missing"
    return "complete" if artifacts.document(suites_file(run)) is not None else "trained"


def _run_cells(plan: Plan, artifacts: Artifacts, run: PlannedRun) -> tuple[Cell, ...]:
    record, development = run_record(run), development_file(run)
    document = artifacts.document(record)
    mean = _tested_mean(plan, artifacts, run)
    return (
        *(text(value) for value in (run.stage, run.recipe, run.option, run.seed, run.repeat)),
        text(status(artifacts, run)),
        *(artifacts.cell(record, key) for key in ("steps", "presentations", "parameters")),
        harmonics_cell(artifacts, run),
        artifacts.cell(development, "spearman"),
        artifacts.cell(development, "best_step"),
        mean,
        text(_suite_count(plan, artifacts, run)),
        artifacts.cell(record, "tokens"),
        artifacts.cell(record, "identity"),
        artifacts.cell(record, "outputs", "final.safetensors", "sha256"),
        Cell(canonical_json(document["spec"]) if document else None),
    )


def _tested_mean(plan: Plan, artifacts: Artifacts, run: PlannedRun) -> Cell:
    if run.stage == "screen":
        return text("–")
    return suite_mean(plan, artifacts, suites_file(run))


def _suite_count(plan: Plan, artifacts: Artifacts, run: PlannedRun) -> str:
    planned = plan.screen_suites if run.stage == "screen" else tuple(suite.name for suite in plan.suites)
    document = artifacts.document(suites_file(run))
    present = [name for name in planned if document is not None and name in document["suites"]]
    return f"{len(present)} of {len(planned)}"


def _summary(cells: list[Cell]) -> tuple[Cell, Cell, Cell]:
    numbers = [cell.number for cell in cells if cell.number is not None]
    if not numbers:
        gap = text("–") if all(cell.value == "–" for cell in cells) else Cell(None)
        return text(f"0 of {len(cells)}"), gap, gap
    spread = derived(stdev(numbers), cells) if len(numbers) > 1 else text("–")
    return text(f"{len(numbers)} of {len(cells)}"), derived(fmean(numbers), cells), spread
