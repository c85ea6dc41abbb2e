"""Reading a campaign's JSON files for tables: a number comes with its place, an absent file with a gap."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from captionlab.files import read_json, sha256_file
from captionlab.tables.cells import NOT_APPLICABLE, Cell, Source
from captionlab.tables.plan import PlannedRun

_ABSENT = object()


@dataclass(frozen=True)
class Artifacts:
    """The results root of a campaign; each file is read once and kept in `held`, by its path below the root."""

    root: Path
    held: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def document(self, file: str) -> Mapping[str, Any] | None:
        """The JSON object at `file` below the root, or None where there is no such file.

        Raises DamagedFileError when it is there but is not JSON.
        """
        if file not in self.held:
            path = self.root / file
            self.held[file] = read_json(path) if path.is_file() else None
        document: Mapping[str, Any] | None = self.held[file]
        return document

    def cell(self, file: str, *keys: str | int) -> Cell:
        """The value at a path of keys, with its source.

        A missing cell where file or key is absent; a dash where the file says null: a number that is not defined.
        """
        value: Any = self.document(file)
        for key in keys:
            value = _entry(value, key)
        if value is None:
            return Cell(NOT_APPLICABLE, Source(file, pointer(*keys)))
        if not isinstance(value, str | int | float | bool):
            return Cell(None)
        return Cell(value, Source(file, pointer(*keys)))

    def digest(self, file: str) -> str:
        """SHA-256 of a file's bytes, or "missing"."""
        path = self.root / file
        return sha256_file(path) if path.is_file() else "missing"


def _entry(value: Any, key: str | int) -> Any:
    if isinstance(value, Mapping):
        return value.get(key, _ABSENT)
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return value[key]
    return _ABSENT


def pointer(*keys: str | int) -> str:
    """RFC 6901 JSON pointer of a path of keys."""
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in keys)


def manifest_file(chunk: str) -> str:
    """The manifest of a chunk: its counts, digests and targets."""
    return f"chunks/{chunk}/manifest.json"


def run_record(run: PlannedRun) -> str:
    """The file that a run writes about itself."""
    return f"runs/{run.place}/run.json"


def development_file(run: PlannedRun) -> str:
    """The development numbers of a run's final weights."""
    return f"runs/{run.place}/development.json"


def history_file(run: PlannedRun) -> str:
    """A run's history, a JSON object a line."""
    return f"runs/{run.place}/history.jsonl"


def suites_file(run: PlannedRun) -> str:
    """Suite scores of a run."""
    return f"evaluation/{run.place}/suites.json"


def geometry_file(run: PlannedRun) -> str:
    """Caption geometry of a run."""
    return f"evaluation/{run.place}/geometry.json"


def lookup_file(run: PlannedRun) -> str:
    """The lookup reading of a run."""
    return f"evaluation/{run.place}/lookup.json"


def queries_file(run: PlannedRun) -> str:
    """The raw queries behind the lookup reading of a run, a JSON object a line."""
    return f"evaluation/{run.place}/lookup-queries.jsonl"


def reference_file(name: str) -> str:
    """Suite scores of a reference model."""
    return f"evaluation/reference/{name}/suites.json"


SELECTION_FILE = "selection/larger.json"
SCREEN_SELECTION_FILE = "selection/screen.json"
STATISTICS_FILE = "statistics/suites.json"
ALIGNMENT_FILE = "teachers/alignment.json"
DUPLICATES_FILE = "hygiene/duplicates.json"
