"""A small record of a result set that can be committed: config, code, versions, data, metrics, output digests."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.errors import CaptionlabError, DamagedFileError
from captionlab.files import read_json
from captionlab.provenance.census import pinned_files
from captionlab.provenance.digests import digest_many
from captionlab.provenance.kinds import kind

_KEYS = frozenset({"config", "code", "versions", "device", "data", "metrics", "outputs"})
_DATA = frozenset({"chunks", "suites", "teachers", "tokenizer"})
_METRIC_FILES = frozenset({"suites.json", "geometry.json", "lookup.json", "development.json"})
# Counts, steps and shapes are facts of a run, not results of it.
_METRICS = frozenset(
    {
        "spearman",
        "pearson",
        "mean",
        "teacher_cosine",
        "participation_rank",
        "self_cosine",
        "accuracy",
        "exact",
        "top1",
    }
)
# Event files hold clock values; the state of an unfinished run is nobody's result.
_UNRECORDED = frozenset({"events", "state", "log"})


def make_record(root: Path, cache: Path | None = None) -> dict[str, Any]:
    """The record of a results root, ready to be written as JSON.

    {"config", "code": {step or run: fingerprint}, "versions", "device", "data": {path: sha256}, "metrics":
    {"path#/pointer": number}, "outputs": {path: sha256}}. Raises DamagedFileError for JSON that is none.
    """
    if not root.is_dir():
        raise CaptionlabError(
            f"{root} is not a folder of results: pass a campaign's root or a record made of one"
        )
    paths = [path for path in pinned_files(root) if kind(path) not in _UNRECORDED]
    hashed = {path.relative_to(root).as_posix(): digest for path, digest in _hash(root, paths, cache).items()}
    documents = {
        path: read_json(root / path) for path in paths if path.endswith(".json") and _is_record(path)
    }
    config = read_json(root / "config.json") if (root / "config.json").is_file() else {}
    return {
        "config": config.get("config", {}) if isinstance(config, Mapping) else {},
        "code": {path: document["code"] for path, document in documents.items() if _has(document, "code")},
        "versions": _merged(documents, "versions"),
        "device": _merged(documents, "device"),
        "data": {path: digest for path, digest in hashed.items() if path.split("/")[0] in _DATA},
        "metrics": dict(_metrics(documents)),
        "outputs": hashed,
    }


def load_record(path: Path, cache: Path | None = None) -> dict[str, Any]:
    """The record in a file, or made from a results root.

    Raises DamagedFileError when the file is not a record.
    """
    if not path.is_file():
        return make_record(path, cache)
    record = read_json(path)
    if not isinstance(record, dict) or not all(isinstance(record.get(key), Mapping) for key in _KEYS):
        raise DamagedFileError(
            f"{path} is not a record of results: make it with `python -m captionlab record_lock`"
        )
    return record


def _hash(root: Path, paths: list[str], cache: Path | None) -> dict[Path, str]:
    return digest_many((root / path for path in paths), cache)


def _is_record(path: str) -> bool:
    return path.split("/")[0] in ("runs", "evaluation", "release", "selection") and not path.endswith(
        "rng.json"
    )


def _has(document: Any, key: str) -> bool:
    return isinstance(document, Mapping) and isinstance(document.get(key), str) and bool(document[key])


def _merged(documents: Mapping[str, Any], key: str) -> dict[str, str]:
    """Every value that any document states under `key`, joined where they disagree."""
    found: dict[str, set[str]] = {}
    for document in documents.values():
        stated = document.get(key) if isinstance(document, Mapping) else None
        if isinstance(stated, Mapping):
            for name, value in stated.items():
                found.setdefault(str(name), set()).add(str(value))
    return {name: " and ".join(sorted(values)) for name, values in found.items()}


def _metrics(documents: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for path, document in documents.items():
        if path.rpartition("/")[2] in _METRIC_FILES:
            for pointer, value in _numbers(document, ""):
                if pointer.rpartition("/")[2] in _METRICS and "/evaluations/" not in pointer:
                    yield f"{path}#{pointer}", value


def _numbers(value: Any, pointer: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _numbers(inner, f"{pointer}/{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _numbers(inner, f"{pointer}/{place}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield pointer, float(value)
