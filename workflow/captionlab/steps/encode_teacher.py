"""A teacher's masked-mean embeddings of one chunk; resumable block by block."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from captionlab.chunks.manifest import read_manifest
from captionlab.errors import DamagedFileError
from captionlab.files import atomic_path, digest_entry, parse_spec, sha256_file, versions, write_json
from captionlab.targets.captions import caption_blocks
from captionlab.targets.encode import encode_texts
from captionlab.targets.partial import PartialRows
from captionlab.targets.progress import RowProgress
from captionlab.targets.rows import NormStatistics, RowFile
from captionlab.targets.teachers import Teacher, load_teacher

BLOCK_ROWS = 2048


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The spec (teacher, chunk, threads, optionally block_rows) and the paths."""
    parser.add_argument("--spec", required=True, help="canonical JSON of everything that decides the result")
    parser.add_argument("--code", default="", help="fingerprint of the step's code, recorded")
    parser.add_argument("--chunk", required=True, type=Path, help="folder of the chunk")
    parser.add_argument("--output-npy", required=True, type=Path)
    parser.add_argument("--output-json", required=True, type=Path)
    parser.add_argument("--state", required=True, type=Path, help="folder that a killed step resumes from")


def run(args: argparse.Namespace) -> None:
    """Encode the blocks that no earlier attempt has finished, then write the matrix and its facts."""
    spec = parse_spec(args.spec)
    captions = read_manifest(args.chunk / "captions.json")
    parquet = args.chunk / "captions.parquet"
    digest = captions["files"]["captions.parquet"]["sha256"]
    if sha256_file(parquet) != digest:
        raise DamagedFileError(
            f"{parquet} has another sha256 than captions.json beside it says: make the chunk again"
        )
    teacher = load_teacher(spec["teacher"], threads=spec["threads"])
    identity = {
        "spec": spec,
        "code": args.code,
        "captions": digest,
        "weights": teacher.weights_sha256,
        "tokenizer": teacher.tokenizer_sha256,
        "source": dict(teacher.source),
        "versions": versions("torch", "tokenizers", "numpy"),
    }
    block_rows = spec.get("block_rows", BLOCK_ROWS)
    with PartialRows(
        args.state, identity, rows=captions["rows"], width=teacher.width, block_rows=block_rows
    ) as partial:
        _encode_missing(partial, teacher, parquet, f"{teacher.name} {captions['chunk']}")
        with atomic_path(args.output_npy) as path:
            partial.assemble(path)
        facts = _facts(args, teacher, captions, partial.facts())
        write_json(args.output_json, facts)
        partial.discard()


def _encode_missing(partial: PartialRows, teacher: Teacher, parquet: Path, what: str) -> None:
    with RowProgress(partial.rows, what, done=partial.rows_done) as progress:
        found = 0
        for block, texts in enumerate(caption_blocks(parquet, partial.block_rows)):
            found += len(texts)
            if block not in partial.done:
                vectors, truncated = encode_texts(teacher, texts, progress=progress)
                partial.write(block, vectors, {"truncated": truncated})
    if found != partial.rows:
        raise DamagedFileError(
            f"{parquet} has {found} captions, captions.json says {partial.rows}: make the chunk again"
        )


def _facts(
    args: argparse.Namespace, teacher: Teacher, captions: Mapping[str, Any], blocks: list[dict[str, Any]]
) -> dict[str, Any]:
    norms = NormStatistics()
    for rows in RowFile.open(args.output_npy).blocks():
        norms.add(np.asarray(rows))
    return {
        "teacher": teacher.name,
        "chunk": captions["chunk"],
        "rows": captions["rows"],
        "width": teacher.width,
        "ceiling": teacher.ceiling,
        "truncated_rows": sum(block["truncated"] for block in blocks),
        "norm": norms.as_json(),
        "weights_sha256": teacher.weights_sha256,
        "tokenizer_sha256": teacher.tokenizer_sha256,
        "source": dict(teacher.source),
        "captions_sha256": captions["files"]["captions.parquet"]["sha256"],
        "files": {args.output_npy.name: digest_entry(args.output_npy)},
        "code": args.code,
        "versions": versions("torch", "tokenizers", "numpy"),
    }
