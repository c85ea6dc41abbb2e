"""Gradients of one batch: directly, or with memory set by the sub-batch (the gradient cache)."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from captionlab.training.task import Batch, Part, PartOutput, Task


def direct(task: Task, batch: Batch) -> dict[str, float]:
    """Add the gradient of the batch's total loss to the parameters, keeping the graph of the whole batch.

    Returns every loss by name, the weighted total as "loss"; a loss over no item at all is left out.
    """
    outputs = [task.forward(part) for part in batch.parts]
    vectors = _in_order(batch, [output.vectors for output in outputs])
    terms = {**task.losses(vectors, batch.context), **_means(outputs, _total_counts(outputs))}
    total = _weighted(terms, task.weights)
    total.backward()  # type: ignore[no-untyped-call]
    _coalesce(task)
    return _values(total, terms)


def cached(task: Task, batch: Batch) -> dict[str, float]:
    """As `direct`, but with the graph of one sub-batch at a time.

    A first pass without graph gives all vectors; the whole-batch losses are differentiated with respect to
    them only; a second pass repeats each sub-batch with graph, under the random state it had before, and
    sends its rows' gradient through it (GradCache, Gao et al. 2021). Sub-batches are taken from the last to
    the first, the order in which the direct graph is walked.
    """
    states, outputs = [], []
    with torch.no_grad():
        for part in batch.parts:
            states.append(_random_state(part))
            outputs.append(task.forward(part))
    after = _random_state(batch.parts[-1])
    leaf = _in_order(batch, [output.vectors for output in outputs]).detach().requires_grad_()
    whole = dict(task.losses(leaf, batch.context))
    (slope,) = torch.autograd.grad(_weighted(whole, task.weights), leaf)
    counts = _total_counts(outputs)
    terms = {**whole, **_means(outputs, counts)}
    for part, state in zip(reversed(batch.parts), reversed(states), strict=True):
        _restore(part, state)
        _backward(task, task.forward(part), slope[part.places], counts)
    _restore(batch.parts[-1], after)
    _coalesce(task)
    return _values(_weighted(terms, task.weights), terms)


def _coalesce(task: Task) -> None:
    """Sparse gradients, to which each sub-batch adds its rows, with every row once, as the optimizer takes them."""
    for parameter in task.model.parameters():
        if parameter.grad is not None and parameter.grad.is_sparse:
            parameter.grad = parameter.grad.coalesce()


def _backward(task: Task, output: PartOutput, slope: Tensor, counts: Mapping[str, int]) -> None:
    roots, seeds = [output.vectors], [slope.to(output.vectors.dtype)]
    for name, value in output.sums.items():
        if name in counts:
            roots.append(value)
            seeds.append(torch.full_like(value, task.weights[name] / counts[name]))
    torch.autograd.backward(roots, seeds)


def _in_order(batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
    """Vectors [B, d] FP32 in the batch's own order."""
    places = torch.cat([part.places for part in batch.parts])
    return torch.cat([part.float() for part in vectors])[torch.argsort(places)]


def _total_counts(outputs: Sequence[PartOutput]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for output in outputs:
        for name, count in output.counts.items():
            totals[name] = totals.get(name, 0) + count
    return {name: count for name, count in totals.items() if count > 0}


def _means(outputs: Sequence[PartOutput], counts: Mapping[str, int]) -> dict[str, Tensor]:
    return {
        name: torch.stack([output.sums[name] for output in outputs if name in output.sums]).sum() / count
        for name, count in counts.items()
    }


def _weighted(terms: Mapping[str, Tensor], weights: Mapping[str, float]) -> Tensor:
    return torch.stack([weights[name] * term for name, term in terms.items()]).sum()


def _values(total: Tensor, terms: Mapping[str, Tensor]) -> dict[str, float]:
    return {"loss": float(total.detach()), **{name: float(term.detach()) for name, term in terms.items()}}


def _random_state(part: Part) -> tuple[Tensor, Tensor | None]:
    device = part.places.device
    return torch.get_rng_state(), torch.cuda.get_rng_state(device) if device.type == "cuda" else None


def _restore(part: Part, state: tuple[Tensor, Tensor | None]) -> None:
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1], part.places.device)
