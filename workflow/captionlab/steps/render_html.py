"""Write final.html: one page without a network that holds all tables, figures and where each number comes from."""

import argparse
from pathlib import Path

from captionlab.files import parse_spec, write_text
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.figure_names import FIGURES
from captionlab.tables.final import document
from captionlab.tables.html import page
from captionlab.tables.plan import plan_from_spec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this step."""
    parser.add_argument("--spec", required=True, help="the campaign as tables see it, one JSON object")
    parser.add_argument("--code", default="", help="fingerprint of the code that this step reaches")
    parser.add_argument("--root", required=True, type=Path, help="results root of the campaign")
    parser.add_argument("--figures", type=Path, help="folder of the drawn figures, to embed them")
    parser.add_argument("--output", required=True, type=Path, help="final.html")


def run(args: argparse.Namespace) -> None:
    """Render the same document as final.md; figures that were not drawn are left out."""
    plan, artifacts = plan_from_spec(parse_spec(args.spec)), Artifacts(args.root)
    figures = {}
    for name in FIGURES if args.figures else ():
        path = args.figures / f"{name}.svg"
        if path.is_file():
            figures[name.replace("-", " ").capitalize()] = path.read_bytes()
    write_text(args.output, page(document(plan, artifacts), artifacts, figures))
