"""Duplicates as tables: inside chunks, between chunks, and between training captions and suites."""

from captionlab.tables.artifacts import DUPLICATES_FILE, Artifacts
from captionlab.tables.cells import Cell, Column, Frame, Row, text
from captionlab.tables.plan import Plan
from captionlab.tables.prose import note


def hygiene(plan: Plan, artifacts: Artifacts) -> tuple[Frame, ...]:
    """The tables of duplicates, in the order they are read."""
    return (
        chunk_duplicates(plan, artifacts),
        shared_captions(artifacts),
        suite_duplicates(plan, artifacts),
    )


def chunk_duplicates(plan: Plan, artifacts: Artifacts) -> Frame:
    """Rows of each chunk that repeat an earlier one, and captions that stand in several chunks."""
    columns = (
        Column("chunk", "Chunk"),
        Column("rows", "Rows"),
        Column("exact", "Exact duplicates"),
        Column("normalised", "Normalised duplicates"),
    )
    rows = []
    for chunk in plan.chunks:
        cells = [
            artifacts.cell(DUPLICATES_FILE, "chunks", chunk, key) for key in ("rows", "exact", "normalised")
        ]
        rows.append(Row((text(chunk), *cells)))
    across = [artifacts.cell(DUPLICATES_FILE, "across", key) for key in ("exact", "normalised")]
    rows.append(Row((text("in several chunks"), text("–"), *across)))
    return Frame("duplicates", "Duplicate captions", columns, tuple(rows), (note("duplicates"),))


def shared_captions(artifacts: Artifacts) -> Frame:
    """Different captions that stand in both of two chunks; pairs that share none are left to the CSV's zeros."""
    columns = (
        Column("a", "Chunk"),
        Column("b", "Chunk"),
        Column("exact", "Shared, exact"),
        Column("normalised", "Shared, normalised"),
    )
    document = artifacts.document(DUPLICATES_FILE)
    rows = [
        Row(
            tuple(
                artifacts.cell(DUPLICATES_FILE, "pairs", place, key)
                for key in ("a", "b", "exact", "normalised")
            )
        )
        for place in range(len(document["pairs"]) if document else 0)
    ]
    return Frame(
        "duplicates-pairs", "Captions shared by two chunks", columns, tuple(rows) or (Row((Cell(None),) * 4),)
    )


def suite_duplicates(plan: Plan, artifacts: Artifacts) -> Frame:
    """Suite sentences that equal, or are near, a training caption."""
    columns = (
        Column("suite", "Suite"),
        Column("role", "Role"),
        Column("sentences", "Different sentences"),
        Column("equal", "Equal to a training caption"),
        Column("near", "Near a training caption"),
    )
    rows = []
    for suite in (*plan.suites, plan.development_suite):
        path = ("suites", suite.name)
        cells = [artifacts.cell(DUPLICATES_FILE, *path, key) for key in ("sentences", "equal", "near")]
        rows.append(Row((text(suite.label), text(suite.role), *cells)))
    threshold = artifacts.cell(DUPLICATES_FILE, "near", "threshold").number
    words = (note("duplicates-suites", threshold="missing" if threshold is None else threshold),)
    return Frame("duplicates-suites", "Suite sentences among training captions", columns, tuple(rows), words)
