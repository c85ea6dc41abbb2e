"""Write the model card of an export: README.md and .eval_results, from the campaign's JSON files."""

import argparse
from pathlib import Path

from captionlab.files import parse_spec
from captionlab.serving.card import write_card
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.plan import plan_from_spec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the step."""
    parser.add_argument("--spec", required=True, help="JSON: tables, place, loaders, repository, command")
    parser.add_argument("--code", default="", help="fingerprint of the code, recorded by the workflow")
    parser.add_argument("--root", required=True, type=Path, help="results root of the campaign")
    parser.add_argument("--output", required=True, type=Path, help="folder of the export")


def run(args: argparse.Namespace) -> None:
    """Render the card; tables that lack a result show the gap."""
    spec = parse_spec(args.spec)
    write_card(plan_from_spec(spec["tables"]), Artifacts(args.root), spec, args.output)
