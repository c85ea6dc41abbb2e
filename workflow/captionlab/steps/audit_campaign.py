"""Audit a campaign: hash everything, walk every table cell to its sources, list every mismatch by file."""

import argparse
from pathlib import Path

from captionlab.files import parse_spec, write_text
from captionlab.provenance.audit import AuditError, audit
from captionlab.provenance.engine import METADATA
from captionlab.provenance.report import audit_markdown, finding_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`--spec` {"tables": spec of render_final}. Every byte is read unless `--digest-cache` is given."""
    parser.add_argument("--spec", default="{}", help='{"tables": ...}: without it no table is rendered again')
    parser.add_argument("--code", default="", help="fingerprint of the code that this step reaches")
    parser.add_argument("--root", required=True, type=Path, help="results root of the campaign")
    parser.add_argument("--output", required=True, type=Path, help="the report, audit.md")
    parser.add_argument("--metadata", type=Path, default=METADATA, help="the engine's folder of records")
    parser.add_argument("--digest-cache", type=Path, help="trust digests of files whose stat did not change")
    parser.add_argument("--lock", type=Path, help="a committed record (see record_lock) that must agree")


def run(args: argparse.Namespace) -> None:
    """Write the report; raises AuditError (exit code 20 to 23) when anything was found."""
    result = audit(
        args.root,
        parse_spec(args.spec),
        metadata=args.metadata,
        cache=args.digest_cache,
        lock=args.lock,
    )
    write_text(args.output, audit_markdown(result))
    for line in finding_lines(result):
        print(line)
    if result.findings:
        raise AuditError(list(result.findings), args.output)
    print(f"passed: {len(result.lineage.digests)} artifacts, {len(result.cells)} table cells")
