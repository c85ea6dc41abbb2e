"""What the training loop needs of a study: a model and a few functions on batches."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True)
class Part:
    """A sub-batch: the places int64 [b] of its rows in their batch, and the model's inputs for them, as the study's
    `forward` takes them."""

    places: Tensor
    inputs: Any


@dataclass(frozen=True)
class Batch:
    """One step's rows cut into sub-batches that hold each row once.

    `context` is what the whole-batch losses need (targets, in the order of the places); `rows` and `tokens`
    count rows and real tokens.
    """

    parts: Sequence[Part]
    context: Any
    rows: int
    tokens: int


@dataclass(frozen=True)
class PartOutput:
    """What the model makes of a sub-batch: vectors [b, d] for the losses over the whole batch, and losses that
    need no other row, each as its sum (a scalar with graph) over `counts` items."""

    vectors: Tensor
    sums: Mapping[str, Tensor]
    counts: Mapping[str, int]


@dataclass(frozen=True)
class Task:
    """A study as the loop sees it.

    load(chunk index, row numbers) -> Batch; forward(part) -> PartOutput; losses(vectors [B, d], context) ->
    scalars by name; `weights` multiplies each loss, of either kind, in the total; evaluate() -> development
    numbers, of which `score` (higher is better) chooses `best`. `cached` asks for the gradient cache.
    """

    model: torch.nn.Module
    chunks: Sequence[str]
    rows_per_chunk: Sequence[int]
    load: Callable[[int, NDArray[np.int64]], Batch]
    forward: Callable[[Part], PartOutput]
    losses: Callable[[Tensor, Any], Mapping[str, Tensor]]
    weights: Mapping[str, float]
    evaluate: Callable[[], dict[str, float]]
    score: str
    cached: bool = False
