"""Write final.md, and each of its tables as CSV and LaTeX, from a campaign's JSON files."""

import argparse
from pathlib import Path

from captionlab.files import parse_spec, write_text
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.final import all_frames, document, final_markdown
from captionlab.tables.plan import plan_from_spec
from captionlab.tables.render import comma_separated, latex


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this step."""
    parser.add_argument("--spec", required=True, help="the campaign as tables see it, one JSON object")
    parser.add_argument("--code", default="", help="fingerprint of the code that this step reaches")
    parser.add_argument("--root", required=True, type=Path, help="results root of the campaign")
    parser.add_argument("--output", required=True, type=Path, help="final.md; CSV and LaTeX go beside it")


def run(args: argparse.Namespace) -> None:
    """Render the document; tables that lack a result show the gap."""
    sections = document(plan_from_spec(parse_spec(args.spec)), Artifacts(args.root))
    for frame in all_frames(sections):
        write_text(args.output.parent / f"{frame.name}.csv", comma_separated(frame))
        write_text(args.output.parent / f"{frame.name}.tex", latex(frame))
    write_text(args.output, final_markdown(sections))
