"""Losses of a batch of unit vectors against its targets; FP32 whatever the model ran in."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

Reduction = Literal["mean", "sum"]


def info_nce(students: Tensor, targets: Tensor, temperature: float, groups: Tensor | None = None) -> Tensor:
    """Symmetric InfoNCE of unit rows [B, d] against unit targets [B, d]; a scalar, natural logarithm.

    S = students targets^T / temperature with the right pairs on the diagonal; (CE(S) + CE(S^T)) / 2, the
    bidirectional form of CLIP (Radford et al. 2021). `groups` int64 [B] names rows that hold the same
    caption: they are not each other's negatives and drop out of each other's denominators.
    """
    scores = students.float() @ targets.float().T / temperature
    if groups is not None:
        same = groups[:, None] == groups[None, :]
        same.fill_diagonal_(False)
        scores = scores.masked_fill(same, -torch.inf)
    labels = torch.arange(len(scores), device=scores.device)
    return (functional.cross_entropy(scores, labels) + functional.cross_entropy(scores.T, labels)) / 2


def mean_squared_error(students: Tensor, targets: Tensor, reduction: Reduction) -> Tensor:
    """Squared distance of rows [B, d] from their targets [B, d]; a scalar.

    "mean" averages over all elements: 2 (1 - cos) / d for unit rows. "sum" sums over the d dimensions and
    averages over rows: 2 (1 - cos).
    """
    squares = (students.float() - targets.float()).square()
    return squares.mean() if reduction == "mean" else squares.sum(dim=1).mean()
