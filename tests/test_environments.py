"""The locks, the conda file and the container file say the same, and fit the project's own bounds."""

import re
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def pins(path):
    lines = [line.split("#")[0].strip() for line in path.read_text().splitlines()]
    found = [line.split("==") for line in lines if "==" in line]
    return {canonicalize_name(name): version for name, version in found}


@pytest.fixture(scope="module")
def project(repository):
    return tomllib.loads((repository / "pyproject.toml").read_text())["project"]


def test_the_lock_pins_every_dependency_inside_its_bounds(repository, project):
    lock = pins(repository / "envs/cpu.lock")
    wanted = project["dependencies"] + [
        row for name in ("test", "bench") for row in project["optional-dependencies"][name]
    ]
    for text in wanted:
        requirement = Requirement(text)
        version = lock[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{text} against {version}"


def test_every_line_of_the_lock_is_a_pin(repository):
    for line in (repository / "envs/cpu.lock").read_text().splitlines():
        assert line.startswith("#") or re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+_-]+", line), line


def test_the_cuda_lock_only_adds_to_the_cpu_lock(repository):
    text = (repository / "envs/cuda.lock").read_text()
    assert "-r cpu.lock" in text.splitlines()
    added = pins(repository / "envs/cuda.lock")
    assert "nvidia-cublas" in added
    assert not set(added) & set(pins(repository / "envs/cpu.lock"))


def test_conda_and_container_install_the_same_lock(repository, project):
    conda = yaml.safe_load((repository / "envs/conda.yaml").read_text())
    assert conda["dependencies"][-1] == {"pip": ["-r cpu.lock"]}
    container = (repository / "envs/Containerfile").read_text()
    assert "pip install --no-cache-dir -r envs/cpu.lock" in container
    python = next(row for row in conda["dependencies"] if str(row).startswith("python=")).split("=")[1]
    assert f"python:{python}-slim" in container
    assert Requirement(f"python{project['requires-python']}").specifier.contains(f"{python}.0")
