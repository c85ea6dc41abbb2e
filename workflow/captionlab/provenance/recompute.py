"""Runs evaluated again from their weights: do the numbers in their JSON come out?"""

import json
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.errors import CaptionlabError, DamagedFileError
from captionlab.files import read_json, sha256_file, versions

_FILES = ("suites.json", "geometry.json", "lookup.json")
# What made a document, not what it says: another machine may have other versions and equal numbers.
_UNCOMPARED = frozenset({"versions", "code"})

Evaluate = Callable[[Path, Mapping[str, Any], Path], None]


def sampled_runs(root: Path, count: int, seed: int) -> list[str]:
    """Folders below evaluation/ of `count` evaluated runs, drawn without replacement by `seed`, sorted.

    Raises CaptionlabError when nothing was evaluated.
    """
    found = sorted(
        path.parent.relative_to(root / "evaluation")
        for path in root.glob("evaluation/*/*/seed-*/suites.json")
    )
    if not found:
        raise CaptionlabError(f"{root / 'evaluation'} holds no evaluated run: evaluate the campaign first")
    drawn = random.Random(seed).sample(found, min(count, len(found)))
    return sorted(path.as_posix() for path in drawn)


def recompute(root: Path, spec: Mapping[str, Any], evaluate: Evaluate) -> dict[str, Any]:
    """Evaluate a sample of runs again and compare, ready to be written as JSON.

    `spec` is {"runs": how many, "seed", "tolerance": absolute}. `evaluate(root, document, folder)` writes the
    evaluation of the run that `document` (a suites.json) is of into `folder`. Each row holds the file compared,
    its SHA-256 now, whether all numbers agree within the tolerance, and the largest difference.
    """
    rows: list[dict[str, Any]] = []
    runs = sampled_runs(root, spec["runs"], spec["seed"])
    for run in runs:
        recorded = root / "evaluation" / run
        document = read_json(recorded / "suites.json")
        if not isinstance(document, Mapping) or not isinstance(document.get("spec"), Mapping):
            raise DamagedFileError(f"{recorded / 'suites.json'} records no spec: evaluate the run again")
        with tempfile.TemporaryDirectory() as folder:
            evaluate(root, document, Path(folder))
            for name in _FILES:
                if (recorded / name).exists():
                    rows.append(
                        _row(root, recorded / name, read_json(Path(folder) / name), spec["tolerance"])
                    )
    return {**spec, "sampled": runs, "rows": rows, "versions": versions("captionlab", "numpy", "torch")}


def _row(root: Path, path: Path, made: Any, tolerance: float) -> dict[str, Any]:
    recorded, again = dict(_leaves(read_json(path), "")), dict(_leaves(made, ""))
    worst, where, other = 0.0, "", []
    for name in sorted(set(recorded) | set(again)):
        left, right = recorded.get(name), again.get(name)
        if isinstance(left, float) and isinstance(right, float):
            if abs(left - right) > worst:
                worst, where = abs(left - right), name
        elif left != right:
            other.append(name)
    detail = f"largest difference {worst:.3g}" + (f" at {where}" if where else "")
    if other:
        detail = f"{len(other)} values differ, such as {other[0]}; {detail}"
    return {
        "path": path.relative_to(root).as_posix(),
        "sha256": sha256_file(path),
        "equal": not other and worst <= tolerance,
        "largest_difference": worst,
        "detail": detail,
    }


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key in value:
            if name or key not in _UNCOMPARED:
                yield from _leaves(value[key], f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _leaves(inner, f"{name}.{place}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, float(value)
    else:
        yield name, json.dumps(value)
