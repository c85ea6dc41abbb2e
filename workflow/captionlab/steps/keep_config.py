"""Keep the effective config, after all merges, with the digests of the source files it names."""

import argparse
from pathlib import Path

from captionlab.files import parse_spec, write_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this step."""
    parser.add_argument(
        "--spec", required=True, help="the config and the digests of its sources, one JSON object"
    )
    parser.add_argument("--code", default="", help="fingerprint of the code that this step reaches")
    parser.add_argument("--output", required=True, type=Path, help="config.json of the results root")


def run(args: argparse.Namespace) -> None:
    """Write the config as readable JSON."""
    write_json(args.output, parse_spec(args.spec))
