"""Partial rows: a kill at any moment loses one block, and the result is the same bytes."""

import json
import multiprocessing
import os
import random
import signal
import time

import numpy as np
import pytest

from captionlab.errors import CaptionlabError
from captionlab.targets.partial import PartialRows

IDENTITY = {"spec": {"chunk": "c"}, "code": "1"}
ROWS, WIDTH, BLOCK = 203, 3, 10


def vectors(block):
    rows = min(BLOCK, ROWS - block * BLOCK)
    return np.random.default_rng(block).normal(size=(rows, WIDTH)).astype(np.float32)


def begin(folder, identity=IDENTITY):
    return PartialRows(folder, identity, rows=ROWS, width=WIDTH, block_rows=BLOCK)


def work(folder, pause=0.0):
    with begin(folder) as partial:
        for block in sorted(set(range(partial.blocks)) - partial.done):
            time.sleep(pause)
            partial.write(block, vectors(block), {"truncated": block})


def finished(folder, path):
    with begin(folder) as partial:
        partial.assemble(path)
        facts = partial.facts()
        partial.discard()
    assert not folder.exists()
    return np.load(path), facts


EXPECTED = np.vstack([vectors(block) for block in range(21)])


def test_kills_at_any_moment_lose_at_most_a_block(tmp_path):
    folder, chance = tmp_path / "state", random.Random(5)
    kept = []
    for _ in range(12):
        child = multiprocessing.get_context("fork").Process(target=work, args=(folder, 0.004))
        child.start()
        time.sleep(chance.uniform(0.01, 0.12))
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        if (folder / "journal.jsonl").exists():
            with begin(folder) as partial:
                lines = (folder / "journal.jsonl").read_bytes().count(b"\n")
                assert len(partial.done) == lines  # whatever the journal vouches for is there, whole
                kept.append(lines)
    assert kept == sorted(kept)
    work(folder)
    found, facts = finished(folder, tmp_path / "a.npy")
    assert np.array_equal(found, EXPECTED)
    assert [fact["truncated"] for fact in facts] == list(range(21))


def test_damaged_state_is_computed_again(tmp_path):
    folder = tmp_path / "state"
    with begin(folder) as partial:
        for block in range(6):
            partial.write(block, vectors(block), {})
    with (folder / "rows.bin").open("r+b") as handle:
        handle.seek(2 * BLOCK * WIDTH * 4 + 5)
        handle.write(b"x")
    with (folder / "journal.jsonl").open("a") as journal:
        journal.write('{"block": 6, "sha')
    with begin(folder) as partial:
        assert partial.done == {0, 1, 3, 4, 5}
        assert partial.rows_done == 50
        partial.write(2, vectors(2), {})
    lines = (folder / "journal.jsonl").read_text().splitlines()
    assert [json.loads(line)["block"] for line in lines] == [0, 1, 2, 3, 4, 5, 2]
    with begin(folder) as partial:
        assert partial.done == {0, 1, 2, 3, 4, 5}


def test_lost_vectors_are_computed_again(tmp_path):
    folder = tmp_path / "state"
    work(folder)
    (folder / "rows.bin").unlink()
    work(folder)
    assert np.array_equal(finished(folder, tmp_path / "a.npy")[0], EXPECTED)


def test_another_identity_is_refused_by_name(tmp_path):
    with begin(tmp_path / "state"):
        pass
    with pytest.raises(CaptionlabError, match="another code, weights: delete it"):
        begin(tmp_path / "state", {"spec": {"chunk": "c"}, "code": "2", "weights": "w"})
    with begin(tmp_path / "state"):  # the refusal has not kept the lock
        pass


def test_two_writers_are_refused(tmp_path):
    with (
        begin(tmp_path / "state"),
        pytest.raises(CaptionlabError, match=f"in use by process {os.getpid()} on "),
    ):
        begin(tmp_path / "state")


def test_an_unfinished_matrix_is_not_assembled(tmp_path):
    with begin(tmp_path / "state") as partial:
        partial.write(0, vectors(0), {})
        with pytest.raises(ValueError, match="20 blocks"):
            partial.assemble(tmp_path / "a.npy")
