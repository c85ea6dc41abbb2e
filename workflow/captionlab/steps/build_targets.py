"""The target vector of each caption of a chunk: the teachers' consensus, or published vectors."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captionlab.chunks.manifest import read_manifest
from captionlab.errors import ConfigError, DamagedFileError
from captionlab.files import parse_spec, read_json, sha256_file
from captionlab.sources.packages import verify_digest
from captionlab.targets.alignment import load_alignment
from captionlab.targets.consensus import write_consensus, write_published
from captionlab.targets.embeddings import Embeddings, open_chunk_embeddings
from captionlab.targets.published import published_blocks
from captionlab.targets.threads import blas_threads


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The spec (chunk, kind, target_width, teachers, threads; source for published) and the paths."""
    parser.add_argument("--spec", required=True, help="canonical JSON of everything that decides the result")
    parser.add_argument("--code", default="", help="fingerprint of the step's code")
    parser.add_argument(
        "--chunk", required=True, type=Path, help="folder of the chunk; targets are written into it"
    )
    parser.add_argument("--embeddings", type=Path, help="folder with <teacher>/<chunk>.npy (kind consensus)")
    parser.add_argument(
        "--alignment", type=Path, help="alignment.safetensors, its JSON beside it (kind consensus)"
    )
    parser.add_argument("--published", type=Path, help=".npy, .safetensors, .parquet or .pt (kind published)")
    parser.add_argument("--published-json", type=Path, help="record of the published file's origin")


def run(args: argparse.Namespace) -> None:
    """Write targets.npy and manifest.json into the chunk's folder.

    The code's fingerprint is not kept: runs depend on the manifest, and code that makes the same targets must
    not change it.
    """
    spec = parse_spec(args.spec)
    captions = read_manifest(args.chunk / "captions.json")
    if spec.get("kind", "consensus") == "published":
        if args.published is None:
            raise ConfigError("build_targets: kind is published; give the vectors' file with --published")
        source = spec.get("source", {})
        if source.get("sha256"):
            verify_digest(args.published, source["sha256"])
        blocks = published_blocks(args.published, source.get("column"))
        origin = read_json(args.published_json) if args.published_json else {}
        write_published(args.chunk, captions, args.published, blocks, spec["target_width"], origin)
        return
    if args.embeddings is None or args.alignment is None:
        raise ConfigError("build_targets: kind is consensus; give --embeddings and --alignment")
    digest = sha256_file(args.alignment)
    alignment = load_alignment(args.alignment, spec["teachers"])
    if len(alignment.origin) != spec["target_width"]:
        raise DamagedFileError(
            f"{args.alignment} is {len(alignment.origin)} wide, targets.width is {spec['target_width']}: fit it again"
        )
    embeddings = open_chunk_embeddings(args.embeddings, spec["teachers"], captions["chunk"])
    _check_weights(args.alignment.with_suffix(".json"), digest, embeddings)
    with blas_threads(spec.get("threads", 1)):
        write_consensus(args.chunk, captions, embeddings, alignment, digest)


def _check_weights(path: Path, digest: str, embeddings: Mapping[str, Embeddings]) -> None:
    """The alignment must be the one its JSON describes, fitted on the same teachers, of the same commits."""
    fitted: dict[str, Any] = read_json(path)
    if fitted["files"][path.with_suffix(".safetensors").name]["sha256"] != digest:
        raise DamagedFileError(
            f"{path.with_suffix('.safetensors')} has another sha256 than {path} says: fit it again"
        )
    for name, teacher in embeddings.items():
        fitted_on = fitted["teachers"][name]
        if other := [key for key, value in teacher.origin.items() if fitted_on.get(key) != value]:
            raise DamagedFileError(
                f"{path} was fitted on another {' and '.join(other)} of {name} than {teacher.file.path} has: "
                "fit it again, or encode that again if the teacher's revision has moved"
            )
