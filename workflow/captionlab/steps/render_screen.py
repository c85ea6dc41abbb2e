"""Write screen.md, and its tables as CSV and LaTeX: all options, seeds and repeats, and the lookup reading."""

import argparse
from pathlib import Path

from captionlab.files import parse_spec, write_text
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.cells import Section
from captionlab.tables.final import final_markdown, screen_sections
from captionlab.tables.plan import plan_from_spec
from captionlab.tables.render import comma_separated, latex


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this step."""
    parser.add_argument("--spec", required=True, help="the campaign as tables see it, one JSON object")
    parser.add_argument("--code", default="", help="fingerprint of the code that this step reaches")
    parser.add_argument("--root", required=True, type=Path, help="results root of the campaign")
    parser.add_argument("--output", required=True, type=Path, help="screen.md; CSV and LaTeX go beside it")


def run(args: argparse.Namespace) -> None:
    """Render the screen's part of the document by itself; it needs no larger run."""
    plan, artifacts = plan_from_spec(parse_spec(args.spec)), Artifacts(args.root)
    sections = screen_sections(plan, artifacts)
    for section in sections:
        for frame in section.frames:
            write_text(args.output.parent / f"{frame.name}.csv", comma_separated(frame))
            write_text(args.output.parent / f"{frame.name}.tex", latex(frame))
    title = Section(f"Screen of campaign `{plan.campaign}`", 1)
    write_text(args.output, final_markdown((title, *sections)))
