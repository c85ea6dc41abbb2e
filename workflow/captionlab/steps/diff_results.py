"""Compare two result sets, each a results root or a committed record; exit code 1 when they differ."""

import argparse
from pathlib import Path

from captionlab.errors import CaptionlabError
from captionlab.provenance.diff import compare, diff_table
from captionlab.provenance.record import load_record


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this step."""
    parser.add_argument("left", type=Path, help="a results root, or a record made by record_lock")
    parser.add_argument("right", type=Path, help="another")
    parser.add_argument(
        "--tolerance", type=float, default=0.0, help="metrics this close are equal (absolute)"
    )
    parser.add_argument("--digest-cache", type=Path, help="trust digests of files whose stat did not change")


def run(args: argparse.Namespace) -> None:
    """Print the differences as a table; raises CaptionlabError (exit code 1) when there are any."""
    left, right = (load_record(path, args.digest_cache) for path in (args.left, args.right))
    rows = compare(left, right, args.tolerance)
    if rows:
        print(diff_table(rows))
        raise CaptionlabError(f"{len(rows)} differences between {args.left} and {args.right}")
    print(f"no differences between {args.left} and {args.right}")
