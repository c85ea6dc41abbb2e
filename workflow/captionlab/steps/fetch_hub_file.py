"""Fetch one file of a pinned hub repository into the campaign, its bytes verified."""

import argparse
import shutil
from pathlib import Path

from captionlab.errors import ConfigError
from captionlab.files import atomic_path, parse_spec, write_json
from captionlab.sources.fields import field
from captionlab.sources.hub import hub_source

REPO_TYPES = ("model", "dataset")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the step."""
    parser.add_argument(
        "--spec",
        required=True,
        help='JSON: {"repo", "revision", "repo_type", "file", "sha256" or null, "allow_floating"?}',
    )
    parser.add_argument("--code", default="", help="fingerprint of the code, recorded by the workflow")
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--output-json", type=Path, help="record of the origin: repo, commit, file, sha256")


def run(args: argparse.Namespace) -> None:
    """Write the file under its final name only when all of it is there and right; then its record."""
    spec = parse_spec(args.spec)
    file, repo_type = field(spec, "file", str, "spec"), field(spec, "repo_type", str, "spec")
    if repo_type not in REPO_TYPES:
        raise ConfigError(f"spec.repo_type is {repo_type!r}: the types are {' and '.join(REPO_TYPES)}")
    if Path(file).suffix != args.output.suffix:
        raise ConfigError(
            f"{file} would be written as {args.output.name}, but its format is told by its suffix: "
            f"give an output that ends in {Path(file).suffix!r}"
        )
    found = hub_source(spec, "spec", file, repo_type=repo_type)
    with atomic_path(args.output) as path:
        shutil.copyfile(found.path, path)
    if args.output_json is not None:
        write_json(args.output_json, found.record())
    print(f"{found.repo} {found.file} at {found.revision}: sha256 {found.sha256}")
