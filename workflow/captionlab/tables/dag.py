"""The campaign by stage: what each stage makes, how many, and what it is made from."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from captionlab.tables.artifacts import Artifacts
from captionlab.tables.cells import Cell, Column, Frame, Row, text
from captionlab.tables.plan import Plan

# Column and row of each stage on the page.
_PLACES = {
    "chunks": (0, 0),
    "teachers": (1, 0),
    "targets": (2, 0),
    "suites": (2, 2),
    "screen": (3, 0),
    "larger": (3, 1),
    "selection": (4, 0),
    "references": (3, 2),
    "evaluation": (4, 1),
    "statistics": (4, 2),
    "tables": (5, 1),
}
_BOX = (0.82, 0.5)
_LINE = 20


def stages(plan: Plan, artifacts: Artifacts) -> Frame:
    """One row a stage: how many results it makes and from which stages."""
    larger = plan.stage("larger")
    counts = {
        "chunks": (len(plan.chunks), "chunks", ""),
        "teachers": (len(plan.teachers) * len(plan.chunks), "teacher × chunk", "chunks"),
        "targets": (len(plan.chunks), "consensus sets", "teachers"),
        "suites": (len(plan.suites) + 1, "suites, one for development", ""),
        "screen": (len(plan.stage("screen")), "runs", "targets suites"),
        "larger": (len(larger), "runs", "targets suites"),
        "selection": (1, "default, from development", "screen larger"),
        "references": (len(plan.references), "reference models", "suites"),
        "evaluation": (len(plan.runs), "evaluated runs", "screen larger suites"),
        "statistics": (len(larger) + len(plan.references), "resampled models", "evaluation references"),
        "tables": (1, "final.md with figures", "selection evaluation statistics"),
    }
    columns = (Column("stage", "Stage"), Column("n", "n"), Column("makes", "Makes"), Column("needs", "From"))
    rows = tuple(
        Row((text(name), Cell(number), text(makes), text(needs)))
        for name, (number, makes, needs) in counts.items()
    )
    return Frame("stages", "The campaign by stage", columns, rows)


def draw_stages(frame: Frame) -> Figure:
    """Boxes from left to right, an arrow wherever a stage reads another's results."""
    figure = Figure(figsize=(10.2, 4.0), layout="constrained")
    axes = figure.subplots()
    axes.set_axis_off()
    width, height = _BOX
    for row in frame.rows:
        name, number, makes, needs = (str(cell.value) for cell in row.cells)
        across, down = _PLACES[name]
        corner = (across - width / 2, -down - height / 2)
        style: dict[str, Any] = {
            "boxstyle": "round,pad=0.02,rounding_size=0.08",
            "facecolor": "#eef3f9",
            "edgecolor": "#0b5394",
        }
        axes.add_patch(FancyBboxPatch(corner, width, height, linewidth=1.2, zorder=2, **style))
        axes.text(across, -down + 0.1, name, ha="center", va="center", fontsize=10, weight="bold", zorder=3)
        axes.text(
            across, -down - 0.1, f"{number} {_short(makes)}", ha="center", va="center", fontsize=7.5, zorder=3
        )
        for need in needs.split():
            _arrow(axes, _PLACES[need], _PLACES[name])
    axes.set(xlim=(-0.55, 5.55), ylim=(-2.4, 0.45), title=frame.title)
    return figure


def _arrow(axes: Axes, start: tuple[int, int], end: tuple[int, int]) -> None:
    width, height = _BOX
    (x0, y0), (x1, y1) = (start[0], -start[1]), (end[0], -end[1])
    tail: tuple[float, float]
    head: tuple[float, float]
    if x0 == x1:
        sign = 1 if y1 > y0 else -1
        tail, head = (x0, y0 + sign * height / 2), (x1, y1 - sign * (height / 2 + 0.03))
    else:
        tail, head = (x0 + width / 2, y0), (x1 - width / 2 - 0.03, y1)
    style: dict[str, Any] = {
        "arrowstyle": "-|>",
        "color": "#555555",
        "linewidth": 1.0,
        "shrinkA": 2,
        "shrinkB": 1,
    }
    axes.annotate("", xy=head, xytext=tail, arrowprops=style, zorder=1)


def _short(words: str) -> str:
    return words if len(words) <= _LINE else words.replace(", ", ",\n", 1)
