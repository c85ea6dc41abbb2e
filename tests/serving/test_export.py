"""What an export holds, and what it refuses to be made of."""

import json
import struct

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from tests.serving.conftest import PIECES

from captionlab.errors import DamagedFileError
from captionlab.files import digest_entry, read_json
from captionlab.serving.export import export_run
from captionlab.serving_specs import EXPORTED
from captionlab.training.tensors import write_tensors


def test_the_files_are_those_the_rule_declares(binding):
    assert sorted(path.name for path in binding.export.iterdir()) == sorted(EXPORTED)


def test_weights_are_float32_and_aligned(binding):
    path = binding.export / "model.safetensors"
    with safe_open(path, framework="pt") as handle:
        assert handle.metadata() == {"format": "pt"}
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    del header["__metadata__"]
    assert {entry["dtype"] for entry in header.values()} == {"F32", "BOOL"}
    starts = [8 + length + entry["data_offsets"][0] for entry in header.values() if entry["dtype"] == "F32"]
    assert [start % 64 for start in starts] == [0] * len(starts)
    ours, run = load_file(path), load_file(binding.run / "final.safetensors")
    assert {name.removeprefix("encoder."): True for name in ours} == dict.fromkeys(run, True)
    assert all(torch.equal(ours[f"encoder.{name}"], tensor) for name, tensor in run.items())


def test_config_says_what_to_load_and_how(binding):
    config = read_json(binding.export / "config.json")
    assert config["auto_map"] == {
        "AutoConfig": "configuration_captionbert.CaptionBertConfig",
        "AutoModel": "modeling_captionbert.CaptionBertModel",
    }
    assert config["dtype"] == "float32"
    assert config["record_norm"] == 2.18 and config["key_phase"] == "word"


def test_the_tokenizer_is_clean(binding):
    tokenizer = read_json(binding.export / "tokenizer.json")
    assert tokenizer["truncation"] is None and tokenizer["padding"] is None
    config = read_json(binding.export / "tokenizer_config.json")
    assert (config["padding_side"], config["truncation_side"], config["model_max_length"]) == (
        "right",
        "right",
        8192,
    )
    assert (binding.export / "vocab.txt").read_text().splitlines() == PIECES


def test_the_record_vouches_for_every_file(binding):
    record = read_json(binding.export / "export.json")
    assert sorted(record["files"]) == sorted(set(EXPORTED) - {"export.json"})
    assert all(digest_entry(binding.export / name) == entry for name, entry in record["files"].items())
    assert record["identity"] == binding.record["identity"]


def test_source_files_need_no_project(binding):
    for path in binding.export.glob("*.py"):
        assert "captionlab" not in path.read_text()


def test_weights_the_run_did_not_record_are_refused(binding, tmp_path):
    tensors = load_file(binding.run / "final.safetensors")
    tensors["head.out.bias"] = tensors["head.out.bias"] + 1
    write_tensors(tmp_path / "final.safetensors", tensors)
    with pytest.raises(DamagedFileError, match="not the file its run"):
        export_run(tmp_path, binding.record, binding.tokenizer, tmp_path / "export", "")
    assert not (tmp_path / "export").exists()


def test_half_precision_weights_are_refused(binding, tmp_path):
    tensors = {name: value.bfloat16() for name, value in load_file(binding.run / "final.safetensors").items()}
    write_tensors(tmp_path / "final.safetensors", tensors)
    record = binding.record
    record["outputs"]["final.safetensors"] = digest_entry(tmp_path / "final.safetensors")
    with pytest.raises(DamagedFileError, match="bfloat16; an export holds float32"):
        export_run(tmp_path, record, binding.tokenizer, tmp_path / "export", "")


def test_another_vocabulary_is_refused(binding, tmp_path):
    record = binding.record
    record["inputs"]["tokenizer_sha256"] = "0" * 64
    with pytest.raises(DamagedFileError, match="pinned is 000"):
        export_run(binding.run, record, binding.tokenizer, tmp_path / "export", "")
