"""Take every reading of a run's final weights: suites, caption geometry and lookup, in one process."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

from captionlab.chunks.store import ChunkStore
from captionlab.chunks.tokenizer import load_tokenizer, vocabulary
from captionlab.evaluation.captions import open_chunks, read_samples
from captionlab.evaluation.encode import SUB_BATCH_TOKENS, encode_sentences, tokenize_cut
from captionlab.evaluation.lookup import LookupRows, lookup_document
from captionlab.evaluation.restore import restore_encoder
from captionlab.evaluation.results import write_cosines
from captionlab.evaluation.sampling import sample_rows
from captionlab.evaluation.suites import Encode, open_suite, read_suites
from captionlab.files import canonical_json, parse_spec, read_json, versions, write_json, write_text
from captionlab.rotary.build import build_encoder, config_from_spec
from captionlab.rotary.encoder import CaptionEncoder
from captionlab.sources.pairs import distinct_sentences
from captionlab.training.devices import check_compute, claimed_device, make_deterministic
from captionlab.training.progress import say

PACKAGES = ("captionlab", "torch", "numpy", "tokenizers", "safetensors")
_DAY = 86_400.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the step."""
    parser.add_argument(
        "--spec", required=True, help="JSON: run, model, option, lookup, suites, geometry, compute"
    )
    parser.add_argument("--code", default="", help="fingerprint of the code, recorded by the workflow")
    parser.add_argument("--weights", required=True, type=Path, help="the run's final.safetensors")
    parser.add_argument("--run-json", required=True, type=Path, help="what the run wrote about itself")
    parser.add_argument("--tokenizer", required=True, type=Path, help="folder that prepare_tokenizer wrote")
    parser.add_argument("--suites", required=True, type=Path, help="folder of the suites' TSV and JSON files")
    parser.add_argument("--chunks", required=True, type=Path, help="folder of the chunks' folders")
    parser.add_argument("--output", required=True, type=Path, help="folder of the evaluation's files")


@dataclass(frozen=True)
class _Job:
    spec: Mapping[str, Any]
    args: argparse.Namespace
    encoder: CaptionEncoder
    tokenizer: Tokenizer
    device: torch.device
    origin: Mapping[str, Any]

    def write(self, name: str, document: Mapping[str, Any]) -> None:
        write_json(self.args.output / name, {**self.origin, **document})


def run(args: argparse.Namespace) -> None:
    """Write suites.json, cosines.safetensors, geometry.json, lookup.json and lookup-queries.jsonl.

    Readings are FP32 on the spec's device, whatever precision the run was trained in.
    """
    spec = parse_spec(args.spec)
    record = read_json(args.run_json)
    check_compute(spec["compute"])
    make_deterministic(spec["compute"])
    stores = open_chunks(spec["geometry"], args.chunks)
    pinned = read_json(args.tokenizer / "manifest.json")["tokenizer_sha256"]
    tokenizer = load_tokenizer(args.tokenizer / "vocab.txt", pinned)
    with claimed_device(spec["compute"], timeout=_DAY, say=say) as device:
        encoder = restore_encoder(spec, args.weights, record, device)
        model = {
            "kind": "run",
            "run": spec["run"],
            "weights_sha256": record["outputs"][args.weights.name]["sha256"],
            "identity": record["identity"],
        }
        origin = {"model": model, "spec": spec, "code": args.code, "versions": versions(*PACKAGES)}
        job = _Job(spec, args, encoder, tokenizer, device, origin)
        _write_suites(job)
        _write_geometry(job, stores)
        _write_lookup(job, stores)


def _sentences(job: _Job, binding_path: bool) -> Encode:
    def encode(texts: Any, ceiling: int) -> Any:
        return encode_sentences(
            job.encoder,
            job.tokenizer,
            texts,
            ceiling=ceiling,
            sub_batch_tokens=SUB_BATCH_TOKENS[job.device.type],
            binding_path=binding_path,
        )

    return encode


def _write_suites(job: _Job) -> None:
    ceiling, suites = job.spec["ceiling"], job.spec["suites"]
    readings = read_suites(_sentences(job, True), job.args.suites, suites, ceiling)
    removed = None
    if job.spec["path_removal"]:
        without = read_suites(_sentences(job, False), job.args.suites, suites, ceiling)
        removed = {"suites": without.entries, "mean": without.mean}
    write_cosines(job.args.output, readings.cosines)
    document = {"suites": readings.entries, "mean": readings.mean, "path_removed": removed}
    job.write("suites.json", {"ceiling": ceiling, "precision": "float32", **document})


def _write_geometry(job: _Job, stores: Mapping[str, ChunkStore]) -> None:
    ceiling = job.spec["caption_ceiling"]
    samples = read_samples(
        job.encoder,
        job.spec["geometry"],
        stores,
        ceiling=ceiling,
        sub_batch_tokens=SUB_BATCH_TOKENS[job.device.type],
    )
    job.write("geometry.json", {"samples": samples})


def _write_lookup(job: _Job, stores: Mapping[str, ChunkStore]) -> None:
    read = [*_lookup_captions(job, stores), *_lookup_suites(job)]
    document: dict[str, Any] = {"source": None, "suites": {}}
    lines: list[dict[str, Any]] = []
    if read:
        born = build_encoder(config_from_spec(job.spec), vocabulary(job.tokenizer), job.spec["run"]["seed"])
        document, lines = lookup_document(
            job.encoder,
            read,
            sub_batch_tokens=SUB_BATCH_TOKENS[job.device.type],
            path_removal=job.spec["path_removal"],
            born=born.to(job.device).eval(),
        )
    write_text(
        job.args.output / "lookup-queries.jsonl", "".join(canonical_json(line) + "\n" for line in lines)
    )
    job.write("lookup.json", document)
    say(f"lookup: {len(lines)} queries")


def _lookup_captions(job: _Job, stores: Mapping[str, ChunkStore]) -> list[LookupRows]:
    geometry = job.spec["geometry"]
    if not geometry:
        return []
    store = stores[geometry["development"]["chunk"]]
    rows = sample_rows(
        np.arange(len(store), dtype=np.int64),
        job.spec["lookup"]["rows"],
        seed=geometry["seed"],
        sample="development:lookup",
        allow_fewer=geometry["allow_fewer"],
    )
    return [LookupRows(geometry["development"]["chunk"], store.rows(rows, job.spec["caption_ceiling"]), rows)]


def _lookup_suites(job: _Job) -> list[LookupRows]:
    read = []
    for suite in job.spec["lookup"].get("suites", ()):
        pairs, _ = open_suite(job.args.suites, suite)
        texts = distinct_sentences(pairs)
        rows = tokenize_cut(job.tokenizer, texts, job.spec["ceiling"])
        read.append(LookupRows(suite, rows, range(len(rows))))
    return read
