"""The step as a whole: what it writes, when it refuses, and how it goes on after trouble."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

from captionlab.files import read_json, sha256_file
from captionlab.provenance.identity import tensors_sha256

LIBRARY = Path(__file__).resolve().parents[2] / "workflow"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(LIBRARY), "OMP_NUM_THREADS": "1"}


@pytest.fixture
def tmp_path(memory_path):
    """In memory: syncing every save to a disk takes most of a run's time."""
    return memory_path


def finish(nursery, world, folder: Path, spec: dict | None = None, *extra: str) -> tuple[int, str]:
    """Run the step in `folder` to its end; exit code and what it said this time."""
    log = folder / "log"
    log.unlink(missing_ok=True)
    trainer = nursery.start(log, world.arguments(folder / "run", folder / "state", spec, *extra))
    return trainer.wait(), log.read_text()


def wait_for(condition, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def saved(state: Path) -> list[str]:
    return sorted(path.name for path in state.glob("gen-*"))


def stop_after(nursery, world, folder: Path, steps: int, spec: dict) -> None:
    """Train until so many steps are saved, then ask the trainer to stop by SIGTERM."""
    trainer = nursery.start(folder / "log", world.arguments(folder / "run", folder / "state", spec))
    wait_for(lambda: any(int(name[4:]) >= steps for name in saved(folder / "state")))
    trainer.signal(signal.SIGTERM)
    assert trainer.wait() == 143, trainer.text


def assert_same_run(one: Path, other: Path) -> None:
    """run.json vouches for every other file."""
    assert (one / "run.json").read_bytes() == (other / "run.json").read_bytes()


@pytest.fixture(scope="module")
def long_spec(world) -> dict:
    """Long enough to be stopped in time, every step saved."""
    return world.changed(training={"epochs": 8, "state_every": 1})


def test_run_json_vouches_for_every_file(undisturbed):
    record = read_json(undisturbed / "run.json")
    found = {str(path.relative_to(undisturbed)) for path in undisturbed.rglob("*") if path.is_file()}
    assert {*record["outputs"], "run.json"} == found
    for name, entry in record["outputs"].items():
        assert entry["sha256"] == sha256_file(undisturbed / name)
        assert entry["bytes"] == (undisturbed / name).stat().st_size
    assert record["steps"] == 30
    assert record["presentations"] == 240
    assert record["midpoint_step"] == 15


def test_history_and_development_agree(undisturbed):
    lines = [json.loads(line) for line in (undisturbed / "history.jsonl").read_text().splitlines()]
    steps = [line for line in lines if "loss" in line]
    readings = [line for line in lines if "development" in line]
    assert [line["step"] for line in steps] == list(range(1, 31))
    assert [line["step"] for line in readings] == [8, 15, 22, 30]
    record, development = read_json(undisturbed / "run.json"), read_json(undisturbed / "development.json")
    assert record["tokens"] == sum(line["tokens"] for line in steps)
    best = max(readings, key=lambda line: line["development"]["spearman"])
    assert record["best"] == {"step": best["step"], "spearman": best["development"]["spearman"]}
    assert development["spearman"] == readings[-1]["development"]["spearman"]
    assert development["final_sha256"] == sha256_file(undisturbed / "final.safetensors")
    assert steps[-1]["loss"] < steps[0]["loss"] / 2


def test_weights_are_those_of_their_steps(undisturbed):
    state = load_file(undisturbed / "training-state.safetensors")
    final = load_file(undisturbed / "final.safetensors")
    assert all(torch.equal(state[f"model.{name}"], tensor) for name, tensor in final.items())
    assert state["adam.count"].item() == 30
    digests = {
        name: sha256_file(undisturbed / f"{name}.safetensors") for name in ("final", "best", "midpoint")
    }
    steps = {"final": 30, "midpoint": 15, "best": read_json(undisturbed / "run.json")["best"]["step"]}
    assert len(set(digests.values())) == len(set(steps.values())) > 1
    assert all((digests[a] == digests[b]) == (steps[a] == steps[b]) for a in steps for b in steps)


def test_tensorboard_reads_the_curves(undisturbed):
    events = list(EventFileLoader(str(undisturbed / "events" / "events.out.tfevents.0")).Load())
    losses = [
        (event.step, value)
        for event in events
        for value in event.summary.value
        if value.tag == "training/loss"
    ]
    assert [step for step, _ in losses] == list(range(1, 31))
    tags = {value.tag for event in events for value in event.summary.value}
    assert {"development/spearman", "training/learning_rate", "_hparams_/session_start_info"} <= tags


def test_two_runs_of_a_spec_are_the_same_bytes_and_a_seed_is_another(nursery, world, undisturbed, tmp_path):
    code, text = finish(nursery, world, tmp_path)
    assert code == 0, text
    assert_same_run(tmp_path / "run", undisturbed)
    other = tmp_path / "other"
    other.mkdir()
    assert finish(nursery, world, other, world.changed(run={"seed": 4}))[0] == 0
    assert sha256_file(other / "run" / "final.safetensors") != sha256_file(undisturbed / "final.safetensors")


def test_the_gradient_cache_trains_the_same_model(nursery, world, undisturbed, tmp_path):
    """Rounding aside: 30 Adam steps at 3e-3 keep the weights within 1e-4."""
    assert finish(nursery, world, tmp_path, world.changed(training={"micro_batch_tokens": 40}))[0] == 0
    assert read_json(tmp_path / "run" / "run.json")["gradient_cache"]
    cached, direct = (load_file(run / "final.safetensors") for run in (tmp_path / "run", undisturbed))
    for name, tensor in direct.items():
        torch.testing.assert_close(cached[name].float(), tensor.float(), rtol=1e-3, atol=1e-4)


def test_a_complete_run_is_left_alone_and_a_damaged_one_made_again(nursery, world, undisturbed, tmp_path):
    shutil.copytree(undisturbed, tmp_path / "run")
    before = (tmp_path / "run" / "final.safetensors").stat().st_mtime_ns
    code, text = finish(nursery, world, tmp_path)
    assert code == 0
    assert "nothing to train" in text
    assert (tmp_path / "run" / "final.safetensors").stat().st_mtime_ns == before
    damaged = bytearray((undisturbed / "best.safetensors").read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "run" / "best.safetensors").write_bytes(damaged)
    code, text = finish(nursery, world, tmp_path)
    assert code == 0
    assert "best.safetensors does not match run.json: training" in text
    assert_same_run(tmp_path / "run", undisturbed)
    assert (tmp_path / "run" / "best.safetensors").read_bytes() == (
        undisturbed / "best.safetensors"
    ).read_bytes()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_saves_and_the_same_command_resumes(nursery, world, undisturbed, tmp_path, number):
    trainer = nursery.start(tmp_path / "log", world.arguments(tmp_path / "run", tmp_path / "state"))
    wait_for(lambda: saved(tmp_path / "state"))
    trainer.signal(number)
    assert trainer.wait() == 143
    assert f"stopped by {number.name} after step" in trainer.text
    assert "Traceback" not in trainer.text
    code, text = finish(nursery, world, tmp_path)
    assert code == 0
    assert "resuming after step" in text
    assert_same_run(tmp_path / "run", undisturbed)


def test_a_damaged_newer_generation_is_passed_over_and_said_so(nursery, world, long_spec, tmp_path):
    stop_after(nursery, world, tmp_path, 6, long_spec)
    older, newer = saved(tmp_path / "state")
    victim = tmp_path / "state" / newer / "training-state.safetensors"
    victim.write_bytes(victim.read_bytes()[:-5])
    code, text = finish(nursery, world, tmp_path, long_spec)
    assert code == 0, text
    assert f"{newer}/training-state.safetensors is damaged or missing; looking for an older" in text
    assert f"resuming after step {int(older[4:])} of" in text
    whole = tmp_path / "whole"
    whole.mkdir()
    assert finish(nursery, world, whole, long_spec)[0] == 0
    assert_same_run(tmp_path / "run", whole / "run")


def test_nothing_whole_is_an_error_that_touches_nothing(nursery, world, long_spec, tmp_path):
    stop_after(nursery, world, tmp_path, 4, long_spec)
    for name in saved(tmp_path / "state"):
        (tmp_path / "state" / name / "state.json").write_text("{}")
    code, text = finish(nursery, world, tmp_path, long_spec)
    assert code == 4
    assert "delete that folder to train from the start" in text
    assert len(saved(tmp_path / "state")) == 2
    assert "Traceback" not in text


def test_another_identity_is_refused_by_name(nursery, world, long_spec, tmp_path):
    stop_after(nursery, world, tmp_path, 4, long_spec)
    before = {path: path.read_bytes() for path in (tmp_path / "state").glob("gen-*/*")}
    changed = json.loads(json.dumps(long_spec))
    changed["training"]["learning_rate"], changed["training"]["clip"] = 1.0, 3e-3
    code, text = finish(nursery, world, tmp_path, changed)
    assert code == 22
    assert "spec.training.clip: 1.0 -> 0.003; spec.training.learning_rate: 0.003 -> 1.0" in text
    assert f"delete {tmp_path / 'state'} to train anew" in text
    assert {path: path.read_bytes() for path in (tmp_path / "state").glob("gen-*/*")} == before
    assert finish(nursery, world, tmp_path, long_spec)[0] == 0


def test_a_second_trainer_waits_for_the_first_and_finds_the_run_done(nursery, world, long_spec, tmp_path):
    first = nursery.start(
        tmp_path / "first", world.arguments(tmp_path / "run", tmp_path / "state", long_spec)
    )
    wait_for(lambda: saved(tmp_path / "state"))
    second = nursery.start(
        tmp_path / "second", world.arguments(tmp_path / "run", tmp_path / "state", long_spec)
    )
    assert first.wait() == 0
    assert second.wait() == 0
    assert f"waiting for process {first.pid} on {os.uname().nodename}" in second.text
    assert "is complete and matches run.json: nothing to train" in second.text
    assert not (tmp_path / "state").exists()


def test_a_waiting_trainer_takes_over_from_a_killed_one(nursery, world, long_spec, tmp_path):
    """The engine deletes declared outputs and starts a job again while an orphan still trains."""
    first = nursery.start(
        tmp_path / "first", world.arguments(tmp_path / "run", tmp_path / "state", long_spec)
    )
    wait_for(lambda: saved(tmp_path / "state"))
    second = nursery.start(
        tmp_path / "second", world.arguments(tmp_path / "run", tmp_path / "state", long_spec)
    )
    wait_for(lambda: "waiting for process" in second.log.read_text() if second.log.exists() else False)
    first.signal(signal.SIGKILL)
    first.wait()
    assert second.wait() == 0
    assert "resuming after step" in second.text


def test_a_lock_timeout_and_another_identity_do_not_wait(nursery, world, long_spec, tmp_path):
    first = nursery.start(
        tmp_path / "first", world.arguments(tmp_path / "run", tmp_path / "state", long_spec)
    )
    wait_for(lambda: saved(tmp_path / "state"))
    first.signal(signal.SIGSTOP)
    try:
        code, text = finish(nursery, world, tmp_path, long_spec, "--lock-timeout", "0.3")
        assert code == 23
        assert f"still being trained by process {first.pid}" in text
        code, text = finish(nursery, world, tmp_path, world.spec)
        assert code == 23
        assert "is being trained under another identity by process" in text
    finally:
        first.signal(signal.SIGCONT)
    assert first.wait() == 0


def test_a_loss_that_is_not_finite_ends_in_one_line(nursery, world, tmp_path):
    """A learning rate of 1e30 overflows after the first step; the saved step stays usable."""
    spec = world.changed(training={"learning_rate": 1e30, "state_every": 1})
    code, text = finish(nursery, world, tmp_path, spec)
    assert code == 20
    last = text.strip().splitlines()[-1]
    assert "is nan at step 2 of 30: lower the learning rate" in last
    assert "the state after step 1" in last
    assert "Traceback" not in text
    assert saved(tmp_path / "state") == ["gen-00000001"]
    assert not (tmp_path / "run" / "run.json").exists()


def test_a_full_disk_ends_in_one_line_and_the_run_goes_on_with_room(nursery, world, long_spec, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1200k", "tmpfs", str(small)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small file system: {mounted.stderr.decode().strip()}")
    try:
        state = small / "state"
        arguments = world.arguments(tmp_path / "run", state, long_spec)
        trainer = nursery.start(tmp_path / "log", arguments)
        wait_for(lambda: len(saved(state)) == 2)
        with (small / "hog").open("wb", buffering=0) as hog:
            while True:
                try:
                    hog.write(b"x" * 4096)
                except OSError:
                    break
        assert trainer.wait() == 21, trainer.text
        assert "the disk is full" in trainer.text.strip().splitlines()[-1]
        assert "Traceback" not in trainer.text
        assert saved(state)
        assert not list(state.glob(".gen-*"))
        (small / "hog").unlink()
        trainer = nursery.start(tmp_path / "log", arguments)
        assert trainer.wait() == 0, trainer.text
        assert "resuming after step" in trainer.text
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)
    whole = tmp_path / "whole"
    whole.mkdir()
    assert finish(nursery, world, whole, long_spec)[0] == 0
    assert_same_run(tmp_path / "run", whole / "run")


@pytest.mark.parametrize(
    ("part", "values", "line"),
    [
        ("compute", {"autocast": "bfloat16"}, "compute.autocast is bfloat16 on a CPU"),
        ("compute", {"device": "tpu"}, "compute.device is 'tpu'; cpu and cuda (or cuda:N) are allowed"),
        ("training", {"batch": 36}, "training.batch is 36 but chunk 1 has 35 rows"),
        ("training", {"warmup": 30}, "training.warmup is 30; a run of 30 steps allows 0 to 29"),
        ("training", {"evaluate_at": [1.5]}, "training.evaluate_at holds 1.5"),
        ("development", {"rows": 25}, "asks for 25 rows and there are 24"),
        ("model", {"target_width": 13}, "model.target_width is 13 but the targets in"),
        ("option", {"heads": 3}, "heads 3 does not divide"),
    ],
)
def test_a_spec_that_cannot_be_ends_in_one_line(nursery, world, tmp_path, part, values, line):
    code, text = finish(nursery, world, tmp_path, world.changed(**{part: values}))
    assert code != 0
    assert line in text
    assert "Traceback" not in text
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_a_missing_cuda_device_is_not_replaced(nursery, world, tmp_path):
    code, text = finish(nursery, world, tmp_path, world.changed(compute={"device": "cuda"}))
    assert code == 24
    assert "sees no CUDA device here" in text


@pytest.mark.parametrize(("part", "key"), [("training", "clip"), ("model", "width"), ("compute", "threads")])
def test_a_missing_key_is_named(nursery, world, tmp_path, part, key):
    spec = world.changed()
    del spec[part][key]
    code, text = finish(nursery, world, tmp_path, spec)
    assert code == 2
    assert f"--spec has no {part}.{key}: give it a value" in text


def test_a_changed_array_or_suite_is_refused(nursery, world, tmp_path):
    for name, line in (
        ("chunks/train-0/targets.npy", "targets.npy has sha256"),
        ("chunks/development/tokens.npy", "tokens.npy has sha256"),
        ("suites/dev.tsv", "dev.tsv is not what the JSON beside it describes"),
    ):
        copy = tmp_path / name.replace("/", "-")
        shutil.copytree(world.root, copy)
        content = bytearray((copy / name).read_bytes())
        content[-2] ^= 1
        (copy / name).write_bytes(content)
        code, text = finish(nursery, type(world)(copy, world.spec), tmp_path)
        assert code == 4, text
        assert line in text
        assert "Traceback" not in text


def test_no_events_or_state_where_the_spec_wants_none(nursery, world, undisturbed, tmp_path):
    """Those of an earlier run of another spec in the same folder go, too."""
    shutil.copytree(undisturbed, tmp_path / "run")
    assert (
        finish(nursery, world, tmp_path, world.changed(training={"events": False, "keep_state": False}))[0]
        == 0
    )
    assert not (tmp_path / "run" / "events").exists()
    assert not (tmp_path / "run" / "training-state.safetensors").exists()
    ours, theirs = (run / "final.safetensors" for run in (tmp_path / "run", undisturbed))
    assert ours.read_bytes() == theirs.read_bytes()


def test_tensor_digest_sees_numbers_and_not_the_format(tmp_path):
    tensors = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor([1, 2])}
    save_file(tensors, tmp_path / "one.safetensors")
    save_file(tensors, tmp_path / "two.safetensors", metadata={"format": "pt", "more": "words"})
    assert tensors_sha256(tmp_path / "one.safetensors") == tensors_sha256(tmp_path / "two.safetensors")
    save_file({**tensors, "a": tensors["a"].reshape(3, 2)}, tmp_path / "three.safetensors")
    save_file({"a": tensors["a"], "c": tensors["b"]}, tmp_path / "four.safetensors")
    digests = {tensors_sha256(tmp_path / f"{name}.safetensors") for name in ("one", "three", "four")}
    assert len(digests) == 3


def test_events_without_tensorboard_are_an_error_only_where_they_are_asked_for(world, tmp_path):
    """A child in which `import tensorboard` fails."""
    program = (
        "import sys; sys.modules['tensorboard'] = None\n"
        "from captionlab.__main__ import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    for events, code in ((True, 1), (False, 0)):
        spec = world.changed(training={"events": events})
        done = subprocess.run(
            [sys.executable, "-c", program, *world.arguments(tmp_path / "run", tmp_path / "state", spec)],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        assert ("the tensorboard package is not installed" in done.stderr) == events
        shutil.rmtree(tmp_path / "state", ignore_errors=True)
