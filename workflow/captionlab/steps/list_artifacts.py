"""List every artifact that a kept config's rules make, with its rule and its parents."""

import argparse
from pathlib import Path

from captionlab.config import load_campaign
from captionlab.expected import expected_artifacts
from captionlab.files import read_json, write_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this step."""
    parser.add_argument("--code", default="", help="fingerprint of the code that this step reaches")
    parser.add_argument("--config", required=True, type=Path, help="config.json of the results root")
    parser.add_argument("--output", required=True, type=Path, help="expected.json")


def run(args: argparse.Namespace) -> None:
    """Write the list as JSON."""
    campaign = load_campaign(read_json(args.config)["config"])
    write_json(args.output, expected_artifacts(campaign))
