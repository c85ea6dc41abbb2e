"""A run's files held against what its run.json recorded."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captionlab.errors import DamagedFileError
from captionlab.files import sha256_file


def check_recorded(path: Path, record: Mapping[str, Any]) -> None:
    """Hold a run's file against the digest in its run.json.

    Raises DamagedFileError when they differ or the run recorded no such file.
    """
    entry = record["outputs"].get(path.name)
    if entry is None:
        raise DamagedFileError(
            f"the run of {path.parent} recorded no {path.name}: train it with the option under keep_state"
        )
    if sha256_file(path) != entry["sha256"]:
        raise DamagedFileError(f"{path} is not the file its run.json recorded: train the run again")
