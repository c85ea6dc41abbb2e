"""speed.md: ours beside a peer's, part by part, with the goal each figure is held against."""

from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.tables.cells import NOT_APPLICABLE, Cell, Column, Frame, Row, Source, text
from captionlab.tables.render import markdown

Document = Mapping[str, Any]

TITLES = {
    "limits": "What the machine can do",
    "training": "Training",
    "encoding": "Encoding the suites",
    "tokenising": "Tokenising and reading",
    "consensus": "Targets",
    "arithmetic": "Evaluation from vectors",
    "memory": "Peak memory against rows",
    "startup": "Start-up of a step",
    "from_nothing": "A whole campaign",
    "workflow": "The engine",
}
_COLUMNS = (
    Column("part", "Part", machine_only=True),
    Column("what", "What"),
    Column("size", "On"),
    Column("unit", "Unit"),
    Column("ours", "Ours"),
    Column("repeats", "Repeats"),
    Column("cpu_share", "CPU share", 2),
    Column("peer_name", "Peer"),
    Column("peer", "Peer's"),
    Column("ratio", "Ratio"),
    Column("limit_name", "Limit", machine_only=True),
    Column("limit", "Limit"),
    Column("fraction", "Of it", 2),
    Column("agreement", "Difference", machine_only=True),
    Column("goal", "Goal"),
    Column("met", "Reached"),
    Column("note", "Note", machine_only=True),
)
_DIGITS = 3
_INTRODUCTION = (
    "Medians of repeated calls, taken in turn in one process where a peer is named, on one machine; least and "
    "greatest in brackets. Ratio: how many times better ours is. CPU share: processor time over wall time and "
    "threads; a peer that waits or an overloaded machine shows there. A figure does not carry over to another "
    "machine, a ratio roughly does."
)


def speed_frame(parts: Sequence[Document]) -> Frame:
    """All rows of all parts, a row each."""
    rows = tuple(_row(part["part"], place, row) for part in parts for place, row in enumerate(part["rows"]))
    return Frame("speed", "Speed and memory", _COLUMNS, rows)


def speed_page(campaign: str, parts: Sequence[Document]) -> str:
    """The whole page: machine, goals, a table and remarks a part, profiles."""
    lines = [
        f"# Speed of campaign `{campaign}`",
        "",
        _INTRODUCTION,
        "",
        _machine(parts[0]),
        "",
        _goals(parts),
        "",
    ]
    for part in filter(lambda part: part["rows"], parts):
        lines += [f"## {TITLES[part['part']]}", "", markdown(speed_frame([part])).rstrip("\n"), ""]
        lines += [f"- {remark}" for remark in _remarks(part["rows"])]
        lines += [""]
        for heading, block in part["texts"].items():
            body = block.rstrip("\n")
            lines += [f"### {heading}", "", body if body.startswith("|") else f"```\n{body}\n```", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _machine(part: Document) -> str:
    machine, versions = part["machine"], part["versions"]
    packages = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    return (
        f"{machine['processor']}, {part['threads']} threads of {machine['processors']} processors, "
        f"{machine['memory_bytes'] / 2**30:.0f} GiB, {machine['system']}, Python {machine['python']}; {packages}."
    )


def _goals(parts: Sequence[Document]) -> str:
    verdicts = [(row["what"], row["met"]) for part in parts for row in part["rows"] if row["met"] is not None]
    missed = [what for what, met in verdicts if not met]
    told = f"{len(verdicts) - len(missed)} of {len(verdicts)} goals reached"
    return f"{told}; missed: {'; '.join(missed)}." if missed else f"{told}."


def _remarks(rows: Sequence[Document]) -> list[str]:
    remarks = []
    for row in rows:
        words = [row["note"].rstrip(".")] if row["note"] else []
        if row["limit"] is not None:
            words.append(f"limit: {row['limit']['name']}")
        if row["agreement"] is not None:
            words.append(f"largest difference between ours and the peer's: {row['agreement']:.2g}")
        if words:
            remarks.append(f"{row['what']} ({row['peer_name'] or row['size']}): {'; '.join(words)}.")
    return list(dict.fromkeys(remarks))


def _row(part: str, place: int, row: Document) -> Row:
    def source(pointer: str) -> Source:
        return Source(f"speed/{part}.json", f"/rows/{place}/{pointer}")

    ours, peer, limit = row["ours"], row["peer"], row["limit"]
    return Row(
        (
            text(part),
            text(row["what"]),
            text(row["size"]),
            text(row["unit"]),
            _reading(ours, source("ours/median")),
            text(ours["repeats"]),
            _share(ours["cpu_share"]),
            text(row["peer_name"] or NOT_APPLICABLE),
            _reading(peer, source("peer/median")) if peer else text(NOT_APPLICABLE),
            _number(row["ratio"], source("ratio")),
            text(limit["name"] if limit else NOT_APPLICABLE),
            _number(limit["value"] if limit else None, source("limit/value")),
            text(NOT_APPLICABLE) if row["fraction"] is None else Cell(row["fraction"], source("fraction")),
            _number(row["agreement"], source("agreement")),
            text(_goal(row)),
            text(NOT_APPLICABLE if row["met"] is None else "yes" if row["met"] else "no"),
            text(row["note"]),
        )
    )


def _goal(row: Document) -> str:
    goal = row["goal"]
    if goal is None:
        return NOT_APPLICABLE
    if goal["kind"] == "value":
        return f"{'≤' if row['less_is_better'] else '≥'} {goal['bound']:g} {row['unit']}"
    return f"≥ {goal['bound']:g}×" if goal["kind"] == "ratio" else f"≥ {goal['bound']:.0%} of the limit"


def _reading(reading: Document, source: Source) -> Cell:
    places = _places(reading["median"])
    if reading["repeats"] == 1:
        return Cell(reading["median"], source, decimals=places)
    return Cell(reading["median"], source, interval=(reading["low"], reading["high"]), decimals=places)


def _share(share: float | None) -> Cell:
    return text(NOT_APPLICABLE) if share is None else Cell(share)


def _number(value: float | None, source: Source) -> Cell:
    return text(NOT_APPLICABLE) if value is None else Cell(value, source, decimals=_places(value))


def _places(value: float) -> int:
    """Decimals that show three digits of a figure."""
    size = abs(value)
    places = 0
    while size and size < 10 ** (_DIGITS - 1) and places < 6:
        size, places = size * 10, places + 1
    return places
