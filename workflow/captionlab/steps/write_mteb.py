"""Write mteb-format result files of evaluated models, so that mteb and what builds on it can read them."""

import argparse
from pathlib import Path
from typing import Any

from captionlab.evaluation.leaderboard import model_meta, task_result
from captionlab.files import parse_spec, read_json, write_json

# The version whose tasks and scores these files are meant to stand beside.
MTEB_VERSION = "2.26.24"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the step."""
    parser.add_argument(
        "--spec", required=True, help='JSON: {"organisation"?, "models": [folders below evaluations]}'
    )
    parser.add_argument("--code", default="", help="fingerprint of the code, recorded by the workflow")
    parser.add_argument("--evaluations", required=True, type=Path, help="folder of the evaluations")
    parser.add_argument("--suites", required=True, type=Path, help="folder of the suites' JSON files")
    parser.add_argument("--output", required=True, type=Path, help="folder to give mteb as its cache")


def run(args: argparse.Namespace) -> None:
    """Write results/<organisation>__<model>/<revision>/*.json below the output, and index.json beside results."""
    spec = parse_spec(args.spec)
    organisation = spec.get("organisation", "captionlab")
    files: list[str] = []
    for place in spec["models"]:
        document = read_json(args.evaluations / place / "suites.json")
        files += _write_model(args, document, organisation, place.replace("/", "-"))
    write_json(args.output / "index.json", {"files": sorted(files), "spec": spec, "code": args.code})


def _write_model(
    args: argparse.Namespace, document: dict[str, Any], organisation: str, name: str
) -> list[str]:
    meta = model_meta(document, organisation, name)
    folder = Path("results", f"{organisation}__{name}", meta["revision"])
    contents = {"model_meta.json": meta}
    for suite, entry in document["suites"].items():
        record = read_json(args.suites / f"{suite}.json")
        result = task_result(entry, suite, record, MTEB_VERSION)
        contents[f"{result['task_name']}.json"] = result
    for file, content in contents.items():
        write_json(args.output / folder / file, content)
    return [(folder / file).as_posix() for file in contents]
