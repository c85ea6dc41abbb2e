"""Upload a campaign's exports to a hub repository, read that revision back and check parity on those bytes."""

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captionlab.errors import ConfigError
from captionlab.files import parse_spec, read_json, versions, write_json
from captionlab.serving.native import STATE_FILE
from captionlab.serving.parity import check_export, require_parity
from captionlab.serving.publish import download, export_folder, file_digests, lay_out, require_same, upload
from captionlab.training.devices import check_compute, claimed_device, make_deterministic
from captionlab.training.progress import say

_DAY = 86_400.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the step."""
    parser.add_argument(
        "--spec", required=True, help="JSON: compute, repository, private, places (runs whose exports go out)"
    )
    parser.add_argument("--code", default="", help="fingerprint of the code, recorded by the workflow")
    parser.add_argument("--root", required=True, type=Path, help="results root of the campaign")
    parser.add_argument("--selection", required=True, type=Path, help="which run is the default, JSON")
    parser.add_argument("--python", default=sys.executable, help="interpreter that loads what came back")
    parser.add_argument("--output", required=True, type=Path, help="the report, JSON")


def run(args: argparse.Namespace) -> None:
    """Write the report with the revision, then fail unless bytes and outputs of every export are equal."""
    spec = parse_spec(args.spec)
    repository = spec.get("repository")
    if not repository:
        raise ConfigError("serving.repository is not set: name the hub repository to publish to, owner/name")
    check_compute(spec["compute"])
    make_deterministic(spec["compute"])
    chosen = read_json(args.selection)["selected"]
    default = f"{chosen['recipe']}/{chosen['option']}/seed-{chosen['seed']}"
    exports = {place: args.root / "export" / place for place in spec["places"]}
    with tempfile.TemporaryDirectory(prefix="published-") as work:
        outgoing, received = Path(work) / "outgoing", Path(work) / "received"
        lay_out(exports, default, repository, outgoing)
        sent = file_digests(outgoing)
        revision = upload(outgoing, repository, private=bool(spec.get("private", True)))
        download(repository, revision, received)
        require_same(sent, file_digests(received), f"{repository}@{revision}")
        reports = {
            place: _parity(args, spec, place, received / export_folder(place, default)) for place in exports
        }
    published = {"repository": repository, "revision": revision, "default": default, "files": sent}
    folders = {place: export_folder(place, default) for place in exports}
    document = {**published, "folders": folders, "exports": reports, "spec": spec, "code": args.code}
    write_json(args.output, {**document, "versions": versions("captionlab", "huggingface_hub")})
    for place, report in reports.items():
        require_parity(report, Path(f"{repository}@{revision}/{folders[place]}"))
    print(f"published: {repository}@{revision}, {len(exports)} exports")


def _parity(args: argparse.Namespace, spec: Mapping[str, Any], place: str, export: Path) -> dict[str, Any]:
    run_folder = args.root / "runs" / place
    record = read_json(run_folder / "run.json")
    with claimed_device(spec["compute"], timeout=_DAY, say=say) as device:
        compute = {**spec["compute"], "device": str(device)}
        state = run_folder / STATE_FILE
        return check_export(state, record, args.root / "tokenizer", export, compute, args.python)
