"""One table cell walked back: from the number to the JSON, the weights, the run, the data and their sources."""

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from captionlab.errors import CaptionlabError
from captionlab.files import canonical_json
from captionlab.provenance.census import Census
from captionlab.provenance.evidence import Evidence, gather
from captionlab.provenance.kinds import kind
from captionlab.provenance.lineage import Lineage
from captionlab.provenance.rendered import traced_cells
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.cells import Frame
from captionlab.tables.final import all_frames, document
from captionlab.tables.plan import plan_from_spec

_ORDER = (
    "evaluation",
    "release",
    "development",
    "weights",
    "run",
    "manifest",
    "captions",
    "teacher",
    "suite",
    "tokenizer",
)


@dataclass(frozen=True)
class Link:
    """One artifact of a chain: what it is, where, its digest, what it says of itself, what is wrong with it."""

    kind: str
    path: str
    sha256: str
    facts: tuple[str, ...]
    fault: str


@dataclass(frozen=True)
class Chain:
    """A cell and every artifact it rests on; `rule` of each from the census, `parents` as edges."""

    table: str
    row: str
    column: str
    value: Any
    file: str
    pointer: str
    links: tuple[Link, ...]
    edges: tuple[tuple[str, str], ...]
    rules: Mapping[str, str]


def explain_cell(root: Path, census: Census, cell: str, cache: Path | None = None) -> Chain:
    """Walk back a cell named "row:column", such as "larger/relative-16/seed-1:STS-B".

    A name matches a column's name or its heading, in any case; the first
    table that has the cell is taken. Raises CaptionlabError with the nearest names when there is none.
    """
    if census.tables is None:
        raise CaptionlabError(
            f"the census of {root} holds no layout of tables: take it again by the workflow"
        )
    evidence = gather(root, cache)
    frames = all_frames(document(plan_from_spec(census.tables), Artifacts(root)))
    found = _find(frames, cell)
    lineage = Lineage.of(root, evidence.digests, census, evidence.documents())
    paths = sorted(lineage.ancestors(found.file), key=lambda path: (_rank(path), path))
    rules = {
        path: artifact.rule for path, artifact in census.artifacts.items() if artifact.rule and path in paths
    }
    return Chain(
        found.table,
        found.row,
        found.column,
        found.value,
        found.file,
        found.pointer,
        tuple(_link(evidence, path) for path in paths),
        tuple(lineage.walk(found.file)),
        rules,
    )


def chain_text(chain: Chain, full: bool = False) -> str:
    """The chain for a person, a line an artifact, and what it says of itself.

    Without `full`, only the files that name the number's origin: its JSON, weights, run, manifests, its own
    suite, the tokenizer; the rest is counted. What was altered is always shown.
    """
    shown = f"{chain.value:.6g}" if isinstance(chain.value, float) else str(chain.value)
    lines = [f"{chain.row} : {chain.column} = {shown}  (table {chain.table})"]
    lines.append(f"read from {chain.file}#{chain.pointer}")
    told = [link for link in chain.links if full or link.fault or _names_origin(chain, link)]
    for link in told:
        mark = f"ALTERED: {link.fault}" if link.fault else "as recorded"
        rule = f", made by {chain.rules[link.path]}" if link.path in chain.rules else ""
        lines.append(f"  {link.kind:<11} {link.path}  {link.sha256[:12]}  {mark}{rule}")
        if link.facts:
            lines.append(f"{'':14}{'; '.join(link.facts)}")
    rest = Counter(link.kind for link in chain.links if link not in told)
    if rest:
        kinds = ", ".join(f"{count} {name}" for name, count in sorted(rest.items()))
        lines.append(f"  and {rest.total()} more files, all as recorded ({kinds}); --full lists them")
    return "\n".join(lines)


def prov_document(chain: Chain) -> dict[str, Any]:
    """The chain as W3C PROV-JSON: artifacts are entities, each rule's making of one is an activity."""
    cell = f"cell:{chain.row}:{chain.column}"
    entities: dict[str, Any] = {
        f"file:{link.path}": {"prov:type": link.kind, "captionlab:sha256": link.sha256}
        for link in chain.links
    }
    entities[cell] = {"prov:value": chain.value, "captionlab:pointer": chain.pointer}
    edges = [
        (cell, f"file:{chain.file}"),
        *((f"file:{made}", f"file:{source}") for made, source in chain.edges),
    ]
    activities = {f"job:{path}": {"prov:label": rule} for path, rule in sorted(chain.rules.items())}
    return {
        "prefix": {
            "prov": "http://www.w3.org/ns/prov#",
            "captionlab": "urn:captionlab:",
            "file": "urn:captionlab:file:",
            "cell": "urn:captionlab:cell:",
            "job": "urn:captionlab:job:",
        },
        "entity": entities,
        "activity": activities,
        "wasDerivedFrom": {
            f"_:d{number}": {"prov:generatedEntity": made, "prov:usedEntity": source}
            for number, (made, source) in enumerate(edges)
        },
        "wasGeneratedBy": {
            f"_:g{number}": {"prov:entity": job.replace("job:", "file:", 1), "prov:activity": job}
            for number, job in enumerate(activities)
        },
    }


def _names_origin(chain: Chain, link: Link) -> bool:
    if link.kind == "suite":
        suites = {one.path for one in chain.links if one.kind == "suite"}
        named = {
            path
            for path in suites
            if path.removeprefix("suites/").partition(".")[0] in chain.pointer.split("/")
        }
        return link.path in (named or suites)
    return link.path == chain.file or link.kind in ("weights", "run", "manifest", "tokenizer")


def _find(frames: Sequence[Frame], cell: str) -> Any:
    row, _, column = cell.rpartition(":")
    known: list[str] = []
    for frame in frames:
        names = {column.name: column.heading for column in frame.columns}
        for one in traced_cells(frame):
            known.append(f"{one.row}:{one.column}")
            wanted = column.casefold()
            if one.row == row and wanted in (one.column.casefold(), names[one.column].casefold()):
                return one
    near = difflib.get_close_matches(cell, known, n=3, cutoff=0.3) or known[:3]
    raise CaptionlabError(f"no table has the cell {cell!r}: cells are row:column, such as {', '.join(near)}")


def _rank(path: str) -> int:
    name = kind(path)
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


def _link(evidence: Evidence, path: str) -> Link:
    fault = next((finding.detail for finding in evidence.findings if finding.path == path), "")
    content = evidence.document(path) if path.endswith(".json") else None
    facts = tuple(_facts(content)) if isinstance(content, Mapping) else ()
    return Link(kind(path), path, evidence.digests.get(path, "missing"), facts, fault)


def _facts(content: Mapping[str, Any]) -> list[str]:
    facts = []
    if isinstance(content.get("run"), Mapping) and "identity" in content:
        facts.append(f"identity {str(content['identity'])[:12]}, seed {content['run'].get('seed')}")
    if content.get("code"):
        facts.append(f"code {str(content['code'])[:12]}")
    if "rows" in content and not isinstance(content["rows"], list):
        facts.append(f"{content['rows']} rows")
    if isinstance(content.get("source"), Mapping):
        source = sorted(content["source"].items())
        facts.append("source " + ", ".join(f"{key} {_plain(value)}" for key, value in source))
    for key in ("weights_sha256", "tokenizer_sha256"):
        if isinstance(content.get(key), str):
            facts.append(f"{key} {content[key][:12]}")
    return facts


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value)
