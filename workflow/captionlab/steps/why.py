"""Say which module, spec key, package version or input changed since an artifact was made."""

import argparse
from pathlib import Path

from captionlab.errors import CaptionlabError
from captionlab.kept import read_campaign
from captionlab.provenance.changes import changes, origin, upstream_changes
from captionlab.provenance.engine import METADATA
from captionlab.provenance.fingerprint import SYNTAX_CACHE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this step."""
    parser.add_argument("path", type=Path, help="an artifact, such as results/tables/final.md")
    parser.add_argument("--root", type=Path, help="results root (default: the config's)")
    parser.add_argument(
        "--configfile", type=Path, default=Path("config.yaml"), help="the campaign that would run now"
    )
    parser.add_argument("--metadata", type=Path, default=METADATA, help="the engine's folder of records")


def run(args: argparse.Namespace) -> None:
    """Print what changed, or that nothing did."""
    campaign = read_campaign(args.configfile)
    root = args.root or Path(campaign.paths.root)
    if not args.path.absolute().is_relative_to(root.absolute()):
        raise CaptionlabError(f"{args.path} is not below {root}: pass --root, the results root it belongs to")
    path = args.path.absolute().relative_to(root.absolute()).as_posix()
    cache = SYNTAX_CACHE if SYNTAX_CACHE.parent.is_dir() else None
    made = origin(root, path, args.metadata)
    found = changes(root, made, campaign, cache=cache)
    lines = [f"{part}: {line}" for part, changed in found.items() for line in changed]
    lines += [f"upstream, {line}" for line in upstream_changes(root, path, campaign, args.metadata, cache)]
    print(f"{args.path}: made by {made.step}")
    for line in lines or ["nothing it depends on has changed since"]:
        print(f"  {line}")
