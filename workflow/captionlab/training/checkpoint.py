"""A run's resume state: generations of everything the next step depends on, each whole or not there.

`gen-<step>/` holds training-state.safetensors (model, Adam's moments and count), rng.json, history.jsonl and
state.json, which is written last and holds the digests of the others and of itself. A generation is built
under a hidden name and renamed; the two latest are kept. Weights that may yet be published (best, midpoint)
lie beside them as `weights-<step>.safetensors` and are named, with digests, in state.json.
"""

import contextlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from captionlab.errors import CaptionlabError, DamagedFileError
from captionlab.files import canonical_json, digest_entry, read_json, sha256_bytes
from captionlab.provenance.identity import differences
from captionlab.training import history
from captionlab.training.locks import LOCK_FILE
from captionlab.training.tensors import Tensors, read_tensors, write_tensors, write_unsynced

STATE_FILE = "training-state.safetensors"
RANDOM_FILE = "rng.json"
_HISTORY_FILE = "history.jsonl"
_INDEX_FILE = "state.json"
_KEPT = 2
_MALFORMED = (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError)
_GENERATION = re.compile(r"gen-(\d{8})")


class IdentityError(CaptionlabError):
    """A resume state belongs to another run than the one that is to be trained."""

    exit_code = 22


@dataclass(frozen=True)
class Snapshot:
    """All that the steps after `step` depend on.

    `tensors` by name; `random` the states of the random generators as JSON; `history` the lines so far;
    `weights` the files kept beside the generations, {"best": {"step", "file", "sha256", "bytes"}, ...}.
    """

    step: int
    tensors: Tensors
    random: dict[str, Any]
    history: list[str]
    weights: dict[str, dict[str, Any]]


def weights_file(step: int) -> str:
    """The name under which weights of a step are kept beside the generations."""
    return f"weights-{step:08d}.safetensors"


def save_weights(folder: Path, step: int, tensors: Tensors) -> dict[str, Any]:
    """Keep the model's weights of a step; returns their entry for Snapshot.weights."""
    path = folder / weights_file(step)
    write_tensors(path, tensors)
    return {"step": step, "file": path.name, **digest_entry(path)}


def save(folder: Path, snapshot: Snapshot, key: Mapping[str, Any]) -> None:
    """Write a generation and drop what is no longer needed.

    `key` is the run's key (spec, code, inputs); a resume under another one is refused by it. Raises OSError
    when the disk is full; the generations there are left as they were.
    """
    final = generation(folder, snapshot.step)
    draft = folder / f".{final.name}.new"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        write_unsynced(draft / STATE_FILE, snapshot.tensors)
        (draft / RANDOM_FILE).write_text(canonical_json(snapshot.random) + "\n", encoding="utf-8")
        (draft / _HISTORY_FILE).write_bytes(history.file_bytes(snapshot.history))
        index = {
            "step": snapshot.step,
            "key": dict(key),
            "files": {name: digest_entry(draft / name) for name in (STATE_FILE, RANDOM_FILE, _HISTORY_FILE)},
            "weights": snapshot.weights,
        }
        sealed = canonical_json({"index": index, "sha256": _seal(index)})
        (draft / _INDEX_FILE).write_text(sealed + "\n", encoding="utf-8")
        for path in (*draft.iterdir(), draft):
            _sync(path)
        if final.exists():
            final.replace(folder / f".{final.name}.old")
        draft.replace(final)
        _sync(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    _prune(folder, snapshot)


def restore(folder: Path, key: Mapping[str, Any], say: Callable[[str], None]) -> Snapshot | None:
    """The latest whole generation; None where there is none at all.

    A damaged newer generation is passed over, and said so. Raises IdentityError when the state belongs to
    another key, naming what differs, and DamagedFileError when generations are there but none is whole.
    """
    found = sorted((path for path in folder.glob("gen-*") if _GENERATION.fullmatch(path.name)), reverse=True)
    for path in found:
        try:
            snapshot = _load(folder, path, key)
        except DamagedFileError as error:
            say(f"{error}; looking for an older generation")
            continue
        return snapshot
    if found:
        raise DamagedFileError(
            f"no generation of the training state in {folder} is whole: delete that folder to train from the start"
        )
    return None


def generation(folder: Path, step: int) -> Path:
    """The folder of a step's generation."""
    return folder / f"gen-{step:08d}"


def sweep(folder: Path) -> None:
    """Remove what a killed process left half-written; only the holder of the run's lock may do so."""
    for path in folder.glob(".*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def discard(folder: Path) -> None:
    """Remove a finished run's state.

    Generations first lose their names, so that a kill half-way leaves no half of one; the lock goes last,
    because until then nobody else may enter.
    """
    for path in folder.glob("gen-*"):
        path.replace(folder / f".{path.name}.old")
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != LOCK_FILE:
            path.unlink(missing_ok=True)
    (folder / LOCK_FILE).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


def _load(folder: Path, path: Path, key: Mapping[str, Any]) -> Snapshot:
    try:
        index = _read_index(path)
        if changed := differences(index["key"], dict(key)):
            raise IdentityError(
                f"the training state in {folder} belongs to another run ({'; '.join(changed)}): "
                f"delete {folder} to train anew, or undo the change to resume"
            )
        for name, entry in index["files"].items():
            _check(path / name, entry)
        for entry in index["weights"].values():
            _check(folder / entry["file"], entry)
        return Snapshot(
            index["step"],
            read_tensors(path / STATE_FILE),
            read_json(path / RANDOM_FILE),
            history.parse((path / _HISTORY_FILE).read_bytes()),
            index["weights"],
        )
    except _MALFORMED as error:
        raise DamagedFileError(f"{path} is damaged ({type(error).__name__})") from None


def _read_index(path: Path) -> dict[str, Any]:
    name = path / _INDEX_FILE
    try:
        content = json.loads(name.read_text(encoding="utf-8"))
        index = dict(content["index"])
        whole = content["sha256"] == _seal(index) and path.name == generation(path.parent, index["step"]).name
    except _MALFORMED:
        whole = False
    if not whole:
        raise DamagedFileError(f"{name} is damaged or missing")
    return index


def _check(path: Path, entry: Mapping[str, Any]) -> None:
    if not path.is_file() or digest_entry(path) != {"sha256": entry["sha256"], "bytes": entry["bytes"]}:
        raise DamagedFileError(f"{path} is damaged or missing")


def _prune(folder: Path, snapshot: Snapshot) -> None:
    """Keep this generation and the one before it; later ones were damaged and are made again."""
    steps = {int(match[1]): path for path in folder.iterdir() if (match := _GENERATION.fullmatch(path.name))}
    earlier = sorted(step for step in steps if step < snapshot.step)[-(_KEPT - 1) :]
    wanted = {entry["file"] for entry in snapshot.weights.values()}
    for step, path in steps.items():
        if step in earlier:
            wanted |= _weights_of(path)
        elif step != snapshot.step:
            shutil.rmtree(path, ignore_errors=True)
    for path in folder.glob("weights-*.safetensors"):
        if path.name not in wanted:
            path.unlink(missing_ok=True)
    sweep(folder)


def _weights_of(path: Path) -> set[str]:
    try:
        return {entry["file"] for entry in _read_index(path)["weights"].values()}
    except DamagedFileError:
        return set()


def _seal(index: Mapping[str, Any]) -> str:
    return sha256_bytes(canonical_json(dict(index)).encode("utf-8"))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
