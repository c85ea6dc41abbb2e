"""Take the readings of a published model at its pinned revision: suites, caption geometry, serving checks."""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from captionlab.evaluation.captions import open_chunks, read_samples
from captionlab.evaluation.encode import SUB_BATCH_TOKENS
from captionlab.evaluation.results import write_cosines
from captionlab.evaluation.suites import read_suites
from captionlab.files import parse_spec, read_json, versions, write_json
from captionlab.serving.release import (
    MODEL_FILE,
    Release,
    ReleasedSentences,
    as_encoder,
    fetch_release,
    load_release,
    load_tokenizer,
)
from captionlab.serving.release_checks import check_release
from captionlab.training.devices import check_compute, claimed_device, make_deterministic
from captionlab.training.progress import say

READINGS = ("suites", "geometry", "serving")
PACKAGES = ("captionlab", "torch", "numpy", "tokenizers", "transformers", "safetensors", "huggingface_hub")
_DAY = 86_400.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the step."""
    parser.add_argument(
        "--spec", required=True, help="JSON: release, readings, compute and what the readings need"
    )
    parser.add_argument("--code", default="", help="fingerprint of the code, recorded by the workflow")
    parser.add_argument("--tokenizer", required=True, type=Path, help="folder that prepare_tokenizer wrote")
    parser.add_argument("--suites", required=True, type=Path, help="folder of the suites' TSV and JSON files")
    parser.add_argument("--chunks", required=True, type=Path, help="folder of the chunks' folders")
    parser.add_argument("--python", default=sys.executable, help="interpreter of the second load")
    parser.add_argument("--output", required=True, type=Path, help="folder of the release's files")


def run(args: argparse.Namespace) -> None:
    """Write the files of the readings that the spec asks for.

    spec: `readings` of suites (suites.json, cosines.safetensors; needs `suites` and `ceiling`), geometry
    (geometry.json; `geometry` and `caption_ceiling`) and serving (serving.json); folders that only other readings
    need are not looked at. FP32 on the spec's device; remote code runs only where the spec's release allows it.
    """
    spec = parse_spec(args.spec)
    check_compute(spec["compute"])
    make_deterministic(spec["compute"])
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        release = fetch_release(spec["release"], Path(folder))
        with claimed_device(spec["compute"], timeout=_DAY, say=say) as device:
            _read(args, spec, release, device, Path(folder))


def _read(args: argparse.Namespace, spec: dict[str, Any], release: Release, device: Any, work: Path) -> None:
    model = {"kind": "release", **release.origin, "weights_sha256": release.origin["files"][MODEL_FILE]}
    origin = {"model": model, "spec": spec, "code": args.code, "versions": versions(*PACKAGES)}
    readings = spec["readings"]
    stores = open_chunks(spec["geometry"], args.chunks) if "geometry" in readings else None
    encoder = load_release(release, device)
    found: dict[str, dict[str, Any]] = {}
    if "suites" in readings:
        sentences = ReleasedSentences(encoder, load_tokenizer(release), SUB_BATCH_TOKENS[device.type])
        found["suites"] = _read_suites(args, spec, sentences)
    if stores is not None:
        samples = read_samples(
            as_encoder(encoder),
            spec["geometry"],
            stores,
            ceiling=spec["caption_ceiling"],
            sub_batch_tokens=SUB_BATCH_TOKENS[device.type],
        )
        found["geometry"] = {"samples": samples}
    if "serving" in readings:
        pinned = read_json(args.tokenizer / "manifest.json")["tokenizer_sha256"]
        compute = {**spec["compute"], "device": str(device)}
        found["serving"] = check_release(release, encoder, args.tokenizer, pinned, compute, args.python, work)
    for name in READINGS:
        if name in found:
            write_json(args.output / f"{name}.json", {**origin, **found[name]})
        else:
            # An earlier config's reading would be of another spec, perhaps of another commit.
            (args.output / f"{name}.json").unlink(missing_ok=True)
    if "suites" not in found:
        (args.output / "cosines.safetensors").unlink(missing_ok=True)
    say(f"release: {model['repo']}@{model['revision']}")


def _read_suites(
    args: argparse.Namespace, spec: dict[str, Any], sentences: ReleasedSentences
) -> dict[str, Any]:
    """Scores and their mean over the test suites; writes the cosines they were made of."""
    readings = read_suites(sentences, args.suites, spec["suites"], spec["ceiling"])
    write_cosines(args.output, readings.cosines)
    tested = [entry["spearman"] for entry in readings.entries.values() if entry["role"] == "test"]
    mean = sum(tested) / len(tested) if tested else None
    return {"ceiling": spec["ceiling"], "precision": "float32", "suites": readings.entries, "mean": mean}
