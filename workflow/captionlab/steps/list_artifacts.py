"""List every artifact that a kept config's rules make, with its rule and its parents."""

import argparse
from pathlib import Path

from captionlab.expected import expected_artifacts
from captionlab.files import write_json
from captionlab.kept import kept_campaign


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this step."""
    parser.add_argument("--code", default="", help="fingerprint of the code that this step reaches")
    parser.add_argument("--config", required=True, type=Path, help="config.json of the results root")
    parser.add_argument("--output", required=True, type=Path, help="expected.json")


def run(args: argparse.Namespace) -> None:
    """Write the list as JSON."""
    campaign = kept_campaign(args.config.parent)
    write_json(args.output, expected_artifacts(campaign))
