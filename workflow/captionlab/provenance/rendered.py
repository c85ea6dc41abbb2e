"""Tables made again and held against the files, cell by cell."""

import argparse
import csv
import io
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from captionlab.files import canonical_json
from captionlab.provenance.checks import differing_lines
from captionlab.provenance.evidence import Evidence, Finding
from captionlab.serving.release_table import release
from captionlab.steps import render_claims, render_final, render_release, render_runs, render_screen
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.cells import Frame
from captionlab.tables.final import all_frames, document
from captionlab.tables.plan import plan_from_spec

FINAL = "tables/final.md"
RELEASE = "tables/release.md"
_RENDERERS = {
    FINAL: render_final,
    "tables/screen.md": render_screen,
    "tables/runs.md": render_runs,
    "tables/claims.md": render_claims,
}


@dataclass(frozen=True)
class TracedCell:
    """A number of a table and the JSON file it was read from."""

    table: str
    row: str
    column: str
    value: Any
    file: str
    pointer: str


def check_tables(evidence: Evidence, spec: Mapping[str, Any]) -> tuple[TracedCell, ...]:
    """Render final.md and every other document of tables again; one that differs is a finding naming its cells.

    The spec is final.md's; `release` in it is that of a published model's table, where the campaign has one.
    Nothing is rendered from altered or missing data: those findings come first, and a note says so.
    Returns every cell with a source of final.md's tables and of the published model's.
    """
    wrong = [finding.path for finding in evidence.findings if finding.sort in ("data", "missing")]
    if any(not path.startswith(("tables/", "figures/")) for path in wrong):
        evidence.notes.append("tables were not rendered again, because data they may rest on is altered")
        return ()
    with tempfile.TemporaryDirectory() as folder:
        for path, renderer in _RENDERERS.items():
            if path == FINAL or path in evidence.digests:
                _render(renderer, spec, evidence.root, Path(folder, path))
        if has_release := "release" in spec and RELEASE in evidence.digests:
            _render(render_release, spec["release"], evidence.root, Path(folder, RELEASE))
        for made in sorted(Path(folder, "tables").iterdir()):
            _check_text(evidence, f"tables/{made.name}", made.read_text(encoding="utf-8"))
    artifacts = Artifacts(evidence.root)
    frames = list(all_frames(document(plan_from_spec(spec), artifacts)))
    if has_release:
        frames.append(release(artifacts, spec["release"]))
    return tuple(cell for frame in frames for cell in traced_cells(frame))


def _render(renderer: ModuleType, spec: Mapping[str, Any], root: Path, output: Path) -> None:
    parser = argparse.ArgumentParser()
    renderer.add_arguments(parser)
    words = ["--spec", canonical_json(spec), "--root", str(root), "--output", str(output)]
    renderer.run(parser.parse_args(words))


def traced_cells(frame: Frame) -> list[TracedCell]:
    """Every cell of a frame that has a source."""
    found = []
    for row in frame.rows:
        label = row_label(frame, row.cells)
        for column, cell in zip(frame.columns, row.cells, strict=True):
            if cell.source is not None:
                place = (cell.source.file, cell.source.pointer)
                found.append(TracedCell(frame.name, label, column.name, cell.value, *place))
    return found


def row_label(frame: Frame, cells: tuple[Any, ...]) -> str:
    """A row in one word: `larger/relative-16/seed-1`, or its first text cells."""
    values = {column.name: cell.value for column, cell in zip(frame.columns, cells, strict=True)}
    if {"recipe", "option"} <= set(values):
        seed = values.get("seed")
        tail = f"/seed-{seed}" if seed not in (None, "–") else ""
        tail = tail.replace(" (repeat ", ".repeat-").removesuffix(")")
        sample = f"/{values['sample']}" if values.get("sample") else ""
        return f"{values['recipe']}/{values['option']}{tail}{sample}"
    if {"part", "reading"} <= set(values):
        return f"{values['part']}/{values['reading']}"
    return str(next(iter(values.values()), ""))


def _check_text(evidence: Evidence, path: str, made: str) -> None:
    if path not in evidence.digests:
        evidence.find("missing", path, "is a table of this campaign and not on disk")
        return
    found = (evidence.root / path).read_bytes().decode("utf-8", "replace")
    if found == made:
        return
    detail = "; ".join(_cells(path, made, found)[:3])
    known = [finding for finding in evidence.findings if finding.path == path]
    for finding in known:
        evidence.findings.remove(finding)
        detail = f"{finding.detail}; {detail}"
    evidence.findings.append(Finding("table", path, detail))


def _cells(path: str, made: str, found: str) -> list[str]:
    described = []
    head: list[str] = []
    lines = made.split("\n")
    for number, left, right in differing_lines(made, found):
        split = _SPLITTERS.get(path.rpartition(".")[2], _split_markdown)
        ours, theirs = split(left), split(right)
        head = split(_heading(lines, number, path))
        if len(ours) != len(theirs):
            described.append(f"line {number}: {right!r} should be {left!r}")
            continue
        for place, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            if mine != other:
                column = head[place] if place < len(head) else str(place + 1)
                described.append(
                    f"line {number}, row {ours[0]!r}, column {column!r}: {other!r} should be {mine!r}"
                )
    return described


def _heading(lines: list[str], number: int, path: str) -> str:
    if path.endswith(".csv"):
        return lines[0]
    if path.endswith(".tex"):
        return lines[lines.index(r"\toprule") + 1] if r"\toprule" in lines else ""
    place = min(number, len(lines)) - 1
    while place > 0 and lines[place - 1].startswith("|"):
        place -= 1
    return lines[place]


def _split_csv(line: str) -> list[str]:
    return next(iter(csv.reader(io.StringIO(line))), [])


def _split_markdown(line: str) -> list[str]:
    return [part.strip() for part in line.strip("|").split("|")] if "|" in line else [line]


def _split_latex(line: str) -> list[str]:
    return [part.strip() for part in line.removesuffix(r"\\").split(" & ")]


_SPLITTERS = {"csv": _split_csv, "tex": _split_latex}
