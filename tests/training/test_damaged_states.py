"""States damaged in a hundred ways: an older generation, a clear error, or the right state; never anything else."""

import json
import random
import shutil
from pathlib import Path

import pytest
import torch

from captionlab.errors import CaptionlabError
from captionlab.files import canonical_json, sha256_bytes
from captionlab.rotary.task import Sources, prepare_study
from captionlab.training import checkpoint, loop

KEY = {"spec": {"a": 1}, "code": "", "inputs": {}}
TOKENS = [b"null", b"-1", b"[]", b"{}", b'""', b"1e999", b"9" * 5000, b"[" * 5000, b"\xff", b"true"]


@pytest.fixture(scope="module")
def study(world):
    chunks = [world.root / "chunks" / name for name in world.spec["training"]["chunks"]]
    folders = (
        world.root / "chunks" / "development",
        world.root / "suites" / "dev.tsv",
        world.root / "tokenizer",
    )
    return prepare_study(world.spec, Sources(chunks, *folders), torch.device("cpu"), {})


def begin(study, folder: Path, said: list[str] | None = None) -> loop.Run:
    return loop.begin(study.task, study.plan, folder, KEY, (said if said is not None else []).append)


@pytest.fixture(scope="module")
def states(study, tmp_path_factory) -> tuple[Path, dict[int, torch.Tensor]]:
    """A folder with generations of steps 9 and 12, and a parameter's value at each."""
    folder = tmp_path_factory.mktemp("states")
    run = begin(study, folder)
    values = {}
    while run.step < 12:
        loop.take_step(run)
        run.step += 1
        run.lines.append(json.dumps({"step": run.step}))
        if run.step == 8:
            run.weights["best"] = checkpoint.save_weights(folder, 8, loop.model_tensors(run.task))
        if run.step % 3 == 0:
            loop.save(run)
            values[run.step] = next(run.task.model.parameters()).detach().clone()
    return folder, values


def contents(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def damage(folder: Path, generator: random.Random) -> None:
    """Do something to a file of the state, or to two."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    victim = generator.choice(files)
    data = victim.read_bytes()
    at = generator.randrange(max(len(data), 1))
    kind = generator.randrange(8)
    if kind == 0:
        victim.write_bytes(data[:at] + bytes([data[at] ^ (1 << generator.randrange(8))]) + data[at + 1 :])
    elif kind == 1:
        victim.write_bytes(data[:at])
    elif kind == 2:
        victim.unlink()
    elif kind == 3:
        victim.write_bytes(generator.choice(TOKENS))
    elif kind == 4:
        victim.write_bytes(data[:at] + generator.choice(TOKENS) + data[at:])
    elif kind == 5:
        other = generator.choice(files)
        other_data = other.read_bytes()
        other.write_bytes(data)
        victim.write_bytes(other_data)
    elif kind == 6:
        victim.unlink()
        victim.mkdir()
    else:
        shutil.rmtree(victim.parent) if victim.parent != folder else victim.unlink()


def check_outcome(study, folder: Path, values: dict[int, torch.Tensor]) -> str:
    before = contents(folder)
    said: list[str] = []
    try:
        run = begin(study, folder, said)
    except CaptionlabError as error:
        assert "\n" not in str(error)
        outcome = "error"
    else:
        if run.step:
            assert torch.equal(next(run.task.model.parameters()), values[run.step])
            assert int(run.moments.count) == run.step
        assert run.step == 12 or said or "gen-00000012" not in {path.split("/")[0] for path in before}
        outcome = str(run.step)
    assert contents(folder) == before
    return outcome


@pytest.mark.parametrize("block", range(4))
def test_random_damage(study, states, memory_path, block):
    source, values = states
    outcomes = []
    for case in range(25):
        folder = memory_path / str(case)
        shutil.copytree(source, folder)
        generator = random.Random(1000 * block + case)
        for _ in range(generator.choice([1, 1, 2, 4])):
            damage(folder, generator)
        outcomes.append(check_outcome(study, folder, values))
    assert {"error", "9"} & {*outcomes}


def seal(index) -> str:
    return canonical_json({"index": index, "sha256": sha256_bytes(canonical_json(index).encode())})


@pytest.mark.parametrize(
    "value", [None, [], {}, "x", -1, 12.5, True, {"best": 3}, {"best": {"file": "../lock"}}]
)
@pytest.mark.parametrize("name", ["step", "key", "files", "weights"])
def test_an_index_that_is_sealed_but_makes_no_sense(study, states, memory_path, name, value):
    source, values = states
    folder = memory_path / "state"
    shutil.copytree(source, folder)
    path = folder / "gen-00000012" / "state.json"
    index = json.loads(path.read_text())["index"]
    path.write_text(seal({**index, name: value}))
    outcome = check_outcome(study, folder, values)
    assert outcome == ("error" if name == "key" else "12" if value == {} and name != "step" else "9")


def test_the_undamaged_state_resumes(study, states):
    folder, values = states
    assert check_outcome(study, folder, values) == "12"
