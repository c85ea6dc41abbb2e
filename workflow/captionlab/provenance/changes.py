"""Why an artifact would be made again: which module, spec key, package or input changed since."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from captionlab import release_specs, specs, table_specs
from captionlab.campaign import Campaign
from captionlab.errors import CaptionlabError
from captionlab.files import parse_spec, read_json, sha256_file, versions
from captionlab.provenance.census import CENSUS, read_census
from captionlab.provenance.engine import METADATA, EngineRecord, below_root, records_below
from captionlab.provenance.fingerprint import (
    PACKAGE_ROOT,
    SYNTAX_CACHE,
    explain_change,
    fingerprint,
    module_digests,
    recorded_digests,
)
from captionlab.provenance.identity import differences
from captionlab.provenance.lineage import Lineage
from captionlab.provenance.links import links_of

_SPECS: Mapping[str, Callable[[Campaign, Mapping[str, Any]], str]] = {
    "keep_config": lambda campaign, _: specs.config_spec(campaign),
    "prepare_tokenizer": lambda campaign, _: specs.tokenizer_spec(campaign),
    "tokenize_chunk": lambda campaign, old: specs.chunk_spec(campaign, old["chunk"]),
    "prepare_suite": lambda campaign, old: specs.suite_spec(campaign, old["suite"]),
    "encode_teacher": lambda campaign, old: specs.teacher_spec(
        campaign, old["teacher"]["name"], old["chunk"]
    ),
    "fit_alignment": lambda campaign, _: specs.alignment_spec(campaign),
    "build_targets": lambda campaign, old: specs.targets_spec(campaign, old["chunk"]),
    "train_run": lambda campaign, old: specs.train_spec(campaign, _run(campaign, old)),
    "evaluate_run": lambda campaign, old: specs.evaluation_spec(campaign, _run(campaign, old)),
    "evaluate_reference": lambda campaign, old: specs.reference_spec(campaign, old["reference"]["name"]),
    "resample_suites": lambda campaign, _: specs.resampling_spec(campaign),
    "select_run": lambda campaign, old: specs.selection_spec(campaign, old["stage"]),
    "evaluate_release": lambda campaign, _: release_specs.release_spec(campaign),
    "render_release": lambda campaign, _: release_specs.release_table_spec(campaign),
    "render_final": lambda campaign, _: table_specs.table_spec(campaign),
    "take_census": lambda campaign, _: table_specs.census_spec(campaign),
    "audit_campaign": lambda campaign, _: table_specs.audit_spec(campaign),
}


@dataclass(frozen=True)
class Origin:
    """How an artifact was made: its step, code, spec, package versions and the digests of its inputs."""

    path: str
    step: str
    code: str | None
    spec: Mapping[str, Any] | None
    versions: Mapping[str, str]
    inputs: Mapping[str, str]


def origin(
    root: Path, path: str, metadata: Path = METADATA, records: Mapping[str, EngineRecord] | None = None
) -> Origin:
    """What is recorded of an artifact (a path below the root): in its own JSON, its run's, and by the engine.

    `records` are the engine's, where they were read already. Raises CaptionlabError when nothing is recorded.
    """
    record = (records_below(root, metadata) if records is None else records).get(path)
    own = _own_record(root, path)
    step = (
        record.step
        if record and record.step
        else "train_run"
        if own.get("identity") and "spec" in own
        else None
    )
    if step is None:
        raise CaptionlabError(
            f"nothing records how {root / path} was made: it has no run.json and Snakemake has no record of it"
        )
    engine_spec = parse_spec(record.spec) if record and record.spec else None
    return Origin(
        path=path,
        step=step,
        code=own.get("code") or (record.code if record else None),
        spec=own.get("spec") if step == "train_run" and "spec" in own else engine_spec,
        versions=own.get("versions") or {},
        inputs=_inputs(root, path, own, record, metadata),
    )


def changes(
    root: Path,
    made: Origin,
    campaign: Campaign | None,
    package_root: Path = PACKAGE_ROOT,
    cache: Path | None = None,
) -> dict[str, list[str]]:
    """What differs today: {"code", "spec", "packages", "inputs"}, a line a difference.

    `campaign` is the one that would run now; None leaves the spec out.
    """
    return {
        "code": _code_changes(root, made, package_root, cache),
        "spec": spec_changes(made.step, made.spec, campaign) if made.spec and campaign else [],
        "packages": differences(dict(made.versions), versions(*made.versions)),
        "inputs": [
            f"{path} changed" if (root / path).is_file() else f"{path} is missing"
            for path, digest in sorted(made.inputs.items())
            if not (root / path).is_file() or sha256_file(root / path) != digest
        ],
    }


def upstream_changes(
    root: Path, path: str, campaign: Campaign | None, metadata: Path = METADATA, cache: Path | None = None
) -> list[str]:
    """What changed for the artifacts that `path` rests on: a line a step and difference, with how many files.

    What rests on what is taken from the census and from the engine's inputs, as far as there are any.
    Raises DamagedFileError when the census is damaged.
    """
    records = records_below(root, metadata)
    lineage = Lineage(root, _parents(root, records, metadata), {})
    found: Counter[str] = Counter()
    for one in lineage.ancestors(path) - {path}:
        if one in records or one.endswith("/run.json"):
            made = origin(root, one, metadata, records)
            parts = changes(root, made, campaign, cache=cache)
            found.update(f"{made.step}: {part}: {line}" for part, lines in parts.items() for line in lines)
    return [f"{line} ({count} files)" for line, count in sorted(found.items())]


def _parents(root: Path, records: Mapping[str, EngineRecord], metadata: Path) -> dict[str, frozenset[str]]:
    parents: dict[str, set[str]] = {}
    if (root / CENSUS).exists():
        for artifact in read_census(root).artifacts.values():
            parents.setdefault(artifact.path, set()).update(artifact.parents)
    for path, record in records.items():
        below = (below_root(root, source, metadata) for source in record.inputs)
        parents.setdefault(path, set()).update(source for source in below if source is not None)
    return {path: frozenset(above) for path, above in parents.items()}


def spec_changes(step: str, spec: Mapping[str, Any], campaign: Campaign) -> list[str]:
    """What differs between a recorded spec and that of the same job in a campaign, a line a key.

    A step without a spec of its own has no differences.
    """
    if step not in _SPECS:
        return []
    try:
        now = parse_spec(_SPECS[step](campaign, spec))
    except (KeyError, StopIteration, TypeError):
        return ["the campaign does not make it"]
    return differences(dict(spec), now)


def _code_changes(root: Path, made: Origin, package_root: Path, cache: Path | None) -> list[str]:
    if not (package_root / "steps" / f"{made.step}.py").is_file():
        return [f"step {made.step} is gone"]
    now = fingerprint(made.step, package_root, cache)
    if made.code in (None, now):
        return []
    before = recorded_digests(str(made.code), cache or SYNTAX_CACHE)
    current = module_digests(made.step, package_root, cache)
    if before is None and (root / CENSUS).exists():
        census = read_census(root)
        if census.steps.get(made.step) == made.code:
            before = {name: digest for name, digest in census.modules.items() if name in current}
    if before is None:
        return [f"{str(made.code)[:12]} -> {now[:12]}; which modules changed is not recorded"]
    return explain_change(before, current) or ["a module that it reached is gone"]


def _run(campaign: Campaign, old: Mapping[str, Any]) -> Any:
    run = old["run"]
    seed = f"{run['seed']}.repeat-{run['repeat']}" if run.get("repeat") else str(run["seed"])
    return campaign.run(run["recipe"], run["option"], seed)


def _own_record(root: Path, path: str) -> dict[str, Any]:
    """run.json for the files of a run, else the artifact's own JSON."""
    parts = path.split("/")
    source = root.joinpath(*parts[:4], "run.json") if parts[0] == "runs" else root / path
    if source.suffix != ".json" or not source.is_file():
        return {}
    document = read_json(source)
    return document if isinstance(document, dict) else {}


def _inputs(
    root: Path, path: str, own: Mapping[str, Any], record: EngineRecord | None, metadata: Path
) -> dict[str, str]:
    found = {}
    for source, digest in (record.checksums if record else {}).items():
        below = below_root(root, source, metadata)
        if below is not None:
            found[below] = digest
    for link in links_of(path, own):
        if link.what == "sha256" and link.place.startswith(("inputs.", "model.", "captions_")):
            found[link.target] = link.expected
    return found
