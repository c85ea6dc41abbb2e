"""Trainers are real processes here and die by SIGKILL; what they leave must not show in any byte."""

import itertools
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

STEPS_AN_EPOCH = 50 // 8 + 35 // 8
FILES = (
    *("run.json", "development.json", "history.jsonl", "final.safetensors", "best.safetensors"),
    *("midpoint.safetensors", "training-state.safetensors", "rng.json", "events/events.out.tfevents.0"),
)
Moment = Callable[[Path, int], bool]


def saved_step(state: Path) -> int:
    """The step of the latest generation."""
    return max((int(path.name[4:]) for path in state.glob("gen-*")), default=0)


def at_once_after(steps: int) -> Moment:
    """As soon as so many more steps are saved."""
    return lambda state, before: saved_step(state) >= before + steps


def inside_a_save(state: Path, before: int) -> bool:
    """While a generation is being written or renamed."""
    return saved_step(state) > before and any(state.glob(".gen-*.new"))


def at_an_epoch_edge(state: Path, before: int) -> bool:
    """When the last saved step is the last of an epoch."""
    step = saved_step(state)
    return step > before and step % STEPS_AN_EPOCH == 0


def at_random(generator: random.Random) -> Moment:
    """Some microseconds after one more step was saved."""

    def arrived(state: Path, before: int) -> bool:
        if saved_step(state) <= before:
            return False
        time.sleep(generator.uniform(0, 0.02))
        return True

    return arrived


def kill_at(nursery, world, spec: dict, folder: Path, moments: list[Moment]) -> list[int]:
    """Start the run once a moment, kill it there, at last let it finish; the saved step after each kill."""
    output, state, log = folder / "run", folder / "state", folder / "log"
    steps = []
    for moment in moments:
        trainer = nursery.start(log, world.arguments(output, state, spec))
        before = saved_step(state)
        while not moment(state, before) and trainer.alive():
            time.sleep(0.0002)
        trainer.signal(signal.SIGKILL)
        assert trainer.wait() == -signal.SIGKILL, log.read_text()
        steps.append(saved_step(state))
    trainer = nursery.start(log, world.arguments(output, state, spec))
    assert trainer.wait() == 0, log.read_text()
    return steps


def assert_same_bytes(one: Path, other: Path) -> None:
    for name in FILES:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


@pytest.fixture(scope="module")
def long_spec(world) -> dict:
    """120 steps, each saved."""
    return world.changed(training={"epochs": 12, "state_every": 1, "evaluate_at": [0.05, 0.2, 0.4, 0.6, 1.0]})


@pytest.fixture(scope="module")
def undisturbed_long(nursery, world, long_spec, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    kill_at(nursery, world, long_spec, folder, [])
    return folder / "run"


def test_a_few_kills_leave_no_trace(nursery, world, long_spec, undisturbed_long, memory_path):
    generator = random.Random(1)
    moments = [
        *(at_random(generator), at_once_after(3), inside_a_save),
        *(at_an_epoch_edge, at_random(generator), at_random(generator)),
    ]
    steps = kill_at(nursery, world, long_spec, memory_path, moments)
    assert steps == sorted(steps)
    assert steps[0] > 0 and steps[-1] < 120
    assert_same_bytes(memory_path / "run", undisturbed_long)
    assert not (memory_path / "state").exists()


def test_kills_while_files_are_published_and_the_state_is_removed(nursery, world, undisturbed, memory_path):
    """As the engine does it: what was declared is deleted before the job is started again."""
    generator = random.Random(2)
    output, state, log = memory_path / "run", memory_path / "state", memory_path / "log"
    for name in ("final.safetensors", "history.jsonl", "run.json", "run.json", "run.json"):
        trainer = nursery.start(log, world.arguments(output, state))
        while not (output / name).exists() and trainer.alive():
            time.sleep(0.0002)
        time.sleep(generator.uniform(0, 0.002))
        trainer.signal(signal.SIGKILL)
        assert trainer.wait() in (0, -signal.SIGKILL), log.read_text()
        for declared in ("run.json", "development.json", "final.safetensors", "history.jsonl"):
            (output / declared).unlink(missing_ok=True)
    trainer = nursery.start(log, world.arguments(output, state))
    assert trainer.wait() == 0, log.read_text()
    assert_same_bytes(output, undisturbed)
    assert {path.name for path in output.iterdir()} == {path.name for path in undisturbed.iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_twenty_five_kills_leave_no_trace(nursery, world, long_spec, undisturbed_long, memory_path, seed):
    generator = random.Random(seed)
    kinds = itertools.cycle(
        [at_random(generator), inside_a_save, at_random(generator), at_once_after(1), at_an_epoch_edge]
    )
    steps = kill_at(nursery, world, long_spec, memory_path, list(itertools.islice(kinds, 25)))
    assert any(step % STEPS_AN_EPOCH == 0 for step in steps)
    assert_same_bytes(memory_path / "run", undisturbed_long)


@pytest.mark.slow
def test_kills_of_a_cold_process(world, undisturbed, tmp_path):
    """Without the nursery: the command as the workflow runs it, killed at random ages."""
    generator = random.Random(5)
    for _ in range(8):
        process = world.start(tmp_path / "run", tmp_path / "state")
        time.sleep(generator.uniform(1.0, 4.0))
        process.kill()
        process.wait()
    code, text = world.run(tmp_path / "run", tmp_path / "state")
    assert code == 0, text
    assert_same_bytes(tmp_path / "run", undisturbed)
