"""Parity: a run's restored training state against its export as Transformers loads it, value by value."""

import hashlib
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from captionlab.errors import CaptionlabError
from captionlab.files import versions
from captionlab.provenance.identity import tensors_sha256
from captionlab.rotary.encoder import CaptionEncoder
from captionlab.serving import automodel_side, native
from captionlab.serving.cases import CAPACITY, TEXTS, Case, case_inputs, cases_for
from captionlab.training.tensors import read_tensors

_PREFIX = "encoder."
_HIDDEN_FROM_CHILD = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
_PACKAGES = ("captionlab", "torch", "safetensors", "tokenizers")
_OUTPUTS = ("sentence", "tokens")
_UNIT_TOLERANCE = 1e-6


class ParityError(CaptionlabError):
    """An export does not give what the restored training state gives."""

    exit_code = 30


class ExportLoadError(ParityError):
    """An export could not be loaded or run at all."""


@dataclass(frozen=True)
class Side:
    """What one side answered: tensors by `<case>.<output>`, and its report."""

    outputs: Mapping[str, Tensor]
    report: Mapping[str, Any]


def check_export(
    state: Path,
    record: Mapping[str, Any],
    tokenizer: Path,
    export: Path,
    compute: Mapping[str, Any],
    python: str,
    cases: tuple[Case, ...] | None = None,
) -> dict[str, Any]:
    """The parity report of an export.

    state: the run's training-state.safetensors, record: its run.json; `export` is only ever opened by a
    process of its own, started with the interpreter `python`. `cases` are those of the device (`cases_for`)
    unless given. The report says under `differences` whatever is not
    equal; nothing is raised for that. Raises ExportLoadError when the other process fails, and what
    native.restore_state raises.
    """
    device = torch.device(str(compute["device"]))
    # Both sides compute with the spec's threads, whatever this process was given: other threads, other bits.
    torch.set_num_threads(int(compute["threads"]))
    cases = cases_for(str(compute["device"])) if cases is None else cases
    encoder = native.restore_state(state, record, device)
    inputs = case_inputs(cases, encoder.config.vocabulary, encoder.config.pad_id)
    with tempfile.TemporaryDirectory(prefix="parity-") as folder:
        work = Path(folder)
        ours = _native_side(encoder, cases, inputs, device, work)
        texts = native.native_texts(tokenizer, record["inputs"]["tokenizer_sha256"], TEXTS)
        ours.report["tokenizer"].update(texts)
        theirs = exported_side(export, cases, inputs, compute, python, work)
    return {
        "run": record["run"],
        "identity": record["identity"],
        "state_sha256": record["outputs"][state.name]["sha256"],
        **compare(cases, inputs, ours, theirs),
    }


def exported_side(
    export: Path,
    cases: tuple[Case, ...],
    inputs: Mapping[str, Tensor],
    compute: Mapping[str, Any],
    python: str,
    work: Path,
    remote_code: bool = True,
) -> Side:
    """Ask a fresh process, which sees neither this project nor any earlier remote-code cache.

    remote_code: whether the export may run code of its own; an export of this project has to.

    Raises ExportLoadError with the last line that the process said.
    """
    requests = {
        "device": compute["device"],
        "threads": compute["threads"],
        "cases": [case.as_json() for case in cases],
        "texts": TEXTS,
        "remote_code": remote_code,
    }
    (work / "requests.json").write_text(json.dumps(requests), encoding="utf-8")
    save_file(dict(inputs), work / "inputs.safetensors")
    kept = {name: value for name, value in os.environ.items() if name not in _HIDDEN_FROM_CHILD}
    modules = {"HF_MODULES_CACHE": str(work / "modules"), "HF_HUB_OFFLINE": "1"}
    command = [python, "-I", automodel_side.__file__, str(export.resolve()), str(work)]
    try:
        done = subprocess.run(
            command,
            cwd=work,
            env={**kept, **modules},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise ExportLoadError(
            f"{python} cannot be started ({error.strerror}): give another --python"
        ) from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise ExportLoadError(
            f"{export} cannot be loaded and run by {python}: {said[-1] if said else 'no message'}"
        )
    report = json.loads((work / "report.json").read_text(encoding="utf-8"))
    report["outputs_sha256"] = tensors_sha256(work / "outputs.safetensors")
    return Side(read_tensors(work / "outputs.safetensors"), report)


def compare(
    cases: tuple[Case, ...], inputs: Mapping[str, Tensor], ours: Side, theirs: Side
) -> dict[str, Any]:
    """Cases with their deltas, answers to the card's questions, and every difference in words."""
    rows = [_case_row(case, ours.outputs, theirs.outputs) for case in cases if not case.diagnostics]
    extra = [
        _diagnostic_row(key, ours, theirs) for case in cases if case.diagnostics for key in _keys(case, ours)
    ]
    unequal = _unequal_tensors(ours.report["state"], theirs.report["state"])
    differences = [f"state tensor {name}" for name in unequal]
    differences += [f"case {row['name']}" for row in rows if not row["holds"]]
    differences += [f"diagnostic {row['name']}" for row in extra if not row["holds"]]
    differences += [
        f"tokenizer {key}"
        for key, value in ours.report["tokenizer"].items()
        if theirs.report["tokenizer"][key] != value
    ]
    differences += [f"loading {name} {keys}" for name, keys in theirs.report["loading"].items() if keys]
    wanted = {"config_dtype": "float32", "weights_format": "pt", "project_imported": False}
    differences += [
        f"{key} {theirs.report[key]!r}, expected {value!r}"
        for key, value in wanted.items()
        if theirs.report[key] != value
    ]
    return {
        "cases": rows,
        "diagnostics": extra,
        "state": {"tensors": len(ours.report["state"]), "unequal": unequal},
        "answers": _answers(cases, inputs, ours, theirs, unequal),
        "differences": differences,
        "native": _side_json(ours),
        "exported": _side_json(theirs),
    }


def require_parity(report: Mapping[str, Any], export: Path) -> None:
    """Raise ParityError naming the first differences, unless the report has none."""
    found = report["differences"]
    if found:
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        raise ParityError(
            f"{export} differs from the restored training state: {'; '.join(found[:3])}{more}: export the run "
            "again, and publish nothing before this holds"
        )


def delta(ours: Tensor, theirs: Tensor) -> float | None:
    """Largest absolute difference in FP64; None where shapes differ or a value is not finite."""
    if ours.shape != theirs.shape or not (ours.isfinite().all() and theirs.isfinite().all()):
        return None
    return float((ours.double() - theirs.double()).abs().max()) if ours.numel() else 0.0


def _native_side(
    encoder: CaptionEncoder,
    cases: tuple[Case, ...],
    inputs: Mapping[str, Tensor],
    device: torch.device,
    work: Path,
) -> Side:
    outputs = native.native_outputs(encoder, cases, inputs, device)
    path = work / "native.safetensors"
    save_file(outputs, path)
    report = {
        "state": {name: automodel_side.describe(value) for name, value in encoder.state_dict().items()},
        "tokenizer": {},
        "outputs_sha256": tensors_sha256(path),
        "device": automodel_side.device_name(device),
        "peak_memory_bytes": automodel_side.peak_memory(device),
        "versions": {"python": platform.python_version(), **versions(*_PACKAGES)},
    }
    return Side(outputs, report)


def _case_row(case: Case, ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> dict[str, Any]:
    row: dict[str, Any] = {
        key: value for key, value in case.as_json().items() if key not in ("diagnostics", "side")
    }
    equal = True
    for key in _OUTPUTS:
        name = f"{case.name}.{key}"
        row[f"{key.removesuffix('s')}_delta"] = delta(ours[name], theirs[name])
        equal &= _same(ours[name], theirs[name])
    return {**row, "holds": equal}


def _keys(case: Case, side: Side) -> list[str]:
    return [name for name in side.outputs if name.startswith(f"{case.name}.")]


def _diagnostic_row(name: str, ours: Side, theirs: Side) -> dict[str, Any]:
    other = theirs.outputs.get(name)
    mine = ours.outputs[name]
    return {
        "name": name.partition(".")[2],
        "shape": list(mine.shape),
        "delta": None if other is None else delta(mine, other),
        "holds": other is not None and _same(mine, other),
    }


def _same(ours: Tensor, theirs: Tensor) -> bool:
    return ours.dtype == theirs.dtype and delta(ours, theirs) == 0


def _unequal_tensors(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    loaded = {name.removeprefix(_PREFIX): value for name, value in theirs.items()}
    return sorted(name for name in ours.keys() | loaded.keys() if ours.get(name) != loaded.get(name))


def _answers(
    cases: tuple[Case, ...], inputs: Mapping[str, Tensor], ours: Side, theirs: Side, unequal: list[str]
) -> dict[str, Any]:
    tokens = theirs.report["tokenizer"]
    sentences = torch.cat([theirs.outputs[f"{case.name}.sentence"] for case in cases if not case.diagnostics])
    off = float((sentences.double().norm(dim=1) - 1).abs().max())
    longest = max(cases, key=lambda case: case.length)
    long_output = theirs.outputs[f"{longest.name}.tokens"]
    padded = theirs.outputs["diagnostics.sentence"][0]
    left, right = (ours.outputs[f"padding-{side}.sentence"] for side in ("left", "right"))
    moved = delta(left, right)
    count = len(ours.report["state"])
    return {
        "standalone": _answer(
            not theirs.report["project_imported"] and off < _UNIT_TOLERANCE,
            f"loaded without this project; vectors off unit length by at most {off:.1e}",
        ),
        "capacity": _answer(
            bool(long_output.isfinite().all()) and long_output.shape[1] == CAPACITY,
            f"token states {list(long_output.shape)}, finite",
        ),
        "safe-weights": _answer(
            theirs.report["weights_format"] == "pt", f"header format {theirs.report['weights_format']}"
        ),
        "right-padding": _answer(tokens["padding_side"] == "right", f"padding_side {tokens['padding_side']}"),
        "state-tensors": _answer(not unequal, f"{count - len(unequal)} of {count} tensors equal"),
        "all-padding": _answer(not padded.any(), f"largest entry {float(padded.abs().max()):g}"),
        "left-padding": _answer(
            moved is None or moved > _UNIT_TOLERANCE,
            f"left against right padding: sentence vectors differ by {moved:.1e}"
            if moved is not None
            else "left padding gives values that are not finite",
        ),
    }


def _answer(holds: bool, figure: str) -> dict[str, Any]:
    return {"holds": bool(holds), "figure": figure}


def _side_json(side: Side) -> dict[str, Any]:
    dropped = ("state", "tokenizer", "loading")
    state = hashlib.sha256(
        json.dumps(sorted(entry["sha256"] for entry in side.report["state"].values())).encode()
    )
    kept = {key: value for key, value in side.report.items() if key not in dropped}
    return {**kept, "state_sha256": state.hexdigest()}
