"""Serving checks of a published model: two loads of it, one of them in a process that never saw this project."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from captionlab.serving import automodel_side, native
from captionlab.serving.cases import CAPACITY, TEXTS, Case, case_inputs, cases_for
from captionlab.serving.parity import Side, delta, exported_side
from captionlab.serving.release import Release, ReleasedEncoder

_OUTPUTS = ("sentence", "tokens")
_UNIT_TOLERANCE = 1e-6


def check_release(
    release: Release,
    encoder: ReleasedEncoder,
    tokenizer: Path,
    tokenizer_sha256: str,
    compute: Mapping[str, Any],
    python: str,
    work: Path,
) -> dict[str, Any]:
    """The report of a release: a row a case with the deltas of both loads, and a verdict a check.

    tokenizer: the campaign's tokenizer folder, to which the release's ids are held. Cases longer than the model's
    stated capacity are left out. Nothing is raised for a difference; raises ExportLoadError when the other
    process fails.
    """
    config = encoder.model.config
    limit = getattr(config, "max_position_embeddings", None) or CAPACITY
    cases = tuple(
        case for case in cases_for(str(compute["device"])) if not case.diagnostics and case.length <= limit
    )
    inputs = case_inputs(cases, config.vocab_size, config.pad_token_id or 0)
    device = next(encoder.parameters()).device
    ours: dict[str, Tensor] = {}
    for case in cases:
        ours |= automodel_side.answer(encoder.model, case.as_json(), dict(inputs), device)
    theirs = exported_side(
        release.folder, cases, inputs, compute, python, work, remote_code=release.remote_code
    )
    rows = [_row(case, ours, theirs.outputs) for case in cases]
    texts = native.native_texts(tokenizer, tokenizer_sha256, TEXTS)
    return {
        "cases": rows,
        "largest": {key: _largest(rows, key) for key in ("sentence_delta", "token_delta")},
        "checks": _checks(cases, rows, theirs, texts),
        "exported": {key: theirs.report[key] for key in ("versions", "device", "peak_memory_bytes")},
    }


def _row(case: Case, ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> dict[str, Any]:
    deltas = {
        f"{key.removesuffix('s')}_delta": delta(ours[f"{case.name}.{key}"], theirs[f"{case.name}.{key}"])
        for key in _OUTPUTS
    }
    facts = {"name": case.name, "precision": case.precision, "batch": case.batch, "length": case.length}
    return {**facts, **deltas, "holds": all(value == 0 for value in deltas.values())}


def _largest(rows: list[dict[str, Any]], key: str) -> float | None:
    values = [row[key] for row in rows]
    return None if None in values else max(values)


def _checks(
    cases: tuple[Case, ...], rows: list[dict[str, Any]], theirs: Side, texts: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    report, tokens = theirs.report, theirs.report["tokenizer"]
    lost = {name: keys for name, keys in report["loading"].items() if keys}
    norms = torch.cat([theirs.outputs[f"{case.name}.sentence"].double().norm(dim=1) for case in cases])
    off = float((norms - 1).abs().max())
    equal = sum(row["holds"] for row in rows)
    different = sorted(key for key, value in texts.items() if tokens[key] != value)
    longest = max(case.length for case in cases)
    found: dict[str, tuple[bool, str]] = {
        "equal loads": (equal == len(rows), f"{equal} of {len(rows)} cases equal"),
        "stands alone": (not report["project_imported"], "loaded in a process without this project"),
        "every weight found": (not lost, f"{lost or 'nothing missing, nothing left over'}"),
        "safetensors": (report["weights_format"] == "pt", f"header format {report['weights_format']}"),
        "float32": (report["config_dtype"] == "float32", f"config says {report['config_dtype']}"),
        "unit vectors": (off < _UNIT_TOLERANCE, f"off unit length by at most {off:.1e}"),
        "capacity": (longest == CAPACITY, f"longest case run: {longest} tokens"),
        "right padding": (tokens["padding_side"] == "right", f"padding_side {tokens['padding_side']}"),
        "campaign's tokenizer": (not different, f"{', '.join(different) or 'ids of all test texts equal'}"),
    }
    return {name: {"holds": holds, "figure": figure} for name, (holds, figure) in found.items()}
