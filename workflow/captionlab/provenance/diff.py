"""Two result sets side by side: metrics, config, code, environment, data and files."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from captionlab.provenance.identity import differences

_ABSENT = "absent"
_SHORT = 12
_DIGEST_LENGTH = 64


@dataclass(frozen=True)
class Difference:
    """One row: what part it belongs to, what it is, and its value on either side."""

    part: str
    name: str
    left: str
    right: str


def compare(left: Mapping[str, Any], right: Mapping[str, Any], tolerance: float = 0.0) -> list[Difference]:
    """All differences between two records (see record.make_record), metrics first.

    Metrics within `tolerance` (absolute) are equal. Digests of files are compared too, in the part "files",
    where neither data nor metrics tell of the change already.
    """
    rows = _metrics(left["metrics"], right["metrics"], tolerance)
    for line in differences(left["config"], right["config"]):
        name, _, values = line.partition(": ")
        before, _, after = values.partition(" -> ")
        rows.append(Difference("config", name, before, after))
    for part, key in (
        ("code", "code"),
        ("environment", "versions"),
        ("environment", "device"),
        ("data", "data"),
    ):
        rows += _texts(part, left[key], right[key])
    told = {row.name.partition("#")[0] for row in rows}
    rows += [row for row in _texts("files", left["outputs"], right["outputs"]) if row.name not in told]
    return rows


def diff_table(rows: list[Difference], most: int = 20) -> str:
    """The differences as a Markdown table, at most `most` a part; the rest is counted."""
    lines = ["| Part | What | Left | Right |", "|:---|:---|:---|:---|"]
    for part in dict.fromkeys(row.part for row in rows):
        mine = [row for row in rows if row.part == part]
        lines += [f"| {part} | {row.name} | {row.left} | {row.right} |" for row in mine[:most]]
        if len(mine) > most:
            lines.append(f"| {part} | and {len(mine) - most} more | | |")
    return "\n".join(lines)


def _metrics(left: Mapping[str, float], right: Mapping[str, float], tolerance: float) -> list[Difference]:
    rows = []
    for name in sorted(set(left) | set(right)):
        mine, other = left.get(name), right.get(name)
        if mine is None or other is None:
            rows.append(Difference("metrics", name, _number(mine), _number(other)))
        elif abs(mine - other) > tolerance:
            rows.append(Difference("metrics", name, _number(mine), f"{_number(other)} ({other - mine:+.3g})"))
    return rows


def _texts(part: str, left: Mapping[str, str], right: Mapping[str, str]) -> list[Difference]:
    return [
        Difference(part, name, _shown(left.get(name, _ABSENT)), _shown(right.get(name, _ABSENT)))
        for name in sorted(set(left) | set(right))
        if left.get(name) != right.get(name)
    ]


def _number(value: float | None) -> str:
    return _ABSENT if value is None else f"{value:.6g}"


def _shown(text: str) -> str:
    return text[:_SHORT] if len(text) == _DIGEST_LENGTH else text
