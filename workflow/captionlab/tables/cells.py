"""What a table is before anything writes it: cells that know where their number comes from."""

from collections.abc import Iterable
from dataclasses import dataclass

Value = str | int | float | bool | None

NOT_APPLICABLE = "–"
MISSING = "missing"


@dataclass(frozen=True)
class Source:
    """Where a number stands: a JSON file below the campaign's results root, and a JSON pointer into it."""

    file: str
    pointer: str


@dataclass(frozen=True)
class Cell:
    """One entry of a table; `None` means that the number is missing and is shown as such.

    `interval` holds the bounds that resampling gave for the number; `decimals` overrides the column's. A number
    computed here has no `source` of its own but the `sources` of what it was computed from.
    """

    value: Value
    source: Source | None = None
    note: str = ""
    interval: tuple[float, float] | None = None
    decimals: int | None = None
    sources: tuple[Source, ...] = ()

    @property
    def number(self) -> float | None:
        """The value as a float, or None for text, truth values and missing entries."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            return None
        return float(self.value)


@dataclass(frozen=True)
class Column:
    """A column's machine name (CSV header), its heading, and how its numbers are written.

    `decimals` is None for text and whole numbers; `signed` writes a plus sign;
    `machine_only` columns appear in CSV alone.
    """

    name: str
    heading: str
    decimals: int | None = None
    signed: bool = False
    machine_only: bool = False


@dataclass(frozen=True)
class Row:
    """The cells of one row, in column order; a marked row is set in bold."""

    cells: tuple[Cell, ...]
    marked: bool = False


@dataclass(frozen=True)
class Frame:
    """A table: its file name, title, columns, rows and the remarks that belong under it."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    def column(self, name: str) -> tuple[Cell, ...]:
        """The cells of one column, top to bottom.

        Raises KeyError when no column has that name.
        """
        for place, column in enumerate(self.columns):
            if column.name == name:
                return tuple(row.cells[place] for row in self.rows)
        raise KeyError(name)


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs of Markdown text (inline code, emphasis and links only) and tables."""

    title: str
    level: int
    paragraphs: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()


def text(value: Value) -> Cell:
    """A cell that holds a label and no measured number."""
    return Cell(value)


def mean(cells: tuple[Cell, ...]) -> Cell:
    """Unweighted mean of the cells that hold a number; the note says how many did when some are missing.

    All missing gives a missing cell.
    """
    numbers = [cell.number for cell in cells if cell.number is not None]
    if not numbers:
        return Cell(None)
    note = "" if len(numbers) == len(cells) else f"{len(numbers)} of {len(cells)}"
    return derived(sum(numbers) / len(numbers), cells, note)


def derived(value: Value, cells: Iterable[Cell], note: str = "") -> Cell:
    """A number computed from cells; it points to all of their sources."""
    found = [source for cell in cells for source in ((cell.source,) if cell.source else cell.sources)]
    return Cell(value, note=note, sources=tuple(dict.fromkeys(found)))
