"""Write a small record of a results root that can be committed: config, code, versions, metrics, digests."""

import argparse
from pathlib import Path

from captionlab.files import write_json
from captionlab.provenance.record import make_record


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this step."""
    parser.add_argument("--root", type=Path, default=Path("results"), help="results root of the campaign")
    parser.add_argument("--output", type=Path, default=Path("results.lock.json"), help="the record")
    parser.add_argument("--digest-cache", type=Path, help="trust digests of files whose stat did not change")


def run(args: argparse.Namespace) -> None:
    """Write the record."""
    record = make_record(args.root, args.digest_cache)
    write_json(args.output, record)
    print(f"{args.output}: {len(record['outputs'])} files, {len(record['metrics'])} metrics")
