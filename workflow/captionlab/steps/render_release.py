"""Write release.md, as CSV too: a published model's readings beside the numbers its card prints."""

import argparse
from pathlib import Path

from captionlab.files import parse_spec, write_text
from captionlab.serving.release_table import release
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.render import comma_separated, markdown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the step."""
    parser.add_argument("--spec", required=True, help="JSON: campaign, suites, development_suite, card")
    parser.add_argument("--code", default="", help="fingerprint of the code, recorded by the workflow")
    parser.add_argument("--root", required=True, type=Path, help="results root of the campaign")
    parser.add_argument("--output", required=True, type=Path, help="release.md; CSV goes beside it")


def run(args: argparse.Namespace) -> None:
    """Render the table from release/*.json."""
    spec = parse_spec(args.spec)
    frame = release(Artifacts(args.root), spec)
    write_text(args.output.with_suffix(".csv"), comma_separated(frame))
    write_text(args.output, f"# {frame.title}, read by campaign `{spec['campaign']}`\n\n{markdown(frame)}")
