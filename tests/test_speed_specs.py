"""What the benchmark stage times, as config says."""

import json

import pytest
import yaml

from captionlab import specs, speed_specs
from captionlab.config import load_campaign
from captionlab.errors import ConfigError
from captionlab.steps.measure_speed import MEASURES


@pytest.fixture
def config(repository):
    return yaml.safe_load((repository / "config.yaml").read_text())


def test_the_timed_run_has_the_timed_size_and_the_campaign_s_rest(config):
    campaign = load_campaign(config)
    timed = speed_specs.timed_run(campaign)
    model = timed["model"]
    assert (model["layers"], model["width"], model["ffn"]) == (12, 512, 2048)
    assert model["target_width"] == config["targets"]["width"]
    assert timed["training"]["batch"] == config["speed"]["training"]["rows"]
    assert timed["training"]["temperature"] == config["training"]["temperature"]


def test_no_run_depends_on_what_is_timed(config):
    campaign = load_campaign(config)
    before = [specs.train_spec(campaign, run) for run in campaign.runs]
    config["speed"]["model"]["layers"] = 3
    config["speed"]["training"]["rows"] = 64
    del config["speed"]["model"], config["speed"]
    assert [specs.train_spec(load_campaign(config), run) for run in campaign.runs] == before


def test_every_part_has_its_measure():
    assert list(MEASURES) == list(speed_specs.PARTS)


def test_null_suites_are_all_of_them(config):
    campaign = load_campaign(config)
    assert speed_specs.encoded_suites(campaign) == list(campaign.test_suites)
    chosen = list(campaign.test_suites)[:1]
    config["speed"]["encoding"]["suites"] = chosen
    part = json.loads(speed_specs.speed_spec(load_campaign(config), "encoding"))
    assert part["suites"] == chosen
    other = json.loads(speed_specs.speed_spec(load_campaign(config), "arithmetic"))
    assert other["suites"] == list(campaign.test_suites)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("option", "sideways", "speed.option: 'sideways' is not under options"),
        ("encoding", {"suites": ["STS99"], "repeats": 1}, "speed.encoding.suites: 'STS99'"),
        (
            "training",
            {"rows": 10_000_000, "padded_to": 256, "compile": False},
            "speed.training.rows: 10000000",
        ),
        ("model", {"layers": 2, "width": 100, "ffn": 64}, "100"),
        ("repeats", 0, "speed.repeats"),
        ("memory_rows", [], "speed.memory_rows"),
    ],
)
def test_what_cannot_be_timed_is_refused_in_one_line(config, key, value, said):
    config["speed"][key] = value
    with pytest.raises(ConfigError) as error:
        load_campaign(config)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
