"""What each campaign would do, and what a wrong config says, without making anything."""

import re
import resource
from collections import Counter

import pytest

EXPECTED = {
    "config.yaml": (
        "results",
        {"train_run": 26, "evaluate_run": 26, "encode_teacher": 8, "tokenize_chunk": 4},
    ),
    "workflow/campaigns/tiny.yaml": ("results/tiny", {"train_run": 8, "evaluate_run": 8, "select_run": 2}),
}


@pytest.mark.parametrize("campaign", EXPECTED)
def test_a_campaign_plans_the_declared_jobs(fresh, campaign):
    root, jobs = EXPECTED[campaign]
    made = type(fresh)(fresh.folder, campaign, root)
    planned = made.planned()
    assert {rule: planned[rule] for rule in jobs} == jobs
    assert not (fresh.folder / root / "tables").exists()


def test_the_real_captions_campaign_plans_26_runs(fresh, shared_data):
    made = type(fresh)(fresh.folder, "workflow/campaigns/captions.yaml", "results/captions")
    planned = made.planned("--config", f"data={shared_data}")
    assert planned["train_run"] == planned["evaluate_run"] == 26


def test_the_published_campaign_plans_18_and_6_runs_without_a_network_in_under_5_s(fresh, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    made = type(fresh)(fresh.folder, "workflow/campaigns/published.yaml", "results/published")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = made.engine("-n", made.final)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    recipes = re.findall(r"rule train_run:\n(?:    .*\n)*?    wildcards: recipe=(\w+),", text)
    assert Counter(recipes) == {"screen": 18, "larger": 4, "exposure": 2}
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 5


def test_selection_reads_development_numbers_and_nothing_else(fresh):
    text = fresh.engine("-n", f"{fresh.root}/selection/larger.json", f"{fresh.root}/selection/screen.json")
    blocks = re.findall(r"rule select_run:\n\s+input: (.*)\n", text)
    assert len(blocks) == 2
    for block in blocks:
        names = [path.strip() for path in block.split(",")]
        assert names
        assert all(re.fullmatch(r"results/tiny/runs/.+/development\.json", name) for name in names)
    assert "evaluate_run" not in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("campain=x", ["unknown key 'campain'", "did you mean 'campaign'"]),
        ("results=5", ["results", "5", "string"]),
        ("environment=true", ["environment", "'recorded', 'strict'"]),
        ("larger=[relative]", ["larger", "relative"]),
        ("training=fast", ["training", "'fast'", "object"]),
    ],
)
def test_a_wrong_value_on_the_command_line_ends_in_one_line_and_writes_nothing(fresh, change, words):
    result = fresh.result("-n", "--config", change, fresh.final)
    assert result.returncode == 2
    said = [line for line in result.stdout.splitlines() if line.startswith("captionlab: ")]
    assert len(said) == 1
    for word in words:
        assert word in said[0]
    assert not (fresh.folder / "results").exists()
