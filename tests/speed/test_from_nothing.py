"""A whole campaign timed in a copy of the checkout."""

import shutil
from pathlib import Path

import pytest
import yaml

from captionlab.errors import CaptionlabError, ConfigError
from captionlab.speed.from_nothing import measure

REPOSITORY = Path(__file__).parents[2]
# Spends processor time, so that a share of it can be seen, and leaves the records that the engine makes.
WORKFLOW = """
rule render_final:
    output: "results/tiny/tables/final.md"
    benchmark: "results/tiny/benchmarks/render_final.tsv"
    shell: "python -c 'sum(range(10**7))' && {command} {{output}}"
"""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """The parts of a checkout that are copied, with a workflow of one job, as the current directory."""
    (tmp_path / "workflow" / "campaigns").mkdir(parents=True)
    (tmp_path / "profiles").mkdir()
    (tmp_path / "config.yaml").write_text("")
    shutil.copy2(REPOSITORY / "workflow/campaigns/tiny.yaml", tmp_path / "workflow/campaigns")
    (tmp_path / "Snakefile").write_text(WORKFLOW.format(command="touch"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _spec(campaign):
    return {"speed": {"from_nothing": campaign}}


def test_a_campaign_is_made_in_a_copy_and_its_jobs_are_told(checkout):
    part = measure(_spec("workflow/campaigns/tiny.yaml"), Path("nowhere"), 1)
    (row,) = part.rows
    runs = len(yaml.safe_load((checkout / "workflow/campaigns/tiny.yaml").read_text())["screen"]["options"])
    assert row.size.startswith("workflow/campaigns/tiny.yaml: ") and row.size.endswith("1 jobs on 1 cores")
    assert int(row.size.split()[1]) > runs
    assert 0 < row.ours.median < 600 and row.ours.repeats == 1
    assert 0.2 < row.ours.cpu_share <= 1.1
    assert "| render_final | 1 |" in part.texts["Seconds of the jobs from nothing"]
    assert not (checkout / "results").exists()


def test_a_campaign_that_fails_is_an_error(checkout):
    (checkout / "Snakefile").write_text(WORKFLOW.format(command="false"))
    with pytest.raises(CaptionlabError, match="failed with 1"):
        measure(_spec("workflow/campaigns/tiny.yaml"), Path("nowhere"), 1)


def test_results_that_a_copy_would_share_are_refused(checkout):
    file = checkout / "workflow/campaigns/tiny.yaml"
    config = {**yaml.safe_load(file.read_text()), "results": str(checkout / "elsewhere")}
    file.write_text(yaml.safe_dump(config, sort_keys=False))
    with pytest.raises(ConfigError, match="elsewhere lie outside a copy"):
        measure(_spec("workflow/campaigns/tiny.yaml"), Path("nowhere"), 1)


def test_a_campaign_that_is_not_there_is_named(checkout):
    with pytest.raises(ConfigError, match=r"absent\.yaml is missing"):
        measure(_spec("absent.yaml"), Path("nowhere"), 1)


def test_no_campaign_no_row():
    assert measure(_spec(None), Path("nowhere"), 1).rows == []
