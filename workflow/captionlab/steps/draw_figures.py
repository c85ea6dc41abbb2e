"""Draw every figure of a campaign as SVG and PNG, with its numbers as CSV beside it."""

import argparse
from pathlib import Path

from captionlab.files import parse_spec, write_bytes, write_text
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.figure_names import FIGURES
from captionlab.tables.figures import draw, figure_frame
from captionlab.tables.plan import plan_from_spec
from captionlab.tables.render import comma_separated


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this step."""
    parser.add_argument("--spec", required=True, help="the campaign as tables see it, one JSON object")
    parser.add_argument("--code", default="", help="fingerprint of the code that this step reaches")
    parser.add_argument("--root", required=True, type=Path, help="results root of the campaign")
    parser.add_argument("--output", required=True, type=Path, help="folder for the figures")
    parser.add_argument("--figure", action="append", choices=FIGURES, help="a figure by name (default: all)")


def run(args: argparse.Namespace) -> None:
    """A figure whose results are missing is drawn as an empty panel that says so."""
    plan, artifacts = plan_from_spec(parse_spec(args.spec)), Artifacts(args.root)
    for name in args.figure or FIGURES:
        frame = figure_frame(name, plan, artifacts)
        write_text(args.output / f"{name}.csv", comma_separated(frame))
        for form, content in draw(frame).items():
            write_bytes(args.output / f"{name}.{form}", content)
