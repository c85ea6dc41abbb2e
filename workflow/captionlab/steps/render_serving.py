"""Write serving.md, as CSV and LaTeX too, from the parity reports of all exports."""

import argparse
from pathlib import Path

from captionlab.files import parse_spec, write_text
from captionlab.serving.table import serving
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.plan import plan_from_spec
from captionlab.tables.render import comma_separated, latex, markdown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the step."""
    parser.add_argument("--spec", required=True, help="JSON: tables, places, loaders")
    parser.add_argument("--code", default="", help="fingerprint of the code, recorded by the workflow")
    parser.add_argument("--root", required=True, type=Path, help="results root of the campaign")
    parser.add_argument("--output", required=True, type=Path, help="serving.md; CSV and LaTeX go beside it")


def run(args: argparse.Namespace) -> None:
    """Render the table; a report that is not there shows as missing."""
    spec = parse_spec(args.spec)
    plan, artifacts = plan_from_spec(spec["tables"]), Artifacts(args.root)
    frame = serving(plan, artifacts, spec["places"], spec["loaders"])
    write_text(args.output.with_suffix(".csv"), comma_separated(frame))
    write_text(args.output.with_suffix(".tex"), latex(frame))
    title = f"# {frame.title} of campaign `{plan.campaign}`"
    write_text(args.output, f"{title}\n\n{markdown(frame)}")
