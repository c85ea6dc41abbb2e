"""Audit a campaign: hash everything, walk every table cell to its sources, list every mismatch by file."""

import argparse
from pathlib import Path

from captionlab.files import parse_spec, write_text
from captionlab.kept import read_campaign
from captionlab.provenance.audit import AuditError, audit
from captionlab.provenance.engine import METADATA
from captionlab.provenance.report import audit_markdown, finding_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Every byte is read unless `--digest-cache` is given."""
    parser.add_argument(
        "--spec", default="{}", help='{"tables": spec of render_final}; default: of the census'
    )
    parser.add_argument("--code", default="", help="fingerprint of the code that this step reaches")
    parser.add_argument("--root", type=Path, default=Path("results"), help="results root of the campaign")
    parser.add_argument("--output", type=Path, help="the report (default: provenance/audit.md in the root)")
    parser.add_argument(
        "--configfile", type=Path, help="the campaign that would run now: specs are held against it"
    )
    parser.add_argument("--metadata", type=Path, default=METADATA, help="the engine's folder of records")
    parser.add_argument("--digest-cache", type=Path, help="trust digests of files whose stat did not change")
    parser.add_argument("--lock", type=Path, help="a committed record (see record_lock) that must agree")


def run(args: argparse.Namespace) -> None:
    """Write the report; raises AuditError (exit code 20 to 23) when anything was found."""
    result = audit(
        args.root,
        parse_spec(args.spec),
        campaign=read_campaign(args.configfile) if args.configfile else None,
        metadata=args.metadata,
        cache=args.digest_cache,
        lock=args.lock,
    )
    report = args.output or args.root / "provenance" / "audit.md"
    write_text(report, audit_markdown(result))
    for line in finding_lines(result):
        print(line)
    if result.findings:
        raise AuditError(list(result.findings), report)
    print(f"passed: {len(result.lineage.digests)} artifacts, {len(result.cells)} table cells")
