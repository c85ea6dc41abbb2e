"""Describe a campaign as a Workflow Run RO-Crate: ro-crate-metadata.json in its results root."""

import argparse
from pathlib import Path

from captionlab.files import write_json
from captionlab.provenance.crate import CRATE, make_crate, write_workflow_copy
from captionlab.provenance.engine import METADATA


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this step."""
    parser.add_argument("--code", default="", help="fingerprint of the code that this step reaches")
    parser.add_argument("--root", required=True, type=Path, help="results root of the campaign: the crate")
    parser.add_argument(
        "--checkout", type=Path, default=Path(), help="folder of the Snakefile, copied into the crate"
    )
    parser.add_argument(
        "--license", default="https://spdx.org/licenses/MIT", help="licence of the results, a URL"
    )
    parser.add_argument("--metadata", type=Path, default=METADATA, help="the engine's folder of records")


def run(args: argparse.Namespace) -> None:
    """Write the crate; it needs the census. The file lies in the root, because a crate holds only what is below it."""
    workflow = write_workflow_copy(args.root, args.checkout)
    write_json(args.root / CRATE, make_crate(args.root, workflow, args.license, args.metadata))
