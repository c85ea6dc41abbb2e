"""Adam and gradient clipping on plain tensors.

torch.optim is not used: building its first optimizer imports torch._dynamo, which takes longer than
many a small run trains.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

_CLIP_MARGIN = 1e-6


@dataclass(frozen=True)
class Moments:
    """Adam's running averages, FP32, a tensor a parameter, and the number of updates.

    `count` is an FP32 scalar on the parameters' device, because the fused kernel reads it there.
    """

    first: list[Tensor]
    second: list[Tensor]
    count: Tensor


def zero_moments(parameters: Sequence[Tensor]) -> Moments:
    """The moments before the first update."""
    return Moments(
        [torch.zeros_like(parameter) for parameter in parameters],
        [torch.zeros_like(parameter) for parameter in parameters],
        torch.zeros((), dtype=torch.float32, device=parameters[0].device),
    )


def global_norm(gradients: Sequence[Tensor]) -> Tensor:
    """The 2-norm of all gradients taken as one vector; an FP32 scalar on their device."""
    norms = torch.stack(list(torch._foreach_norm(list(gradients), 2.0)))
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
    """
    moments.count.add_(1.0)
    torch._fused_adam_(
        list(parameters),
        list(gradients),
        moments.first,
        moments.second,
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
