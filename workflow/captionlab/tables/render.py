"""One table, three spellings: Markdown for readers, CSV for machines, LaTeX (booktabs) for papers."""

import csv
import io

from captionlab.tables.cells import MISSING, Cell, Column, Frame, Row

_LONG = 60
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "×": r"$\times$",
    "–": "--",
    "−": "$-$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
}


def shown(cell: Cell, column: Column) -> str:
    """A cell as a reader sees it: the column's decimals, `missing` for a gap, the note in brackets."""
    places = column.decimals if cell.decimals is None else cell.decimals
    body = _written(cell, places, column.signed)
    if cell.interval is not None:
        low, high = (_decimal(bound, places, column.signed) for bound in cell.interval)
        body = f"{body} [{low}, {high}]"
    return f"{body} ({cell.note})" if cell.note else body


def exact(cell: Cell) -> str:
    """A cell as CSV holds it: the full number in its shortest round-trip form, `missing` for a gap."""
    value = cell.value
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def markdown(frame: Frame) -> str:
    """A GitHub table with numbers set right, followed by the frame's notes."""
    columns = visible(frame)
    head = "| " + " | ".join(_cell_text(column.heading) for _, column in columns) + " |"
    rule = "|" + "|".join("---:" if is_numeric(frame, place) else ":---" for place, _ in columns) + "|"
    lines = [head, rule]
    lines += ["| " + " | ".join(_markdown_cells(frame, row)) + " |" for row in frame.rows]
    text = "\n".join(lines) + "\n"
    for note in frame.notes:
        text += f"\n{note}\n"
    return text


def comma_separated(frame: Frame) -> str:
    """CSV with every column, machine-only ones too; full precision; LF line ends.

    A column with intervals is followed by `<name>_low` and `<name>_high`.
    """
    wide = [
        any(row.cells[place].interval is not None for row in frame.rows)
        for place in range(len(frame.columns))
    ]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    names = [column.name for column in frame.columns]
    writer.writerow(
        word
        for name, bounded in zip(names, wide, strict=True)
        for word in ((name, f"{name}_low", f"{name}_high") if bounded else (name,))
    )
    for row in frame.rows:
        writer.writerow(
            word
            for cell, bounded in zip(row.cells, wide, strict=True)
            for word in (_bounded(cell) if bounded else (exact(cell),))
        )
    return buffer.getvalue()


def latex(frame: Frame) -> str:
    """A booktabs `table` environment with the frame's title as caption; needs `\\usepackage{booktabs}`."""
    columns = visible(frame)
    letters = "".join(_letter(frame, place) for place, _ in columns)
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{_latex_text(frame.title)}}}"]
    lines += [rf"\label{{tab:{frame.name}}}", rf"\begin{{tabular}}{{{letters}}}", r"\toprule"]
    lines += [" & ".join(_latex_text(column.heading) for _, column in columns) + r" \\", r"\midrule"]
    for row in frame.rows:
        words = [_latex_text(shown(row.cells[place], column)) for place, column in columns]
        if row.marked:
            words = [rf"\textbf{{{word}}}" for word in words]
        lines.append(" & ".join(words) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def is_long(frame: Frame, place: int) -> bool:
    """Whether a column holds text that has to wrap."""
    words = (row.cells[place].value for row in frame.rows)
    return any(isinstance(word, str) and len(word) > _LONG for word in words)


def visible(frame: Frame) -> list[tuple[int, Column]]:
    """The columns that readers see, each with its place in a row."""
    return [(place, column) for place, column in enumerate(frame.columns) if not column.machine_only]


def is_numeric(frame: Frame, place: int) -> bool:
    """Whether a column holds numbers (and gaps) rather than labels."""
    cells = [row.cells[place] for row in frame.rows]
    return any(cell.number is not None for cell in cells) or frame.columns[place].decimals is not None


def _letter(frame: Frame, place: int) -> str:
    if is_numeric(frame, place):
        return "r"
    return r"p{0.22\linewidth}" if is_long(frame, place) else "l"


def _bounded(cell: Cell) -> tuple[str, str, str]:
    low, high = cell.interval or (None, None)
    return exact(cell), exact(Cell(low)), exact(Cell(high))


def _written(cell: Cell, places: int | None, signed: bool) -> str:
    value = cell.value
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and places is None:
        return f"{value:+,}" if signed else f"{value:,}"
    if isinstance(value, int | float):
        return _decimal(float(value), places, signed)
    return value


def _decimal(value: float, places: int | None, signed: bool) -> str:
    kept = 4 if places is None else places
    rounded = round(value, kept) + 0.0
    return f"{rounded:+,.{kept}f}" if signed else f"{rounded:,.{kept}f}"


def _markdown_cells(frame: Frame, row: Row) -> list[str]:
    words = [_cell_text(shown(row.cells[place], column)) for place, column in visible(frame)]
    return [f"**{word}**" if word else "" for word in words] if row.marked else words


def _cell_text(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _latex_text(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)
