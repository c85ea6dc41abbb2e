"""What every test may use."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def repository() -> Path:
    """The checkout under test."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real captions and suites beside the project; a user's machine may not have it."""
    folder = REPOSITORY.parent / "shared" / "data"
    if not (folder / "SHA256SUMS").is_file():
        pytest.skip(f"real captions and suites are not at {folder}")
    return folder


@pytest.fixture(scope="session")
def loaded_by(repository: Path) -> Callable[[str, Iterable[str]], list[str]]:
    """Which of some modules a fresh Python has loaded after running a program that finds the library."""

    def loaded(program: str, names: Iterable[str]) -> list[str]:
        asked = (
            f"import json, sys; print(json.dumps([name for name in {list(names)!r} if name in sys.modules]))"
        )
        done = subprocess.run(
            [sys.executable, "-c", f"{program}\n{asked}"],
            env={"PYTHONPATH": str(repository / "workflow"), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
        found: list[str] = json.loads(done.stdout.splitlines()[-1])
        return found

    return loaded
