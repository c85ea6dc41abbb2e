"""The engine's part of the benchmark, on real workflows: it times calls and makes nothing."""

import shutil
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from captionlab.campaign import campaign_runs
from captionlab.config import checked_campaign
from captionlab.errors import CaptionlabError
from captionlab.speed.engine import CHECKOUT, Engine, campaign_of, job_counts, measure, recorded_seconds

FINAL = "results/tables/final.md"
WORKFLOW = f"""
rule render_final:
    input: "source.txt"
    output: "{FINAL}"
    benchmark: "results/benchmarks/render_final.tsv"
    shell: "cp {{input}} {{output}}"
"""
REPOSITORY = Path(__file__).parents[2]


def _spec(runs, config=None):
    return {
        "config": config or {},
        "final": FINAL,
        "speed": {"warmup": 0, "repeats": 1, "runs": runs},
    }


@pytest.fixture
def small_workflow(tmp_path, monkeypatch):
    """A workflow of one job as the current directory."""
    (tmp_path / "Snakefile").write_text(WORKFLOW)
    (tmp_path / "source.txt").write_text("a table\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_finished_campaign_is_called_and_its_jobs_are_summed(small_workflow):
    engine = Engine(small_workflow, None, 1)
    engine.call(target=FINAL)
    made = (small_workflow / FINAL).stat().st_mtime_ns
    (small_workflow / "results" / "benchmarks" / "render_final.tsv").write_text("s\th:m:s\n1.5\t0:00:01\n")
    part = measure(_spec([], {"results": "results"}), Path("results"), 2)
    assert [row.what for row in part.rows] == [
        "A call with nothing to do",
        "The campaign's jobs, summed",
        "The campaign at least, without the engine",
    ]
    idle, summed, least = part.rows
    assert idle.note == "Nothing to be done." and idle.goal is not None
    assert (summed.size, summed.ours.median, least.ours.median) == ("1 jobs", 1.5, 0.75)
    assert "| render_final | 1 | 1.5 | 1.5 | 100.0% |" in part.texts["Seconds of the campaign's jobs"]
    assert (small_workflow / FINAL).stat().st_mtime_ns == made


def test_an_unfinished_campaign_is_not_made(small_workflow):
    part = measure(_spec([], {"results": "results"}), Path("results"), 1)
    (row,) = part.rows
    assert row.note.startswith("The campaign is not finished") and row.goal is None
    assert not (small_workflow / FINAL).exists()


def test_a_call_that_fails_says_why_in_one_line(small_workflow):
    with pytest.raises(CaptionlabError, match=r"failed with 1: .*nowhere"):
        Engine(small_workflow, None, 1).call("-n", target="nowhere.txt")


@pytest.mark.slow
def test_larger_campaigns_are_planned_in_a_copy(tmp_path, monkeypatch):
    for part in CHECKOUT:
        source = REPOSITORY / part
        if source.is_dir():
            shutil.copytree(source, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, tmp_path / part)
    monkeypatch.chdir(tmp_path)
    spec = _spec([3, 5], yaml.safe_load((REPOSITORY / "workflow/campaigns/tiny.yaml").read_text()))
    spec["final"] = "results/tiny/tables/final.md"
    part = measure(spec, Path("results/tiny"), 1)
    planned = [row for row in part.rows if row.what.startswith("Planning")]
    assert [row.size.partition(",")[0] for row in planned] == ["3 runs", "5 runs"]
    assert planned[1].note.endswith("ms for each job more than in the row above.")
    assert "this workflow: its rules and the library" in part.texts["Where the engine's time goes"]
    assert not (tmp_path / "results").exists()


@given(runs=st.integers(2, 400))
def test_a_derived_campaign_is_valid_and_has_exactly_the_runs_asked_for(runs):
    config = yaml.safe_load((REPOSITORY / "config.yaml").read_text())
    derived = campaign_of(config, runs)
    assert len(campaign_runs(derived)) == len(set(campaign_runs(derived))) == runs
    checked_campaign(derived)


def test_job_counts_reads_the_engines_table():
    text = "Building DAG of jobs...\nJob stats:\njob    count\n---  ---\ntrain_run   26\nall  1\ntotal  27\n\nmore 3\n"
    assert job_counts(text) == {"train_run": 26, "all": 1}
    assert job_counts("Nothing to be done (all requested files are present and up to date).") == {}


def test_recorded_seconds_are_kept_by_rule(tmp_path):
    for name, seconds in (("one", 1), ("two/a/b", 2), ("two/c", 3)):
        path = tmp_path / f"{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"s\tcpu_time\n{seconds}\t0\n")
    assert recorded_seconds(tmp_path) == {"one": [1.0], "two": [2.0, 3.0]}
    assert recorded_seconds(tmp_path / "absent") == {}
