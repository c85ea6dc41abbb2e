"""The plan of the published campaign, and where its lengths come from."""

import argparse
import csv
import json
import subprocess
import sys

import pytest
import yaml

from captionlab import table_specs
from captionlab.config import load_campaign
from captionlab.steps import plan_campaign


@pytest.fixture(scope="module")
def campaign(repository):
    return load_campaign(yaml.safe_load((repository / "workflow/campaigns/published.yaml").read_text()))


def planned(campaign, root, name="plan"):
    parser = argparse.ArgumentParser()
    plan_campaign.add_arguments(parser)
    output = root / "tables" / "plan.md"
    words = ["--spec", table_specs.plan_spec(campaign), "--root", str(root), "--output", str(output)]
    plan_campaign.run(parser.parse_args(words))
    with (root / "tables" / f"{name}.csv").open() as handle:
        return list(csv.DictReader(handle))


def test_the_published_plan_has_the_steps_and_presentations_of_the_card(campaign, tmp_path):
    rows = {(row["stage"], row["recipe"]): row for row in planned(campaign, tmp_path)}
    # 2 and 8 chunks of 244 whole batches of 2,048, times the epochs.
    told = {
        ("screen", "screen"): (18, 2 * 244 * 4, 3_997_696),
        ("larger", "larger"): (4, 8 * 244 * 4, 15_990_784),
        ("larger", "exposure"): (2, 2 * 244 * 16, 15_990_784),
    }
    for key, (runs, steps, presentations) in told.items():
        row = rows[key]
        assert (int(row["runs"]), int(row["steps"]), int(row["presentations"])) == (
            runs,
            steps,
            presentations,
        )
        assert int(row["all_presentations"]) == runs * presentations
    assert int(rows["all", "–"]["all_steps"]) == 18 * 1_952 + 6 * 7_808


def test_hours_follow_from_the_parameters_that_multiply(campaign, tmp_path):
    row = next(row for row in planned(campaign, tmp_path) if row["recipe"] == "larger")
    # The usual 6 N a padded token, N without embedding and head; attention and contrast come on top, a few percent.
    products = 6 * 12 * (4 * 512**2 + 2 * 512 * 2048) * 1.1 * float(row["tokens"]) * 1e9
    flops = float(row["flops"]) * 1e15
    assert 1.0 < flops / products < 1.1
    assert float(row["hours_h100"]) == pytest.approx(flops / (0.35 * 989e12) / 3600, rel=1e-12)


def test_chunks_that_are_made_tell_their_lengths(campaign, tmp_path):
    assumed = planned(campaign, tmp_path / "assumed")
    folder = tmp_path / "made" / "chunks" / "chunk-000"
    folder.mkdir(parents=True)
    (folder / "captions.json").write_text(json.dumps({"rows": 500_000, "tokens": {"mean": 48.0}}))
    made = planned(campaign, tmp_path / "made")
    # One of the screen's two chunks is half as long as assumed, one of the larger runs' eight.
    assert float(made[0]["tokens"]) == pytest.approx(0.75 * float(assumed[0]["tokens"]))
    assert float(made[1]["tokens"]) == pytest.approx(15 / 16 * float(assumed[1]["tokens"]))
    data = planned(campaign, tmp_path / "made", "plan-data")
    assert [row["measured"] for row in data[:2]] == ["manifest", "assumed"]


def test_a_plan_needs_no_torch(campaign, tmp_path, repository):
    code = (
        "import sys; from captionlab.__main__ import main; code = main(sys.argv[1:]);"
        "assert not {'torch', 'transformers'} & set(sys.modules); sys.exit(code)"
    )
    words = ["plan_campaign", "--spec", table_specs.plan_spec(campaign), "--root", str(tmp_path)]
    command = [sys.executable, "-c", code, *words, "--output", str(tmp_path / "plan.md")]
    done = subprocess.run(command, cwd=repository / "workflow", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "15,990,784" in done.stdout
