"""Whether a batch's graph is kept whole or the gradient cache is used, and what becomes of freed memory."""

import ctypes
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

# A constant and not what happens to be free, so that a run's bits do not depend on its neighbours.
CPU_BUDGET = 4 << 30
_CUDA_SHARE = 0.6
_DEVIATIONS = 6.0
_PADDING = 1.1


# Parameters of glibc's mallopt, by their numbers in malloc.h, and values that fit its int.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_NEVER = 2**31 - 1
_LARGEST_BLOCK = 1 << 30


@dataclass(frozen=True)
class GraphPlan:
    """`cached`: the gradient cache is on; `sub_batch_tokens`: most padded tokens of one forward pass."""

    cached: bool
    sub_batch_tokens: int


def plan_graph(
    micro_batch_tokens: int | str, sub_batch_tokens: int, graph_bytes: float, device: torch.device
) -> GraphPlan:
    """The way a step is taken.

    An integer `micro_batch_tokens` turns the gradient cache on with sub-batches of that size. "auto" keeps
    the whole graph where its estimate `graph_bytes` is within the budget: 4 GiB on a CPU, 60% of the memory
    of a CUDA device, the rest being for weights, moments, gradients and workspace.
    """
    if micro_batch_tokens != "auto":
        return GraphPlan(True, int(micro_batch_tokens))
    budget = float(CPU_BUDGET)
    if device.type == "cuda":
        budget = _CUDA_SHARE * torch.cuda.get_device_properties(device).total_memory
    return GraphPlan(graph_bytes > budget, sub_batch_tokens)


def batch_tokens_bound(lengths: NDArray[np.int64], batch: int) -> float:
    """Padded tokens that a batch of rows drawn from `lengths` will hardly exceed.

    The mean plus six standard deviations of a sum of `batch` rows, at most all rows of the greatest length,
    and a tenth for padding inside length-sorted sub-batches.
    """
    likely = batch * lengths.mean() + _DEVIATIONS * np.sqrt(batch) * lengths.std()
    return float(_PADDING * min(likely, batch * lengths.max()))


def keep_freed_memory() -> bool:
    """Let this process keep what it frees for its next tensors, where the C library is glibc.

    Else every large tensor is mapped anew and zeroed page by page: a tenth of a CPU step at 12 x 512. Returns
    whether the library took the setting; no result depends on it.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK)) and bool(mallopt(_TRIM_THRESHOLD, _NEVER))
