"""What the machine can do at most: matrix products by torch and by NumPy, and a copy through memory."""

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from captionlab.rotary.cost import Shape, linear_flops
from captionlab.rotary.options import Option
from captionlab.speed.rows import Limit, Part, Row
from captionlab.speed.timing import in_turn, pin_threads, rate

GIGA = 1e9
TOKENS = 4096
SQUARE = 4096
COPIED_BYTES = 256 << 20
_CALLS = 4
_REPEATS = 7


def measure(spec: Mapping[str, Any], root: Path, threads: int) -> Part:
    """Rows of the limits; nothing is read from `root`."""
    pin_threads(threads)
    model = spec["speed"]["model"]
    return Part("limits", [*_product_rows(model, threads), _copy_row(threads)])


def sgemm_limit(model: Mapping[str, Any]) -> Limit:
    """Torch's own FP32 rate, in GFLOP/s, over the products of one encoder layer at 4,096 tokens, with the threads
    it has now: the median of seven measurements."""
    layer = _layer(model)
    samples = in_turn({"torch": layer}, warmup=2, repeats=_REPEATS)["torch"]
    flops = _CALLS * layer_flops(model)
    return Limit("sgemm of torch at the layer's shapes", median(flops / s.wall for s in samples) / GIGA)


def layer_flops(model: Mapping[str, Any]) -> float:
    """FLOPs of the four linear maps of a layer over 4,096 tokens."""
    sizes = {**model, "layers": 1, "target_width": 0, "pooling": "mean-then-head"}
    return linear_flops(sizes, Option(heads=1), Shape(rows=0, tokens=TOKENS, squares=0), lookup_heads=0)


def _layer(model: Mapping[str, Any]) -> Any:
    width, ffn = model["width"], model["ffn"]
    shapes = ((width, 3 * width), (width, width), (width, ffn), (ffn, width))
    pairs = [(torch.randn(TOKENS, inner), torch.randn(outer, inner)) for inner, outer in shapes]

    def products() -> None:
        for _ in range(_CALLS):
            for rows, weight in pairs:
                F.linear(rows, weight)

    return products


def _product_rows(model: Mapping[str, Any], threads: int) -> list[Row]:
    square = torch.randn(SQUARE, SQUARE)
    array = square.numpy()
    ways = {"layer": _layer(model), "torch": lambda: square @ square, "numpy": lambda: array @ array}
    samples = in_turn(ways, warmup=2, repeats=_REPEATS)
    flops = 2 * float(SQUARE) ** 3 / GIGA
    return [
        Row(
            what="Matrix products of an encoder layer",
            size=f"{TOKENS} tokens, {model['width']} wide, FFN {model['ffn']}",
            unit="GFLOP/s",
            ours=rate(samples["layer"], _CALLS * layer_flops(model) / GIGA, threads),
            note="torch.nn.functional.linear; the limit that training is held against",
        ),
        Row(
            what="One large matrix product",
            size=f"{SQUARE} x {SQUARE}",
            unit="GFLOP/s",
            ours=rate(samples["torch"], flops, threads),
            peer_name="NumPy",
            peer=rate(samples["numpy"], flops, threads),
            note="torch's BLAS beside NumPy's: the machine's own limit, no work of ours",
        ),
    ]


def _copy_row(threads: int) -> Row:
    source = torch.ones(COPIED_BYTES // 4)
    target = torch.empty_like(source)
    array = np.ones(COPIED_BYTES // 4, dtype=np.float32)
    other = np.empty_like(array)
    ways = {"torch": lambda: target.copy_(source), "numpy": lambda: np.copyto(other, array)}
    samples = in_turn(ways, warmup=2, repeats=_REPEATS)
    return Row(
        what="Copy through memory",
        size=f"{COPIED_BYTES >> 20} MiB",
        unit="GB/s",
        ours=rate(samples["torch"], 2 * COPIED_BYTES / GIGA, threads),
        peer_name="NumPy (one thread)",
        peer=rate(samples["numpy"], 2 * COPIED_BYTES / GIGA, threads),
        note="bytes read and written; no work of ours",
    )
