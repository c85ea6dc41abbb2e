"""A cut of the campaign on real captions and the eight real suites."""

import csv
import json

import pyarrow.parquet as parquet
import pytest
import yaml

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]
COLUMNS = ["STS-B", "SICK-R", "STS12", "STS13", "STS14", "STS15", "STS16", "BIOSSES"]
PAIRS = {"STS-B": 1379, "SICK-R": 9927, "STS12": 3108, "STS13": 1500, "STS14": 3750, "STS15": 3000}
PAIRS |= {"STS16": 1186, "BIOSSES": 100}


def cut(config, data):
    """Fewer captions, one option a stage, no teacher rows."""
    small = {"coco-val2017.jsonl.gz": 2400, "dpg-bench.jsonl.gz": 40, "imageinwords.jsonl.gz": 40}
    held = {"coco-val2017.jsonl.gz": 300, "dpg-bench.jsonl.gz": 20, "imageinwords.jsonl.gz": 80}
    config["data"] = str(data)
    for name, rows in (("train-0", small), ("train-1", small), ("development", held), ("test", held)):
        config["chunks"][name]["rows"] = rows
    for recipe in config["recipes"].values():
        recipe["warmup"] = 10
    config["screen"] |= {"options": ["binding-whole"], "seeds": [1], "repeats": {}}
    config["larger"] = [
        {"recipe": "larger", "options": ["relative-16"], "seeds": [1, 2]},
        {"recipe": "exposure", "options": ["hierarchical"], "seeds": [1]},
    ]
    config["lookup"]["rows"] = 300
    config["evaluation"] |= {"resamples": 500}
    config["evaluation"]["references"] = {"teachers": False, "untrained": True, "bag": True}
    return config


@pytest.fixture(scope="module")
def made(make_checkout, shared_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("captions") / "checkout"
    campaign = make_checkout(folder)
    file = folder / "workflow/campaigns/captions.yaml"
    file.write_text(yaml.safe_dump(cut(yaml.safe_load(file.read_text()), shared_data), sort_keys=False))
    campaign = type(campaign)(folder, "workflow/campaigns/captions.yaml", "results/captions")
    campaign.engine(campaign.final)
    return campaign


def test_the_table_has_the_card_s_columns_over_whole_suites(made):
    with made.path("tables/benchmarks.csv").open(newline="") as handle:
        header = next(csv.reader(handle))
    assert [name for name in header if name in COLUMNS] == COLUMNS
    suites = json.loads(made.path("evaluation/larger/relative-16/seed-1/suites.json").read_text())["suites"]
    assert {name: entry["pairs"] for name, entry in suites.items()} == PAIRS


def test_every_larger_student_beats_its_own_untrained_initialisation(made):
    statistics = json.loads(made.path("statistics/suites.json").read_text())
    gains = [row for row in statistics["differences"] if row["kind"] == "untrained"]
    assert len(gains) == 3
    for row in gains:
        print(f"{row['a']}: {row['mean_difference']:+.4f} [{row['low']:+.4f}, {row['high']:+.4f}]")
        assert row["low"] > 0


def test_captions_of_one_image_stay_in_one_chunk(made):
    seen: dict[str, str] = {}
    for chunk in ("train-0", "train-1", "development", "test"):
        images = parquet.read_table(made.path(f"chunks/{chunk}/captions.parquet"))["image"].to_pylist()
        for image in {image for image in images if image is not None}:
            assert seen.setdefault(image, chunk) == chunk, image


def test_the_whole_word_option_finds_the_record(made):
    reading = json.loads(made.path("evaluation/screen/binding-whole/seed-1/lookup.json").read_text())
    print({key: reading[key] for key in ("queries", "accuracy", "mean_probability")}, reading["at_birth"])
    assert reading["queries"] > 500
    assert reading["accuracy"] >= 0.99
    assert reading["mean_probability"] >= 0.90


def test_the_long_sample_says_its_n(made):
    geometry = json.loads(made.path("evaluation/larger/relative-16/seed-1/geometry.json").read_text())
    long = geometry["samples"]["test:long"]
    assert 0 < long["rows"] < long["asked"] == 1000
    assert f"{long['rows']} (of 1000 asked)" in made.path("tables/final.md").read_text()
