"""Compare an export, loaded by AutoModel in a process of its own, with the run's restored training state."""

import argparse
import sys
from pathlib import Path

from captionlab.files import parse_spec, read_json, write_json
from captionlab.serving.native import STATE_FILE
from captionlab.serving.parity import check_export, require_parity
from captionlab.training.devices import check_compute, claimed_device, make_deterministic
from captionlab.training.progress import say

_DAY = 86_400.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the step."""
    parser.add_argument("--spec", required=True, help="JSON: compute")
    parser.add_argument("--code", default="", help="fingerprint of the code, recorded by the workflow")
    parser.add_argument("--state", required=True, type=Path, help=f"the run's {STATE_FILE}")
    parser.add_argument("--run-json", required=True, type=Path, help="what the run wrote about itself")
    parser.add_argument("--tokenizer", required=True, type=Path, help="folder that prepare_tokenizer wrote")
    parser.add_argument("--export", required=True, type=Path, help="folder of the export")
    parser.add_argument(
        "--python",
        default=sys.executable,
        help="interpreter that loads the export (default: this one); another virtual environment's checks the "
        "export under its Transformers",
    )
    parser.add_argument("--output", required=True, type=Path, help="the report, JSON")


def run(args: argparse.Namespace) -> None:
    """Write the report, then fail with its first differences unless there are none."""
    spec = parse_spec(args.spec)
    check_compute(spec["compute"])
    make_deterministic(spec["compute"])
    record = read_json(args.run_json)
    with claimed_device(spec["compute"], timeout=_DAY, say=say) as device:
        compute = {**spec["compute"], "device": str(device)}
        report = check_export(args.state, record, args.tokenizer, args.export, compute, args.python)
    write_json(args.output, {**report, "spec": spec, "code": args.code})
    require_parity(report, args.export)
    print(f"parity: {len(report['cases'])} cases equal, {report['state']['tensors']} state tensors equal")
