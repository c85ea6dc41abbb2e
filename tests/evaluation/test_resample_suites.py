import json

import numpy as np
import pytest

from captionlab.__main__ import main
from captionlab.evaluation.results import write_cosines
from captionlab.evaluation.spearman import spearman
from captionlab.files import canonical_json, read_json, write_json
from captionlab.sources.pairs import read_pairs

NAMES = ("larger/a/seed-1", "larger/a/seed-2", "larger/b/seed-1", "reference/untrained-a-seed-1")


@pytest.fixture(scope="module")
def evaluations(world, tmp_path_factory):
    root = tmp_path_factory.mktemp("evaluations")
    generator = np.random.default_rng(0)
    for noise, name in zip((0.5, 0.6, 1.5, 50.0), NAMES, strict=True):
        cosines, suites = {}, {}
        for suite in ("one", "two"):
            gold = np.array([pair.score for pair in read_pairs(world.root / "suites" / f"{suite}.tsv")])
            cosines[suite] = gold + noise * generator.normal(size=len(gold))
            suites[suite] = {"sha256": read_json(world.root / "suites" / f"{suite}.json")["sha256"]}
        write_cosines(root / name, cosines)
        write_json(root / name / "suites.json", {"suites": suites})
    return root


def call(world, evaluations, output, **changes):
    spec = {
        "resamples": 300,
        "seed": 0,
        "models": [
            {"name": NAMES[0], "group": "larger/a", "reference": "untrained-a-seed-1"},
            {"name": NAMES[1], "group": "larger/a", "reference": None},
            {"name": NAMES[2], "group": "larger/b", "reference": None},
        ],
        "suites": ["one", "two"],
        **changes,
    }
    words = ["resample_suites", "--spec", canonical_json(spec), "--evaluations", str(evaluations)]
    return main([*words, "--suites", str(world.root / "suites"), "--output", str(output)])


def test_statistics_of_written_evaluations(world, evaluations, tmp_path):
    assert call(world, evaluations, tmp_path / "suites.json") == 0
    document = json.loads((tmp_path / "suites.json").read_text())
    assert {row["model"] for row in document["rows"]} == set(NAMES)
    gold = [pair.score for pair in read_pairs(world.root / "suites" / "one.tsv")]
    from captionlab.evaluation.results import read_cosines

    expected = spearman(read_cosines(evaluations / NAMES[0])["one"], gold)
    assert document["rows"][0]["spearman"] == expected
    # The suite with the fewest pairs is left out once.
    assert document["means"][0]["without_smallest"]["suite"] == "two"
    assert [(row["a"], row["b"], row["kind"]) for row in document["differences"]] == [
        ("larger/a", "larger/b", "groups"),
        (NAMES[0], NAMES[3], "untrained"),
    ]
    assert document["differences"][1]["low"] > 0
    # 29 pairs of `one` have a sentence of their own; the last shares its first sentence with the first.
    assert document["suites"][0]["clusters"] == 29
    assert call(world, evaluations, tmp_path / "again.json") == 0
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "suites.json").read_bytes()


def test_evaluations_of_another_suite_or_none_are_refused(world, evaluations, tmp_path, capsys):
    models = [{"name": "larger/c/seed-1", "group": None, "reference": None}]
    assert call(world, evaluations, tmp_path / "out.json", models=models) == 3
    assert "larger/c/seed-1/cosines.safetensors is missing" in capsys.readouterr().err
    assert call(world, evaluations, tmp_path / "out.json", suites=["one", "three"]) == 3
    assert "has no suite three" in capsys.readouterr().err
    old = read_json(evaluations / NAMES[0] / "suites.json")
    old["suites"]["one"]["sha256"] = "0" * 64
    write_json(evaluations / "old" / "suites.json", old)
    cosines = (evaluations / NAMES[0] / "cosines.safetensors").read_bytes()
    (evaluations / "old" / "cosines.safetensors").write_bytes(cosines)
    models = [{"name": "old", "group": None, "reference": None}]
    assert call(world, evaluations, tmp_path / "out.json", models=models) == 1
    assert "old was evaluated on another one.tsv" in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()
