import json
import random

import numpy as np
import pytest
import torch

from captionlab.errors import ConfigError, DamagedFileError
from captionlab.training import history, randomness
from captionlab.training.events import crc32c
from captionlab.training.memory import CPU_BUDGET, batch_tokens_bound, plan_graph
from captionlab.training.plan import plan_run

CPU = torch.device("cpu")
RECIPE = {
    "epochs": 2,
    "batch": 10,
    "warmup": 0,
    "learning_rate": 1.0,
    "floor": 0.0,
    "clip": 1.0,
    "betas": [0.9, 0.999],
    "eps": 1e-8,
    "evaluate_at": [0.25, 0.5],
    "state_every": 5,
}


def test_fractions_become_steps_and_the_last_step_is_always_read():
    plan = plan_run(RECIPE, 1, [45, 33])
    assert plan.steps == 14
    assert plan.evaluate_at == {4, 7, 14}
    assert plan.midpoint == 7
    assert plan.presentations == 140


def test_a_run_of_one_step_has_a_midpoint():
    plan = plan_run({**RECIPE, "epochs": 1, "evaluate_at": [0.01]}, 1, [10])
    assert (plan.steps, plan.midpoint, plan.evaluate_at) == (1, 1, {1})


@pytest.mark.parametrize(("key", "value"), [("state_every", 0), ("evaluate_at", [0.0]), ("warmup", 99)])
def test_values_that_no_run_can_have(key, value):
    with pytest.raises(ConfigError, match=f"training.{key}"):
        plan_run({**RECIPE, key: value}, 1, [45])


def test_auto_is_direct_if_it_fits_and_an_integer_always_caches():
    assert plan_graph("auto", 4096, CPU_BUDGET, CPU).cached is False
    over = plan_graph("auto", 4096, CPU_BUDGET + 1.0, CPU)
    assert (over.cached, over.sub_batch_tokens) == (True, 4096)
    asked = plan_graph(512, 4096, 1.0, CPU)
    assert (asked.cached, asked.sub_batch_tokens) == (True, 512)


def test_the_token_bound_holds_for_random_batches():
    generator = np.random.default_rng(0)
    lengths = np.clip(generator.lognormal(4.2, 0.5, 5000), 5, 256).astype(np.int64)
    bound = batch_tokens_bound(lengths, 64)
    sums = [lengths[generator.choice(5000, 64, replace=False)].sum() for _ in range(2000)]
    assert max(sums) < bound < 2 * max(sums)
    assert batch_tokens_bound(np.full(9, 7), 4) == pytest.approx(1.1 * 28)


def test_history_lines():
    lines = [
        history.step_line({"step": 1, "loss": 1 / 3, "tokens": 5, "lookup": None}),
        history.development_line(1, {"spearman": 0.2}),
        history.step_line({"step": 2, "loss": 0.1, "tokens": 6, "lookup": None}),
        history.development_line(2, {"spearman": 0.2}),
        history.development_line(3, {"spearman": 0.1}),
    ]
    assert lines[0] == '{"lookup":null,"loss":0.333333333,"step":1,"tokens":5}'
    assert history.total_tokens(lines) == 11
    assert history.best(lines, "spearman") == {"step": 1, "spearman": 0.2}
    assert history.best(lines[:1], "spearman") is None
    assert history.parse(history.file_bytes(lines)) == lines


@pytest.mark.parametrize("data", [b"x\n", b"{}\n", b'{"step": "1"}\n', b"\xff\n"])
def test_what_is_no_history(data):
    with pytest.raises(ValueError, match=r"."):
        history.parse(data)


def test_nine_digits_hold_a_single_precision_number():
    numbers = np.random.default_rng(1).normal(size=1000).astype(np.float32)
    for number in numbers:
        line = history.step_line({"loss": float(number)})
        assert np.float32(line.split(":")[1][:-1]) == number


def test_random_states_come_back():
    randomness.seed_all(5)
    states = json.loads(json.dumps(randomness.capture(CPU)))
    drawn = [random.random(), np.random.rand(), torch.rand(1).item()]
    assert [random.random(), np.random.rand(), torch.rand(1).item()] != drawn
    randomness.restore(states, CPU)
    assert [random.random(), np.random.rand(), torch.rand(1).item()] == drawn


@pytest.mark.parametrize("name", ["python", "numpy", "torch"])
def test_random_states_that_cannot_be_are_refused(name):
    states = randomness.capture(CPU)
    for value in (None, [], "zz", [1, 2, 3]):
        with pytest.raises(DamagedFileError, match="random states cannot be restored"):
            randomness.restore({**states, name: value}, CPU)


def test_crc_by_its_published_check_value():
    """RFC 3720, appendix B.4, and the catalogue's check value of CRC-32/ISCSI."""
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
