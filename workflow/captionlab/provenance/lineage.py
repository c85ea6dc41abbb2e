"""Which artifact rests on which: from the digests that documents recorded, and from the census."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from captionlab.provenance.census import Census
from captionlab.provenance.links import links_of


@dataclass(frozen=True)
class Lineage:
    """Artifacts by path below the root, and for each the paths it was made from."""

    root: Path
    parents: Mapping[str, frozenset[str]]
    digests: Mapping[str, str]
    _reached: dict[str, frozenset[str]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(
        cls, root: Path, digests: Mapping[str, str], census: Census | None, documents: Mapping[str, Any]
    ) -> "Lineage":
        """Build it from the census's parents and the links of every document."""
        parents: dict[str, set[str]] = {}
        if census is not None:
            for artifact in census.artifacts.values():
                parents.setdefault(artifact.path, set()).update(artifact.parents)
        for path, document in documents.items():
            for link in links_of(path, document):
                owner, source = _direction(link.record, link.target)
                parents.setdefault(owner, set()).add(source)
        return cls(root, {path: frozenset(found - {path}) for path, found in parents.items()}, digests)

    def ancestors(self, path: str) -> frozenset[str]:
        """The artifact itself and everything it rests on, at any distance."""
        if path not in self._reached:
            seen: set[str] = set()
            waiting = [path]
            while waiting:
                one = waiting.pop()
                if one not in seen:
                    seen.add(one)
                    waiting.extend(self.parents.get(one, ()))
            self._reached[path] = frozenset(seen)
        return self._reached[path]

    def walk(self, path: str) -> Iterator[tuple[str, str]]:
        """(artifact, one of its parents) for the artifact and all its ancestors, nearest first, each once."""
        seen = {path}
        waiting = [path]
        while waiting:
            one = waiting.pop(0)
            for parent in sorted(self.parents.get(one, ())):
                yield one, parent
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)


def _direction(record: str, target: str) -> tuple[str, str]:
    """A record beside its files (a manifest, run.json) describes them: they rest on it, not it on them."""
    beside = record.rpartition("/")[0] == target.rpartition("/")[0]
    describes = record.rpartition("/")[2] in ("run.json", "manifest.json", "captions.json")
    sidecar = target.rpartition(".")[0] == record.rpartition(".")[0]
    return (target, record) if beside and (describes or sidecar) else (record, target)
