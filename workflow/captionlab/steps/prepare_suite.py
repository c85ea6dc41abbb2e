"""Bring one sentence-pair suite into the campaign: a checked TSV and the JSON that describes it."""

import argparse
from pathlib import Path

from captionlab.errors import ConfigError
from captionlab.files import parse_spec, sha256_file, versions, write_json
from captionlab.sources.fields import field
from captionlab.sources.suites import describe, load_pairs, write_pairs

ROLES = ("test", "development")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the step."""
    parser.add_argument("--spec", required=True, help='JSON: {"suite", "role", "source": {"kind", ...}}')
    parser.add_argument("--code", default="", help="fingerprint of the code, recorded by the workflow")
    parser.add_argument("--output-tsv", required=True, type=Path)
    parser.add_argument("--output-json", required=True, type=Path)


def run(args: argparse.Namespace) -> None:
    """Write the suite's TSV, then its JSON (see `captionlab.sources.suites.describe`)."""
    spec = parse_spec(args.spec)
    suite, role = field(spec, "suite", str, "spec"), field(spec, "role", str, "spec")
    if role not in ROLES:
        raise ConfigError(f"spec.role is {role!r}: the roles are {' and '.join(ROLES)}")
    pairs, source = load_pairs(suite, spec.get("source"))
    write_pairs(args.output_tsv, pairs)
    record = {
        "suite": suite,
        "role": role,
        **describe(pairs),
        "sha256": sha256_file(args.output_tsv),
        "source": source,
        "versions": versions("captionlab"),
    }
    write_json(args.output_json, record)
    verdict = (source.get("expected") or {}).get("verdict")
    print(f"{suite}: {record['rows']} pairs" + (f", {verdict}" if verdict else ""))
