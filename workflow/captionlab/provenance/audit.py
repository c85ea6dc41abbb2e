"""The audit: every artifact hashed, every record held against its files, every table made again."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from captionlab.campaign import Campaign
from captionlab.errors import CaptionlabError
from captionlab.files import read_json, sha256_file, versions
from captionlab.provenance import checks
from captionlab.provenance.accepted import accepted_file, read_accepted
from captionlab.provenance.census import CENSUS
from captionlab.provenance.currency import check_code, check_specs
from captionlab.provenance.engine import METADATA, EngineRecord, below_root, records_below
from captionlab.provenance.evidence import EXIT_CODES, Evidence, Finding, gather, listed
from captionlab.provenance.fingerprint import PACKAGE_ROOT
from captionlab.provenance.kinds import kind, recording_step
from captionlab.provenance.lineage import Lineage
from captionlab.provenance.links import identity_of
from captionlab.provenance.rendered import TracedCell, check_tables


class AuditError(CaptionlabError):
    """The audit found something; `exit_code` says what sort (20 data, 21 table, 22 missing, 23 code)."""

    def __init__(self, findings: list[Finding], report: Path) -> None:
        self.exit_code = min(EXIT_CODES[finding.sort] for finding in findings)
        super().__init__(
            f"{len(findings)} findings, listed above and in {report}: mend or remake those files"
        )


@dataclass(frozen=True)
class Audit:
    """What an audit did and found; counts are of things checked.

    `identities` is that of each run's weights, `sources` the revision or file each document says it is from.
    """

    root: Path
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    engine: tuple[str, ...]
    accepted: tuple[Mapping[str, str], ...]
    counts: Mapping[str, int]
    census_sha256: str
    cells: tuple[TracedCell, ...]
    lineage: Lineage
    identities: Mapping[str, str]
    sources: Mapping[str, str]

    @property
    def affected(self) -> tuple[TracedCell, ...]:
        """Table cells that rest, at any distance, on a file with a finding."""
        wrong = {finding.path for finding in self.findings}
        return tuple(cell for cell in self.cells if wrong & self.lineage.ancestors(cell.file))


def audit(
    root: Path,
    spec: Mapping[str, Any],
    *,
    campaign: Campaign | None = None,
    package_root: Path = PACKAGE_ROOT,
    metadata: Path | None = None,
    cache: Path | None = None,
    syntax_cache: Path | None = None,
    lock: Path | None = None,
) -> Audit:
    """Audit a results root.

    `spec` is {"tables": the spec of `render_final`}; without "tables" the census's is taken. `campaign` is the
    one that would run now: recorded specs are held against it. `metadata` is the engine's folder of records,
    `cache` a digest cache (None reads every byte), `syntax_cache` that of the fingerprints, `lock` a committed
    record that must agree. Imports no torch; writes nothing but the caches.
    """
    evidence = gather(root, cache)
    if lock is not None:
        _check_lock(evidence, lock)
    counts = {
        "artifacts hashed": len(evidence.digests),
        "recorded digests and identities held against their files": checks.check_links(evidence),
        "run identities made again": checks.check_identities(evidence),
        "suite scores made again from cosines and gold": checks.check_scores(evidence),
        "selections made again": checks.check_selections(evidence),
    }
    counts["evaluations repeated from weights (sampled)"] = checks.check_recomputed(evidence) or 0
    tables = spec.get("tables") or (evidence.census.tables if evidence.census else None)
    cells = check_tables(evidence, tables) if tables else ()
    counts["table cells traced to their JSON"] = len(cells)
    records = records_below(root, metadata) if metadata is not None else {}
    check_code(evidence, records, package_root, syntax_cache)
    if campaign is not None:
        counts["specs held against the campaign of today"] = check_specs(evidence, campaign)
    evidence.notes.extend(_version_notes(evidence))
    return Audit(
        root=root,
        findings=tuple(sorted(evidence.findings)),
        notes=tuple(evidence.notes),
        engine=tuple(_engine_notes(evidence, records, metadata or METADATA)),
        accepted=tuple(read_accepted(accepted_file(package_root))),
        counts=counts,
        census_sha256=sha256_file(root / CENSUS) if (root / CENSUS).exists() else "missing",
        cells=cells,
        lineage=Lineage.of(root, evidence.digests, evidence.census, evidence.documents()),
        identities=_identities(evidence),
        sources=_sources(evidence),
    )


def _check_lock(evidence: Evidence, lock: Path) -> None:
    outputs = read_json(lock).get("outputs", {})
    for path, digest in sorted(outputs.items()):
        if path not in evidence.digests:
            evidence.find("missing", path, f"is in {lock} and not on disk")
        elif evidence.digests[path] != digest:
            evidence.find("data", path, f"holds {evidence.digests[path][:12]}, {lock} has {digest[:12]}")


def _version_notes(evidence: Evidence) -> list[str]:
    recorded: dict[str, set[str]] = {}
    for document in evidence.documents().values():
        stated = document.get("versions") if isinstance(document, Mapping) else None
        if isinstance(stated, Mapping):
            for package, version in stated.items():
                recorded.setdefault(str(package), set()).add(str(version))
    here = versions(*sorted(recorded))
    notes = []
    for package, found in sorted(recorded.items()):
        if len(found) > 1:
            notes.append(f"{package}: artifacts were made by several versions ({', '.join(sorted(found))})")
        elif found != {here[package]}:
            notes.append(f"{package}: artifacts were made by {next(iter(found))}, here is {here[package]}")
    return notes


def _engine_notes(evidence: Evidence, records: Mapping[str, EngineRecord], metadata: Path) -> list[str]:
    """Where the engine's metadata and this project's own records differ."""
    pinned = {path: record for path, record in records.items() if path in evidence.digests}
    if not pinned:
        return ["it has no record of these results: only this project's own records were used"]
    notes = [f"it has records of {len(pinned)} of {len(evidence.digests)} artifacts"]
    census = evidence.census.artifacts if evidence.census else {}
    unknown = [path for path, artifact in census.items() if artifact.rule and path not in records]
    if unknown:
        notes.append(f"declared by a rule, and without its record: {listed(unknown)}")
    for path, record in sorted(pinned.items()):
        artifact = census.get(path)
        if artifact is not None and artifact.rule and artifact.rule != record.rule:
            notes.append(f"{path}: the census says rule {artifact.rule}, it says {record.rule}")
        for source, checksum in sorted(record.checksums.items()):
            found = evidence.digests.get(below_root(evidence.root, source, metadata) or "")
            if found is not None and found != checksum:
                notes.append(f"{path}: made when {source} was {checksum[:12]}, it is now {found[:12]}")
        notes.extend(_record_differences(evidence, path, record))
    moved = [path for path, record in pinned.items() if _moved(evidence.root / path, record)]
    if moved:
        notes.append(f"written to or copied after their job ended: {listed(moved)}")
    return notes


def _record_differences(evidence: Evidence, path: str, record: EngineRecord) -> list[str]:
    document = evidence.document(path) if path.endswith(".json") and recording_step(path) else None
    if not isinstance(document, Mapping):
        return []
    notes = []
    if record.code and document.get("code", record.code) != record.code:
        notes.append(
            f"{path}: records code {str(document.get('code'))[:12]}, its job was given {record.code[:12]}"
        )
    if record.spec and "spec" in document and document["spec"] != checks.parsed(record.spec):
        notes.append(f"{path}: records another spec than its job was given")
    return notes


def _moved(path: Path, record: EngineRecord) -> bool:
    return record.ended is not None and abs(path.stat().st_mtime - record.ended) > 1


def _identities(evidence: Evidence) -> dict[str, str]:
    weights = [path for path in evidence.digests if kind(path) == "weights"]
    return {path: identity_of(evidence.root, path) or "unknown" for path in weights}


def _sources(evidence: Evidence) -> dict[str, str]:
    """Where each document's data came from: kind, and the revision, file or seed that pins it."""
    found = {}
    for path, document in evidence.documents().items():
        source = document.get("source") if isinstance(document, Mapping) else None
        if isinstance(source, Mapping) and "kind" in source:
            pins = [
                str(source[key]) for key in ("repo", "revision", "path", "file", "package") if key in source
            ]
            pins += [f"seed {source['seed']}"] if "seed" in source else []
            found[path] = " ".join([str(source["kind"]), *pins])
    return found
