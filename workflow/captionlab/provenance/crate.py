"""A Workflow Run RO-Crate of a campaign: its results root described in JSON-LD, every file with size and digest."""

import datetime
import mimetypes
import shutil
from pathlib import Path
from typing import Any

from rocrate.model.contextentity import ContextEntity
from rocrate.model.file import File
from rocrate.rocrate import ROCrate

from captionlab.errors import CaptionlabError
from captionlab.files import sha256_file, versions
from captionlab.provenance.census import CENSUS, Artifact, Census, read_census
from captionlab.provenance.engine import METADATA, records_below

CRATE = "ro-crate-metadata.json"
WORKFLOW = "provenance/workflow"
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
_TERMS = {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}
_FORMATS = {
    ".jsonl": "application/jsonl",
    ".safetensors": "application/octet-stream",
    ".npy": "application/octet-stream",
    ".parquet": "application/vnd.apache.parquet",
    ".md": "text/markdown",
    ".tex": "application/x-tex",
    ".tsv": "text/tab-separated-values",
}


def write_workflow_copy(root: Path, checkout: Path) -> list[str]:
    """Copy the Snakefile and its rules below the results root, so that the crate holds them.

    Returns their paths below the root, the Snakefile first. Raises CaptionlabError when there is none.
    """
    snakefile = checkout / "Snakefile"
    if not snakefile.is_file():
        raise CaptionlabError(f"{snakefile} is missing: pass the checkout that holds the workflow")
    copied = []
    for path in (snakefile, *sorted((checkout / "workflow" / "rules").glob("*.smk"))):
        target = root / WORKFLOW / path.relative_to(checkout)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        copied.append(target.relative_to(root).as_posix())
    return copied


def make_crate(
    root: Path, workflow: list[str], license_url: str, metadata: Path = METADATA
) -> dict[str, Any]:
    """The crate's JSON-LD, ready to be written to `root / CRATE`.

    Built from the census, and times from the engine's records where it has them; what is not known is left
    out. `workflow` is what `write_workflow_copy` returned.
    """
    census = read_census(root)
    crate = ROCrate(version="1.1")
    crate.metadata.extra_terms.update(_TERMS)
    main = _add_workflow(crate, root, workflow)
    files = {path: _add_file(crate, artifact) for path, artifact in census.artifacts.items()}
    files[CENSUS] = crate.add_file(dest_path=CENSUS, properties=_facts(root, CENSUS))
    times = [record for record in records_below(root, metadata).values() if record.ended is not None]
    finished = max(
        (record.ended for record in times if record.ended is not None), default=_newest(root, census)
    )
    _describe(crate, census, license_url, finished)
    starts = [record.started for record in times if record.started is not None]
    made_from = [files[path] for path in ("config.json",) if path in files]
    properties = {
        "name": f"Run of campaign {census.campaign}",
        "description": f"One run of the workflow made the {len(census.artifacts)} files below.",
        "endTime": _iso(finished),
    }
    if starts:
        properties["startTime"] = _iso(min(starts))
    results = [file for path, file in files.items() if path not in ("config.json",)]
    name = f"#run-{sha256_file(root / CENSUS)[:12]}"
    action = crate.add_action(main, name, object=made_from, result=results, properties=properties)
    action["actionStatus"] = "http://schema.org/CompletedActionStatus"
    crate.root_dataset.append_to("mentions", action)
    document: dict[str, Any] = crate.metadata.generate()
    return document


def _describe(crate: ROCrate, census: Census, license_url: str, finished: float) -> None:
    crate.name = f"Campaign {census.campaign}"
    crate.description = (
        f"All artifacts of the caption encoder campaign {census.campaign}, from captions to tables."
    )
    crate.root_dataset["datePublished"] = _iso(finished)
    crate.license = crate.add(
        ContextEntity(
            crate,
            license_url,
            properties={
                "@type": "CreativeWork",
                "name": license_url.rpartition("/")[2],
                "description": license_url,
            },
        )
    )
    profiles = [
        crate.add(
            ContextEntity(crate, url, properties={"@type": "CreativeWork", "name": name, "version": version})
        )
        for url, name, version in ((url, name, url.rpartition("/")[2]) for url, name in _PROFILES.items())
    ]
    crate.root_dataset["conformsTo"] = profiles


def _add_workflow(crate: ROCrate, root: Path, workflow: list[str]) -> Any:
    main = crate.add_workflow(
        root / workflow[0],
        workflow[0],
        main=True,
        lang="snakemake",
        properties={
            "name": "captionlab",
            "version": versions("captionlab")["captionlab"],
            "encodingFormat": "text/plain",
            **_size_and_digest(root, workflow[0]),
        },
    )
    for path in workflow[1:]:
        part = crate.add_file(
            root / path, path, properties={**_facts(root, path), "name": path.rpartition("/")[2]}
        )
        main.append_to("hasPart", part)
    return main


def _add_file(crate: ROCrate, artifact: Artifact) -> File:
    properties: dict[str, Any] = {
        "name": artifact.path.rpartition("/")[2],
        "description": artifact.kind,
        "contentSize": str(artifact.bytes),
        "sha256": artifact.sha256,
        "encodingFormat": _format(artifact.path),
    }
    if artifact.identity:
        properties["identifier"] = artifact.identity
    return crate.add_file(dest_path=artifact.path, properties=properties)


def _facts(root: Path, path: str) -> dict[str, Any]:
    return {"name": path.rpartition("/")[2], "encodingFormat": _format(path), **_size_and_digest(root, path)}


def _size_and_digest(root: Path, path: str) -> dict[str, str]:
    return {"contentSize": str((root / path).stat().st_size), "sha256": sha256_file(root / path)}


def _format(path: str) -> str:
    suffix = Path(path).suffix
    return _FORMATS.get(suffix) or mimetypes.guess_type(path)[0] or "application/octet-stream"


def _newest(root: Path, census: Census) -> float:
    return max((root / path).stat().st_mtime for path in census.artifacts if (root / path).exists())


def _iso(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="seconds")
