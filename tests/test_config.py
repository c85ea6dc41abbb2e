"""A wrong config ends in one line that names the key, the value and what is allowed."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from captionlab.config import load_campaign
from captionlab.errors import ConfigError
from captionlab.meaning import recipe_steps

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def config(repository):
    return yaml.safe_load((repository / "config.yaml").read_text())


def set_at(*path_and_value: Any) -> Change:
    *path, last, value = path_and_value

    def change(config: dict[str, Any]) -> None:
        place: Any = config
        for part in path:
            place = place[part]
        place[last] = value

    return change


FAULTS: list[tuple[str, Change, list[str]]] = [
    ("unknown key", set_at("trainign", {}), ["trainign", "did you mean 'training'"]),
    ("unknown nested key", set_at("training", "bacth", 64), ["training", "bacth", "did you mean 'batch'"]),
    ("missing key", lambda c: c.pop("model"), ["'model' is missing"]),
    (
        "text for a number",
        set_at("training", "batch", "64"),
        ["training.batch", "'64'", "integer", "--config"],
    ),
    ("text for a switch", set_at("evaluation", "allow_fewer", "true"), ["allow_fewer", "'true'", "boolean"]),
    ("text in a list", set_at("screen", "seeds", ["1", "2"]), ["screen.seeds[", "integer"]),
    ("negative", set_at("training", "clip", -1.0), ["training.clip", "-1.0", "above 0"]),
    ("not in the list", set_at("model", "norm", "middle"), ["model.norm", "'middle'", "'post', 'pre'"]),
    ("bad digest", set_at("tokenizer", "sha256", "abc"), ["tokenizer.sha256", "'abc'"]),
    ("unknown kind", set_at("captions", {"kind": "scene", "seed": 0}), ["captions", "kind 'scenes'"]),
    (
        "unknown option",
        lambda c: c["larger"][0]["options"].append("relative-61"),
        ["larger[0].options", "relative-61"],
    ),
    (
        "unknown recipe",
        lambda c: c["larger"][0].update(recipe="lager"),
        ["larger[0].recipe", "lager", "exposure"],
    ),
    (
        "recipe twice",
        lambda c: c["larger"][0].update(recipe="screen"),
        ["larger[0].recipe", "belongs to screen"],
    ),
    ("repeat of nothing", set_at("screen", "repeats", {"relative-61": 1}), ["screen.repeats", "relative-61"]),
    (
        "unknown chunk",
        set_at("recipes", "screen", "chunks", ["train-7"]),
        ["recipes.screen.chunks", "train-7"],
    ),
    (
        "training on development",
        set_at("recipes", "screen", "chunks", ["development"]),
        ["evaluation.development.chunk", "'development'", "must differ"],
    ),
    (
        "development is test",
        set_at("evaluation", "test", "chunk", "development"),
        ["evaluation.test.chunk", "must differ"],
    ),
    ("fit on test", set_at("targets", "fit", "chunks", ["test"]), ["targets.fit.chunks", "'test'"]),
    ("overlap", set_at("chunks", "test", "first", 200500), ["chunks.test.first", "200500", "overlap"]),
    ("batch above chunk", set_at("training", "batch", 1001), ["training.batch", "1001", "at most 1000"]),
    (
        "warmup too long",
        set_at("recipes", "screen", "warmup", 100),
        ["recipes.screen.warmup", "100", "at most 99"],
    ),
    ("floor above peak", set_at("training", "floor", 1.0), ["training.floor", "1.0", "0.001"]),
    ("falling times", set_at("training", "evaluate_at", [0.5, 0.25]), ["training.evaluate_at", "rise"]),
    ("heads do not divide", set_at("options", "key", "heads", 7), ["key", "7", "256"]),
    ("too few pairs", set_at("options", "key", "heads", 64), ["key"]),
    (
        "norm without phase",
        set_at("options", "hierarchical", "record_norm", 2.18),
        ["hierarchical", "record_norm"],
    ),
    ("lookup head", set_at("lookup", "heads", [8]), ["heads", "8", "relative-8"]),
    ("lookup layer", set_at("lookup", "layer", 2), ["layer", "2"]),
    (
        "two that choose",
        set_at("suites", "development", "another", {"rows": 9}),
        ["suites.development", "one"],
    ),
    (
        "suite in both roles",
        set_at("suites", "test", "scenes-development", {"rows": 9}),
        ["suites.test", "scenes-development"],
    ),
    (
        "unknown screen suite",
        set_at("evaluation", "screen_suites", ["sts"]),
        ["evaluation.screen_suites", "sts"],
    ),
    ("bf16 on a CPU", set_at("compute", "autocast", "bfloat16"), ["compute.autocast", "bfloat16", "null"]),
    (
        "sample above chunk",
        lambda c: (c["evaluation"].update(allow_fewer=False), c["lookup"].update(rows=601)),
        ["lookup.rows", "601", "600"],
    ),
    (
        "directory without files",
        set_at("captions", {"kind": "directory", "path": "x", "seed": 0}),
        ["chunks.train-0"],
    ),
]


@pytest.mark.parametrize(("change", "words"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_a_fault_ends_in_one_line_that_names_it(config, change, words):
    change(config)
    with pytest.raises(ConfigError) as caught:
        load_campaign(config)
    line = str(caught.value)
    assert "\n" not in line
    for word in words:
        assert word in line, line


def test_missing_source_files_are_named(repository, tmp_path):
    config = yaml.safe_load((repository / "workflow/campaigns/captions.yaml").read_text())
    config["data"] = str(tmp_path)
    with pytest.raises(ConfigError, match="is not a file"):
        load_campaign(config)


@pytest.mark.parametrize(
    ("file", "screen", "larger"),
    [
        ("config.yaml", 20, 6),
        ("workflow/campaigns/published.yaml", 18, 6),
        ("workflow/campaigns/tiny.yaml", 3, 5),
    ],
)
def test_shipped_campaigns_hold_the_declared_runs(repository, file, screen, larger):
    campaign = load_campaign(yaml.safe_load((repository / file).read_text()))
    assert len(campaign.stage_runs("screen")) == screen
    assert len(campaign.stage_runs("larger")) == larger
    assert len({run.key for run in campaign.runs}) == screen + larger


def test_real_captions_campaign_loads(repository, shared_data):
    config = yaml.safe_load((repository / "workflow/campaigns/captions.yaml").read_text())
    config["data"] = str(shared_data)
    campaign = load_campaign(config)
    assert len(campaign.runs) == 26
    assert set(campaign.digests) >= {"captions/coco-val2017.jsonl.gz", "suites/STSB-test.tsv"}


def test_published_recipes_have_the_card_s_steps(repository):
    """1,952 and 7,808 steps, 15,990,784 presentations: the card's own figures."""
    config = yaml.safe_load((repository / "workflow/campaigns/published.yaml").read_text())
    assert [recipe_steps(config, name) for name in ("screen", "larger", "exposure")] == [1952, 7808, 7808]
    assert recipe_steps(config, "larger") * config["training"]["batch"] == 15_990_784


def test_loading_does_not_change_the_config(config):
    before = copy.deepcopy(config)
    load_campaign(config)
    assert config == before
