"""Accepted code changes: a recorded reason instead of running again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captionlab.errors import CaptionlabError, DamagedFileError
from captionlab.files import read_json, write_json

_KEYS = frozenset({"step", "from", "to", "reason", "who", "date"})


def accepted_file(package_root: Path) -> Path:
    """Where a checkout keeps its acceptances; committed, so that everyone's next run agrees."""
    return package_root.resolve().parents[1] / ".captionlab" / "accepted.json"


def read_accepted(path: Path) -> list[dict[str, str]]:
    """All acceptances, oldest first; none where the file does not exist.

    Raises DamagedFileError when the file does not hold {"accepted": [{step, from, to, reason, who, date}]}.
    """
    if not path.exists():
        return []
    stored = read_json(path)
    entries = stored.get("accepted") if isinstance(stored, dict) else None
    if not isinstance(entries, list) or not all(map(_is_entry, entries)):
        raise DamagedFileError(
            f"{path} should hold {{'accepted': [...]}}, each entry with {', '.join(sorted(_KEYS))} as text: "
            "restore it from git"
        )
    return entries


def record_accepted(path: Path, entry: Mapping[str, str]) -> None:
    """Append one acceptance.

    Raises CaptionlabError when a key is missing or empty, or when it would accept a fingerprint onto itself.
    """
    missing = [key for key in sorted(_KEYS) if not entry.get(key, "").strip()]
    if missing:
        raise CaptionlabError(f"an acceptance needs {', '.join(missing)}: nothing was recorded")
    if entry["from"] == entry["to"]:
        raise CaptionlabError(
            f"step {entry['step']} did not change since {entry['from'][:12]}: nothing to accept"
        )
    write_json(path, {"accepted": [*read_accepted(path), dict(entry)]})


def original_fingerprints(current: Mapping[str, str], path: Path) -> dict[str, str]:
    """Each step's fingerprint, walked back along its acceptances to the one that ran."""
    entries = read_accepted(path)
    return {step: _walk_back(step, value, entries) for step, value in current.items()}


def _walk_back(step: str, value: str, entries: list[dict[str, str]]) -> str:
    back = {entry["to"]: entry["from"] for entry in entries if entry["step"] == step}
    seen = {value}
    while (earlier := back.get(value)) is not None and earlier not in seen:
        value = earlier
        seen.add(value)
    return value


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and set(entry) >= _KEYS
        and all(isinstance(value, str) for value in entry.values())
    )
