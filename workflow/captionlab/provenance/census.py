"""The census: one JSON that pins every artifact of a campaign by size and SHA-256."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from captionlab.errors import CaptionlabError, DamagedFileError, MissingFileError
from captionlab.files import canonical_json, read_json, sha256_bytes, versions
from captionlab.provenance.digests import digest_many
from captionlab.provenance.environment import environment
from captionlab.provenance.kinds import kind
from captionlab.provenance.links import identity_of

CENSUS = "provenance/census.json"
# Logs and benchmarks hold clock values; provenance is written after the census and from it.
_UNPINNED = frozenset({"logs", "benchmarks", "provenance"})
_CRATE = ("ro-crate-metadata.json",)


@dataclass(frozen=True)
class Artifact:
    """One file: path below the root, size in bytes, what made it and from which files (paths below the root).

    `rule` is None for files that no rule declares (resume state, events); `identity` is that of its run.
    """

    path: str
    bytes: int
    sha256: str
    kind: str
    rule: str | None
    identity: str | None
    parents: tuple[str, ...]


@dataclass(frozen=True)
class Census:
    """All artifacts of a campaign, by path, and the code of the steps: fingerprints and module digests.

    `tables` is the spec of the tables (see captionlab.table_specs.table_spec), None where the census was taken without.
    """

    campaign: str
    artifacts: Mapping[str, Artifact]
    steps: Mapping[str, str]
    modules: Mapping[str, str]
    versions: Mapping[str, str]
    tables: Mapping[str, Any] | None


def take_census(
    root: Path,
    spec: Mapping[str, Any],
    steps: Mapping[str, str],
    modules: Mapping[str, str],
    cache: Path | None = None,
    workers: int | None = None,
) -> dict[str, Any]:
    """Pin everything below `root`, ready to be written as JSON.

    `spec` is {"campaign", "tables"?, "expected": [{"path" or "paths", "rule", "parents", "identity_from"?,
    "optional"?}]}; a path may be a folder. Files that nobody declared are found and pinned too, without a rule.
    Raises MissingFileError naming the first expected file that is absent and not optional, and how many are.
    """
    declared = _declared(root, spec)
    paths = sorted(set(declared) | set(pinned_files(root)))
    hashed = digest_many([root / path for path in paths], cache, workers)
    identities = {
        path: identity_of(root, declared.get(path, {}).get("identity_from", path)) for path in paths
    }
    artifacts = [
        asdict(
            Artifact(
                path=path,
                bytes=(root / path).stat().st_size,
                sha256=hashed[root / path],
                kind=kind(path),
                rule=declared.get(path, {}).get("rule"),
                identity=identities[path],
                parents=tuple(sorted(declared.get(path, {}).get("parents", ()))),
            )
        )
        for path in paths
    ]
    body = {
        "campaign": spec["campaign"],
        "artifacts": artifacts,
        "code": {"steps": dict(steps), "modules": dict(modules)},
        "tables": spec.get("tables"),
        "versions": {**environment(), **versions("snakemake")},
    }
    return {**body, "sha256": census_digest(body)}


def census_digest(document: Mapping[str, Any]) -> str:
    """Hex SHA-256 of a census without its own digest: a slip in the file shows even without a lock."""
    return sha256_bytes(canonical_json({key: document[key] for key in document if key != "sha256"}).encode())


def read_census(root: Path) -> Census:
    """The census of a results root.

    Raises MissingFileError, or DamagedFileError when it is not what `take_census` wrote.
    """
    path = root / CENSUS
    document = read_json(path)
    try:
        if document["sha256"] != census_digest(document):
            raise DamagedFileError(f"{path} does not match its own digest: take the census again, then audit")
        artifacts = [Artifact(**{**row, "parents": tuple(row["parents"])}) for row in document["artifacts"]]
        code = document["code"]
        return Census(
            campaign=document["campaign"],
            artifacts={artifact.path: artifact for artifact in artifacts},
            steps=dict(code["steps"]),
            modules=dict(code["modules"]),
            versions=dict(document["versions"]),
            tables=document["tables"],
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedFileError(f"{path} is not a census ({error!r}): take the census again") from None


def pinned_files(root: Path) -> list[str]:
    """Every file below `root` that a census pins, sorted: no log, benchmark, provenance or hidden file."""
    found = []
    for path in root.rglob("*"):
        parts = path.relative_to(root).parts
        if (
            parts[0] in _UNPINNED
            or parts == _CRATE
            or any(part.startswith(".") for part in parts)
            or not path.is_file()
        ):
            continue
        if _inside_other_campaign(root, parts):
            continue
        found.append("/".join(parts))
    return sorted(found)


def _inside_other_campaign(root: Path, parts: Sequence[str]) -> bool:
    """Campaigns may keep their roots below one another (`results`, `results/captions`)."""
    return (root / parts[0] / "tables").is_dir() or (root / parts[0] / "runs").is_dir()


def _declared(root: Path, spec: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    declared: dict[str, Mapping[str, Any]] = {}
    try:
        entries = [
            (path, entry)
            for entry in spec["expected"]
            for path in entry.get("paths") or [entry["path"]]
            if not entry.get("optional") or (root / path).exists()
        ]
        for path, entry in entries:
            files = _files_at(root, path)
            declared.update(dict.fromkeys(files, entry))
    except (KeyError, TypeError, AttributeError) as error:
        raise CaptionlabError(
            f"--spec is not a census's ({error!r}): pass campaign and expected, a list of path, rule, parents"
        ) from None
    missing = [path for path, _ in entries if not (root / path).exists()]
    if missing:
        raise MissingFileError(
            f"{root / missing[0]} is missing ({len(missing)} of {len(entries)} expected are): "
            "run the stage that makes it"
        )
    return declared


def _files_at(root: Path, path: str) -> list[str]:
    if (root / path).is_dir():
        inside = (file.relative_to(root).as_posix() for file in (root / path).rglob("*") if file.is_file())
        return [file for file in inside if not file.rpartition("/")[2].startswith(".")]
    return [path]
