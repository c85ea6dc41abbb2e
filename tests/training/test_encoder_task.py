"""The encoder's task on real chunks: what a batch holds, and that the gradient cache is exact for it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from captionlab import packed_linear
from captionlab.chunks.store import open_chunk
from captionlab.errors import ConfigError
from captionlab.packing import OVERHEAD
from captionlab.rotary.task import Sources, activation_bytes, load_batch, prepare_study, rows_used
from captionlab.training import gradients
from captionlab.training.adam import zero_moments
from captionlab.training.loop import Run, take_step
from captionlab.training.order import rows_of_step
from captionlab.training.task import Part

CPU = torch.device("cpu")


def _study(world, **changes):
    spec = world.changed(**changes)
    chunks = [world.root / "chunks" / name for name in spec["training"]["chunks"]]
    folders = (
        world.root / "chunks" / "development",
        world.root / "suites" / "dev.tsv",
        world.root / "tokenizer",
    )
    return prepare_study(spec, Sources(chunks, *folders), CPU, {})


def _loaded(store, rows, **changes):
    asked = {"ceiling": 9, "sub_batch_tokens": 20, "mask_duplicates": False, "joins": True, "device": CPU}
    return load_batch(store, rows, **(asked | changes))


@pytest.mark.parametrize("joins", [False, True])
def test_a_batch_holds_its_rows_once_padded_to_the_longest_of_their_group(world, joins):
    store = open_chunk(world.root / "chunks" / "train-0", verify=True)
    rows = np.array([3, 17, 4, 40, 8, 9, 11])
    batch = _loaded(store, rows, joins=joins)
    assert sorted(torch.cat([part.places for part in batch.parts]).tolist()) == list(range(7))
    assert batch.tokens == store.lengths(9)[rows].sum()
    assert torch.equal(batch.context.targets, torch.from_numpy(store.target_rows(rows)))
    assert len(batch.parts) > 1
    for part in batch.parts:
        assert sum(ids.numel() for ids, _ in part.inputs) <= 20 or len(part.places) == 1
        held = [(row, real) for ids, mask in part.inputs for row, real in zip(ids, mask, strict=True)]
        assert all(mask.any(0).all() for _, mask in part.inputs)
        for place, (row, real) in zip(part.places.tolist(), held, strict=True):
            assert row[real].tolist() == store.rows([int(rows[place])], 9)[0].tolist()


def test_only_joined_sub_batches_hold_several_groups(world, monkeypatch):
    """Several lengths, each worth a group, and room for all of them in a sub-batch."""
    monkeypatch.setitem(OVERHEAD, "cpu", 0)
    store = open_chunk(world.root / "chunks" / "train-0", verify=True)
    wide = {"ceiling": 99, "sub_batch_tokens": 4096}
    joined, apart = (
        [
            [ids.shape for ids, _ in part.inputs]
            for part in _loaded(store, range(50), joins=joins, **wide).parts
        ]
        for joins in (True, False)
    )
    assert len(joined) == 1
    assert len(joined[0]) > 1
    assert [[shape] for shape in joined[0]] == apart


@pytest.mark.parametrize("lookup_loss", [0.0, 0.1])
def test_joined_groups_give_the_gradients_of_separate_ones(world, monkeypatch, lookup_loss):
    monkeypatch.setitem(OVERHEAD, "cpu", 0)
    study = _study(world, option={"lookup_loss": lookup_loss}, training={"sub_batch_tokens": 4096})
    task, found = study.task, []
    where, rows = rows_of_step(study.plan.seed, 1, study.plan.rows_per_chunk, study.plan.batch)
    joined = task.load(where.chunk, rows)
    apart = replace(
        joined,
        parts=[
            Part(places, [group])
            for part in joined.parts
            for places, group in zip(
                part.places.split([len(ids) for ids, _ in part.inputs]), part.inputs, strict=True
            )
        ],
    )
    assert len(joined.parts) < len(apart.parts)
    for batch in (joined, apart):
        for parameter in task.model.parameters():
            parameter.grad = None
        values = gradients.direct(task, batch)
        assert (values.get("lookup", 0.0) > 0) == (lookup_loss > 0)
        found.append([parameter.grad.to_dense().clone() for parameter in task.model.parameters()])
    for mine, other in zip(*found, strict=True):
        assert (mine - other).norm() <= 2e-6 * other.norm()


def test_equal_captions_form_a_group(world):
    store = open_chunk(world.root / "chunks" / "train-0", verify=True)
    rows = np.array([5, 6, 5, 7, 6])
    batch = _loaded(store, rows, ceiling=12, sub_batch_tokens=99, mask_duplicates=True)
    assert batch.context.groups.tolist() == [0, 1, 0, 2, 1]


@pytest.mark.parametrize("dropout", [0.0, 0.2])
@pytest.mark.parametrize("autocast", [False, True])
def test_cached_gradients_equal_direct_ones_lookup_loss_included(world, dropout, autocast):
    study = _study(world)
    plan, task = study.plan, study.task
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in task.model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)

    def forward(part):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            output = study.task.forward(part)
        noisy = torch.nn.functional.dropout(output.vectors, dropout, training=True)
        return replace(output, vectors=noisy)

    task = replace(task, forward=forward)
    where, rows = rows_of_step(plan.seed, 1, plan.rows_per_chunk, plan.batch)
    batch = task.load(where.chunk, rows)
    assert len(batch.parts) > 1
    found = []
    for method in (gradients.direct, gradients.cached):
        for parameter in task.model.parameters():
            parameter.grad = None
        torch.manual_seed(1)
        values = method(task, batch)
        assert values["lookup"] > 0
        found.append([parameter.grad.clone() for parameter in task.model.parameters()])
    for direct, cached in zip(*found, strict=True):
        assert (direct - cached).norm() <= 1e-6 * direct.norm()


def test_a_step_multiplies_with_packed_weights_and_gives_the_gradients_of_plain_ones(world, monkeypatch):
    monkeypatch.setattr(packed_linear, "LEAST_TRAINED", 1)
    monkeypatch.setattr(packed_linear, "vendor", lambda: "AuthenticAMD")
    unclipped = {"training": {"clip": 1e6}}
    study, modules = _study(world, **unclipped), []

    def forward(part):
        modules.append([module for module in study.task.model.modules() if "forward" in vars(module)])
        return study.task.forward(part)

    run = Run(
        replace(study.task, forward=forward),
        study.plan,
        Path(),
        {},
        zero_moments(list(study.task.model.parameters())),
    )
    take_step(run)
    packed = [parameter.grad for parameter in study.task.model.parameters()]
    assert len(modules) > 1
    assert all(len(found) == 4 * len(study.task.model.layers) + 2 for found in modules)
    again = _study(world, **unclipped).task
    where, rows = rows_of_step(study.plan.seed, 1, study.plan.rows_per_chunk, study.plan.batch)
    gradients.direct(again, again.load(where.chunk, rows))
    for mine, parameter in zip(packed, again.model.parameters(), strict=True):
        assert (mine - parameter.grad).norm() <= 1e-5 * parameter.grad.norm()


def test_the_activation_estimate_is_near_what_autograd_keeps(world):
    """Bytes of distinct storages that a forward pass saves, parameters aside, at a width where the body counts."""
    sizes = {"width": 64, "ffn": 256, "layers": 3}
    option = {"key_phase": "none", "record_norm": None, "lookup_loss": 0.0, "value_path": False}
    study = _study(world, model=sizes, option=option, training={"sub_batch_tokens": 4096})
    where, rows = rows_of_step(1, 1, study.plan.rows_per_chunk, study.plan.batch)
    batch = study.task.load(where.chunk, rows)
    own = {parameter.untyped_storage().data_ptr() for parameter in study.task.model.parameters()}
    kept = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        outputs = [study.task.forward(part) for part in batch.parts]
    assert outputs
    padded = sum(ids.numel() for part in batch.parts for ids, _ in part.inputs)
    model = {**world.spec["model"], **sizes}
    assert 0.7 < activation_bytes(model, half=False) * padded / sum(kept.values()) < 1.4


def test_facts_come_from_the_model(world):
    study = _study(world)
    assert study.facts["parameters"] == sum(parameter.numel() for parameter in study.task.model.parameters())
    assert study.task.chunks == ["train-0", "train-1"]


def test_rows_used():
    assert rows_used(10, None) == 10
    assert rows_used(10, 4) == 4
    with pytest.raises(ConfigError, match=r"training\.rows is 11 but a chunk has 10 rows"):
        rows_used(10, 11)
