"""How all figures look, and how a figure becomes the same bytes each time."""

import io
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from captionlab.tables.cells import Frame

COLOURS = ("#0b5394", "#c2410c", "#1b7f5c", "#7a3e9d", "#8a6d00", "#b0175b", "#0e7490", "#5b5b5b", "#111111")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
DASHES: tuple[Any, ...] = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (2, 2)))
STYLE: Any = {
    "svg.hashsalt": "captionlab",
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "axes.facecolor": "white",
    "axes.edgecolor": "#444444",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.7,
    "font.size": 9,
    "axes.titlesize": 9,
    "legend.frameon": False,
    "legend.fontsize": 8,
}

Entry = dict[str, Any]


def entries_of(frame: Frame) -> list[Entry]:
    """A table's rows as mappings by column name; `<name>_interval` holds the bounds of a cell."""
    rows = []
    for row in frame.rows:
        entry: Entry = {}
        for column, cell in zip(frame.columns, row.cells, strict=True):
            entry[column.name] = cell.value
            entry[f"{column.name}_interval"] = cell.interval
        rows.append(entry)
    return rows


def grouped(entries: Sequence[Entry], key: str) -> dict[Any, list[Entry]]:
    """Rows by one of their values, in order of first appearance."""
    groups: dict[Any, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry[key], []).append(entry)
    return groups


def by_seed(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Rows of one option by seed and repeat, as a legend names them."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        repeat = f", repeat {entry['repeat']}" if entry["repeat"] else ""
        groups.setdefault(f"seed {entry['seed']}{repeat}", []).append(entry)
    return groups


def single_axes(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure of that size in inches with one pair of axes."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def empty_figure(frame: Frame) -> Figure:
    """A figure that says that its results are missing."""
    figure, axes = single_axes(5.0, 1.4)
    axes.set_axis_off()
    axes.text(0.5, 0.5, f"{frame.title}: missing", ha="center", va="center")
    return figure


def encoded(figure: Figure, form: str) -> bytes:
    """The figure as `svg` or `png` bytes, without date, version or random ids."""
    buffer = io.BytesIO()
    FigureCanvasAgg(figure)
    nameless: dict[str, Any] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
    figure.savefig(buffer, format=form, dpi=160, metadata=nameless[form])
    return buffer.getvalue()
