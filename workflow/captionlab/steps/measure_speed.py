"""Measure one part of the benchmark: our work and a peer's, timed in turn in this process."""

import argparse
from pathlib import Path

from captionlab.files import parse_spec, write_json
from captionlab.speed import (
    arithmetic,
    consensus,
    encoding,
    engine,
    from_nothing,
    limits,
    memory,
    startup,
    tokenising,
    training,
)
from captionlab.speed.rows import part_json

MEASURES = {
    "limits": limits.measure,
    "training": training.measure,
    "encoding": encoding.measure,
    "tokenising": tokenising.measure,
    "consensus": consensus.measure,
    "arithmetic": arithmetic.measure,
    "memory": memory.measure,
    "startup": startup.measure,
    "from_nothing": from_nothing.measure,
    "workflow": engine.measure,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the step."""
    parser.add_argument(
        "--spec", required=True, help="JSON: the part, sizes and repeats, names of its inputs"
    )
    parser.add_argument("--code", default="", help="fingerprint of the code, recorded by the workflow")
    parser.add_argument("--root", required=True, type=Path, help="results root of the campaign")
    parser.add_argument("--threads", required=True, type=int, help="threads that ours and the peers may use")
    parser.add_argument("--output", required=True, type=Path, help="the part's JSON file")


def run(args: argparse.Namespace) -> None:
    """Write the part's rows; figures differ from call to call."""
    spec = parse_spec(args.spec)
    part = MEASURES[spec["part"]](spec, args.root, args.threads)
    write_json(args.output, {**part_json(part, spec), "threads": args.threads, "code": args.code})
