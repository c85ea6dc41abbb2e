"""The JSON of a chunk: captions.json before its targets exist, manifest.json with them."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from jsonschema.validators import extend

from captionlab.errors import DamagedFileError
from captionlab.files import canonical_json, read_json, versions

CAPTIONS_JSON = "captions.json"
MANIFEST_JSON = "manifest.json"
LONG_TOKENS = 128

_SCHEMA = Path(__file__).resolve().parents[2] / "schemas" / "manifest.schema.json"
_MESSAGE_LIMIT = 160


def token_statistics(lengths: npt.NDArray[np.int64]) -> dict[str, Any]:
    """What the manifest says of row lengths in tokens ([CLS] and [SEP] counted); `lengths` int64 [rows], rows
    > 0.

    `p95` interpolates linearly; `over_128` counts rows of more than 128 tokens.
    """
    return {
        "total": int(lengths.sum()),
        "mean": float(lengths.mean()),
        "median": float(np.median(lengths)),
        "p95": float(np.percentile(lengths, 95)),
        "max": int(lengths.max()),
        "over_128": int((lengths > LONG_TOKENS).sum()),
    }


def caption_record(**fields: Any) -> dict[str, Any]:
    """The content of captions.json from all its fields but `versions`; the schema names and types them.

    Raises DamagedFileError when the fields are not what the schema asks for.
    """
    record = {**fields, "versions": versions("captionlab", "tokenizers", "numpy", "pyarrow")}
    check_manifest(record, "captions.json to be written")
    return record


def with_targets(captions_json: Mapping[str, Any], targets_stats: Mapping[str, Any]) -> dict[str, Any]:
    """The content of manifest.json: captions.json's fields, `targets`, and targets.npy among `files`.

    `targets_stats`: dtype, shape [rows, width], norm {min, mean, max}, teachers {name: {cosine_before,
    cosine_after}}, alignment_sha256 (None for published targets), optionally source and versions; and `file`,
    the {"sha256", "bytes"} of targets.npy. Raises DamagedFileError when they do not fit the captions.
    """
    targets = {key: value for key, value in targets_stats.items() if key != "file"}
    files = {**captions_json["files"], "targets.npy": targets_stats.get("file")}
    manifest = {**captions_json, "files": files, "targets": targets}
    check_manifest(manifest, "manifest.json to be written")
    return manifest


def read_manifest(path: Path | str, *, targets: bool = False) -> dict[str, Any]:
    """A chunk's captions.json or manifest.json, checked against the schema and against itself.

    With `targets` a manifest without them is refused. Raises MissingFileError, or DamagedFileError naming the
    file, the field and what it should be.
    """
    try:
        manifest = read_json(path)
    except (ValueError, RecursionError, OSError) as error:
        # Numbers of thousands of digits, nesting of thousands of levels, a folder in the file's place.
        raise DamagedFileError(
            f"{path} cannot be read as JSON ({error}): delete it, run its stage again"
        ) from None
    check_manifest(manifest, str(path))
    if targets and "targets" not in manifest:
        raise DamagedFileError(f"{path} has no `targets`: run align_targets for this chunk")
    checked: dict[str, Any] = manifest
    return checked


def check_manifest(manifest: Any, where: str) -> None:
    """Raise DamagedFileError naming `where` and the first field that is wrong."""
    try:
        canonical_json(manifest)
    except ValueError:
        raise DamagedFileError(f"{where} holds a number that is not finite: run its stage again") from None
    error = best_match(_validator().iter_errors(manifest))
    if error is not None:
        field = ".".join(map(str, error.absolute_path)) or "the whole"
        message = " ".join(error.message.split())
        if len(message) > _MESSAGE_LIMIT:
            message = f"{message[:_MESSAGE_LIMIT]} ..."
        raise DamagedFileError(f"{where}: {field}: {message}; run its stage again")
    for field, found, expected in _contradictions(manifest):
        raise DamagedFileError(
            f"{where}: {field} is {found}, by its other fields it is {expected}; run its stage again"
        )


def _contradictions(manifest: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """(field, found, expected) for what the schema cannot say: fields that must agree with one another."""
    rows, tokens = manifest["rows"], manifest["tokens"]
    wrong = []
    if tokens["mean"] != tokens["total"] / rows:
        wrong.append(("tokens.mean", tokens["mean"], tokens["total"] / rows))
    if not tokens["median"] <= tokens["p95"] <= tokens["max"]:
        wrong.append(("tokens.p95", tokens["p95"], f"between {tokens['median']} and {tokens['max']}"))
    if tokens["over_128"] > rows:
        wrong.append(("tokens.over_128", tokens["over_128"], f"at most {rows}"))
    for field in ("inside", "earlier"):
        if (manifest["duplicates"][field] or 0) > rows:
            wrong.append((f"duplicates.{field}", manifest["duplicates"][field], f"at most {rows}"))
    if "targets" in manifest and manifest["targets"]["shape"][0] != rows:
        wrong.append(("targets.shape", manifest["targets"]["shape"], f"of {rows} rows"))
    return wrong


@cache
def _validator() -> Any:
    # The standard takes 3.0 for an integer; a count written so comes from no stage of ours.
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    kind = extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
    return kind(read_json(_SCHEMA))
