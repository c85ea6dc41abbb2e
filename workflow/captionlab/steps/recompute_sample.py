"""Evaluate a seeded sample of runs again from their weights and compare; the audit reads the outcome."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captionlab.errors import CaptionlabError
from captionlab.files import canonical_json, parse_spec, write_json
from captionlab.provenance.links import run_folder
from captionlab.provenance.recompute import recompute
from captionlab.steps import evaluate_run

_DEFAULTS = {"runs": 2, "seed": 0, "tolerance": 1e-6}


class NumbersDifferError(CaptionlabError):
    """A run's weights do not give the numbers in its evaluation."""

    exit_code = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`--spec` {"runs": how many, "seed", "tolerance": largest absolute difference that counts as equal}."""
    parser.add_argument(
        "--spec", default=canonical_json(_DEFAULTS), help="runs, seed and tolerance, one JSON object"
    )
    parser.add_argument("--code", default="", help="fingerprint of the code that this step reaches")
    parser.add_argument("--root", required=True, type=Path, help="results root of the campaign")
    parser.add_argument("--output", required=True, type=Path, help="recomputed.json")


def run(args: argparse.Namespace) -> None:
    """Write the comparison; raises NumbersDifferError naming the first file that does not come out again."""
    result = recompute(args.root, {**_DEFAULTS, **parse_spec(args.spec)}, _evaluate)
    write_json(args.output, result)
    wrong = [row for row in result["rows"] if not row["equal"]]
    for row in result["rows"]:
        print(f"{row['path']}: {'equal' if row['equal'] else 'DIFFERS'}, {row['detail']}")
    if wrong:
        raise NumbersDifferError(
            f"{args.root / wrong[0]['path']} is not what its weights give: {wrong[0]['detail']}"
        )


def _evaluate(root: Path, document: Mapping[str, Any], folder: Path) -> None:
    run = root / "runs" / str(run_folder(document["spec"].get("run")))
    parser = argparse.ArgumentParser()
    evaluate_run.add_arguments(parser)
    named = {
        "--weights": run / "final.safetensors",
        "--run-json": run / "run.json",
        "--tokenizer": root / "tokenizer",
        "--suites": root / "suites",
        "--chunks": root / "chunks",
        "--output": folder,
    }
    words = ["--spec", canonical_json(document["spec"])]
    words += [word for name, path in named.items() for word in (name, str(path))]
    evaluate_run.run(parser.parse_args(words))
