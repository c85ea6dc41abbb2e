"""What each run of an encoder campaign will take, before anything is trained; no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from captionlab.rotary.cost import (
    Shape,
    attention_flops,
    graph_bytes,
    linear_flops,
    state_bytes,
    step_flops,
)
from captionlab.rotary.options import Option, option_from_mapping, parameter_count

# Captions of a sub-batch are sorted by length; what is padded all the same.
PADDING = 1.1
# Mean square of caption lengths over their squared mean: a spread of half the mean.
SPREAD = 1.25
_BYTES = 4
_KEPT_WEIGHTS = 3
_STATE_COPIES = 3
_HISTORY_BYTES = 600


@dataclass(frozen=True)
class RunCost:
    """One run: tokens are real ones, FLOPs those of matrix products, bytes those of one device or of the disk.

    `whole` and `cached`: peak memory where the whole batch's graph is kept, and with the gradient cache.
    """

    stage: str
    recipe: str
    option: str
    parameters: int
    steps: int
    presentations: int
    tokens: float
    flops: float
    reading_flops: float
    whole: float
    cached: float
    disk: float


def run_cost(spec: Mapping[str, Any], run: Mapping[str, Any], lengths: Mapping[str, float]) -> RunCost:
    """The cost of one run; `lengths`: mean tokens of a caption by chunk, uncut.

    The gradient cache's second forward pass is not in `flops`. `reading_flops`: forward passes over the captions
    and sentences on which the run is read.
    """
    model, recipe = spec["model"], spec["recipes"][run["recipe"]]
    option = option_from_mapping(run["option"], spec["options"][run["option"]])
    batch, steps, half = recipe["batch"], recipe["steps"], spec["half"]
    length = _mean_length(recipe, spec["rows"], lengths)
    shape = _shape(batch, length)
    training = step_flops(model, option, shape, lookup_heads=spec["lookup_heads"])
    parameters = parameter_count(model, option)
    kept = _KEPT_WEIGHTS + (_STATE_COPIES if run["keeps_state"] else 0)
    sub_batch = min(shape.tokens, recipe["sub_batch_tokens"])
    state = state_bytes(model, option)
    return RunCost(
        stage=run["stage"],
        recipe=run["recipe"],
        option=run["option"],
        parameters=parameters,
        steps=steps,
        presentations=steps * batch,
        tokens=steps * batch * length,
        flops=steps * training,
        reading_flops=_reading(spec, option, run["stage"], length),
        whole=state + graph_bytes(model, shape.tokens, batch, half=half),
        cached=state + graph_bytes(model, sub_batch, batch, half=half),
        disk=kept * _BYTES * parameters + steps * _HISTORY_BYTES,
    )


def _shape(rows: float, length: float) -> Shape:
    return Shape(rows, PADDING * rows * length, PADDING * SPREAD * rows * length**2)


def _mean_length(recipe: Mapping[str, Any], rows: Mapping[str, int], lengths: Mapping[str, float]) -> float:
    """Mean tokens of a presentation, each chunk's cut at the recipe's ceiling (by its mean, not row by row)."""
    weights = {chunk: rows[chunk] // recipe["batch"] for chunk in recipe["chunks"]}
    total = sum(weights[chunk] * min(lengths[chunk], recipe["ceiling"]) for chunk in weights)
    return float(total / sum(weights.values()))


def _reading(spec: Mapping[str, Any], option: Option, stage: str, length: float) -> float:
    """Products of all readings of a run: its captions, and the suites its stage is read on."""
    reading = spec["reading"]
    captions = _shape(reading["captions"], length)
    sentences = _shape(2 * reading["pairs"][stage], reading["sentence_tokens"])
    return sum(
        linear_flops(spec["model"], option, shape, spec["lookup_heads"])
        + attention_flops(spec["model"], shape)
        for shape in (captions, sentences)
    )
