"""What every test may use."""

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
