"""Checks that need no census: records against files, identities, scores, selections and tables made again."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.numpy import load_file

from captionlab.errors import CaptionlabError
from captionlab.evaluation.spearman import spearman
from captionlab.provenance.evidence import Evidence, sort_of
from captionlab.provenance.identity import identity
from captionlab.provenance.links import Link, links_of, value_at
from captionlab.selection import development_row, select

# Another numpy may add in another order; no edit of a printed digit is this small.
_SCORE_TOLERANCE = 1e-12
_SHAPE_FAULTS = (
    CaptionlabError,
    SafetensorError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    OSError,
)


def check_links(evidence: Evidence) -> int:
    """Hold every digest and identity that a document recorded against its target; returns how many."""
    links = [link for path, document in evidence.documents().items() for link in links_of(path, document)]
    for link in links:
        if link.record in evidence.suspect or link.target in evidence.suspect:
            continue
        if link.target not in evidence.digests:
            evidence.find("missing", link.target, f"{link.record} depends on it ({link.place})")
            continue
        found = _found(evidence, link)
        if found != link.expected:
            detail = f"{link.what} is {_short(found)}, {link.record} recorded {_short(link.expected)}"
            evidence.find(sort_of(link.target), link.target, detail)
    return len(links)


def check_identities(evidence: Evidence) -> int:
    """Make every run's identity again from its own record; returns how many runs there are."""
    records = [
        path for path in evidence.documents() if path.startswith("runs/") and path.endswith("/run.json")
    ]
    for path in records:
        _guarded(evidence, path, _check_identity)
    return len(records)


def check_scores(evidence: Evidence) -> int:
    """Make every suite score again from its cosines and gold; returns how many scores."""
    paths = [
        path
        for path in evidence.documents()
        if path.startswith(("evaluation/", "release/")) and path.endswith("/suites.json")
    ]
    return sum(_guarded(evidence, path, _check_scores) or 0 for path in paths)


def check_selections(evidence: Evidence) -> int:
    """Make every selection again from the development numbers; returns how many."""
    paths = [path for path in evidence.documents() if path.startswith("selection/")]
    for path in paths:
        _guarded(evidence, path, _check_selection)
    return len(paths)


def check_recomputed(evidence: Evidence) -> int | None:
    """Hold the sampled recomputation against the evaluations it repeated; None where there is none."""
    path = evidence.root / "provenance" / "recomputed.json"
    if not path.exists():
        return None
    try:
        rows = recomputed_rows(path)
        for row in rows:
            if evidence.digests.get(row["path"]) != row["sha256"]:
                evidence.notes.append(f"{row['path']}: was repeated from weights when it held other bytes")
            elif not row["equal"]:
                evidence.find("data", row["path"], f"its weights give other numbers: {row['detail']}")
    except _SHAPE_FAULTS as error:
        evidence.find("data", "provenance/recomputed.json", f"is not a recomputation ({error!r})")
        return None
    return len(rows)


def recomputed_rows(path: Path) -> list[Mapping[str, Any]]:
    """The rows of a recomputation: {"path", "sha256", "equal", "detail"} for each file that was made again."""
    rows: list[Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return [{key: row[key] for key in ("path", "sha256", "equal", "detail")} for row in rows]


def _found(evidence: Evidence, link: Link) -> Any:
    if link.what == "sha256":
        return evidence.digests[link.target]
    if link.what == "bytes":
        return (evidence.root / link.target).stat().st_size
    return value_at(evidence.document(link.target), link.what)


def _guarded(evidence: Evidence, path: str, check: Callable[[Evidence, str], int]) -> int | None:
    try:
        return check(evidence, path)
    except _SHAPE_FAULTS as error:
        evidence.find("data", path, f"is not what its stage writes ({error!r})")
        return None


def _check_identity(evidence: Evidence, path: str) -> int:
    document = evidence.document(path)
    made = identity(document["spec"], document["code"], document["inputs"])
    if made != document["identity"]:
        evidence.find(
            "data", path, f"identity {document['identity'][:12]} is not that of its spec ({made[:12]})"
        )
    return 1


def _check_scores(evidence: Evidence, path: str) -> int:
    document = evidence.document(path)
    cosines_path = path.replace("suites.json", "cosines.safetensors")
    suites = [f"suites/{name}.tsv" for name in document["suites"]]
    if evidence.suspect & {cosines_path, *suites} or cosines_path not in evidence.digests:
        return 0
    cosines = load_file(evidence.root / cosines_path)
    for name, entry in document["suites"].items():
        made = spearman(cosines[name], _gold(evidence.root / f"suites/{name}.tsv"))
        if abs(made - entry["spearman"]) > _SCORE_TOLERANCE:
            evidence.find(
                "data", path, f"{name} is {entry['spearman']!r}, its cosines and gold give {made!r}"
            )
    # A release is read on the development suite too; no mean counts it.
    entries = [entry for entry in document["suites"].values() if entry.get("role") != "development"]
    scores = [entry["spearman"] for entry in entries]
    if scores and abs(sum(scores) / len(scores) - document["mean"]) > _SCORE_TOLERANCE:
        evidence.find("data", path, f"mean is {document['mean']!r}, its scores give another")
    return len(document["suites"])


def _gold(path: Path) -> list[float]:
    # Not splitlines: it also breaks at characters that may stand inside a sentence.
    lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")[1:]
    return [float(line.split("\t")[1]) for line in lines]


def _check_selection(evidence: Evidence, path: str) -> int:
    document = evidence.document(path)
    rows = []
    for row in document["rows"]:
        repeat = f".repeat-{row['repeat']}" if row["repeat"] else ""
        source = f"runs/{row['recipe']}/{row['option']}/seed-{row['seed']}{repeat}/development.json"
        development = evidence.document(source)
        if development is None:
            return 0
        rows.append(development_row(development, source))
    made = select(rows, document["rule"]["near_tie"])
    for key in ("selected", "decided_by", "means"):
        if made[key] != document[key]:
            evidence.find("data", path, f"{key} is not what the development numbers give")
    return 1


def _short(value: Any) -> str:
    text = str(value)
    return text[:12] if len(text) == 64 else text


def differing_lines(made: str, found: str) -> Iterator[tuple[int, str, str]]:
    """Line number (from 1), made line and found line, wherever two texts differ."""
    ours, theirs = made.split("\n"), found.split("\n")
    for number in range(max(len(ours), len(theirs))):
        left = ours[number] if number < len(ours) else ""
        right = theirs[number] if number < len(theirs) else ""
        if left != right:
            yield number + 1, left, right


def parsed(text: str) -> Any:
    """The JSON value in a text, or None."""
    try:
        return json.loads(text)
    except ValueError:
        return None
