"""Select the default run of a stage from its runs' development.json, and from nothing else."""

import argparse
from pathlib import Path
from typing import Any

from captionlab.errors import CaptionlabError
from captionlab.files import canonical_json, parse_spec, read_json, sha256_file, versions, write_json
from captionlab.selection import development_row, select


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`--spec` {"stage","near_tie","runs":[{"recipe","option","seed","repeat"},...]}; files in any order."""
    parser.add_argument("--spec", required=True)
    parser.add_argument("--code", default="")
    parser.add_argument("--development", type=Path, nargs="+", required=True)
    parser.add_argument("--output", type=Path, required=True)


def run(args: argparse.Namespace) -> None:
    """Write the selection; the given files must be those of the spec's runs, all of them and no others."""
    spec = parse_spec(args.spec)
    found = {}
    for path in args.development:
        document = read_json(path)
        found[_key(document.get("run", {}))] = (document, path)
    wanted = [_key(run) for run in spec["runs"]]
    _check_complete(wanted, set(found), spec["stage"])
    rows = [development_row(found[key][0], str(found[key][1])) for key in wanted]
    selection = select(rows, spec["near_tie"])
    for row, key in zip(selection["rows"], wanted, strict=True):
        row["development_sha256"] = sha256_file(found[key][1])
    write_json(
        args.output,
        {
            "stage": spec["stage"],
            **selection,
            "spec": spec,
            "code": args.code,
            "versions": versions("captionlab"),
        },
    )


def _key(run: dict[str, Any]) -> str:
    return canonical_json({key: run.get(key, 0) for key in ("recipe", "option", "seed", "repeat")})


def _check_complete(wanted: list[str], found: set[str], stage: str) -> None:
    missing = [key for key in wanted if key not in found]
    extra = sorted(found - set(wanted))
    if missing:
        raise CaptionlabError(
            f"selection of {stage} lacks the development file of {missing[0]}: train that run"
        )
    if extra:
        raise CaptionlabError(
            f"selection of {stage} was given {extra[0]}, which its spec does not hold: leave it out"
        )
