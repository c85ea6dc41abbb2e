from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from captionlab.training import adam

SHAPES = [(30, 8), (8,), (3, 3, 3)]


def _tensors(generator, scale=1.0):
    return [torch.randn(shape, generator=generator) * scale for shape in SHAPES]


@pytest.mark.parametrize("clip", [1e9, 1.0])
def test_equals_torch_over_many_steps(clip):
    """torch.optim.Adam(fused=True) and clip_grad_norm_: the same bits without clipping, 1e-6 with it (the
    fused kernel divides where clip_grad_norm_ multiplies)."""
    generator = torch.Generator().manual_seed(0)
    ours = _tensors(generator)
    theirs = [torch.nn.Parameter(tensor.clone()) for tensor in ours]
    moments = adam.zero_moments(ours)
    optimizer = torch.optim.Adam(theirs, lr=0.01, betas=(0.8, 0.99), eps=1e-7, fused=True)
    for step in range(25):
        gradients = _tensors(generator, scale=3.0)
        for parameter, gradient in zip(theirs, gradients, strict=True):
            parameter.grad = gradient.clone()
        expected = torch.nn.utils.clip_grad_norm_(theirs, clip)
        norm = adam.global_norm(gradients)
        assert norm.item() == expected.item()
        rate = 0.01 / (step + 1)
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        scale = adam.clip_scale(norm.item(), clip)
        adam.update(ours, gradients, moments, rate=rate, betas=(0.8, 0.99), eps=1e-7, scale=scale)
        for mine, other in zip(ours, theirs, strict=True):
            if clip == 1e9:
                assert torch.equal(mine, other.detach())
            torch.testing.assert_close(mine, other.detach(), rtol=1e-6, atol=1e-6)


def test_first_update_by_hand():
    """Bias correction makes both averages the gradient itself: a step of -rate g / (|g| + eps)."""
    parameter, gradient = torch.tensor([1.0, 2.0]), torch.tensor([0.5, -4.0])
    moments = adam.zero_moments([parameter])
    adam.update([parameter], [gradient], moments, rate=0.1, betas=(0.9, 0.999), eps=1e-8)
    torch.testing.assert_close(parameter, torch.tensor([0.9, 2.1]))
    torch.testing.assert_close(moments.first[0], torch.tensor([0.05, -0.4]))
    torch.testing.assert_close(moments.second[0], torch.tensor([0.00025, 0.016]))
    assert moments.count.item() == 1


@given(
    steps=st.lists(st.lists(st.integers(0, 39), min_size=1, max_size=30), min_size=1, max_size=6),
    width=st.sampled_from([1, 7, 16, 24, 48]),
    scale=st.sampled_from([1.0, 3.7]),
    forgets=st.booleans(),
)
@settings(deadline=None)
def test_a_sparse_gradient_gives_the_bits_of_the_dense_one(steps, width, scale, forgets):
    """Rows may come twice, be few or nearly all, and be forgotten, as where a run is resumed."""
    generator = torch.Generator().manual_seed(7)
    table = torch.randn(40, width, generator=generator)
    dense, sparse = [table.clone()], [table.clone()]
    ours, theirs = adam.zero_moments(sparse), adam.zero_moments(dense)
    for rows in steps:
        values = torch.randn(len(rows), width, generator=generator)
        gradient = torch.sparse_coo_tensor([rows], values, (40, width)).coalesce()
        every: dict = {"rate": 0.01, "betas": (0.9, 0.999), "eps": 1e-8, "scale": scale}
        adam.update(dense, [gradient.to_dense()], theirs, **every)
        if forgets:
            ours.touched[0] = None
        adam.update(sparse, [gradient], ours, **every)
    assert torch.equal(dense[0], sparse[0])
    assert torch.equal(theirs.first[0], ours.first[0]) and torch.equal(theirs.second[0], ours.second[0])


def test_only_rows_with_a_gradient_are_visited():
    table = torch.ones(100, 16)
    moments = adam.zero_moments([table])
    table[50] = torch.nan
    gradient = torch.sparse_coo_tensor([[3, 9]], torch.ones(2, 16), (100, 16)).coalesce()
    adam.update([table], [gradient], moments, rate=0.1, betas=(0.9, 0.999), eps=1e-8)
    changed = (table != 1.0).any(1).nonzero()[:, 0].tolist()
    assert changed == [3, 9, 50]
    assert moments.touched[0] is not None and moments.touched[0].sum() == 2


def test_the_norm_of_a_sparse_gradient_is_that_of_its_values():
    gradient = torch.sparse_coo_tensor([[3, 9, 3]], torch.tensor([[1.0], [4.0], [2.0]]), (100, 1)).coalesce()
    assert adam.global_norm([gradient, torch.zeros(2)]).item() == 5.0


def test_norm_and_clip_by_hand():
    norm = adam.global_norm([torch.tensor([3.0]), torch.tensor([[0.0, 4.0]])]).item()
    assert norm == 5.0
    assert adam.clip_scale(norm, 1.0) == pytest.approx(5.0, rel=1e-6)
    assert adam.clip_scale(norm, 6.0) == 1.0


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_one_bad_gradient_makes_the_norm_not_finite(bad):
    assert not torch.isfinite(adam.global_norm([torch.ones(2), torch.tensor([bad])]))


def test_training_imports_no_compiler_and_no_optimizer(loaded_by):
    """torch.optim's first optimizer and torch.use_deterministic_algorithms each load torch._dynamo or
    torch._inductor, more than a second."""
    program = (
        "import torch\n"
        "from captionlab.training import adam, devices\n"
        "devices.make_deterministic({'threads': 1})\n"
        "p = [torch.ones(3)]\n"
        "adam.update(p, [torch.ones(3)], adam.zero_moments(p), rate=.1, betas=(.9, .999), eps=1e-8, scale=2.0)\n"
        "adam.global_norm(p)"
    )
    assert loaded_by(program, ("torch._dynamo", "torch._inductor")) == []


def test_a_whole_run_loads_neither_compiler_nor_transformers(world, loaded_by, tmp_path: Path):
    """Whatever a run's own steps, evaluations and saved states import, it is none of these."""
    heavy = ("torch._dynamo", "torch._inductor", "transformers", "sklearn", "scipy", "pandas")
    words = world.arguments(tmp_path / "run", tmp_path / "state")
    assert loaded_by(f"from captionlab.__main__ import main\nassert main({words!r}) == 0", heavy) == []
