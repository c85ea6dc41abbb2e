"""A row of speed.md: what was measured, ours and the peer's figure, the limit, and the goal it is held against."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from captionlab.files import versions
from captionlab.machine import processor
from captionlab.speed.timing import Reading

PACKAGES = (
    *("torch", "numpy", "scipy", "transformers", "tokenizers", "sentence-transformers", "mteb", "snakemake"),
    *("pandas", "pyarrow", "scikit-learn"),
)


@dataclass(frozen=True)
class Goal:
    """What a row should reach: `ratio` to the peer, `fraction` of the limit, or `value` itself.

    `bound` is a least one where more is better (ratios, fractions) and a greatest one for a `value`.
    """

    kind: Literal["ratio", "fraction", "value"]
    bound: float


@dataclass(frozen=True)
class Limit:
    """What the machine could do at most, in the row's unit, and how that is known."""

    name: str
    value: float


@dataclass(frozen=True)
class Row:
    """One comparison. `size` says on what; `unit` of all its figures; `less_is_better` for seconds and bytes.

    `agreement` is the largest absolute difference between our results and the peer's, where both give the same.
    `note` says what a reader needs to judge the row, above all why a goal is missed.
    """

    what: str
    size: str
    unit: str
    ours: Reading
    peer_name: str | None = None
    peer: Reading | None = None
    less_is_better: bool = False
    limit: Limit | None = None
    goal: Goal | None = None
    agreement: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Part:
    """One part of the benchmark: its rows, and texts to print below the table (a profile) by heading."""

    name: str
    rows: Sequence[Row]
    texts: Mapping[str, str] = field(default_factory=dict)


def ratio(row: Row) -> float | None:
    """How many times better ours is than the peer's; None without a peer."""
    if row.peer is None:
        return None
    better, worse = (row.peer, row.ours) if row.less_is_better else (row.ours, row.peer)
    return better.median / worse.median


def fraction(row: Row) -> float | None:
    """The part of the limit that ours reaches; None without a limit."""
    if row.limit is None:
        return None
    return row.limit.value / row.ours.median if row.less_is_better else row.ours.median / row.limit.value


def met(row: Row) -> bool | None:
    """Whether the goal is reached; None without one."""
    if row.goal is None:
        return None
    if row.goal.kind == "value":
        inside = row.ours.median <= row.goal.bound
        return inside if row.less_is_better else row.ours.median >= row.goal.bound
    reached = ratio(row) if row.goal.kind == "ratio" else fraction(row)
    if reached is None:
        raise ValueError(f"{row.what}: a goal for the {row.goal.kind}, which the row does not have")
    return reached >= row.goal.bound


def part_json(part: Part, spec: Mapping[str, Any]) -> dict[str, Any]:
    """A part as its file holds it: every figure with its ratio, fraction and verdict, the machine and versions."""
    rows = [
        {**asdict(row), "ratio": ratio(row), "fraction": fraction(row), "met": met(row)} for row in part.rows
    ]
    return {
        "part": part.name,
        "rows": rows,
        "texts": dict(part.texts),
        "spec": dict(spec),
        "machine": machine(),
        "versions": versions(*PACKAGES),
    }


def machine() -> dict[str, Any]:
    """The processor's name, how many of them this process may use, the memory in bytes, system and Python."""
    return {
        "processor": processor(),
        "processors": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
