"""The timed step is the run's own, and every way works through the same rows."""

import copy
import shutil

import pytest
import torch

from captionlab.errors import CaptionlabError
from captionlab.rotary.cost import PLAIN_STEP
from captionlab.speed import peers, training
from captionlab.speed.profiling import profile_table
from captionlab.speed.rotary_step import prepare_step
from captionlab.speed.training_peers import padded_bert_step
from captionlab.training.loop import take_step
from captionlab.training.order import rows_of_step

from .conftest import BATCH, FFN, LAYERS, ROWS, TARGET_WIDTH, WIDTH


@pytest.fixture
def bench(bench_spec, run_spec):
    """The spec of the training part."""
    bench_spec["speed"] |= {
        "repeats": 2,
        "model": run_spec["model"],
        "training": {"rows": BATCH, "padded_to": 48, "compile": False},
    }
    return {**bench_spec, "run": run_spec}


def test_the_step_is_the_first_one_of_its_run(campaign_root, run_spec):
    step = prepare_step(run_spec, campaign_root, threads=1)
    _, rows = rows_of_step(5, 1, [ROWS], BATCH)
    assert step.rows == rows.tolist()
    assert len(step.lengths) == BATCH
    assert max(step.lengths) <= 48
    before = [parameter.detach().clone() for parameter in step.run.task.model.parameters()]
    values = take_step(step.run)
    assert values["tokens"] == sum(step.lengths)
    after = list(step.run.task.model.parameters())
    assert any(not torch.equal(old, new) for old, new in zip(before, after, strict=True))


def test_flops_count_real_tokens(campaign_root, run_spec):
    step = prepare_step(run_spec, campaign_root, threads=1)
    tokens, squares = sum(step.lengths), sum(length**2 for length in step.lengths)
    linear = (
        LAYERS * 2 * (4 * WIDTH**2 + 2 * WIDTH * FFN) * tokens + 2 * WIDTH * (WIDTH + TARGET_WIDTH) * BATCH
    )
    attention = LAYERS * 4 * WIDTH * squares
    contrast = 4 * BATCH**2 * TARGET_WIDTH
    assert step.flops == PLAIN_STEP * (linear + attention) + contrast


def test_the_profile_names_the_products_and_its_shares_are_of_one_whole(campaign_root, run_spec):
    table = profile_table(prepare_step(run_spec, campaign_root, threads=1).take, most=1000)
    assert "aten::mm" in table
    shares = [float(line[46:].split()[0].rstrip("%")) for line in table.splitlines()[1:]]
    assert sum(shares) == pytest.approx(100, abs=3)


def test_padding_changes_nothing_but_time_in_the_peer_s_step(run_spec):
    ids = [[101, *range(2000, 2000 + length), 102] for length in (3, 9, 5, 7)]
    targets = torch.nn.functional.normalize(torch.randn(4, TARGET_WIDTH), dim=-1)
    changed = []
    for length in (None, 40):
        torch.manual_seed(0)
        step = padded_bert_step(run_spec, ids, targets, padded_to=length, slice_rows=2)
        losses = [step(), step()]
        changed.append(losses)
        assert losses[1] < losses[0]
    assert changed[0] == pytest.approx(changed[1], rel=1e-5)


def test_a_peer_that_is_not_installed_is_named_with_the_extra():
    with pytest.raises(CaptionlabError, match=r"no_such_peer is not installed.*\[bench\]"):
        peers.require("json", "no_such_peer")


@pytest.mark.slow
def test_every_peer_takes_a_step(campaign_root, bench):
    pytest.importorskip("accelerate")
    part = training.measure(bench, campaign_root, threads=1)
    assert [row.peer_name for row in part.rows] == [
        "transformers BertModel, padded to 48",
        "transformers BertModel, padded to the longest",
        "sentence-transformers trainer, cached InfoNCE",
        None,
    ]
    assert all(row.ours.repeats == 2 and row.ours.low > 0 for row in part.rows)
    assert {row.ours for row in part.rows[:3]} == {part.rows[0].ours}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_compiled_layers_take_the_same_step(campaign_root, run_spec):
    plain = take_step(prepare_step(run_spec, campaign_root, threads=1).run)
    compiled = prepare_step(copy.deepcopy(run_spec), campaign_root, threads=1, compiled=True)
    names = set(compiled.run.task.model.state_dict())
    values = take_step(compiled.run)
    assert values["loss"] == pytest.approx(plain["loss"], rel=1e-5)
    assert values["gradient_norm"] == pytest.approx(plain["gradient_norm"], rel=1e-4)
    assert not any("_orig_mod" in name for name in names)
