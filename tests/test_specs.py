"""A job's spec holds what decides its result, and nothing else."""

import copy
import json

import pytest
import yaml

from captionlab import specs, table_specs
from captionlab.config import load_campaign


@pytest.fixture
def config(repository):
    return yaml.safe_load((repository / "config.yaml").read_text())


def all_train_specs(config):
    campaign = load_campaign(config)
    return [specs.train_spec(campaign, run) for run in campaign.runs]


def test_labels_test_suites_and_tables_are_not_in_a_run_s_spec(config):
    before = all_train_specs(config)
    config["options"]["relative-16"]["label"] = "Another name"
    config["recipes"]["screen"]["label"] = "Another label"
    config["suites"]["test"]["scenes-count"]["rows"] = 10
    config["evaluation"]["resamples"] = 500
    config["evaluation"]["test"]["rows"] = 7
    config["selection"]["near_tie"] = 0.1
    config["lookup"]["rows"] = 5
    assert all_train_specs(config) == before


def test_swapping_learning_rate_and_clip_changes_every_spec(config):
    before = all_train_specs(config)
    training = config["training"]
    training["learning_rate"], training["clip"] = training["clip"], training["learning_rate"]
    after = all_train_specs(config)
    assert all(old != new for old, new in zip(before, after, strict=True))


def test_adding_a_seed_leaves_the_other_runs_alone(config):
    before = set(all_train_specs(config))
    config["screen"]["seeds"] = [1, 2, 3]
    after = set(all_train_specs(config))
    assert before < after
    assert {json.loads(spec)["run"]["seed"] for spec in after - before} == {3}


def test_a_recipe_may_set_a_shared_training_key_again(config):
    changed = copy.deepcopy(config)
    changed["recipes"]["exposure"]["learning_rate"] = 5.0e-4
    pairs = zip(all_train_specs(config), all_train_specs(changed), strict=True)
    different = {json.loads(new)["run"]["recipe"] for old, new in pairs if old != new}
    assert different == {"exposure"}


def test_specs_are_canonical_json(config):
    campaign = load_campaign(config)
    run = campaign.runs[0]
    texts = [
        specs.config_spec(campaign),
        specs.tokenizer_spec(campaign),
        specs.chunk_spec(campaign, "test"),
        specs.suite_spec(campaign, "scenes-count"),
        specs.teacher_spec(campaign, "minilm-l3", "test"),
        specs.alignment_spec(campaign),
        specs.targets_spec(campaign, "test"),
        specs.train_spec(campaign, run),
        specs.evaluation_spec(campaign, run),
        specs.reference_spec(campaign, "bag"),
        specs.resampling_spec(campaign),
        specs.selection_spec(campaign, "screen"),
        table_specs.table_spec(campaign),
    ]
    for text in texts:
        again = json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert again == text
