"""Adam and gradient clipping on plain tensors.

torch.optim is not used: building its first optimizer imports torch._dynamo, which takes longer than
many a small run trains.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

_CLIP_MARGIN = 1e-6
# Rows of a parameter, as a part of all, up to which taking them out and putting them back is less than updating
# all: out and back are six passes over them, the update is seven over all.
_FEW_ROWS = 0.5
# Values of a cache line. The kernel takes what is left of a line by itself, in other bits than in a vector.
_LINE = 16


@dataclass(frozen=True)
class Moments:
    """Adam's running averages, FP32, a tensor a parameter, and the number of updates.

    `count` is an FP32 scalar on the parameters' device, because the fused kernel reads it there. `touched` holds,
    for a parameter with sparse gradients, bool [rows]: which rows ever had one; None: to be found from `second`.
    """

    first: list[Tensor]
    second: list[Tensor]
    count: Tensor
    touched: list[Tensor | None]


def zero_moments(parameters: Sequence[Tensor]) -> Moments:
    """The moments before the first update."""
    return Moments(
        [torch.zeros_like(parameter) for parameter in parameters],
        [torch.zeros_like(parameter) for parameter in parameters],
        torch.zeros((), dtype=torch.float32, device=parameters[0].device),
        [None] * len(parameters),
    )


def global_norm(gradients: Sequence[Tensor]) -> Tensor:
    """The 2-norm of all gradients taken as one vector; an FP32 scalar on their device.

    A sparse gradient is coalesced.
    """
    values = [gradient.values() if gradient.is_sparse else gradient for gradient in gradients]
    norms = torch.stack(list(torch._foreach_norm(values, 2.0)))
    total: Tensor = torch.linalg.vector_norm(norms)
    return total


def clip_scale(norm: float, clip: float) -> float:
    """The divisor that brings gradients of global norm `norm` down to `clip`; 1.0 where they are below it.

    The inverse of the coefficient of torch.nn.utils.clip_grad_norm_, with its margin of 1e-6.
    """
    return max(1.0, (norm + _CLIP_MARGIN) / clip)


@torch.no_grad()
def update(
    parameters: Sequence[Tensor],
    gradients: Sequence[Tensor],
    moments: Moments,
    *,
    rate: float,
    betas: tuple[float, float],
    eps: float,
    scale: float = 1.0,
) -> None:
    """One update of all parameters and moments in place; gradients are divided by `scale` on the way.

    Adam of Kingma and Ba (2015) with bias correction and no weight decay. The fused kernel of the device does
    clipping and update in one pass over memory; gradients of any value may be left in `gradients`.

    A sparse gradient (coalesced, of a 2-d parameter) stands for the dense one and gives its bits. Rows that never
    had a gradient have zero moments, which leave the row as it is: they are not visited.
    """
    moments.count.add_(1.0)
    works = [
        _rows_or_all(parameter, gradient, moments, index)
        for index, (parameter, gradient) in enumerate(zip(parameters, gradients, strict=True))
    ]
    torch._fused_adam_(
        [work.parameter for work in works],
        [work.gradient for work in works],
        [work.first for work in works],
        [work.second for work in works],
        [],
        [moments.count] * len(parameters),
        lr=rate,
        beta1=betas[0],
        beta2=betas[1],
        weight_decay=0.0,
        eps=eps,
        amsgrad=False,
        maximize=False,
        grad_scale=None if scale == 1.0 else torch.tensor(scale, device=moments.count.device),
    )
    for index, (parameter, work) in enumerate(zip(parameters, works, strict=True)):
        if work.rows is not None:
            parameter.index_copy_(0, work.rows, work.parameter)
            moments.first[index].index_copy_(0, work.rows, work.first)
            moments.second[index].index_copy_(0, work.rows, work.second)


@dataclass(frozen=True)
class _Work:
    """What the kernel updates for one parameter: its own tensors, or copies of the `rows` that need it."""

    parameter: Tensor
    gradient: Tensor
    first: Tensor
    second: Tensor
    rows: Tensor | None = None


def _rows_or_all(parameter: Tensor, gradient: Tensor, moments: Moments, index: int) -> _Work:
    first, second = moments.first[index], moments.second[index]
    if not gradient.is_sparse:
        return _Work(parameter, gradient, first, second)
    if parameter.shape[1] % _LINE:
        return _Work(parameter, gradient.to_dense(), first, second)
    touched = moments.touched[index]
    if touched is None:
        touched = moments.touched[index] = second.any(1)
    given = gradient.indices()[0]
    touched[given] = True
    rows = touched.nonzero()[:, 0]
    if len(rows) > _FEW_ROWS * len(touched):
        return _Work(parameter, gradient.to_dense(), first, second)
    slope = torch.zeros(len(rows), parameter.shape[1], dtype=gradient.dtype)
    slope[torch.searchsorted(rows, given)] = gradient.values()
    return _Work(parameter[rows], slope, first[rows], second[rows], rows)
