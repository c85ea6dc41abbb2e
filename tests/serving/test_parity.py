"""Parity finds nothing in a true export, and finds each fault that is planted in one."""

import json
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from captionlab.errors import DamagedFileError, MissingFileError
from captionlab.files import read_json, write_json, write_text
from captionlab.serving import automodel_side
from captionlab.serving.cases import CAPACITY, Case, case_inputs, cases_for
from captionlab.serving.native import restore_state
from captionlab.serving.parity import (
    ExportLoadError,
    ParityError,
    check_export,
    delta,
    require_parity,
)
from captionlab.training.tensors import write_tensors

COMPUTE = {"device": "cpu", "threads": 1}
STATE = "training-state.safetensors"
FEW = (
    Case("plain", "shape", "float32", 2, 17),
    Case("padding-right", "padding", "float32", 7, 64),
    Case("padding-left", "padding", "float32", 7, 64, "left"),
    Case("diagnostics", "diagnostics", "float32", 3, 33),
)


def check(place, export: Path, python: str = sys.executable, cases=FEW) -> dict:
    return check_export(place.run / STATE, place.record, place.tokenizer, export, COMPUTE, python, cases)


@pytest.fixture
def broken(binding, tmp_path) -> Path:
    """A copy of the export to plant a fault in."""
    return Path(shutil.copytree(binding.export, tmp_path / "export"))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, f"{path.name} no longer holds what the fault replaces"
    path.write_text(text.replace(old, new))


def edit_json(path: Path, **changes) -> None:
    write_json(path, {**read_json(path), **changes})


def test_a_true_export_of_a_binding_option_has_no_difference(binding):
    report = check(binding, binding.export)
    assert report["differences"] == []
    require_parity(report, binding.export)
    assert report["state"] == {"tensors": 39, "unequal": []}
    assert [(row["sentence_delta"], row["token_delta"]) for row in report["cases"]] == [(0.0, 0.0)] * 3
    names = [row["name"] for row in report["diagnostics"]]
    assert names == [
        "sentence",
        "tokens",
        *(f"hidden.{i}" for i in range(3)),
        "attentions.0",
        "attentions.1",
        "pointer",
    ]
    assert report["native"]["outputs_sha256"] == report["exported"]["outputs_sha256"]
    assert report["native"]["state_sha256"] == report["exported"]["state_sha256"]
    assert all(
        answer["holds"]
        for name, answer in report["answers"].items()
        if name not in ("left-padding", "capacity")
    )


@pytest.mark.slow
@pytest.mark.parametrize("python", ["here", "transformers_4", "bare"])
@pytest.mark.parametrize("option", ["relative", "binding"])
def test_all_cases_are_equal_on_both_transformers(option, python, request):
    place = request.getfixturevalue(option)
    loader = sys.executable if python == "here" else str(request.getfixturevalue(python))
    report = check(place, place.export, loader, None)
    assert report["differences"] == []
    assert len(report["cases"]) == 14
    assert max(row[key] for row in report["cases"] for key in ("sentence_delta", "token_delta")) == 0
    assert report["answers"]["capacity"]["holds"]
    major = "4.57.6" if python == "transformers_4" else "5."
    assert report["exported"]["versions"]["transformers"].startswith(major)


def plant_rope_buffer(export: Path) -> None:
    edit(
        export / "encoder.py",
        '        self.register_buffer("special"',
        "        table = position_angles(config, torch.arange(config.max_tokens))\n"
        '        self.register_buffer("angles", table, persistent=False)\n'
        '        self.register_buffer("special"',
    )
    edit(
        export / "encoder.py",
        "        angles = position_angles(self.config, position)[:, :, None, None]",
        "        angles = self.angles[position][:, :, None, None]",
    )


def plant_no_post_init(export: Path) -> None:
    path = export / "modeling_captionbert.py"
    path.write_text(re.sub(r"\n *self\.post_init\(\).*", "", path.read_text()))


def plant_overwriting_init(export: Path) -> None:
    edit(
        export / "modeling_captionbert.py",
        "    def _init_weights(self, module: nn.Module) -> None:",
        "    def initialize_weights(self) -> None:\n"
        "        for module in self.modules():\n"
        "            for parameter in module.parameters(recurse=False):\n"
        "                parameter.data.normal_(0.0, self.config.init_std)\n\n"
        "    def _init_weights(self, module: nn.Module) -> None:",
    )


def plant_swapped_layers(export: Path) -> None:
    swap = {"0": "1", "1": "0"}
    tensors = load_file(export / "model.safetensors")
    renamed = {
        re.sub(r"layers\.(\d)", lambda m: f"layers.{swap[m[1]]}", name): t for name, t in tensors.items()
    }
    write_tensors(export / "model.safetensors", renamed)


def plant_truncation(export: Path) -> None:
    rule = {"direction": "Right", "max_length": 64, "strategy": "LongestFirst", "stride": 0}
    edit_json(export / "tokenizer.json", truncation=rule)


def plant_half_config(export: Path) -> None:
    edit_json(export / "config.json", dtype="bfloat16")


def plant_left_padding(export: Path) -> None:
    edit_json(export / "tokenizer_config.json", padding_side="left")


def plant_dropped_mask(export: Path) -> None:
    """Padding taken for text: the wrapper drops the mask."""
    edit(
        export / "modeling_captionbert.py",
        "            attention_mask,\n            inputs_embeds",
        "            (input_ids >= 0),\n            inputs_embeds",
    )


FAULTS = {
    plant_rope_buffer: "case plain",
    plant_overwriting_init: "state tensor",
    plant_swapped_layers: "state tensor layers.0",
    plant_truncation: "tokenizer file_ids",
    plant_half_config: "state tensor",
    plant_left_padding: "tokenizer padding_side",
    plant_dropped_mask: "case padding-right",
}
QUICK = (plant_swapped_layers,)


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(fault, marks=[] if fault in QUICK else pytest.mark.slow, id=fault.__name__)
        for fault in FAULTS
    ],
)
def test_a_planted_fault_is_caught(plant, binding, broken):
    plant(broken)
    report = check(binding, broken)
    assert any(line.startswith(FAULTS[plant]) for line in report["differences"]), report["differences"]
    with pytest.raises(ParityError, match="differs from the restored training state"):
        require_parity(report, broken)


@pytest.mark.slow
def test_the_rope_buffer_is_caught_on_the_relative_option_too(relative, tmp_path):
    export = Path(shutil.copytree(relative.export, tmp_path / "export"))
    plant_rope_buffer(export)
    report = check(relative, export)
    assert report["state"]["unequal"] == []
    assert "case plain" in report["differences"]


@pytest.mark.slow
def test_a_missing_post_init_is_caught_as_an_export_that_does_not_load(binding, broken):
    plant_no_post_init(broken)
    with pytest.raises(ExportLoadError, match="cannot be loaded and run by"):
        check(binding, broken)


def test_an_interpreter_that_is_not_there_is_said(binding):
    with pytest.raises(ExportLoadError, match="cannot be started"):
        check(binding, binding.export, "/nowhere/python")


def test_a_run_without_its_state_says_what_to_do(binding, tmp_path):
    with pytest.raises(MissingFileError, match="keep_state"):
        restore_state(tmp_path / STATE, binding.record, torch.device("cpu"))


def test_a_state_the_run_did_not_record_is_refused(binding, tmp_path):
    tensors = load_file(binding.run / STATE)
    tensors["model.head.out.bias"] += 1
    write_tensors(tmp_path / STATE, tensors)
    with pytest.raises(DamagedFileError, match="not the file"):
        restore_state(tmp_path / STATE, binding.record, torch.device("cpu"))


def test_the_native_side_is_the_training_state_and_not_the_final_weights(binding):
    encoder = restore_state(binding.run / STATE, binding.record, torch.device("cpu"))
    state = load_file(binding.run / STATE)
    assert all(torch.equal(value, state[f"model.{name}"]) for name, value in encoder.state_dict().items())


def test_twelve_shapes_two_paddings_on_cpu_and_cuda():
    for device in ("cpu", "cuda"):
        cases = cases_for(device)
        shapes = [case for case in cases if case.kind == "shape"]
        assert len(shapes) == 12
        assert {case.batch for case in shapes} == {1, 2, 7, 64}
        assert {case.length for case in shapes} == {1, 17, 64, 256, CAPACITY}
        assert [case.side for case in cases if case.kind == "padding"] == ["right", "left"]
    assert {case.precision for case in cases_for("cpu")} == {"float32"}
    assert {case.precision for case in cases_for("cuda")} == {"float32", "float16", "bfloat16"}


def test_padding_cases_hold_the_same_rows_moved():
    inputs = case_inputs(FEW, 112, 0)
    for row in range(7):
        left, right = (inputs[f"padding-{side}.ids"][row] for side in ("left", "right"))
        kept = [
            ids[inputs[f"padding-{side}.mask"][row] == 1] for side, ids in (("left", left), ("right", right))
        ]
        assert torch.equal(*kept)
    assert inputs["padding-left.mask"][3].tolist() == [0] * 63 + [1]
    assert inputs["padding-right.mask"][3].tolist() == [1] + [0] * 63
    assert int(inputs["diagnostics.mask"][0].sum()) == 0
    assert int(inputs["plain.ids"].min()) > 0


@given(
    st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=20), st.integers(0, 19), st.floats(0.5, 2)
)
def test_delta_is_the_largest_difference_wherever_it_is(values, place, step):
    ours = torch.tensor(values)
    theirs = ours.clone()
    assert delta(ours, theirs) == 0
    theirs[place % len(values)] += step
    wanted = abs(float(theirs[place % len(values)]) - float(ours[place % len(values)]))
    assert delta(ours, theirs) == wanted > 0


def test_values_that_are_not_finite_or_fit_no_shape_have_no_delta():
    nan = torch.tensor([float("nan")])
    assert delta(nan, nan) is None
    assert delta(torch.ones(1), torch.tensor([float("inf")])) is None
    assert delta(torch.ones(1), torch.ones(2)) is None


def test_a_report_with_a_difference_cannot_pass(tmp_path):
    write_text(tmp_path / "report.json", json.dumps({"differences": ["case a", "b", "c", "d"]}))
    with pytest.raises(ParityError, match="case a; b; c and 1 more"):
        require_parity(read_json(tmp_path / "report.json"), tmp_path)


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="the system has no /proc/self/status")
def test_peak_memory_leaves_out_the_process_that_started_it():
    ballast = bytearray(b"x") * (1 << 30)
    words = "import sys, torch, automodel_side; print(automodel_side.peak_memory(torch.device('cpu')))"
    folder = Path(automodel_side.__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", words], cwd=folder, capture_output=True, text=True, check=True
    )
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert 50 << 20 < int(done.stdout) < len(ballast) < own
