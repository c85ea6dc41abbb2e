"""Downloads of a process that is killed, and what the next process makes of them."""

import hashlib
import json
import signal
import time

import numpy as np
import pytest
from hub_server import Fault

# The client writes whole pieces of 10 MiB of what arrives; half of this is one piece and a bit.
PIECE = 10 << 20
DATA = np.random.default_rng(5).bytes(24 << 20)
DIGEST = hashlib.sha256(DATA).hexdigest()


def spec_of(hub, repo) -> dict:
    commit = hub.put(repo, {"large.bin": DATA})
    return {"repo": repo, "revision": commit, "file": "large.bin", "repo_type": "dataset", "sha256": DIGEST}


def cached(commands, spec, pattern) -> list:
    """What the client's cache has of the repository by this name."""
    return list((commands.home / "hub" / f"datasets--{spec['repo'].replace('/', '--')}").rglob(pattern))


def unfinished(commands, spec) -> list:
    return cached(commands, spec, "*.incomplete")


def killed(hub, commands, spec, folder):
    """A process that is killed by SIGKILL when the first piece has arrived; returns the file that it left."""
    hub.faults.append(Fault("stall", "storage:", times=1, seconds=5))
    words = ["--output", folder / "made.bin", "--output-json", folder / "made.json"]
    process = commands.begin("fetch_hub_file", spec, *words, HF_HUB_DOWNLOAD_TIMEOUT="60")
    until = time.monotonic() + 30
    while not any(path.stat().st_size >= PIECE for path in unfinished(commands, spec)):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert list(folder.iterdir()) == []
    assert not cached(commands, spec, "large.bin") + cached(commands, spec, DIGEST)
    hub.requests.clear()
    (left,) = unfinished(commands, spec)
    return left


def ranges(hub) -> list[str | None]:
    return [request.ranged for request in hub.requests if request.port == "storage"]


def test_the_next_process_continues_where_a_killed_one_stopped(hub, commands, tmp_path):
    spec = spec_of(hub, "test/killed")
    left = killed(hub, commands, spec, tmp_path)
    assert left.read_bytes() == DATA[:PIECE]
    words = ["--output", tmp_path / "made.bin", "--output-json", tmp_path / "made.json"]
    outcome = commands.alone("fetch_hub_file", spec, *words)
    assert outcome.code == 0, outcome.err
    assert ranges(hub) == [f"bytes={PIECE}-"]
    assert hashlib.sha256((tmp_path / "made.bin").read_bytes()).hexdigest() == DIGEST
    assert json.loads((tmp_path / "made.json").read_text())["sha256"] == DIGEST
    assert unfinished(commands, spec) == []


def flip(data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:]


@pytest.mark.parametrize(
    ("change", "asked"),
    [
        (flip, [f"bytes={PIECE}-", None]),
        (lambda data: data[:-5], [f"bytes={PIECE - 5}-"]),
        (lambda data: DATA + b"more", [None]),
        # All of it is there but its name: nothing is asked of storage, unless a byte is wrong.
        (lambda data: DATA, []),
        (lambda data: flip(DATA), [None]),
    ],
    ids=["damaged", "cut", "too-long", "whole", "whole-and-damaged"],
)
def test_what_a_killed_process_left_is_never_taken_on_trust(hub, commands, tmp_path, change, asked, request):
    spec = spec_of(hub, f"test/left-{request.node.callspec.id}")
    folder = tmp_path / "out"
    folder.mkdir()
    left = killed(hub, commands, spec, folder)
    left.write_bytes(change(left.read_bytes()))
    outcome = commands.run("fetch_hub_file", spec, "--output", folder / "made.bin")
    assert outcome.code == 0, outcome.err
    assert ranges(hub) == asked
    assert (folder / "made.bin").read_bytes() == DATA
    assert unfinished(commands, spec) == []


def test_a_hub_that_sends_wrong_bytes_after_a_good_beginning_is_named(hub, commands, tmp_path):
    spec = spec_of(hub, "test/wrong-end")
    killed(hub, commands, spec, tmp_path)
    hub.faults.append(Fault("wrong", "storage:"))
    outcome = commands.run("fetch_hub_file", spec, "--output", tmp_path / "made.bin")
    assert outcome.code == 4
    assert "not those the hub states for this file, twice" in outcome.reason
    assert ranges(hub) == [f"bytes={PIECE}-", None]
    assert not list(tmp_path.iterdir())
    assert unfinished(commands, spec) == []
    assert not cached(commands, spec, DIGEST)


def test_a_body_of_another_length_is_not_continued(hub, commands, tmp_path):
    spec = spec_of(hub, "test/short")
    hub.faults.append(Fault("short", "storage:", times=1))
    outcome = commands.run("fetch_hub_file", spec, "--output", tmp_path / "made.bin")
    assert outcome.code == 0, outcome.err
    assert ranges(hub) == [None, None]
    assert (tmp_path / "made.bin").read_bytes() == DATA


def test_two_processes_that_want_one_file_fetch_it_once(hub, commands, tmp_path):
    spec = spec_of(hub, "test/both")
    hub.faults.append(Fault("stall", "storage:", times=1, seconds=3))
    both = [
        commands.begin(
            "fetch_hub_file", spec, "--output", tmp_path / f"{name}.bin", HF_HUB_DOWNLOAD_TIMEOUT="2"
        )
        for name in ("one", "other")
    ]
    for process in both:
        _, said = process.communicate()
        assert process.returncode == 0, said
    assert ranges(hub) == [None, f"bytes={PIECE}-"]
    assert (tmp_path / "one.bin").read_bytes() == (tmp_path / "other.bin").read_bytes() == DATA


def test_a_token_opens_a_large_private_file_and_never_reaches_storage(hub, commands, tmp_path):
    commit = hub.repository("test/closed", private=True).commit({"large.bin": DATA})
    spec = {
        "repo": "test/closed",
        "revision": commit,
        "file": "large.bin",
        "repo_type": "dataset",
        "sha256": None,
    }
    opened = commands.alone("fetch_hub_file", spec, "--output", tmp_path / "made.bin", HF_TOKEN=hub.token)
    assert opened.code == 0, opened.err
    tokens = {request.port: request.token for request in hub.requests}
    assert tokens == {"hub": f"Bearer {hub.token}", "storage": None}
