"""A run's history: one JSON line a step and one an evaluation, with no clock in it.

It is the only record of losses and development numbers: `best`, the counts in run.json and the TensorBoard
curves are all derived from it, so a resumed run cannot contradict itself.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.files import canonical_json


def step_line(values: Mapping[str, Any]) -> str:
    """A step's line; floats keep nine significant digits, which is all that an FP32 number has."""
    return canonical_json({key: _nine_digits(value) for key, value in values.items()})


def development_line(step: int, reading: Mapping[str, float]) -> str:
    """An evaluation's line."""
    return canonical_json({"step": step, "development": dict(reading)})


def evaluations(lines: Sequence[str]) -> list[dict[str, Any]]:
    """All evaluations so far, {"step": ..., and the numbers read}, in order."""
    found = (json.loads(line) for line in lines if '"development"' in line)
    return [{"step": entry["step"], **entry["development"]} for entry in found]


def best(lines: Sequence[str], score: str) -> dict[str, Any] | None:
    """The evaluation with the highest `score`, the earlier one of a tie; None before the first."""
    read = evaluations(lines)
    return max(read, key=lambda entry: (entry[score], -entry["step"])) if read else None


def total_tokens(lines: Sequence[str]) -> int:
    """Real (not padding) tokens presented in all steps."""
    return sum(json.loads(line).get("tokens", 0) for line in lines)


def file_bytes(lines: Sequence[str]) -> bytes:
    """The bytes of history.jsonl."""
    return "".join(f"{line}\n" for line in lines).encode("utf-8")


def parse(data: bytes) -> list[str]:
    """The lines of history.jsonl.

    Raises ValueError when a line is not a JSON object with a step.
    """
    lines = data.decode("utf-8").splitlines()
    for line in lines:
        if not isinstance(json.loads(line).get("step"), int):
            raise ValueError(f"a history line has no step: {line[:80]}")
    return lines


def _nine_digits(value: Any) -> Any:
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.9g}")
    return value
