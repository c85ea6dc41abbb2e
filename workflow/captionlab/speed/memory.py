"""Peak memory of each stage against rows: ten thousand to a million synthetic ones, a process a stage."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from captionlab.speed.children import MEGABYTE, run_child
from captionlab.speed.memory_child import (
    BATCH,
    MODELS,
    RESAMPLES,
    STAGES,
    STEPS,
    WIDTH,
)
from captionlab.speed.rows import Goal, Part, Row
from captionlab.speed.synthetic import TEACHERS
from captionlab.speed.timing import measured

CHUNK_GOAL_MEGABYTES = 400.0


@dataclass(frozen=True)
class Stage:
    """How a stage is called in the table, and what in it grows with rows."""

    what: str
    note: str


SHOWN = {
    "chunk": Stage(
        "writing and tokenising a chunk",
        "grows by offsets and digests, 8 bytes a row each, and the copies that statistics and sorting make of them",
    ),
    "duplicates": Stage(
        "counting duplicates",
        "grows by two digests of 8 bytes a row and the copies that sorting makes of them",
    ),
    "alignment": Stage(
        "fitting the alignment", f"{len(TEACHERS)} teachers, width {WIDTH}: blocks of rows, d x d moments"
    ),
    "targets": Stage("building targets", f"{len(TEACHERS)} teachers, width {WIDTH}: blocks of rows"),
    "training": Stage(
        "training",
        f"{STEPS} steps of {BATCH} captions, encoder 2 x 64, PyTorch included: grows by offsets, lengths and the "
        "epoch's order, 8 bytes a row each, and the words that the order is sorted by",
    ),
    "bootstrap": Stage(
        "paired bootstrap",
        f"rows are pairs of one suite, {MODELS} models, {RESAMPLES} resamples: blocks are bounded, sorted orders "
        "and scores of each model are not; the largest suite of the card has 9,927 pairs",
    ),
    "scoring": Stage(
        "scoring a suite",
        f"rows are pairs of one suite, width {WIDTH}: grows by the text and the two vectors of each pair, which are "
        "in memory; the largest suite of the card has 9,927 pairs",
    ),
}


def measure(spec: Mapping[str, Any], root: Path, threads: int) -> Part:
    """A row a stage and size: the process's peak in MB (10^6 bytes), its imports among it.

    `root` lends its vocabulary; all rows are synthetic. What a size leaves on disk goes before the next one.
    """
    sizes: Sequence[int] = sorted(spec["speed"]["memory_rows"])
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for rows in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            shutil.copyfile(root / "tokenizer" / "vocab.txt", folder / "vocab.txt")
            for stage in STAGES:
                found[stage, rows] = _run_stage(stage, rows, folder, threads)
    return Part("memory", [_row(stage, rows, sizes, found) for stage in SHOWN for rows in sizes])


def growth(least: float, greatest: float, rows: Sequence[int]) -> float | None:
    """Bytes a row between the peaks of the least and the greatest number of rows; None for a single size."""
    return (greatest - least) / (rows[-1] - rows[0]) if rows[-1] > rows[0] else None


def _run_stage(stage: str, rows: int, folder: Path, threads: int) -> dict[str, Any]:
    return run_child("captionlab.speed.memory_child", stage, str(rows), str(folder), threads=threads)


def _row(
    stage: str, rows: int, sizes: Sequence[int], found: Mapping[tuple[str, int], Mapping[str, Any]]
) -> Row:
    figures = found[stage, rows]
    notes = [f"{figures['before'] / MEGABYTE:.0f} MB before the first row, {figures['seconds']:.0f} s"]
    slope = growth(found[stage, sizes[0]]["peak"], found[stage, sizes[-1]]["peak"], sizes)
    if rows == sizes[-1] and slope is not None:
        notes.append(f"{slope:.1f} bytes a row from {sizes[0]:,} to {sizes[-1]:,} rows")
        notes.append(SHOWN[stage].note)
    goal = Goal("value", CHUNK_GOAL_MEGABYTES) if stage == "chunk" and rows == sizes[-1] else None
    return Row(
        what=f"memory: {SHOWN[stage].what}",
        size=f"{rows:,} rows",
        unit="MB",
        ours=measured([figures["peak"] / MEGABYTE]),
        less_is_better=True,
        goal=goal,
        note="; ".join(notes),
    )
