"""Export a run: weights, config, source files and tokenizer in one folder that loads without this project."""

import argparse
from pathlib import Path

from captionlab.files import read_json
from captionlab.serving.export import export_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the step."""
    parser.add_argument("--code", default="", help="fingerprint of the code, recorded by the workflow")
    parser.add_argument("--run", required=True, type=Path, help="folder of the finished run")
    parser.add_argument("--tokenizer", required=True, type=Path, help="folder that prepare_tokenizer wrote")
    parser.add_argument("--output", required=True, type=Path, help="folder of the export")


def run(args: argparse.Namespace) -> None:
    """Write the export from the run's final weights and the spec in its run.json."""
    export_run(args.run, read_json(args.run / "run.json"), args.tokenizer, args.output, args.code)
    print(f"export: {args.output}")
