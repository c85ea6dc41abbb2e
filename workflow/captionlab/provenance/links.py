"""What an artifact's JSON says about other artifacts: the digests it recorded when it was made."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any


@dataclass(frozen=True)
class Link:
    """`record` says at `place` (a dotted path of keys) that `target` holds `expected` (digest or identity).

    Paths are below the results root. `what` is "sha256", "bytes" or the dotted path of a value inside the
    target's JSON that must be equal.
    """

    record: str
    place: str
    target: str
    what: str
    expected: Any


def links_of(path: str, document: Any) -> list[Link]:
    """All links that one artifact's JSON holds; none where it has another shape than its kind promises."""
    if not isinstance(document, Mapping):
        return []
    parts = PurePosixPath(path).parts
    found = list(_file_lists(path, document))
    if parts[0] == "runs" and parts[-1] == "run.json":
        found += _run_links(path, document)
    elif parts[0] == "runs" and parts[-1] == "development.json":
        found += _development_links(path, document)
    elif parts[0] == "suites":
        found += _text(path, "sha256", document.get("sha256"), path.removesuffix(".json") + ".tsv", "sha256")
    elif parts[0] in ("evaluation", "release"):
        found += _evaluation_links(path, document)
    elif parts[0] == "teachers":
        captions = f"chunks/{document.get('chunk')}/captions.parquet"
        found += _text(path, "captions_sha256", document.get("captions_sha256"), captions, "sha256")
    elif parts[0] == "chunks" and parts[-1] == "manifest.json":
        stated = _mapping(document, "targets").get("alignment_sha256")
        found += _text(path, "targets.alignment_sha256", stated, "teachers/alignment.safetensors", "sha256")
    return found


def run_folder(run: Any) -> str | None:
    """The folder of a run below runs/ and evaluation/, from its entry in a JSON file."""
    try:
        repeat = f".repeat-{run['repeat']}" if run.get("repeat") else ""
        return f"{run['recipe']}/{run['option']}/seed-{run['seed']}{repeat}"
    except (KeyError, TypeError, AttributeError):
        return None


def identity_of(root: Path, path: str) -> str | None:
    """The run identity that belongs to an artifact: from its run's run.json, or its own JSON; else None."""
    parts = PurePosixPath(path).parts
    depth = 4
    source = root / path
    if (
        parts[0] in ("runs", "state", "evaluation", "export")
        and len(parts) > depth
        and parts[1] != "reference"
    ):
        source = root.joinpath("runs", *parts[1:depth], "run.json")
    if source.suffix != ".json" or not source.is_file():
        return None
    try:
        identity = json.loads(source.read_text(encoding="utf-8")).get("identity")
    except (ValueError, AttributeError):
        return None
    return identity if isinstance(identity, str) else None


def value_at(document: Any, place: str) -> Any:
    """The value at a dotted path of keys, or None."""
    for key in place.split("."):
        if not isinstance(document, Mapping) or key not in document:
            return None
        document = document[key]
    return document


def _file_lists(path: str, document: Mapping[str, Any]) -> Iterator[Link]:
    folder = PurePosixPath(path).parent
    for key in ("files", "outputs"):
        for name, entry in _mapping(document, key).items():
            target = (folder / name).as_posix()
            for what in ("sha256", "bytes"):
                if isinstance(entry, Mapping) and isinstance(entry.get(what), str | int):
                    yield Link(path, f"{key}.{name}.{what}", target, what, entry[what])


def _run_links(path: str, document: Mapping[str, Any]) -> Iterator[Link]:
    inputs = _mapping(document, "inputs")
    for chunk, digest in _mapping(inputs, "manifests").items():
        yield from _text(path, f"inputs.manifests.{chunk}", digest, f"chunks/{chunk}/manifest.json", "sha256")
    stated = inputs.get("tokenizer_sha256")
    yield from _text(path, "inputs.tokenizer_sha256", stated, "tokenizer/manifest.json", "tokenizer_sha256")
    suite = value_at(document, "spec.development.suite")
    stated = inputs.get("development_suite_sha256")
    yield from _text(path, "inputs.development_suite_sha256", stated, f"suites/{suite}.tsv", "sha256")


def _development_links(path: str, document: Mapping[str, Any]) -> Iterator[Link]:
    folder = PurePosixPath(path).parent
    final = (folder / "final.safetensors").as_posix()
    yield from _text(path, "final_sha256", document.get("final_sha256"), final, "sha256")
    record = (folder / "run.json").as_posix()
    yield from _text(path, "identity", document.get("identity"), record, "identity")


def _evaluation_links(path: str, document: Mapping[str, Any]) -> Iterator[Link]:
    model = _mapping(document, "model")
    folder = run_folder(model.get("run"))
    if folder is not None:
        final = f"runs/{folder}/final.safetensors"
        yield from _text(path, "model.weights_sha256", model.get("weights_sha256"), final, "sha256")
        yield from _text(path, "model.identity", model.get("identity"), f"runs/{folder}/run.json", "identity")
    for suite in _mapping(document, "suites"):
        stated = value_at(document["suites"], f"{suite}.sha256")
        yield from _text(path, f"suites.{suite}.sha256", stated, f"suites/{suite}.tsv", "sha256")
    for sample, entry in _mapping(document, "samples").items():
        if isinstance(entry, Mapping):
            manifest = f"chunks/{entry.get('chunk')}/manifest.json"
            place = f"samples.{sample}.manifest_sha256"
            yield from _text(path, place, entry.get("manifest_sha256"), manifest, "sha256")


def _text(record: str, place: str, expected: Any, target: str, what: str) -> list[Link]:
    return [Link(record, place, target, what, expected)] if isinstance(expected, str) else []


def _mapping(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = document.get(key)
    return value if isinstance(value, Mapping) else {}
