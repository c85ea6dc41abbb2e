"""What jobs ask a cluster for, as a dry run shows it; no Slurm is needed."""

import json
import re

import pytest
import yaml

from captionlab.config import SCHEMA, load_campaign
from captionlab.specs import config_spec, train_spec

ASKED = {
    "partition": {"default": "cpu", "train_run": "gpu"},
    "account": "lab",
    "gpu": "h100",
    "memory_mb": {"default": 3000, "train_run": 8000},
    "runtime_minutes": {"train_run": 90},
}


@pytest.fixture
def tiny(repository):
    """The config of the tiny campaign."""
    return yaml.safe_load((repository / "workflow/campaigns/tiny.yaml").read_text())


@pytest.fixture
def rules(repository):
    """The text of every rule, by name."""
    texts = [path.read_text() for path in (repository / "workflow" / "rules").glob("*.smk")]
    parts = [part for text in texts for part in re.split(r"^rule ", text, flags=re.MULTILINE)[1:]]
    return {part.split(":")[0]: part for part in parts}


def test_where_a_job_runs_is_no_part_of_what_it_makes(tiny):
    plain, asked = load_campaign(tiny), load_campaign({**tiny, "cluster": ASKED})
    assert config_spec(asked) == config_spec(plain)
    assert [train_spec(asked, run) for run in asked.runs] == [train_spec(plain, run) for run in plain.runs]


def test_each_rule_asks_for_its_own_entry_or_the_default(fresh, tiny):
    tiny |= {"cluster": ASKED}
    tiny["compute"]["device"] = "cuda"
    (fresh.folder / fresh.campaign).write_text(yaml.safe_dump(tiny))
    shown = dict(
        re.findall(r"rule (\w+):\n(?:    .*\n)*?    resources: (.*)\n", fresh.engine("-n", fresh.final))
    )
    asked = {rule: set(line.split(", ")) for rule, line in shown.items()}
    training = {"slurm_partition=gpu", "slurm_account=lab", "gpu=1", "gpu_model=h100", "mem_mb=8000"}
    assert {*training, "runtime=90"} <= asked["train_run"]
    assert {"slurm_partition=cpu", "slurm_account=lab", "mem_mb=3000"} <= asked["tokenize_chunk"]
    assert not {word for word in asked["tokenize_chunk"] if word.startswith(("gpu", "runtime"))}


def test_every_rule_asks_under_its_own_name(rules):
    asked = {name: re.findall(r"requested\(\"(\w+)\"", text) for name, text in rules.items()}
    assert asked == {name: [name] for name in rules}


def test_the_schema_and_the_profile_name_rules_that_exist(repository, rules):
    schema = json.loads(SCHEMA.read_text())
    profile = yaml.safe_load((repository / "workflow/profiles/slurm/profile.yaml").read_text())
    assert set(schema["$defs"]["rule"]["enum"]) == {*rules, "default"}
    assert profile["groups"].keys() <= rules.keys()
    assert profile["group-components"].keys() == set(profile["groups"].values())
    assert "train_run" not in profile["groups"]
