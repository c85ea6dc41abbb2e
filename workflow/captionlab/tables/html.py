"""final.html: the document of final.md as one page without a network, each number linked to its lineage."""

import base64
import html as escaping
import importlib.resources
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
from markupsafe import Markup

from captionlab.tables.artifacts import Artifacts
from captionlab.tables.cells import Frame, Row, Section
from captionlab.tables.lineage import Ledger, facts
from captionlab.tables.render import is_long, is_numeric, shown, visible


def page(sections: Sequence[Section], artifacts: Artifacts, figures: Mapping[str, bytes]) -> str:
    """The page; `figures` maps titles to SVG bytes, which are embedded as images."""
    ledger = Ledger()
    content = [_section(section, ledger) for section in sections]
    template = importlib.resources.files("captionlab.tables") / "templates" / "final.html"
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    return environment.from_string(template.read_text(encoding="utf-8")).render(
        title=_plain(sections[0].title),
        sections=content,
        figures=[
            {"title": title, "content": base64.b64encode(svg).decode("ascii")}
            for title, svg in figures.items()
        ],
        lineage=_lineage(ledger, artifacts),
        computed=_computed(ledger),
    )


def inline(text: str) -> Markup:
    """Markdown's code, strong and emphasis as HTML; everything else is escaped."""
    words = escaping.escape(text, quote=False)
    words = re.sub(r"`([^`]+)`", r"<code>\1</code>", words)
    words = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", words)
    return Markup(re.sub(r"\*([^*]+)\*", r"<em>\1</em>", words))


def _section(section: Section, ledger: Ledger) -> dict[str, Any]:
    return {
        "title": _plain(section.title),
        "heading": inline(section.title),
        "level": section.level,
        "anchor": _anchor(section.title),
        "paragraphs": [inline(paragraph) for paragraph in section.paragraphs],
        "tables": [_table(frame, ledger) for frame in section.frames],
    }


def _table(frame: Frame, ledger: Ledger) -> dict[str, Any]:
    styles = {place: _style(frame, place) for place, _ in visible(frame)}
    return {
        "title": frame.title,
        "anchor": f"table-{frame.name}",
        "columns": [{"heading": column.heading, "style": styles[place]} for place, column in visible(frame)],
        "rows": [_row(frame, row, styles, ledger) for row in frame.rows],
        "notes": [inline(note) for note in frame.notes],
    }


def _row(frame: Frame, row: Row, styles: Mapping[int, str], ledger: Ledger) -> dict[str, Any]:
    cells = []
    for place, column in visible(frame):
        cell = row.cells[place]
        text = shown(cell, column).replace("-", "−") if cell.number is not None else shown(cell, column)
        missing = cell.value is None
        anchor = None if missing else ledger.anchor(cell)
        cells.append({"text": text, "style": styles[place], "anchor": anchor, "missing": missing})
    return {"marked": row.marked, "cells": cells}


def _style(frame: Frame, place: int) -> str:
    if is_numeric(frame, place):
        return "number"
    return "long" if is_long(frame, place) else ""


def _lineage(ledger: Ledger, artifacts: Artifacts) -> list[dict[str, Any]]:
    return [
        {
            "name": file,
            "anchor": _anchor(f"file {file}"),
            "facts": facts(artifacts, file),
            "places": [{"anchor": anchor, "pointer": pointer or "/"} for anchor, pointer in places],
        }
        for file, places in sorted(ledger.files().items())
    ]


def _computed(ledger: Ledger) -> list[dict[str, Any]]:
    return [
        {
            "anchor": anchor,
            "places": [
                {"anchor": ledger.sources[source], "label": f"{source.file} {source.pointer}"}
                for source in sources
            ],
        }
        for sources, anchor in ledger.computed.items()
    ]


def _plain(text: str) -> str:
    return text.replace("`", "").replace("*", "")


def _anchor(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
