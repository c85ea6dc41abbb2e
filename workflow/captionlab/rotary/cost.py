"""What training the encoder costs, by formula and without torch: FLOPs of matrix products, bytes of memory.

A multiply and an add are two FLOPs. Element-wise work (norms, GELU, softmax, rotation) is not counted, as torch's own
counter does not count it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from captionlab.rotary.options import Option, parameter_count

# Backward of a product is two products; fused attention's backward computes its scores again: 5 products for 2.
PLAIN_STEP = 3.0
FUSED_STEP = 3.5
_FULL, _HALF = 4, 2
# Weights, gradients and Adam's two moments, all float32.
_STATE_COPIES = 4


@dataclass(frozen=True)
class Shape:
    """A batch: rows, padded tokens, and the sum over rows of the squared padded length."""

    rows: float
    tokens: float
    squares: float


def linear_flops(model: Mapping[str, Any], option: Option, shape: Shape, lookup_heads: int) -> float:
    """Products of one forward pass outside attention: the layers' maps, the head, and the lookup loss's scores."""
    width, ffn, layers = model["width"], model["ffn"], model["layers"]
    layer = 2 * width * (4 * width + 2 * ffn) * shape.tokens
    vectors = shape.rows if model["pooling"] == "mean-then-head" else shape.tokens
    head = 2 * width * (width + model["target_width"]) * vectors
    scores = 2 * (width // option.heads) * lookup_heads * shape.squares if option.lookup_loss > 0 else 0
    return float(layers * layer + head + scores)


def attention_flops(model: Mapping[str, Any], shape: Shape) -> float:
    """Products of one forward pass inside attention: queries with keys, weights with values."""
    return float(model["layers"] * 4 * model["width"] * shape.squares)


def step_flops(
    model: Mapping[str, Any],
    option: Option,
    shape: Shape,
    *,
    lookup_heads: int,
    cached: bool = False,
    fused: bool = True,
) -> float:
    """Products of one training step: forward, backward, and the contrast of the batch with its targets.

    `cached`: with the gradient cache, which makes a second forward pass. `fused`: with an attention kernel that
    keeps no scores, as on CUDA.
    """
    linear, attention = linear_flops(model, option, shape, lookup_heads), attention_flops(model, shape)
    contrast = 4 * shape.rows**2 * model["target_width"]
    again = linear + attention if cached else 0.0
    return float(PLAIN_STEP * linear + (FUSED_STEP if fused else PLAIN_STEP) * attention + contrast + again)


def state_bytes(model: Mapping[str, Any], option: Option) -> float:
    """Bytes of weights, gradients and moments."""
    return float(_STATE_COPIES * _FULL * parameter_count(model, option))


def graph_bytes(model: Mapping[str, Any], tokens: float, rows: float, *, half: bool) -> float:
    """Estimated bytes that a graph of so many padded tokens keeps, and the loss's matrices of rows x rows.

    Per token and layer ten vectors of the model's width and two of the feed-forward's, the estimate by which
    `micro_batch_tokens: auto` decides.
    """
    numbers = model["layers"] * (10 * model["width"] + 2 * model["ffn"])
    return float(tokens * numbers * (_HALF if half else _FULL) + 3 * _FULL * rows**2)
