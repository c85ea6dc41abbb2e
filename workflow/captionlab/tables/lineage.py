"""What a number rests on: the file it stands in, the model behind that file, and the data behind the model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from captionlab.tables.artifacts import Artifacts
from captionlab.tables.cells import Cell, Source


@dataclass
class Ledger:
    """Hands out an anchor for every source in the order of first use."""

    sources: dict[Source, str] = field(default_factory=dict)
    computed: dict[tuple[Source, ...], str] = field(default_factory=dict)

    def anchor(self, cell: Cell) -> str | None:
        """The anchor of a cell's lineage, or None for a cell that holds no measured number."""
        if cell.source is not None:
            return self._single(cell.source)
        if len(cell.sources) == 1:
            return self._single(cell.sources[0])
        if cell.sources:
            for source in cell.sources:
                self._single(source)
            return self.computed.setdefault(cell.sources, f"computed-{len(self.computed) + 1}")
        return None

    def files(self) -> dict[str, list[tuple[str, str]]]:
        """Every file used, with the (anchor, pointer) of each place in it."""
        places: dict[str, list[tuple[str, str]]] = {}
        for source, anchor in self.sources.items():
            places.setdefault(source.file, []).append((anchor, source.pointer))
        return places

    def _single(self, source: Source) -> str:
        return self.sources.setdefault(source, f"place-{len(self.sources) + 1}")


def facts(artifacts: Artifacts, file: str) -> list[tuple[str, str]]:
    """What a file rests on, as (name, value): digests, identity, code, manifests of the run's inputs."""
    document = artifacts.document(file) or {}
    found = [("sha256 of the file", artifacts.digest(file))]
    model = document.get("model", {})
    found += _named(
        model, {"name": "model", "weights_sha256": "sha256 of the weights", "identity": "identity"}
    )
    found += _named(
        document,
        {
            "final_sha256": "sha256 of the weights",
            "identity": "identity",
            "code": "code fingerprint",
            "sha256": "sha256 of the suite's pairs",
        },
    )
    run = model.get("run") or document.get("run")
    if run:
        found += _inputs(artifacts, run)
    for name, sample in sorted(document.get("samples", {}).items()):
        if "manifest_sha256" in sample:
            found.append((f"manifest of chunk {sample['chunk']}, sample {name}", sample["manifest_sha256"]))
    for name, suite in sorted(
        document.get("suites", {}).items() if _is_mapping(document.get("suites")) else ()
    ):
        if "sha256" in suite:
            found.append((f"sha256 of suite {name}", suite["sha256"]))
    return found


def _inputs(artifacts: Artifacts, run: Mapping[str, Any]) -> list[tuple[str, str]]:
    repeat = f".repeat-{run['repeat']}" if run.get("repeat") else ""
    place = f"runs/{run['recipe']}/{run['option']}/seed-{run['seed']}{repeat}/run.json"
    record = artifacts.document(place)
    if record is None:
        return []
    inputs = record.get("inputs", {})
    found = [("run record", f"{place} ({artifacts.digest(place)})")]
    found += [
        (f"manifest of chunk {chunk}", digest)
        for chunk, digest in sorted(inputs.get("manifests", {}).items())
    ]
    words = {"tokenizer_sha256": "sha256 of the vocabulary", "development_suite_sha256": "development suite"}
    return found + _named(inputs, words)


def _named(document: Mapping[str, Any], words: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(word, str(document[key])) for key, word in words.items() if document.get(key)]


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)
