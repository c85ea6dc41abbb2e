"""A Slurm of one node on this machine: real daemons on loopback, everything they keep in one temporary folder."""

import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

PLUGIN = "snakemake-executor-plugin-slurm>=2.8"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol")
PROFILE = "workflow/profiles/slurm"
# The profile with the patience of a test.
AT_ONCE = (
    *("--workflow-profile", PROFILE, "--cores=2", "--latency-wait=20"),
    *("--seconds-between-status-checks=1", "--slurm-init-seconds-before-status-checks=1"),
)
CAMPAIGN = "workflow/campaigns/cluster.yaml"
ROOT = "results/cluster"
SETTINGS = """
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=10
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
KillWait=5
MinJobAge=900
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=256000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@dataclass(frozen=True)
class Submission:
    """A job as squeue shows it; memory as Slurm writes it (`4000M`), the time limit as it writes it (`2:00:00`)."""

    number: str
    comment: str
    state: str
    memory: str
    limit: str


@dataclass(frozen=True)
class Cluster:
    """A running Slurm and the Python that has the executor plugin."""

    folder: Path
    python: Path

    @property
    def environment(self) -> dict[str, str]:
        """What its clients need; the folder's own `bin` comes first, for jobs that lose SLURM_CONF."""
        path = os.pathsep.join(map(str, (self.folder / "bin", self.python.parent, os.environ["PATH"])))
        return {**os.environ, "PATH": path, "SLURM_CONF": str(self.folder / "slurm.conf"), **QUIET}

    def command(self, *words: str) -> str:
        """What a Slurm command prints."""
        return subprocess.run(
            words, env=self.environment, check=True, text=True, capture_output=True, timeout=60
        ).stdout

    def submissions(self) -> list[Submission]:
        """All jobs submitted so far, finished ones too."""
        text = self.command("squeue", "--states=all", "--noheader", "--format=%i|%k|%T|%m|%l")
        return sorted(
            (Submission(*line.split("|")) for line in text.splitlines()), key=lambda job: int(job.number)
        )


QUIET = {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


@dataclass(frozen=True)
class Site:
    """A copy of the project with the test's campaign, in a folder that all nodes see."""

    folder: Path

    def path(self, name: str) -> Path:
        """A file below the results root."""
        return self.folder / ROOT / name

    def locally(self, *arguments: str) -> str:
        """Run the engine on this machine, without Slurm, and give what it printed."""
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", "--cores", "2", *self._campaign(*arguments)],
            cwd=self.folder,
            env={**os.environ, "PATH": path, **QUIET},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=1200,
        )
        assert done.returncode == 0, done.stdout[-6000:]
        return done.stdout

    @contextmanager
    def submitted(self, cluster: Cluster, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """The engine at work on the cluster; its output is in engine.log. Ended with the block."""
        with (self.folder / "engine.log").open("w") as log:
            engine = subprocess.Popen(
                [cluster.python, "-m", "snakemake", *AT_ONCE, *self._campaign(*arguments)],
                cwd=self.folder,
                env={**cluster.environment, "PYTHONPATH": ""},
                text=True,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            try:
                yield engine
            finally:
                _end(engine)

    @property
    def printed(self) -> str:
        """What the engine printed on its last call on the cluster."""
        return (self.folder / "engine.log").read_text()

    def copy(self, folder: Path) -> "Site":
        """The same files elsewhere, with their times."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Site(folder)

    @staticmethod
    def _campaign(*arguments: str) -> list[str]:
        options = [word for word in arguments if word.startswith("-") or "=" in word or word.isdigit()]
        targets = [f"{ROOT}/{word}" for word in arguments if word not in options]
        return ["--configfile", CAMPAIGN, "--replace-workflow-config", *options, "--", *targets]


@pytest.fixture(scope="session")
def site(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A checkout with a campaign cut down from tiny.yaml to three runs; nothing is made yet.

    The two larger runs last long enough to be interrupted on a fast machine too.
    """
    folder = tmp_path_factory.mktemp("site") / "checkout"
    for part in ("workflow", "profiles"):
        shutil.copytree(repository / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("Snakefile", "config.yaml"):
        shutil.copy2(repository / part, folder / part)
    config = yaml.safe_load((repository / "workflow/campaigns/tiny.yaml").read_text())
    config |= {"campaign": "cluster", "results": ROOT}
    del config["chunks"]["train-1"]
    config["targets"]["fit"]["chunks"] = ["train-0"]
    recipe = {"chunks": ["train-0"], "warmup": 2}
    config["recipes"] = {
        "screen": {**recipe, "label": "96 × 2 epochs", "epochs": 2, "keep_state": []},
        "larger": {**recipe, "label": "96 × 120 epochs", "epochs": 120, "keep_state": "all"},
        "exposure": {**recipe, "label": "96 × 150 epochs", "epochs": 150, "keep_state": "all"},
    }
    config["screen"] = {"recipe": "screen", "options": ["relative"], "seeds": [1], "repeats": {}}
    config["larger"] = [
        {"recipe": "larger", "options": ["relative"], "seeds": [1]},
        {"recipe": "exposure", "options": ["relative"], "seeds": [1]},
    ]
    suites = config["suites"]["test"]
    config["suites"]["test"] = {name: suites[name] for name in config["evaluation"]["screen_suites"]}
    config["evaluation"]["references"] = {"teachers": False, "untrained": False, "bag": True}
    config["cluster"] = {
        "partition": {"default": "main"},
        "memory_mb": {"default": 1500, "train_run": 2000},
        "runtime_minutes": {"default": 10, "train_run": 30},
    }
    (folder / CAMPAIGN).write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
    return Site(folder)


@pytest.fixture(scope="session")
def local(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The campaign as this machine makes it without Slurm."""
    made = site.copy(tmp_path_factory.mktemp("local") / "checkout")
    made.locally("tables/final.md")
    return made


@pytest.fixture(scope="session")
def slurm_programs() -> None:
    """Skips where Slurm is not installed or its daemons can't be started."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        pytest.skip(f"Slurm is not installed ({', '.join(missing)}): apt-get install slurm-wlm munge")
    if os.geteuid() != 0:
        pytest.skip("munged, slurmctld and slurmd of the test are started as root")


@pytest.fixture(scope="session")
def plugin_python(slurm_programs: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with this environment's packages and the plugin, which slows every start and so stays out of it."""
    folder = tmp_path_factory.mktemp("plugin")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    (packages / "outer.pth").write_text(sysconfig.get_path("purelib") + "\n")
    done = subprocess.run([python, "-m", "pip", "install", "-q", PLUGIN], text=True, capture_output=True)
    if done.returncode != 0:
        pytest.skip(f"pip can't install {PLUGIN}: {done.stderr.strip().splitlines()[-1]}")
    return python


@pytest.fixture(scope="session")
def cluster(plugin_python: Path) -> Iterator[Cluster]:
    """Slurm with one node and one partition, stopped at the end whatever happened."""
    with ExitStack() as stack:
        # Below the system's own folder: a socket's path must be short.
        folder = Path(tempfile.mkdtemp(prefix="slurm-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)
        running = Cluster(folder, plugin_python)
        _configure(folder)
        for name, command in _daemons(folder).items():
            _start(stack, running, name, command)
        stack.callback(_cancel_all, running)
        _wait_for_node(running)
        yield running


def _configure(folder: Path) -> None:
    (folder / "state").mkdir()
    (folder / "spool").mkdir()
    (folder / "bin").mkdir()
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(1024))
    host = socket.gethostname().split(".")[0]
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        controller, daemon = first.getsockname()[1], second.getsockname()[1]
    text = SETTINGS.format(folder=folder, host=host, controller=controller, daemon=daemon)
    (folder / "slurm.conf").write_text(text)
    # The plugin takes SLURM_CONF away from the srun that it starts inside a job.
    srun = folder / "bin" / "srun"
    srun.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {shutil.which("srun")} "$@"\n')
    srun.chmod(0o755)


def _daemons(folder: Path) -> dict[str, list[str]]:
    munge = {"socket": "munge.socket", "key-file": "munge.key", "pid-file": "munge.pid"}
    munge |= {"log-file": "munge.log", "seed-file": "munge.seed"}
    return {
        "munged": [
            "munged",
            "--foreground",
            "--force",
            *(f"--{key}={folder / name}" for key, name in munge.items()),
        ],
        "slurmctld": ["slurmctld", "-D", "-c"],
        "slurmd": ["slurmd", "-D", "-c"],
    }


def _start(stack: ExitStack, cluster: Cluster, name: str, command: list[str]) -> None:
    log = stack.enter_context((cluster.folder / f"{name}.out").open("w"))
    # Ended by the kernel where even this process is killed.
    command = ["setpriv", "--pdeathsig", "TERM", *command]
    daemon = subprocess.Popen(command, env=cluster.environment, stdout=log, stderr=subprocess.STDOUT)
    stack.callback(_end, daemon)
    if name == "munged":
        _wait_until(lambda: (cluster.folder / "munge.socket").exists(), cluster, "munged's socket")


def _wait_for_node(cluster: Cluster) -> None:
    def idle() -> bool:
        done = subprocess.run(
            ["sinfo", "--noheader", "--format=%T"], env=cluster.environment, text=True, capture_output=True
        )
        return done.stdout.strip() == "idle"

    _wait_until(idle, cluster, "an idle node")


def _wait_until(ready, cluster: Cluster, what: str) -> None:
    limit = time.monotonic() + 60
    while not ready():
        if time.monotonic() > limit:
            logs = [path.read_text()[-2000:] for path in sorted(cluster.folder.glob("*.out"))]
            pytest.fail(f"no {what} within a minute\n" + "\n".join(logs))
        time.sleep(0.2)


def _cancel_all(cluster: Cluster) -> None:
    """Cancel every job and wait until their processes are gone; the daemons' own end would leave them running."""
    subprocess.run(["scancel", "--user=root"], env=cluster.environment, timeout=60)
    limit = time.monotonic() + 30
    while time.monotonic() < limit:
        active = subprocess.run(
            ["squeue", "--noheader"], env=cluster.environment, text=True, capture_output=True
        )
        if active.returncode != 0 or not active.stdout.strip():
            return
        time.sleep(0.5)


def _end(process: subprocess.Popen) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
