"""Accept a harmless change of a step's code with a reason, so that nothing it made runs again."""

import argparse
import datetime
import getpass
from pathlib import Path

from captionlab.errors import CaptionlabError
from captionlab.provenance.accepted import accepted_file, record_accepted
from captionlab.provenance.engine import METADATA, engine_records
from captionlab.provenance.fingerprint import PACKAGE_ROOT, current_fingerprints, fingerprint


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this step."""
    parser.add_argument("--step", required=True, help="the step whose code changed, such as train_run")
    parser.add_argument("--reason", required=True, help="why its results cannot differ; the audit prints it")
    parser.add_argument("--who", default=getpass.getuser(), help="who answers for it")
    parser.add_argument(
        "--from", dest="origin", help="fingerprint of the code that ran (default: from the records)"
    )
    parser.add_argument("--metadata", type=Path, default=METADATA, help="the engine's folder of records")


def run(args: argparse.Namespace) -> None:
    """Record the acceptance in .captionlab/accepted.json; commit that file."""
    now = current_fingerprints([args.step])[args.step]
    origin = args.origin or _recorded(args.step, args.metadata, now)
    record_accepted(
        accepted_file(PACKAGE_ROOT),
        {
            "step": args.step,
            "from": origin,
            "to": now,
            "reason": args.reason,
            "who": args.who,
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        },
    )
    print(f"{args.step}: {now[:12]} is accepted as {origin[:12]}; commit {accepted_file(PACKAGE_ROOT)}")


def _recorded(step: str, metadata: Path, now: str) -> str:
    found = {
        record.code for record in engine_records(metadata).values() if record.step == step and record.code
    }
    stale = sorted(found - {now, fingerprint(step)})
    if len(stale) == 1:
        return stale[0]
    if not stale:
        raise CaptionlabError(f"nothing that {step} made is out of date by its code: nothing to accept")
    raise CaptionlabError(
        f"{step} made artifacts with several codes ({', '.join(stale)}): pass one as --from"
    )
