"""encode_teacher as a command: its files, resuming after kills, refusals."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.targets.conftest import tiny_state, write_captions, write_teacher_folder

from captionlab.__main__ import main
from captionlab.files import canonical_json, sha256_file
from captionlab.targets.encode import encode_texts
from captionlab.targets.teachers import load_teacher

RANDOM = random.Random(7)
TEXTS = [" ".join(RANDOM.choices("abcdefgh", k=RANDOM.randint(1, 14))) for _ in range(700)]


@pytest.fixture
def place(tmp_path):
    write_captions(tmp_path / "chunks" / "c", "c", TEXTS)
    spec = {
        "teacher": write_teacher_folder(tmp_path / "tiny", tiny_state()),
        "chunk": "c",
        "threads": 1,
        "block_rows": 8,
    }
    return tmp_path, spec


def words(root, spec, out="out"):
    return [
        "encode_teacher",
        "--spec",
        canonical_json(spec),
        "--chunk",
        f"{root}/chunks/c",
        "--output-npy",
        f"{root}/{out}/tiny/c.npy",
        "--output-json",
        f"{root}/{out}/tiny/c.json",
        "--state",
        f"{root}/state-{out}",
    ]


def test_files(place):
    root, spec = place
    assert main(words(root, spec)) == 0
    found = np.load(root / "out/tiny/c.npy")
    facts = json.loads((root / "out/tiny/c.json").read_text())
    expected, truncated = encode_texts(load_teacher(spec["teacher"], threads=1), TEXTS)
    assert np.allclose(found, expected, atol=2e-6)
    assert truncated == sum(len(text.split()) > 10 for text in TEXTS)
    assert facts["truncated_rows"] == truncated
    assert (facts["teacher"], facts["chunk"], facts["rows"], facts["width"], facts["ceiling"]) == (
        "tiny",
        "c",
        700,
        16,
        12,
    )
    norms = np.linalg.norm(found.astype(np.float64), axis=1)
    assert facts["norm"] == pytest.approx({"min": norms.min(), "mean": norms.mean(), "max": norms.max()})
    assert facts["captions_sha256"] == sha256_file(root / "chunks/c/captions.parquet")
    assert facts["files"]["c.npy"]["sha256"] == sha256_file(root / "out/tiny/c.npy")
    assert not (root / "state-out").exists()


def run_killed(root, spec, journal, lines):
    """Start the step and kill it once its journal has `lines` lines; True when it was killed in time."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    child = subprocess.Popen(
        [sys.executable, "-m", "captionlab", *words(root, spec)], env=environment, stderr=subprocess.DEVNULL
    )
    while child.poll() is None:
        if journal.exists() and journal.read_bytes().count(b"\n") >= lines:
            child.send_signal(signal.SIGKILL)
            break
        time.sleep(0.002)
    return child.wait() == -signal.SIGKILL


@pytest.mark.parametrize("kills", [1, pytest.param(6, marks=pytest.mark.slow)])
def test_killed_and_resumed_gives_the_same_bytes(place, kills, capsys):
    root, spec = place
    assert main(words(root, spec, "undisturbed")) == 0
    journal = root / "state-out" / "journal.jsonl"
    for kill in range(kills):
        assert run_killed(root, spec, journal, 10 * (kill + 1)), "finished before it was killed"
        assert not (root / "out/tiny/c.npy").exists()
        assert journal.read_bytes().count(b"\n") < 88
    assert main(words(root, spec | {"teacher": spec["teacher"] | {"ceiling": 11}})) == 1
    assert "was begun with another spec: delete it" in capsys.readouterr().err
    assert main(words(root, spec)) == 0
    for name in ("c.npy", "c.json"):
        assert (root / "out/tiny" / name).read_bytes() == (root / "undisturbed/tiny" / name).read_bytes()


def test_captions_of_another_digest_are_refused(place, capsys):
    root, spec = place
    other = write_captions(root / "chunks" / "d", "c", TEXTS[1:])
    (other / "captions.parquet").replace(root / "chunks/c/captions.parquet")
    assert main(words(root, spec)) == 4
    assert "captions.parquet has another sha256" in capsys.readouterr().err
