"""Explain one table cell: the chain from its number to the bytes it came from."""

import argparse
import json
from pathlib import Path

from captionlab.provenance.census import read_census
from captionlab.provenance.explain import chain_text, explain_cell, prov_document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this step."""
    parser.add_argument("--root", type=Path, default=Path("results"), help="results root of the campaign")
    parser.add_argument("--cell", required=True, help='row:column, such as "larger/relative-16/seed-1:mean"')
    parser.add_argument("--json", action="store_true", help="W3C PROV-JSON instead of text")
    parser.add_argument(
        "--full", action="store_true", help="every artifact it rests on, with all that each says"
    )
    parser.add_argument("--digest-cache", type=Path, help="trust digests of files whose stat did not change")


def run(args: argparse.Namespace) -> None:
    """Print the chain."""
    chain = explain_cell(args.root, read_census(args.root), args.cell, args.digest_cache)
    print(
        json.dumps(prov_document(chain), indent=2, sort_keys=True)
        if args.json
        else chain_text(chain, args.full)
    )
