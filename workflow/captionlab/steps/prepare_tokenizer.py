"""Bring the encoder's vocabulary into the campaign: vocab.txt, a clean tokenizer.json and their manifest."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from captionlab.chunks.tokenizer import (
    SPECIALS,
    load_tokenizer,
    vocabulary,
    vocabulary_digest,
    vocabulary_text,
)
from captionlab.files import digest_entry, parse_spec, versions, write_json, write_text
from captionlab.sources.directory import find_file
from captionlab.sources.fields import by_kind, field, optional
from captionlab.sources.packages import package_file, verify_digest

VOCABULARY = "vocab.txt"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the step."""
    parser.add_argument("--spec", required=True, help='JSON: {"kind": "package"|"directory"|"hub", ...}')
    parser.add_argument("--code", default="", help="fingerprint of the code, recorded by the workflow")
    parser.add_argument("--output", required=True, type=Path, help="folder of the tokenizer")


def run(args: argparse.Namespace) -> None:
    """Write vocab.txt (canonical), tokenizer.json (no truncation, no padding) and manifest.json."""
    spec = parse_spec(args.spec)
    path, source = by_kind(spec, KINDS, "spec")(spec)
    tokenizer = load_tokenizer(path)
    pieces = vocabulary(tokenizer)
    write_text(args.output / VOCABULARY, vocabulary_text(pieces))
    write_text(args.output / "tokenizer.json", tokenizer.to_str(pretty=True) + "\n")
    files = {name: digest_entry(args.output / name) for name in (VOCABULARY, "tokenizer.json")}
    manifest = {
        "tokenizer_sha256": vocabulary_digest(pieces),
        "vocabulary": len(pieces),
        "continuations": sum(piece.startswith("##") for piece in pieces),
        "specials": {special: pieces.index(special) for special in SPECIALS},
        "files": files,
        "source": source,
        "versions": versions("captionlab", "tokenizers"),
    }
    write_json(args.output / "manifest.json", manifest)
    print(f"tokenizer: {len(pieces)} pieces, sha256 {manifest['tokenizer_sha256']}")


def _package(spec: Mapping[str, Any]) -> tuple[Path, dict[str, Any]]:
    package, file = field(spec, "package", str, "spec"), field(spec, "file", str, "spec")
    pinned = optional(spec, "sha256", str, "spec")
    path = package_file(package, file, pinned)
    return path, {"kind": "package", "package": package, "file": file, "versions": versions(package)}


def _directory(spec: Mapping[str, Any]) -> tuple[Path, dict[str, Any]]:
    path = find_file(field(spec, "path", str, "spec"), VOCABULARY)
    pinned = optional(spec, "sha256", str, "spec")
    if pinned is not None:
        verify_digest(path, pinned)
    return path, {"kind": "directory", "file": VOCABULARY}


def _hub(spec: Mapping[str, Any]) -> tuple[Path, dict[str, Any]]:
    # The hub's client is imported only where a spec asks for it.
    from captionlab.sources.hub import hub_source

    found = hub_source(spec, "spec", field(spec, "file", str, "spec"), repo_type="model")
    return found.path, found.record()


KINDS: dict[str, Callable[[Mapping[str, Any]], tuple[Path, dict[str, Any]]]] = {
    "package": _package,
    "directory": _directory,
    "hub": _hub,
}
