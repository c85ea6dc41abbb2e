"""What was measured on a published model beside what its card prints."""

from collections.abc import Iterator, Mapping
from typing import Any

from captionlab.tables import published
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.cells import NOT_APPLICABLE, Cell, Column, Frame, Row, Source, text

SUITES_FILE, GEOMETRY_FILE, SERVING_FILE = (
    f"release/{name}.json" for name in ("suites", "geometry", "serving")
)
_QUANTITIES = {
    "teacher_cosine": "teacher cosine",
    "participation_rank": "participation rank",
    "self_cosine": "self cosine",
}
_LOADED = {"model": "Default", "load": "Hub on local GPU"}
_DECIMALS = 6
_NOTE = (
    "Agrees: the measured number, rounded to the digits the card prints, is the printed one. Published numbers were "
    "read on the card's data; on other suites or captions a difference says nothing about the model."
)


def release(artifacts: Artifacts, spec: Mapping[str, Any]) -> Frame:
    """One row a reading; a missing file shows as missing, and a note names the readings that were left out.

    spec: `readings` (of suites, geometry, serving), `suites` (test suites in table order), `development_suite`, and
    `card`, the card's row that the release is ({recipe, option, seed}) or None, where nothing is compared.
    """
    columns = (
        Column("part", "Part"),
        Column("reading", "Reading"),
        Column("measured", "Measured", _DECIMALS),
        Column("published", "Published", _DECIMALS),
        Column("difference", "Difference", _DECIMALS, signed=True),
        Column("agrees", "Agrees"),
    )
    rows = [row for name in spec["readings"] for row in _READINGS[name](artifacts, spec)]
    left = [name for name in _READINGS if name not in spec["readings"]]
    notes = [_origin(artifacts), _NOTE]
    if left:
        notes.append(f"Not read, because `release.readings` leaves it out: {', '.join(left)}.")
    return Frame("release", "The published release", columns, tuple(rows), tuple(notes))


def _scores(artifacts: Artifacts, spec: Mapping[str, Any]) -> Iterator[Row]:
    for suite in spec["suites"]:
        cell = artifacts.cell(SUITES_FILE, "suites", suite, "spearman")
        yield _row("suites", suite, cell, _printed("benchmarks", spec, suite=suite))
    mean = artifacts.cell(SUITES_FILE, "mean")
    yield _row("suites", "mean", mean, _printed("benchmarks", spec, suite="mean"))
    suite = spec["development_suite"]
    cell = artifacts.cell(SUITES_FILE, "suites", suite, "spearman")
    yield _row("development", suite, cell, _printed("development", spec, quantity="spearman"))


def _geometry(artifacts: Artifacts, spec: Mapping[str, Any]) -> Iterator[Row]:
    for quantity in ("teacher_cosine", "participation_rank"):
        cell = artifacts.cell(GEOMETRY_FILE, "samples", "development:all", quantity)
        yield _row(
            "development", _QUANTITIES[quantity], cell, _printed("development", spec, quantity=quantity)
        )
    for sample in ("test:all", "test:long"):
        for quantity, label in _QUANTITIES.items():
            cell = artifacts.cell(GEOMETRY_FILE, "samples", sample, quantity)
            found = _printed("geometry", spec, sample=sample, quantity=quantity)
            yield _row("geometry", f"{sample}, {label}", cell, found)


def _serving(artifacts: Artifacts, spec: Mapping[str, Any]) -> Iterator[Row]:
    found = artifacts.document(SERVING_FILE)
    printed = published.records("verification") if spec["card"] else ()
    row = next((row for row in printed if _LOADED.items() <= row.items()), None)
    for output in ("sentence", "token"):
        cell = artifacts.cell(SERVING_FILE, "largest", f"{output}_delta")
        yield _compared(
            ("serving", f"max {output} difference of two loads"),
            cell,
            None if row is None else float(row[f"max_{output}_delta"]),
            0.0,
        )
    for name, check in (found["checks"] if found else {}).items():
        source = Source(SERVING_FILE, f"/checks/{name}")
        words = (text("serving"), text(name), Cell(check["figure"], source), text(NOT_APPLICABLE))
        yield Row((*words, text(NOT_APPLICABLE), Cell(check["holds"], source)))


_READINGS = {"suites": _scores, "geometry": _geometry, "serving": _serving}


def _printed(table: str, spec: Mapping[str, Any], **keys: str) -> published.Published | None:
    return published.one(table, **spec["card"], **keys) if spec["card"] else None


def _row(part: str, reading: str, measured: Cell, found: published.Published | None) -> Row:
    if found is None:
        return _compared((part, reading), measured, None, 0.0)
    return _compared((part, reading), measured, found.number, found.half_unit)


def _compared(keys: tuple[str, str], measured: Cell, printed: float | None, tolerance: float) -> Row:
    part, reading = map(text, keys)
    if printed is None:
        return Row((part, reading, measured, *[text(NOT_APPLICABLE)] * 3))
    if measured.number is None:
        return Row((part, reading, measured, Cell(printed), *[Cell(None)] * 2))
    difference = measured.number - printed
    # A number half a unit away was rounded to the printed one or to its neighbour: both are taken.
    agrees = abs(difference) <= tolerance * (1 + 1e-9)
    return Row((part, reading, measured, Cell(printed), Cell(difference), Cell(agrees)))


def _origin(artifacts: Artifacts) -> str:
    files = (SUITES_FILE, GEOMETRY_FILE, SERVING_FILE)
    document = next(filter(None, map(artifacts.document, files)), None)
    if document is None:
        return "The release has not been evaluated."
    model = document["model"]
    return (
        f"Model `{model['repo']}` at `{model['revision']}`, folder `{model['folder']}`, weights SHA-256 "
        f"`{model['weights_sha256']}`, through AutoModel in FP32."
    )
