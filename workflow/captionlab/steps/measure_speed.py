"""Measure one part of the benchmark: our work and a peer's, timed in turn in this process."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captionlab.files import parse_spec, write_json
from captionlab.speed.rows import Part, part_json


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
    part = measure(spec["part"], spec, args.root, args.threads)
    write_json(args.output, {**part_json(part, spec), "threads": args.threads, "code": args.code})


def measure(name: str, spec: Mapping[str, Any], root: Path, threads: int) -> Part:
    """The rows of one part. Only its own module is imported: the packages of another's would add to its time.

    Raises KeyError for a name that is no part.
    """
    match name:
        case "limits":
            from captionlab.speed import limits

            return limits.measure(spec, root, threads)
        case "training":
            from captionlab.speed import training

            return training.measure(spec, root, threads)
        case "encoding":
            from captionlab.speed import encoding

            return encoding.measure(spec, root, threads)
        case "tokenising":
            from captionlab.speed import tokenising

            return tokenising.measure(spec, root, threads)
        case "consensus":
            from captionlab.speed import consensus

            return consensus.measure(spec, root, threads)
        case "arithmetic":
            from captionlab.speed import arithmetic

            return arithmetic.measure(spec, root, threads)
        case "memory":
            from captionlab.speed import memory

            return memory.measure(spec, root, threads)
        case "startup":
            from captionlab.speed import startup

            return startup.measure(spec, root, threads)
        case "workflow":
            from captionlab.speed import engine

            return engine.measure(spec, root, threads)
    raise KeyError(name)
