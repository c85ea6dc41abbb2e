"""Upload an export to a hub repository, read that revision back and check parity on those bytes."""

import argparse
import sys
import tempfile
from pathlib import Path

from captionlab.errors import ConfigError
from captionlab.files import parse_spec, read_json, versions, write_json
from captionlab.serving.parity import check_export, require_parity
from captionlab.serving.publish import download, file_digests, require_same, upload
from captionlab.training.devices import check_compute, claimed_device, make_deterministic
from captionlab.training.progress import say

_DAY = 86_400.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the step."""
    parser.add_argument("--spec", required=True, help="JSON: compute, repository, private")
    parser.add_argument("--code", default="", help="fingerprint of the code, recorded by the workflow")
    parser.add_argument("--state", required=True, type=Path, help="the run's training-state.safetensors")
    parser.add_argument("--run-json", required=True, type=Path, help="what the run wrote about itself")
    parser.add_argument("--tokenizer", required=True, type=Path, help="folder that prepare_tokenizer wrote")
    parser.add_argument("--export", required=True, type=Path, help="folder to upload")
    parser.add_argument("--python", default=sys.executable, help="interpreter that loads what came back")
    parser.add_argument("--output", required=True, type=Path, help="the report, JSON")


def run(args: argparse.Namespace) -> None:
    """Write the report with the revision, then fail unless bytes and outputs are equal."""
    spec = parse_spec(args.spec)
    repository = spec.get("repository")
    if not repository:
        raise ConfigError("serving.repository is not set: name the hub repository to publish to, owner/name")
    check_compute(spec["compute"])
    make_deterministic(spec["compute"])
    record = read_json(args.run_json)
    sent = file_digests(args.export)
    revision = upload(args.export, repository, private=bool(spec.get("private", True)))
    place = f"{repository}@{revision}"
    with tempfile.TemporaryDirectory(prefix="published-") as folder:
        received = Path(folder) / "model"
        download(repository, revision, received)
        require_same(sent, file_digests(received), place)
        with claimed_device(spec["compute"], timeout=_DAY, say=say) as device:
            compute = {**spec["compute"], "device": str(device)}
            report = check_export(args.state, record, args.tokenizer, received, compute, args.python)
    published = {"repository": repository, "revision": revision, "files": sent}
    document = {**report, "published": published, "spec": spec, "code": args.code}
    write_json(args.output, {**document, "versions": versions("captionlab", "huggingface_hub")})
    require_parity(report, Path(place))
    print(f"published: {place}")
