"""What an audit holds in its hands: digests of everything on disk, the census, and the documents it may trust."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from captionlab.errors import CaptionlabError
from captionlab.provenance.census import CENSUS, Census, pinned_files, read_census
from captionlab.provenance.digests import digest_many
from captionlab.provenance.kinds import kind

# Sorted by weight: a run of the audit ends with the lowest number that applies.
EXIT_CODES = {"data": 20, "table": 21, "missing": 22, "code": 23}
_DOCUMENTS = frozenset({"runs", "chunks", "suites", "teachers", "evaluation", "release", "selection"})


@dataclass(frozen=True, order=True)
class Finding:
    """One thing that is wrong: its sort (a key of EXIT_CODES), the file, and what was expected of it."""

    sort: str
    path: str
    detail: str


@dataclass
class Evidence:
    """Files of a results root: `digests` of those on disk, `suspect` paths that already have a finding."""

    root: Path
    census: Census | None
    digests: Mapping[str, str]
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _read: dict[str, Any] = field(default_factory=dict)

    @property
    def suspect(self) -> frozenset[str]:
        """Paths that a finding names already; nothing is concluded from them."""
        return frozenset(finding.path for finding in self.findings)

    def find(self, sort: str, path: str, detail: str) -> None:
        """Record a finding, unless this path has one: the first is the most direct."""
        if path not in self.suspect:
            self.findings.append(Finding(sort, path, detail))

    def document(self, path: str) -> Any:
        """The JSON at a path below the root, or None where it is absent, suspect or not JSON."""
        if path in self.suspect or path not in self.digests:
            return None
        if path not in self._read:
            try:
                self._read[path] = json.loads((self.root / path).read_text(encoding="utf-8"))
            except (OSError, ValueError):
                self._read[path] = None
                self.find("data", path, "is not JSON")
        return self._read[path]

    def documents(self) -> dict[str, Any]:
        """Every trusted JSON document of the stages that record digests, by path."""
        paths = [path for path in self.digests if path.endswith(".json") and path.split("/")[0] in _DOCUMENTS]
        found = {path: self.document(path) for path in paths}
        return {path: document for path, document in found.items() if document is not None}


def gather(root: Path, cache: Path | None = None, workers: int | None = None) -> Evidence:
    """Hash everything below `root` and hold it against the census.

    Every difference becomes a finding: a census that is absent or altered, an artifact that is missing or
    has other bytes. Without `cache` every byte is read.
    """
    fault = None
    census = None
    try:
        census = read_census(root)
        _check_spelling(root / CENSUS)
    except CaptionlabError as error:
        fault, census = Finding("data" if (root / CENSUS).exists() else "missing", CENSUS, str(error)), None
    paths = pinned_files(root)
    hashed = digest_many((root / path for path in paths), cache, workers)
    evidence = Evidence(root, census, {path: hashed[root / path] for path in paths})
    if fault is not None:
        evidence.findings.append(fault)
    if census is not None:
        _compare(evidence, census)
    return evidence


def sort_of(path: str) -> str:
    """Whether a change of this file is a changed table or changed data."""
    return "table" if kind(path) in ("table", "figure") else "data"


def listed(paths: Iterable[str], most: int = 5) -> str:
    """The first paths, and how many more there are."""
    ordered = sorted(paths)
    rest = len(ordered) - most
    return ", ".join(ordered[:most]) + (f" and {rest} more" if rest > 0 else "")


def _compare(evidence: Evidence, census: Census) -> None:
    found = []
    for path, artifact in census.artifacts.items():
        if path not in evidence.digests:
            found.append(Finding("missing", path, "is in the census and not on disk"))
        elif evidence.digests[path] != artifact.sha256:
            size = (evidence.root / path).stat().st_size
            detail = f"holds {evidence.digests[path][:12]} ({size} bytes), the census has "
            found.append(
                Finding(sort_of(path), path, f"{detail}{artifact.sha256[:12]} ({artifact.bytes} bytes)")
            )
    evidence.findings.extend(found)
    if extra := set(evidence.digests) - set(census.artifacts):
        evidence.notes.append(f"not in the census: {listed(extra)}")


def _check_spelling(path: Path) -> None:
    """The digest covers values; this covers the white space between them."""
    text = path.read_text(encoding="utf-8")
    spelled = json.dumps(json.loads(text), sort_keys=True, indent=2, ensure_ascii=False) + "\n"
    if text != spelled:
        raise CaptionlabError(f"{path} was rewritten by another hand: take the census again, then audit")
