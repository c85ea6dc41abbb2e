"""Sentence-pair suites: read, checked against what is known of them, written in one form."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from captionlab.errors import CaptionlabError, ConfigError, DamagedFileError
from captionlab.files import sha256_file, write_text
from captionlab.sources.directory import find_file
from captionlab.sources.fields import by_kind, count, field, optional
from captionlab.sources.packages import verify_digest
from captionlab.sources.pairs import HEADER, Pair, check_pairs, distinct_sentences, read_pairs

# Published label means are rounded to five decimals.
SCORE_TOLERANCE = 1e-5


def load_pairs(suite: str, source: Any) -> tuple[list[Pair], dict[str, Any]]:
    """The pairs that `source` (a mapping with `kind`) holds for `suite`, and the record of their origin.

    The record names no folder, so that moving the data changes no artifact.
    Raises ConfigError for an unknown kind or a wrong field, MissingFileError and DamagedFileError for files.
    """
    return by_kind(source, KINDS, "source")(suite, source)


def write_pairs(path: Path | str, pairs: Sequence[Pair]) -> None:
    """Write checked pairs as TSV with LF line ends, atomically; a score reads back equal."""
    check_pairs(pairs, str(path))
    rows = (f"{pair.subset}\t{float(pair.score)!r}\t{pair.sentence1}\t{pair.sentence2}\n" for pair in pairs)
    write_text(path, f"{HEADER}\n{''.join(rows)}")


def describe(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Rows, distinct sentences (of both columns), distinct ordered pairs, characters a column, scores."""
    scores = [pair.score for pair in pairs]
    return {
        "rows": len(pairs),
        "unique_sentences": len(distinct_sentences(pairs)),
        "unique_pairs": len({(pair.sentence1, pair.sentence2) for pair in pairs}),
        "characters": [
            sum(len(pair.sentence1) for pair in pairs),
            sum(len(pair.sentence2) for pair in pairs),
        ],
        "score": {"min": min(scores), "mean": math.fsum(scores) / len(scores), "max": max(scores)},
    }


def check_expectations(found: Mapping[str, Any], expected: Mapping[str, Any], where: str) -> str:
    """Compare `describe`'s result with what is published of a suite: `rows`, `score`, `characters`, each
    optional.

    Returns "matches", or "labels match, text differs" where only the character counts are others: the same
    pairs in another spelling. Raises ConfigError for an expectation that cannot be read, DamagedFileError
    naming every mismatch when rows or scores differ, because then it is another suite.
    """
    wrong = []
    unknown = set(expected) - {"rows", "score", "characters"}
    if unknown:
        raise ConfigError(
            f"source.expect has {', '.join(sorted(unknown))}: it may hold rows, score and characters"
        )
    if "rows" in expected and count(expected, "rows", "source.expect") != found["rows"]:
        wrong.append(f"{found['rows']} rows, expected {expected['rows']}")
    score = field(expected, "score", dict, "source.expect", {})
    for name in score:
        if name not in found["score"]:
            raise ConfigError(f"source.expect.score has {name}: it may hold min, mean and max")
        value = field(score, name, float, "source.expect.score")
        if not abs(found["score"][name] - value) <= SCORE_TOLERANCE:
            wrong.append(f"score {name} {found['score'][name]:.6g}, expected {value:.6g}")
    if wrong:
        raise DamagedFileError(f"{where} is not the suite that was expected: {'; '.join(wrong)}")
    characters = field(expected, "characters", list, "source.expect", found["characters"])
    return "matches" if characters == found["characters"] else "labels match, text differs"


def _scenes(suite: str, source: Mapping[str, Any]) -> tuple[list[Pair], dict[str, Any]]:
    from captionlab.sources.scenes.suites import suite as scene_suite

    seed, rows = count(source, "seed", "source"), count(source, "rows", "source", least=2)
    pairs = [Pair(p.subset, float(p.score), p.sentence1, p.sentence2) for p in scene_suite(suite, seed, rows)]
    if len(pairs) != rows:
        raise CaptionlabError(f"scene suite {suite} has {len(pairs)} pairs, asked were {rows}: ask for fewer")
    return pairs, {"kind": "scenes", "seed": seed, "rows": rows}


def _directory(suite: str, source: Mapping[str, Any]) -> tuple[list[Pair], dict[str, Any]]:
    file = field(source, "file", str, "source")
    path = find_file(field(source, "path", str, "source"), file)
    pinned = optional(source, "sha256", str, "source")
    if pinned is not None:
        verify_digest(path, pinned)
    pairs = read_pairs(path)
    record = {"kind": "directory", "file": file, "sha256": sha256_file(path)}
    return pairs, {**record, "expected": _verdict(source, pairs, str(path))}


def _hub(suite: str, source: Mapping[str, Any]) -> tuple[list[Pair], dict[str, Any]]:
    # The hub's client is imported only where a source asks for it.
    from captionlab.sources.hub_tables import load_suite_files

    pairs, record = load_suite_files(source)
    where = f"hub dataset {record['repo']} at revision {record['revision']}: {', '.join(record['files'])}"
    check_pairs(pairs, where)
    return pairs, {**record, "expected": _verdict(source, pairs, where)}


def _verdict(source: Mapping[str, Any], pairs: Sequence[Pair], where: str) -> dict[str, Any] | None:
    expected = optional(source, "expect", dict, "source")
    if expected is None:
        return None
    return {**expected, "verdict": check_expectations(describe(pairs), expected, where)}


KINDS: dict[str, Callable[[str, Mapping[str, Any]], tuple[list[Pair], dict[str, Any]]]] = {
    "scenes": _scenes,
    "directory": _directory,
    "hub": _hub,
}
