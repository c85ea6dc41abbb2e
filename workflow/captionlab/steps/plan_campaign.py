"""Write plan.md with CSV and LaTeX: what a campaign will take, before anything is trained."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captionlab.files import parse_spec, read_json, write_text
from captionlab.rotary.budget import run_cost
from captionlab.tables.budget import data, memory, sizes, work
from captionlab.tables.render import comma_separated, latex, markdown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this step."""
    parser.add_argument(
        "--spec", required=True, help="sizes, recipes and runs of the campaign, one JSON object"
    )
    parser.add_argument("--code", default="", help="fingerprint of the code that this step reaches")
    parser.add_argument(
        "--root", required=True, type=Path, help="results root; chunks made already tell lengths"
    )
    parser.add_argument("--output", required=True, type=Path, help="plan.md; CSV and LaTeX go beside it")


def run(args: argparse.Namespace) -> None:
    """Count work, time, data and memory; caption lengths come from chunks where they are made, else from the spec."""
    spec = parse_spec(args.spec)
    measured = {chunk: _measured(args.root, chunk, spec["rows"][chunk]) for chunk in spec["rows"]}
    lengths = {chunk: length or float(spec["assumed_tokens"]) for chunk, length in measured.items()}
    costs = [run_cost(spec, planned, lengths) for planned in spec["runs"]]
    chunks = [sizes(spec, chunk, lengths[chunk], measured[chunk] is not None) for chunk in spec["rows"]]
    parts = [f"# Plan of campaign `{spec['campaign']}`\n"]
    for frame in (work(costs, half=spec["half"]), data(chunks), memory(costs, half=spec["half"])):
        write_text(args.output.parent / f"{frame.name}.csv", comma_separated(frame))
        write_text(args.output.parent / f"{frame.name}.tex", latex(frame))
        parts.append(f"## {frame.title}\n\n{markdown(frame)}")
    write_text(args.output, "\n".join(parts))
    print("\n".join(parts))


def _measured(root: Path, chunk: str, rows: int) -> float | None:
    path = root / "chunks" / chunk / "captions.json"
    if not path.is_file():
        return None
    record: Mapping[str, Any] = read_json(path)
    return float(record["tokens"]["mean"]) if record["rows"] == rows else None
