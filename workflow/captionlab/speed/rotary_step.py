"""Our training step at a given size, on real captions: the production path, from the memory map to Adam."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from captionlab.chunks.store import ChunkStore, open_chunk
from captionlab.chunks.tokenizer import load_tokenizer, vocabulary
from captionlab.rotary.build import build_encoder, config_from_spec
from captionlab.rotary.cost import Shape, step_flops
from captionlab.rotary.options import option_from_mapping
from captionlab.rotary.task import encoder_task
from captionlab.training import adam
from captionlab.training.devices import make_deterministic
from captionlab.training.loop import Run, take_step
from captionlab.training.memory import keep_freed_memory
from captionlab.training.order import rows_of_step
from captionlab.training.plan import plan_run


@dataclass(frozen=True)
class Step:
    """A step that can be repeated on the same rows of one chunk.

    `rows` are their numbers, `lengths` their tokens after the cut, `flops` the products of the step counted on
    those real tokens (no padding), `cached` whether the gradient cache was on.
    """

    run: Run
    store: ChunkStore
    rows: list[int]
    lengths: list[int]
    flops: float
    cached: bool

    def take(self) -> None:
        """The first step of the run, once more."""
        take_step(self.run)


def prepare_step(spec: Mapping[str, Any], root: Path, threads: int, *, compiled: bool = False) -> Step:
    """The first step of the run that `spec` (as train_run takes it) describes, on the first of its chunks.

    Settings of torch are those of a run. compiled: with torch.compile on each layer.
    """
    make_deterministic({**spec["compute"], "threads": threads})
    keep_freed_memory()
    training, seed = spec["training"], spec["run"]["seed"]
    store = open_chunk(root / "chunks" / training["chunks"][0], verify=False)
    plan = plan_run(training, seed, [len(store)])
    pieces = vocabulary(load_tokenizer(root / "tokenizer" / "vocab.txt"))
    encoder = build_encoder(config_from_spec(spec), pieces, seed)
    compute = {**spec["compute"], "compile": compiled}
    task = encoder_task({**spec, "compute": compute}, encoder, [store], [len(store)], dict)
    run = Run(task, plan, Path(), {}, adam.zero_moments(list(encoder.parameters())))
    _, rows = rows_of_step(seed, 1, [len(store)], plan.batch)
    lengths = store.lengths(training["ceiling"])[rows]
    shape = Shape(len(rows), float(lengths.sum()), float((lengths**2).sum()))
    option = option_from_mapping(spec["run"]["option"], spec["option"])
    heads = len(spec["lookup"]["heads"])
    flops = step_flops(spec["model"], option, shape, lookup_heads=heads, cached=task.cached, fused=False)
    return Step(run, store, rows.tolist(), lengths.tolist(), flops, task.cached)
