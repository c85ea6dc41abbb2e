"""Pin every artifact of a campaign: path, size, SHA-256, kind, producing rule, run identity, parents."""

import argparse
from pathlib import Path

from captionlab.files import parse_spec, read_json, write_json
from captionlab.provenance.census import take_census
from captionlab.provenance.fingerprint import all_steps, fingerprints, step_digests


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`--spec` {"campaign", "tables", "expected": [{"path" or "paths", "rule", "parents", "identity_from"?,
    "optional"?}]}.

    Paths are below the root. Where the list is too long for a command line, `--expected` is a JSON file of it.
    """
    parser.add_argument("--spec", required=True, help="campaign and expected artifacts, one JSON object")
    parser.add_argument("--code", default="", help="fingerprint of the code that this step reaches")
    parser.add_argument("--expected", type=Path, help="JSON file with the list of expected artifacts")
    parser.add_argument("--root", required=True, type=Path, help="results root of the campaign")
    parser.add_argument("--digest-cache", type=Path, help="trust digests of files whose stat did not change")
    parser.add_argument("--output", required=True, type=Path, help="census.json")


def run(args: argparse.Namespace) -> None:
    """Write the census."""
    spec = parse_spec(args.spec)
    if args.expected is not None:
        spec["expected"] = read_json(args.expected)
    steps = all_steps()
    modules: dict[str, str] = {}
    for covered in step_digests(steps).values():
        modules.update(covered)
    write_json(args.output, take_census(args.root, spec, fingerprints(steps), modules, args.digest_cache))
