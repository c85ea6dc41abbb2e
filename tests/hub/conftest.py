"""A loopback hub and captionlab's commands beside it, in a process of their own as a user would run them."""

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

PLACE = importlib.util.spec_from_file_location("hub_server", Path(__file__).with_name("server.py"))
SERVER = sys.modules["hub_server"] = importlib.util.module_from_spec(PLACE)
PLACE.loader.exec_module(SERVER)

# Importing the client costs a second: one process takes many commands, each as `python -m captionlab` would.
LOOP = """
import contextlib, io, json, sys, traceback
from captionlab.__main__ import main
for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(json.loads(line))
        except BaseException:
            code = -1
            traceback.print_exc()
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


@dataclass(frozen=True)
class Outcome:
    """How a command ended: exit code, what it printed, and the line that says why it failed."""

    code: int
    out: str
    err: str

    @property
    def reason(self) -> str:
        said = [line for line in self.err.splitlines() if line.startswith("captionlab ")]
        assert len(said) == 1, self.err
        assert "Traceback" not in self.err
        return said[0]


class Commands:
    """Steps run in a process whose environment points at the hub."""

    def __init__(self, repository: Path, endpoint: str, home: Path) -> None:
        self.home = home
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("HF_", "HUGGING"))},
            "PYTHONPATH": str(repository / "workflow"),
            "OMP_NUM_THREADS": "1",
            "HF_ENDPOINT": endpoint,
            "HF_HOME": str(home),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DOWNLOAD_TIMEOUT": "1",
            "NO_PROXY": "127.0.0.1",
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", LOOP],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, step: str, spec: dict, *arguments: object) -> Outcome:
        words = [step, "--spec", json.dumps(spec), *map(str, arguments)]
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        return Outcome(*json.loads(self.process.stdout.readline()))

    def alone(self, step: str, spec: dict, *arguments: object, **environment: str) -> Outcome:
        """The same in a process of its own, with other variables."""
        process = self.begin(step, spec, *arguments, **environment)
        out, err = process.communicate()
        return Outcome(process.returncode, out, err)

    def begin(self, step: str, spec: dict, *arguments: object, **environment: str) -> subprocess.Popen:
        """The same, not waited for."""
        return subprocess.Popen(
            [sys.executable, "-m", "captionlab", step, "--spec", json.dumps(spec), *map(str, arguments)],
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=30)


@pytest.fixture(scope="module")
def hub():
    with SERVER.LoopbackHub() as server:
        yield server


@pytest.fixture(scope="module")
def commands(repository, hub, tmp_path_factory):
    made = Commands(repository, hub.endpoint, tmp_path_factory.mktemp("home"))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def no_faults_are_left(hub):
    yield
    hub.faults.clear()
    hub.requests.clear()
