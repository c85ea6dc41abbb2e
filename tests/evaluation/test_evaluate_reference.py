import numpy as np
from safetensors.numpy import load_file

from captionlab.__main__ import main
from captionlab.files import canonical_json, read_json


def call(world, output, reference, ceiling=9, **more):
    spec = {
        "reference": reference,
        "ceiling": ceiling,
        "suites": ["one", "two"],
        "compute": world.spec["compute"],
        **more,
    }
    return main(
        [
            *("evaluate_reference", "--spec", canonical_json(spec), "--chunks", str(world.root / "chunks")),
            *("--tokenizer", str(world.root / "tokenizer"), "--suites", str(world.root / "suites")),
            *("--output", str(output)),
        ]
    )


def untrained(world, seed):
    model = {key: world.spec[key] for key in ("model", "option", "lookup")}
    return {"kind": "untrained", "name": f"untrained-binding-whole-seed-{seed}", "seed": seed, **model}


def test_an_untrained_encoder_is_the_run_before_its_first_step(world, tmp_path):
    # The world's run was never trained and has seed 3.
    assert main(world.arguments(tmp_path / "run")) == 0
    for seed in (3, 4):
        assert call(world, tmp_path / f"{seed}", untrained(world, seed)) == 0
    same, other = (load_file(tmp_path / name / "cosines.safetensors") for name in ("3", "4"))
    run = load_file(tmp_path / "run" / "cosines.safetensors")
    assert np.array_equal(same["one"], run["one"])
    assert not np.allclose(other["one"], run["one"])
    document = read_json(tmp_path / "3" / "suites.json")
    assert document["model"]["kind"] == "untrained"
    assert document["suites"] == read_json(tmp_path / "run" / "suites.json")["suites"]
    assert not (tmp_path / "3" / "geometry.json").exists()


def test_geometry_of_an_untrained_encoder_where_it_is_asked_for(world, tmp_path):
    assert main(world.arguments(tmp_path / "run")) == 0
    asked = {key: world.spec[key] for key in ("geometry", "caption_ceiling")}
    assert call(world, tmp_path / "untrained", untrained(world, 3), **asked) == 0
    samples = read_json(tmp_path / "untrained" / "geometry.json")["samples"]
    assert samples == read_json(tmp_path / "run" / "geometry.json")["samples"]


def test_teacher_and_bag(world, minilm, tmp_path, capsys):
    teacher = {"kind": "teacher", "name": "teacher-minilm-l6", "teacher": minilm}
    assert call(world, tmp_path / "teacher", teacher, ceiling=256) == 0
    assert call(world, tmp_path / "bag", {"kind": "bag", "name": "bag", "teacher": minilm}, ceiling=64) == 0
    document = read_json(tmp_path / "teacher" / "suites.json")
    assert document["model"]["weights_sha256"] == minilm["sha256"]
    assert document["model"]["width"] == 384
    assert document["suites"]["one"]["truncated"] == 0
    # Gold counts shared words, which a bag of words sees best.
    assert read_json(tmp_path / "bag" / "suites.json")["mean"] > 0.5
    assert call(world, tmp_path / "long", teacher, ceiling=512) == 2
    assert "ceiling 512 is over its own 256 tokens" in capsys.readouterr().err


def test_an_unknown_kind_is_refused(world, tmp_path, capsys):
    assert call(world, tmp_path, {"kind": "guess", "name": "guess"}) == 2
    assert "allowed are teacher, bag, untrained" in capsys.readouterr().err
