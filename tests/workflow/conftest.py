"""The engine as a person runs it: as a process, in a folder of its own, on a copy of the checkout."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

PARTS = ("Snakefile", "config.yaml", "workflow", "profiles")
TINY = "workflow/campaigns/tiny.yaml"


@dataclass(frozen=True)
class Checkout:
    """A copy of the project in which a campaign can be made, changed and damaged."""

    folder: Path
    campaign: str = TINY
    root: str = "results/tiny"

    def engine(self, *arguments: str, cores: int = 2, check: bool = True) -> str:
        """Run snakemake on the campaign and give what it printed, both streams."""
        result = self.result(*arguments, cores=cores)
        assert not check or result.returncode == 0, result.stdout[-6000:]
        return result.stdout

    def result(self, *arguments: str, cores: int = 2) -> subprocess.CompletedProcess[str]:
        """The finished process; a traceback anywhere fails at once."""
        options = [word for word in arguments if word.startswith("-") or "=" in word]
        targets = [word for word in arguments if word not in options]
        command = [sys.executable, "-m", "snakemake", "--cores", str(cores)]
        command += ["--configfile", self.campaign, "--replace-workflow-config", *options, "--", *targets]
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        environment = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"}
        environment.pop("PYTHONPATH", None)
        result = subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=1800,
        )
        assert "Traceback (most recent call last)" not in result.stdout, result.stdout[-6000:]
        return result

    def planned(self, *arguments: str, target: str | None = None) -> dict[str, int]:
        """Jobs that a dry run would start, by rule; empty when there is nothing to do."""
        text = self.engine("-n", *arguments, target or self.final)
        jobs: dict[str, int] = {}
        if "Job stats:" in text:
            for line in text.rsplit("Job stats:", 1)[1].splitlines()[3:]:
                words = line.split()
                if len(words) != 2 or words[0] == "total":
                    break
                jobs[words[0]] = int(words[1])
        return jobs

    @property
    def final(self) -> str:
        """The main target of the campaign."""
        return f"{self.root}/tables/final.md"

    def path(self, name: str) -> Path:
        """A file below the results root."""
        return self.folder / self.root / name

    def copy(self, folder: Path) -> "Checkout":
        """The same checkout with its results elsewhere; times are kept, big files are linked copies."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return replace(self, folder=folder)


def checkout(repository: Path, folder: Path) -> Checkout:
    """A fresh copy of the project's own files."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        source = repository / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy2(source, folder / part)
    return Checkout(folder)


@pytest.fixture
def fresh(repository, tmp_path):
    """A checkout without results."""
    return checkout(repository, tmp_path / "checkout")


@pytest.fixture(scope="session")
def finished(repository, tmp_path_factory):
    """A checkout in which the tiny campaign has been made once; copy it before changing anything."""
    made = checkout(repository, tmp_path_factory.mktemp("finished") / "checkout")
    made.engine(made.final)
    return made


@pytest.fixture(scope="session")
def make_checkout(repository):
    """A function that copies the project's own files into a folder."""
    return lambda folder: checkout(repository, folder)
