from dataclasses import replace

import pytest
import torch
from torch import nn

from captionlab.training import gradients
from captionlab.training.losses import info_nce, mean_squared_error
from captionlab.training.task import Batch, Part, PartOutput, Task

ROWS, WIDTH = 12, 6


class Toy(nn.Module):
    """Two layers with dropout between, and a loss of each row's own over the positive inputs."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.layers = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Dropout(dropout), nn.Linear(16, WIDTH))

    def forward(self, x):
        return nn.functional.normalize(self.layers(x).float(), dim=1)


def _task(dropout=0.0, autocast=False, own=0.3):
    model = Toy(dropout)

    def forward(part):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            vectors = model(part.inputs[0])
        chosen = part.inputs[0][:, 0] > 0
        sums = {"own": (vectors[chosen, 0] - 1).square().sum()} if own else {}
        return PartOutput(vectors, sums, {"own": int(chosen.sum())} if own else {})

    def losses(vectors, targets):
        return {
            "infonce": info_nce(vectors, targets, 0.07),
            "mse": mean_squared_error(vectors, targets, "sum"),
        }

    return Task(
        model=model,
        chunks=["toy"],
        rows_per_chunk=[ROWS],
        load=lambda chunk, rows: _batch(),
        forward=forward,
        losses=losses,
        weights={"infonce": 1.0, "mse": 0.5, "own": own},
        evaluate=lambda: {"score": 0.0},
        score="score",
    )


def _batch(cuts=(3, 4, 9)):
    generator = torch.Generator().manual_seed(2)
    inputs = torch.randn(ROWS, 5, generator=generator)
    targets = nn.functional.normalize(torch.randn(ROWS, WIDTH, generator=generator), dim=1)
    places = torch.randperm(ROWS, generator=generator)
    parts = [Part(some, (inputs[some],)) for some in torch.tensor_split(places, cuts)]
    return Batch(parts, targets, ROWS, ROWS)


def _gradients(task, method, batch):
    for parameter in task.model.parameters():
        parameter.grad = None
    torch.manual_seed(3)
    values = method(task, batch)
    return values, [parameter.grad.clone() for parameter in task.model.parameters()], torch.rand(1).item()


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("autocast", [False, True])
def test_cached_gradients_equal_the_direct_ones(dropout, autocast):
    task, batch = _task(dropout, autocast), _batch()
    values, direct, after = _gradients(task, gradients.direct, batch)
    cached_values, cached, cached_after = _gradients(task, gradients.cached, batch)
    assert cached_values == pytest.approx(values, rel=1e-6)
    assert cached_after == after
    for one, other in zip(direct, cached, strict=True):
        assert (one - other).norm() <= 1e-6 * one.norm()


def test_cached_and_direct_walk_sub_batches_in_the_same_order():
    """On the CPU they are then equal to the bit, so `auto` may choose either."""
    task, batch = _task(own=0.0), _batch()
    _, direct, _ = _gradients(task, gradients.direct, batch)
    _, cached, _ = _gradients(task, gradients.cached, batch)
    assert all(torch.equal(one, other) for one, other in zip(direct, cached, strict=True))


@pytest.mark.parametrize("method", [gradients.direct, gradients.cached])
def test_sub_batches_change_nothing_but_rounding(method):
    task = _task()
    whole_values, whole, _ = _gradients(task, gradients.direct, _batch(cuts=()))
    values, parts, _ = _gradients(task, method, _batch(cuts=(1, 2, 5, 6)))
    assert values == pytest.approx(whole_values, rel=1e-5)
    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_an_own_loss_is_the_mean_over_its_items():
    task, batch = _task(), _batch()
    values, _, _ = _gradients(task, gradients.direct, batch)
    inputs = torch.cat([part.inputs[0] for part in batch.parts])
    vectors = task.model(inputs)[inputs[:, 0] > 0]
    assert values["own"] == pytest.approx((vectors[:, 0] - 1).square().mean().item(), rel=1e-6)
    expected = values["infonce"] + 0.5 * values["mse"] + 0.3 * values["own"]
    assert values["loss"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("method", [gradients.direct, gradients.cached])
def test_a_loss_over_no_item_is_left_out(method):
    task, batch = _task(), _batch()
    parts = [Part(part.places, (-part.inputs[0].abs(),)) for part in batch.parts]
    values, found, _ = _gradients(task, method, replace(batch, parts=parts))
    assert "own" not in values
    assert all(torch.isfinite(gradient).all() for gradient in found)


def test_caching_keeps_the_graph_of_one_sub_batch_only():
    """Bytes saved for the backward pass, as autograd reports them."""
    peak = {}
    for name, method in (("direct", gradients.direct), ("cached", gradients.cached)):
        task, batch = _task(), _batch(cuts=tuple(range(1, ROWS)))
        alive, most = [0], [0]

        class Saved:
            def __init__(self, tensor, alive=alive, most=most):
                self.tensor, self.alive = tensor, alive
                alive[0] += tensor.nbytes
                most[0] = max(most[0], alive[0])

            def __del__(self):
                self.alive[0] -= self.tensor.nbytes

        with torch.autograd.graph.saved_tensors_hooks(Saved, lambda saved: saved.tensor):
            method(task, batch)
        peak[name] = most[0]
    assert peak["cached"] < peak["direct"] / 2
