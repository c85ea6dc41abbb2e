"""Write speed.md, as JSON, CSV and LaTeX too, from the measured parts of the benchmark."""

import argparse
from pathlib import Path

from captionlab.files import parse_spec, read_json, write_json, write_text
from captionlab.tables.render import comma_separated, latex
from captionlab.tables.speed import speed_frame, speed_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the step."""
    parser.add_argument("--spec", required=True, help="JSON: campaign, parts")
    parser.add_argument("--code", default="", help="fingerprint of the code, recorded by the workflow")
    parser.add_argument("--parts", required=True, type=Path, help="folder of the parts' JSON files")
    parser.add_argument("--output", required=True, type=Path, help="speed.md; the others go beside it")


def run(args: argparse.Namespace) -> None:
    """Render the table."""
    spec = parse_spec(args.spec)
    parts = {name: read_json(args.parts / f"{name}.json") for name in spec["parts"]}
    frame = speed_frame(list(parts.values()))
    write_json(args.output.with_suffix(".json"), {"campaign": spec["campaign"], "parts": parts})
    write_text(args.output.with_suffix(".csv"), comma_separated(frame))
    write_text(args.output.with_suffix(".tex"), latex(frame))
    write_text(args.output, speed_page(spec["campaign"], list(parts.values())))
