"""One training step at the published size: ours, and what a user would write or install instead."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import torch

from captionlab.speed.limits import GIGA, sgemm_limit
from captionlab.speed.profiling import profile_table
from captionlab.speed.rotary_step import Step, prepare_step
from captionlab.speed.rows import Goal, Limit, Part, Row
from captionlab.speed.timing import Sample, in_turn, pin_threads, rate, timed
from captionlab.speed.training_peers import cached_contrast_trainer, padded_bert_step

SLICE = 32
WARM_ROWS = 8


def measure(spec: Mapping[str, Any], root: Path, threads: int) -> Part:
    """Rows of the training step on real captions; every way takes a step on the same rows.

    Each peer is warmed up on few rows, ours on its whole step, because a padded step takes minutes.
    """
    pin_threads(threads)
    speed, run_spec = spec["speed"], spec["run"]
    step = prepare_step(run_spec, root, threads)
    ways: dict[str, Callable[[], Any]] = {"ours": step.take}
    if speed["training"]["compile"]:
        ways["compiled"] = prepare_step(run_spec, root, threads, compiled=True).take
    for way in ways.values():
        for _ in range(speed["warmup"]):
            way()
    padded_to = max(speed["training"]["padded_to"], *step.lengths)
    with tempfile.TemporaryDirectory() as folder:
        ways |= _peers(step, run_spec, padded_to, root, Path(folder))
        samples = in_turn(ways, warmup=0, repeats=speed["repeats"])
    steps, limit = _beside_the_limit(step, run_spec["model"], speed["repeats"])
    rows = [
        *_ratio_rows(step, run_spec, padded_to, samples, threads),
        _rate_row(step, run_spec, steps, threads, limit),
    ]
    return Part("training", rows, {"Where a training step goes": profile_table(step.take)})


def _beside_the_limit(step: Step, model: Mapping[str, Any], repeats: int) -> tuple[list[Sample], Limit]:
    """Steps of ours and the median limit, measured after each of them: a machine's rate moves within minutes.

    No peer stands between the steps, as none does in training: while peers take minutes, pages may be reclaimed.
    """
    step.take()
    steps, limits = [], []
    for _ in range(repeats):
        steps.append(timed(step.take))
        limits.append(sgemm_limit(model))
    return steps, sorted(limits, key=lambda limit: limit.value)[repeats // 2]


def _peers(
    step: Step, spec: Mapping[str, Any], padded_to: int, root: Path, folder: Path
) -> dict[str, Callable[[], Any]]:
    ids = [row.tolist() for row in step.store.rows(step.rows, spec["training"]["ceiling"])]
    targets = torch.from_numpy(step.store.target_rows(step.rows))
    table = pq.read_table(step.store.directory / "captions.parquet", columns=["caption"])
    captions = table["caption"].take(step.rows).to_pylist()
    ways: dict[str, Callable[[], Any]] = {}
    for name, length in (("padded", padded_to), ("longest", None)):
        bert = padded_bert_step(spec, ids, targets, padded_to=length, slice_rows=SLICE)
        bert(WARM_ROWS)
        ways[name] = bert
    trainer = cached_contrast_trainer(
        spec, captions, root / "tokenizer" / "vocab.txt", folder, slice_rows=SLICE
    )
    trainer(WARM_ROWS)
    ways["trainer"] = trainer
    return ways


# By way: the peer's name, how it goes about the batch, and the least ratio aimed at.
_ADDED_UP = f"gradients added up over slices of {SLICE}, a loss each"
_PEERS = {
    "padded": ("transformers BertModel, padded to {padded_to}", _ADDED_UP, 3.5),
    "longest": ("transformers BertModel, padded to the longest", _ADDED_UP, 1.5),
    "trainer": (
        "sentence-transformers trainer, cached InfoNCE",
        f"pairs of captions, sub-batches of {SLICE}",
        1.3,
    ),
}


def _ratio_rows(
    step: Step, spec: Mapping[str, Any], padded_to: int, samples: Mapping[str, list[Sample]], threads: int
) -> list[Row]:
    readings = {name: rate(taken, sum(step.lengths), threads) for name, taken in samples.items()}
    ours = "ours: one loss over all captions" + (", gradient cache" if step.cached else "")
    row = Row("Training step", _size(step, spec), "real tokens/s", readings["ours"])
    rows = [
        replace(
            row,
            peer_name=name.format(padded_to=padded_to),
            peer=readings[key],
            goal=Goal("ratio", bound),
            note=f"{ours}; the peer: {way}",
        )
        for key, (name, way, bound) in _PEERS.items()
    ]
    if "compiled" in readings:
        compiled = replace(
            row,
            what="Training step, layers by torch.compile",
            ours=readings["compiled"],
            peer_name="ours without torch.compile",
            peer=readings["ours"],
            note="`compute.compile: true`; other bits than without it",
        )
        rows.append(compiled)
    return rows


def _rate_row(step: Step, spec: Mapping[str, Any], samples: list[Sample], threads: int, limit: Limit) -> Row:
    return Row(
        what="Training step, products on real tokens",
        size=_size(step, spec),
        unit="GFLOP/s",
        ours=rate(samples, step.flops / GIGA, threads),
        limit=limit,
        goal=Goal("fraction", 0.75),
        note="the limit measured after each step; padding, GELU, norms, softmax, clipping and Adam cost time and "
        "count no FLOP: the profile below",
    )


def _size(step: Step, spec: Mapping[str, Any]) -> str:
    model, tokens = spec["model"], sum(step.lengths)
    return (
        f"{model['layers']} x {model['width']}, {len(step.rows)} captions, {tokens} tokens "
        f"({tokens / len(step.rows):.1f} on average, {max(step.lengths)} the longest)"
    )
