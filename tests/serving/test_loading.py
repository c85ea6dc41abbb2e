"""An export as its users meet it: another process, nothing of this project in sight, both Transformers."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from captionlab.chunks.tokenizer import load_tokenizer, tokenize
from captionlab.evaluation.encode import encode_rows
from captionlab.evaluation.restore import restore_encoder

PROBE = Path(__file__).with_name("probe.py")
TEXTS = ["A cat sees the cat.", "A dog and a dog near the red house sees the dog, and a house."]
PYTHONS = [
    "here",
    pytest.param("bare", marks=pytest.mark.slow),
    pytest.param("transformers_4", marks=pytest.mark.slow),
]
ROUNDING = 1e-6


def probe(python: str, export: Path, folder: Path) -> dict:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HF_"))
    }
    done = subprocess.run(
        [python, "-I", str(PROBE), str(export)],
        cwd=folder,
        env={**environment, "HF_MODULES_CACHE": str(folder / "modules"), "OMP_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module", params=PYTHONS)
def found(request, binding, tmp_path_factory):
    name = request.param
    python = sys.executable if name == "here" else str(request.getfixturevalue(name))
    seen = probe(python, binding.export, tmp_path_factory.mktemp("elsewhere"))
    if name != "here":
        assert seen["visible"] == []
    major = "4.57.6" if name == "transformers_4" else "5."
    assert seen["versions"]["transformers"].startswith(major)
    return seen


def test_vectors_are_those_of_the_run(found, binding):
    record = binding.record
    encoder = restore_encoder(record["spec"], binding.run / "final.safetensors", record, torch.device("cpu"))
    rows = tokenize(load_tokenizer(binding.tokenizer / "vocab.txt"), TEXTS)
    wanted = encode_rows(encoder, rows, sub_batch_tokens=4096)
    assert torch.tensor(found["sentence"]["values"]).sub(torch.from_numpy(wanted)).abs().max() < ROUNDING
    assert all(keys == [] for keys in found["loading"].values())


def test_the_output_convention_holds(found, binding):
    model = binding.record["spec"]["model"]
    heads, layers = binding.record["spec"]["option"]["heads"], model["layers"]
    rows, length, width = found["tokens"]
    assert (rows, width) == (2, model["width"])
    assert found["sentence"]["shape"] == [2, model["target_width"]]
    assert found["sentence"]["norms"] == pytest.approx([1, 1], abs=ROUNDING)
    assert found["hidden"] == [[2, length, width]] * (layers + 1) and found["last_is_tokens"]
    assert found["attentions"] == [[2, heads, length, length]] * layers
    assert found["attention_sums"] < 1e-5 and found["attention_to_padding"] == 0
    assert found["unasked"] == []
    assert found["pointer"] > 0 and math.isfinite(found["pointer"])
    assert found["tuple"] == 2 and found["tuple_equal"]


def test_padding_alone_gives_the_zero_vector(found):
    assert found["all_padding"] == 0
    assert found["padding_by_id"] == 0


def test_lengths_up_to_capacity(found):
    assert found["capacity"]
    assert found["too_long"].startswith("ValueError: 8193 tokens") and "8192" in found["too_long"]


def test_word_phases_refuse_embeddings(found):
    assert found["embeds"].startswith("ValueError") and "ids" in found["embeds"]


def test_input_that_is_unlike_a_caption(found):
    assert found["empty_list"].startswith("IndexError"), "Transformers' own tokenizer refuses an empty batch"
    assert found["no_rows"].startswith("ValueError: input of shape (0, 4)")
    assert found["empty_string"]["norms"] == pytest.approx([1], abs=ROUNDING)
    first, second = found["emoji"]["values"]
    assert first == pytest.approx(second, abs=ROUNDING)
    assert found["emoji"]["norms"] == pytest.approx([1, 1], abs=ROUNDING)
    assert found["long_text"].startswith("ValueError: 25002 tokens")
    assert found["long_text_cut"]["norms"] == pytest.approx([1], abs=ROUNDING)
    assert found["long_word"] == [2, 1, 3]
    assert found["nan_mask"].startswith("ValueError: mask holds values other than 0 and 1")
    assert found["fraction_mask"].startswith("ValueError: mask holds values other than 0 and 1")
    assert found["beyond"].startswith("ValueError: ids outside the vocabulary")
    assert found["negative"].startswith("ValueError: ids outside the vocabulary")
