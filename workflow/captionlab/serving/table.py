"""The parity table: one row an export and loader."""

from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.tables.artifacts import Artifacts
from captionlab.tables.cells import Cell, Column, Frame, Row, Source, derived, text
from captionlab.tables.frames import selected_place
from captionlab.tables.plan import Plan, PlannedRun

_NOTE = (
    "Native: the final training state restored by itself. Exported: the folder loaded by AutoModel in a process of "
    "its own with an empty remote-code cache. Largest absolute differences over the precision x shape and padding "
    "cases; diagnostics are attentions, hidden states and pointer loss. Same machine, same precision: not a claim "
    "about different devices."
)


def report_file(place: str, loader: str) -> str:
    """The parity report of an export, below the results root."""
    return f"serving/{place}/{loader}.json"


def serving(plan: Plan, artifacts: Artifacts, places: Sequence[str], loaders: Sequence[str]) -> Frame:
    """One row an export and loader; a report that is not there shows as missing."""
    columns = (
        Column("recipe", "Recipe", machine_only=True),
        Column("option", "Option", machine_only=True),
        Column("model", "Recipe / option"),
        Column("seed", "Seed"),
        Column("transformers", "Transformers"),
        Column("torch", "PyTorch"),
        Column("device", "Device"),
        Column("cases", "Cases"),
        Column("sentence_delta", "Max sentence difference", 9),
        Column("token_delta", "Max token difference", 9),
        Column("diagnostics_delta", "Max diagnostics difference", 9),
        Column("tensors", "State tensors"),
        Column("unequal", "of them unequal"),
        Column("differences", "Differences"),
        Column("peak_memory", "Peak memory (GB)", 3),
        Column("outputs_sha256", "Exported outputs", machine_only=True),
        Column("native_sha256", "Native outputs", machine_only=True),
    )
    chosen = selected_place(artifacts)
    runs = {run.place: run for run in plan.runs}
    rows = [
        _row(plan, artifacts, runs[place], report_file(place, loader), place == chosen)
        for place in places
        for loader in loaders
    ]
    return Frame("serving", "Serving parity", columns, tuple(rows), (_NOTE,))


def _row(plan: Plan, artifacts: Artifacts, run: PlannedRun, file: str, marked: bool) -> Row:
    report = artifacts.document(file)
    label = plan.full_label(run) + (" (default)" if marked else "")
    keys = (text(run.recipe), text(run.option), text(label), text(run.seed_label))
    if report is None:
        return Row((*keys, *(Cell(None),) * 13), marked)
    versions = [artifacts.cell(file, "exported", "versions", name) for name in ("transformers", "torch")]
    cases, extra = report["cases"], report["diagnostics"]
    memory = report["exported"]["peak_memory_bytes"]
    cells = (
        *versions,
        artifacts.cell(file, "exported", "device"),
        Cell(len(cases), Source(file, "/cases")),
        _largest(file, "cases", cases, "sentence_delta"),
        _largest(file, "cases", cases, "token_delta"),
        _largest(file, "diagnostics", extra, "delta"),
        artifacts.cell(file, "state", "tensors"),
        Cell(len(report["state"]["unequal"]), Source(file, "/state/unequal")),
        Cell(len(report["differences"]), Source(file, "/differences")),
        derived(memory / 1e9, [artifacts.cell(file, "exported", "peak_memory_bytes")]),
        artifacts.cell(file, "exported", "outputs_sha256"),
        artifacts.cell(file, "native", "outputs_sha256"),
    )
    return Row((*keys, *cells), marked)


def _largest(file: str, part: str, rows: Sequence[Mapping[str, Any]], key: str) -> Cell:
    values = [row[key] for row in rows]
    source = Source(file, f"/{part}")
    if any(value is None for value in values):
        return Cell("not finite or of another shape", source)
    return Cell(max(values, default=0.0), source)
