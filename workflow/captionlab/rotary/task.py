"""The encoder's study as the training loop sees it: batches of captions, contrast and regression, lookup."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from captionlab.chunks.store import ChunkStore, open_chunk
from captionlab.chunks.tokenizer import distinct_rows, load_tokenizer, vocabulary, vocabulary_digest
from captionlab.errors import ConfigError, DamagedFileError
from captionlab.evaluation.encode import SUB_BATCH_TOKENS, padded_tensors
from captionlab.packing import sub_batches
from captionlab.rotary.build import build_encoder, config_from_spec
from captionlab.rotary.development import development_reading, read_development
from captionlab.rotary.encoder import CaptionEncoder
from captionlab.rotary.lookup import lookup_sum
from captionlab.rotary.options import additions, harmonics, option_from_mapping, parameter_count
from captionlab.training.devices import check_compiler
from captionlab.training.losses import info_nce, mean_squared_error
from captionlab.training.memory import batch_tokens_bound, plan_graph
from captionlab.training.plan import plan_run
from captionlab.training.run import Study
from captionlab.training.task import Batch, Part, PartOutput, Task

SPEC_KEYS = {
    "model": (
        *("vocabulary", "width", "layers", "ffn", "target_width", "max_tokens", "norm", "activation"),
        *("init_std", "layer_norm_eps", "rope_base", "ntk_scale", "pooling"),
    ),
    "option": ("heads", "position", "value_path", "key_phase", "record_norm", "lookup_loss"),
    "lookup": ("layer", "heads", "birth"),
    "training": (
        *("temperature", "mse_weight", "mse_reduction", "ceiling", "micro_batch_tokens", "sub_batch_tokens"),
        "mask_duplicates",
    ),
    "development": ("rows", "ceiling"),
}
_FULL_BYTES, _HALF_BYTES = 4, 2


@dataclass(frozen=True)
class Sources:
    """Where a run reads from: chunk folders in the order of the spec, the development chunk and suite, and
    the tokenizer's folder."""

    chunks: Sequence[Path]
    development_chunk: Path
    development_suite: Path
    tokenizer: Path


@dataclass(frozen=True)
class Goal:
    """What a batch's vectors are held against: targets float32 [B, d], and the group int64 [B] of each row's
    caption where duplicates are masked."""

    targets: Tensor
    groups: Tensor | None


def prepare_study(
    spec: Mapping[str, Any], sources: Sources, device: torch.device, description: Mapping[str, Any]
) -> Study:
    """Everything that a run of this spec trains and reads, every input checked against its manifest's hashes.

    Raises CaptionlabError for a spec that contradicts itself or its data.
    """
    training, seed = spec["training"], spec["run"]["seed"]
    stores = [open_chunk(path, verify=True) for path in sources.chunks]
    development_store = open_chunk(sources.development_chunk, verify=True)
    vocabulary_file = sources.tokenizer / "vocab.txt"
    pieces = vocabulary(load_tokenizer(vocabulary_file))
    for store in (*stores, development_store):
        _check_chunk(store, vocabulary_digest(pieces), spec["model"]["target_width"])
    plan = plan_run(training, seed, [rows_used(len(store), training["rows"]) for store in stores])
    encoder = build_encoder(config_from_spec(spec), pieces, seed).to(device)
    development = read_development(
        development_store,
        sources.development_suite,
        vocabulary_file,
        spec["development"],
        training["ceiling"],
    )
    option = option_from_mapping(spec["run"]["option"], spec["option"])
    most = min(training["sub_batch_tokens"], SUB_BATCH_TOKENS[device.type])
    read = development_reading(encoder, development, most)
    return Study(
        task=encoder_task(spec, encoder, stores, plan.rows_per_chunk, read),
        plan=plan,
        facts={
            "parameters": parameter_count(spec["model"], option),
            "harmonics": harmonics(option, spec["model"]["width"]),
            "additions": additions(option),
        },
        development={
            "suite": spec["development"]["suite"],
            "rows": len(development.captions),
            "pairs": len(development.scores),
        },
        device=description,
    )


def encoder_task(
    spec: Mapping[str, Any],
    encoder: CaptionEncoder,
    stores: Sequence[ChunkStore],
    rows_per_chunk: Sequence[int],
    evaluate: Callable[[], dict[str, float]],
) -> Task:
    """The task of an encoder on the first `rows_per_chunk` rows of each chunk in `stores`."""
    training, autocast = spec["training"], spec["compute"].get("autocast")
    device = next(encoder.parameters()).device
    lengths = [
        store.lengths(training["ceiling"])[:rows] for store, rows in zip(stores, rows_per_chunk, strict=True)
    ]
    tokens = batch_tokens_bound(np.concatenate(lengths), training["batch"])
    graph_bytes = tokens * activation_bytes(spec["model"], autocast is not None)
    graph = plan_graph(training["micro_batch_tokens"], training["sub_batch_tokens"], graph_bytes, device)
    # A dense gradient of the whole vocabulary for every sub-batch would cost a fifth of a small step. On CUDA
    # sparse sums have no fixed order.
    encoder.embedding.sparse = device.type == "cpu"
    compiled = spec["compute"].get("compile", False)
    if compiled:
        compile_layers(encoder)
    weights = {"infonce": 1.0, "mse": training["mse_weight"], "lookup": spec["option"]["lookup_loss"]}

    def load(chunk: int, rows: NDArray[np.int64]) -> Batch:
        return load_batch(
            stores[chunk],
            rows,
            ceiling=training["ceiling"],
            sub_batch_tokens=graph.sub_batch_tokens,
            mask_duplicates=training["mask_duplicates"],
            joins=device.type == "cpu" and not compiled,
            device=device,
        )

    def forward(part: Part) -> PartOutput:
        return forward_part(encoder, part, wants_lookup=weights["lookup"] > 0, autocast=autocast)

    def losses(vectors: Tensor, goal: Goal) -> dict[str, Tensor]:
        return whole_batch_losses(vectors, goal, training["temperature"], training["mse_reduction"])

    return Task(
        model=encoder,
        chunks=[str(store.manifest["chunk"]) for store in stores],
        rows_per_chunk=rows_per_chunk,
        load=load,
        forward=forward,
        losses=losses,
        weights=weights,
        evaluate=evaluate,
        score="spearman",
        cached=graph.cached,
    )


def compile_layers(encoder: CaptionEncoder) -> None:
    """Hand the arithmetic of the layers to torch.compile, once for all of them and all lengths.

    Names of the state stay; bits of results do not. Raises DeviceError without a compiler for the device.
    """
    check_compiler(next(encoder.parameters()).device)
    for layer in encoder.layers:
        layer.compile(dynamic=True)


def load_batch(
    store: ChunkStore,
    rows: NDArray[np.int64],
    *,
    ceiling: int,
    sub_batch_tokens: int,
    mask_duplicates: bool,
    joins: bool,
    device: torch.device,
) -> Batch:
    """A batch of a chunk's rows, sorted by length into groups that are padded to their own longest row.

    joins: see `sub_batches`; a compiled layer would be compiled anew for every number of groups.
    """
    tokens = store.rows(rows, ceiling)
    lengths = [len(row) for row in tokens]
    parts = []
    for together in sub_batches(lengths, sub_batch_tokens, device.type, joins=joins):
        inputs = [padded_tensors([tokens[place] for place in group], device) for group in together]
        parts.append(Part(torch.from_numpy(np.concatenate(together)).to(device), inputs))
    targets = torch.from_numpy(store.target_rows(rows)).to(device)
    captions = torch.from_numpy(distinct_rows(tokens)[1]).to(device) if mask_duplicates else None
    return Batch(parts, Goal(targets, captions), rows=len(rows), tokens=sum(lengths))


def forward_part(
    encoder: CaptionEncoder, part: Part, *, wants_lookup: bool, autocast: str | None
) -> PartOutput:
    """Sentence vectors of a sub-batch and, where asked for, its summed lookup loss over its queries."""
    dtype = torch.bfloat16 if autocast == "bfloat16" else torch.float32
    with torch.autocast(part.places.device.type, dtype=dtype, enabled=autocast is not None):
        outputs = encoder.forward_together(part.inputs, want_lookup=wants_lookup)
    vectors = torch.cat([output.sentence for output in outputs])
    if not wants_lookup:
        return PartOutput(vectors, {}, {})
    sums = [lookup_sum(output.lookup) for output in outputs if output.lookup is not None]
    total = torch.stack([value for value, _ in sums]).sum()
    return PartOutput(vectors, {"lookup": total}, {"lookup": sum(count for _, count in sums)})


def whole_batch_losses(
    vectors: Tensor, goal: Goal, temperature: float, reduction: Literal["mean", "sum"]
) -> dict[str, Tensor]:
    """InfoNCE and mean squared error of vectors [B, d] against the batch's targets."""
    return {
        "infonce": info_nce(vectors, goal.targets, temperature, goal.groups),
        "mse": mean_squared_error(vectors, goal.targets, reduction),
    }


def rows_used(rows: int, most: int | None) -> int:
    """Rows of a chunk that a recipe with so many rows a chunk (null: all) trains on.

    Raises ConfigError when the chunk has fewer.
    """
    if most is not None and most > rows:
        raise ConfigError(f"training.rows is {most} but a chunk has {rows} rows: ask for at most {rows}")
    return rows if most is None else most


def activation_bytes(model: Mapping[str, Any], half: bool) -> float:
    """Estimated bytes a padded token that a graph keeps: per layer ten vectors of the model's width (inputs of
    the two norms, of queries, keys, values and their rotation, attention output, residuals) and two of the
    feed-forward's."""
    numbers = model["layers"] * (10 * model["width"] + 2 * model["ffn"])
    return float(numbers * (_HALF_BYTES if half else _FULL_BYTES))


def _check_chunk(store: ChunkStore, tokenizer_sha256: str, width: int) -> None:
    manifest = store.manifest
    if manifest["tokenizer_sha256"] != tokenizer_sha256:
        raise DamagedFileError(
            f"{store.directory} was tokenised with {manifest['tokenizer_sha256'][:12]}, the run's tokenizer is "
            f"{tokenizer_sha256[:12]}: make the chunk again"
        )
    if manifest["targets"]["shape"][1] != width:
        raise ConfigError(
            f"model.target_width is {width} but the targets in {store.directory} are "
            f"{manifest['targets']['shape'][1]} wide"
        )
