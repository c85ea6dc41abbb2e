"""Score a reference on the suites: a teacher, a bag of its word embeddings or an untrained encoder."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captionlab.chunks.tokenizer import load_tokenizer, vocabulary
from captionlab.errors import ConfigError
from captionlab.evaluation.captions import open_chunks, read_samples
from captionlab.evaluation.encode import SUB_BATCH_TOKENS, encode_sentences
from captionlab.evaluation.references import bag_sentences, teacher_sentences
from captionlab.evaluation.results import write_cosines
from captionlab.evaluation.suites import Encode, read_suites
from captionlab.files import parse_spec, read_json, versions, write_json
from captionlab.rotary.build import build_encoder, config_from_spec
from captionlab.rotary.encoder import CaptionEncoder
from captionlab.targets.teachers import Teacher, load_teacher
from captionlab.training.devices import make_deterministic

PACKAGES = ("captionlab", "torch", "numpy", "tokenizers", "safetensors")
Reference = tuple[Encode, dict[str, Any], CaptionEncoder | None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the step."""
    parser.add_argument(
        "--spec", required=True, help='JSON: {"reference": {"kind", ...}, "ceiling", "suites", "compute"}'
    )
    parser.add_argument("--code", default="", help="fingerprint of the code, recorded by the workflow")
    parser.add_argument("--tokenizer", required=True, type=Path, help="folder that prepare_tokenizer wrote")
    parser.add_argument("--suites", required=True, type=Path, help="folder of the suites' TSV and JSON files")
    parser.add_argument(
        "--chunks", type=Path, help="folder of the chunks' folders, where geometry is asked for"
    )
    parser.add_argument("--output", required=True, type=Path, help="folder of the reference's files")


def run(args: argparse.Namespace) -> None:
    """Write suites.json and cosines.safetensors, and geometry.json where an untrained encoder's is asked for.

    References are read in FP32 on the CPU, whatever device the runs have.
    """
    spec = parse_spec(args.spec)
    reference = spec["reference"]
    if reference["kind"] not in KINDS:
        raise ConfigError(f"reference.kind is {reference['kind']!r}; allowed are {', '.join(KINDS)}")
    make_deterministic(spec["compute"])
    encode, facts, encoder = KINDS[reference["kind"]](spec, args.tokenizer)
    model = {"kind": reference["kind"], "name": reference["name"], **facts}
    origin = {"model": model, "spec": spec, "code": args.code, "versions": versions(*PACKAGES)}
    readings = read_suites(encode, args.suites, spec["suites"], spec["ceiling"])
    write_cosines(args.output, readings.cosines)
    document = {"suites": readings.entries, "mean": readings.mean, "path_removed": None}
    common = {"ceiling": spec["ceiling"], "precision": "float32", "device": "cpu"}
    write_json(args.output / "suites.json", {**origin, **common, **document})
    if spec.get("geometry") and encoder is not None:
        samples = read_samples(
            encoder,
            spec["geometry"],
            open_chunks(spec["geometry"], args.chunks),
            ceiling=spec["caption_ceiling"],
            sub_batch_tokens=SUB_BATCH_TOKENS["cpu"],
        )
        write_json(args.output / "geometry.json", {**origin, "samples": samples})


def _teacher(spec: Mapping[str, Any], tokenizer: Path) -> Reference:
    teacher = load_teacher(spec["reference"]["teacher"], threads=spec["compute"]["threads"])
    return teacher_sentences(teacher), _teacher_facts(teacher), None


def _bag(spec: Mapping[str, Any], tokenizer: Path) -> Reference:
    teacher = load_teacher(spec["reference"]["teacher"], threads=spec["compute"]["threads"])
    return bag_sentences(teacher), _teacher_facts(teacher), None


def _untrained(spec: Mapping[str, Any], tokenizer: Path) -> Reference:
    reference = spec["reference"]
    pinned = read_json(tokenizer / "manifest.json")["tokenizer_sha256"]
    loaded = load_tokenizer(tokenizer / "vocab.txt", pinned)
    config = config_from_spec({**reference, "run": {"option": reference["name"]}})
    encoder = build_encoder(config, vocabulary(loaded), reference["seed"]).eval()

    def encode(texts: Any, ceiling: int) -> Any:
        return encode_sentences(
            encoder, loaded, texts, ceiling=ceiling, sub_batch_tokens=SUB_BATCH_TOKENS["cpu"]
        )

    return encode, {"seed": reference["seed"], "tokenizer_sha256": pinned}, encoder


def _teacher_facts(teacher: Teacher) -> dict[str, Any]:
    return {
        "teacher": teacher.name,
        "width": teacher.width,
        "weights_sha256": teacher.weights_sha256,
        "tokenizer_sha256": teacher.tokenizer_sha256,
        "source": dict(teacher.source),
    }


KINDS = {"teacher": _teacher, "bag": _bag, "untrained": _untrained}
