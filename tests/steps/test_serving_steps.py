"""Serving steps as commands, and the rules that call them."""

import sys

import pytest
import yaml
from tests.serving.conftest import write_run
from tests.serving.test_card import PLACE, parity_report
from tests.tables import results_tree

from captionlab import serving_specs
from captionlab.__main__ import main
from captionlab.config import load_campaign
from captionlab.errors import ConfigError
from captionlab.files import canonical_json, parse_spec, read_json, write_json


@pytest.fixture
def campaign(repository):
    return load_campaign(yaml.safe_load((repository / "config.yaml").read_text()))


def with_serving(campaign, **serving):
    return load_campaign({**campaign.config, "serving": serving})


def test_export_run_writes_the_declared_files(tmp_path):
    place = write_run(tmp_path / "made", "relative-16")
    output = tmp_path / "export"
    arguments = ["--run", str(place.run), "--tokenizer", str(place.tokenizer), "--output", str(output)]
    assert main(["export_run", "--code", "c0de", *arguments]) == 0
    assert sorted(path.name for path in output.iterdir()) == sorted(serving_specs.EXPORTED)
    assert read_json(output / "export.json")["code"] == "c0de"
    twin = {path.name: path.read_bytes() for path in place.export.iterdir()}
    assert {path.name: path.read_bytes() for path in output.iterdir()} == twin


@pytest.mark.slow
def test_check_parity_writes_its_report_and_fails_on_a_difference(tmp_path, capsys):
    place = write_run(tmp_path / "made", "relative-16")
    spec = {"compute": {"device": "cpu", "threads": 1, "autocast": None, "tf32": False}}
    arguments = [
        *("check_parity", "--spec", canonical_json(spec), "--python", sys.executable),
        *(
            "--state",
            str(place.run / "training-state.safetensors"),
            "--run-json",
            str(place.run / "run.json"),
        ),
        *("--tokenizer", str(place.tokenizer), "--export", str(place.export)),
    ]
    assert main([*arguments, "--output", str(tmp_path / "good.json")]) == 0
    good = read_json(tmp_path / "good.json")
    assert good["differences"] == [] and len(good["cases"]) == 14
    config = place.export / "tokenizer_config.json"
    write_json(config, {**read_json(config), "padding_side": "left"})
    assert main([*arguments, "--output", str(tmp_path / "bad.json")]) == 30
    assert "tokenizer padding_side" in read_json(tmp_path / "bad.json")["differences"]
    said = capsys.readouterr().err.strip()
    assert said.startswith("captionlab check_parity:") and "\n" not in said


def test_render_serving_writes_all_three_spellings(tmp_path):
    tables = results_tree.spec()
    write_json(tmp_path / "serving" / PLACE / "own.json", parity_report())
    spec = {"tables": tables, "places": [PLACE, "screen/binding-whole/seed-1"], "loaders": ["own"]}
    output = tmp_path / "tables" / "serving.md"
    arguments = ["--root", str(tmp_path), "--output", str(output)]
    assert main(["render_serving", "--spec", canonical_json(spec), *arguments]) == 0
    rows = [line for line in output.read_text().splitlines() if line.startswith("| ")]
    assert len(rows) == 3 and "missing" in rows[2] and "missing" not in rows[1]
    assert output.with_suffix(".csv").read_text().splitlines()[1].startswith("larger,relative-16,")
    assert "booktabs" not in output.with_suffix(".tex").read_text()
    assert r"\toprule" in output.with_suffix(".tex").read_text()


def test_every_run_that_keeps_its_state_is_served(campaign):
    places = [run.key for run in serving_specs.served_runs(campaign)]
    assert places[:2] == ["screen/binding-whole/seed-1", "screen/binding-whole/seed-2"]
    assert len(places) == 8


def test_more_interpreters_come_from_the_config(campaign):
    assert serving_specs.loaders(campaign) == {"own": None}
    more = with_serving(campaign, pythons={"transformers-4": "envs/four/bin/python"})
    assert serving_specs.loaders(more) == {"own": None, "transformers-4": "envs/four/bin/python"}
    assert parse_spec(serving_specs.parity_spec(more, "transformers-4"))["python"] == "envs/four/bin/python"
    with pytest.raises(ConfigError, match="own"):
        with_serving(campaign, pythons={"own": "python"})


def test_the_card_s_command_names_the_campaign_s_file(campaign):
    run = campaign.stage_runs("larger")[0]
    plain = parse_spec(serving_specs.card_spec(campaign, run, []))
    assert plain["command"] == f"snakemake --cores 8 results/export/{run.key}/README.md"
    assert plain["repository"] == f"results/export/{run.key}"
    other = parse_spec(serving_specs.card_spec(campaign, run, ["workflow/campaigns/captions.yaml"]))
    assert "--configfile workflow/campaigns/captions.yaml --replace-workflow-config" in other["command"]


def test_publishing_is_off_and_a_repository_needs_an_owner(campaign):
    assert parse_spec(serving_specs.publishing_spec(campaign))["repository"] is None
    published = with_serving(campaign, repository="owner/name")
    assert parse_spec(serving_specs.publishing_spec(published))["repository"] == "owner/name"
    with pytest.raises(ConfigError, match="repository"):
        with_serving(campaign, repository="name")
