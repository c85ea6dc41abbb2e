"""The card of an export: read back by huggingface_hub, its tables those of final.md, its snippet run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries
from huggingface_hub.repocard_data import model_index_to_eval_results
from tests.serving.conftest import write_run
from tests.tables import results_tree

from captionlab.errors import CaptionlabError, MissingFileError
from captionlab.files import read_json, write_json
from captionlab.serving.card import write_card
from captionlab.serving.table import report_file, serving
from captionlab.tables import frames
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.plan import plan_from_spec
from captionlab.tables.render import markdown

PLACE = "larger/relative-16/seed-1"
REVISION = "b0fddb56ed78048fa8b90373c8a3cfc37b684831"


def parity_report(delta: float = 0.0) -> dict:
    case = {"name": "float32-1x1", "precision": "float32", "sentence_delta": delta, "token_delta": 0.0}
    side = {"device": "cpu", "peak_memory_bytes": 500_000_000, "outputs_sha256": "aa"}
    return {
        "run": {"recipe": "larger", "option": "relative-16", "seed": 1, "repeat": 0},
        "cases": [case, {**case, "sentence_delta": 0.0}],
        "diagnostics": [{"name": "pointer", "delta": 0.0}],
        "state": {"tensors": 39, "unequal": []},
        "differences": ["case float32-1x1"] if delta else [],
        "native": side,
        "exported": {**side, "versions": {"transformers": "5.24.0", "torch": "2.13.0"}},
    }


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """A finished campaign's numbers with one real export, and the spec of its card."""
    root = tmp_path_factory.mktemp("card") / "results"
    tables = results_tree.spec(published_size=False)
    results_tree.write_tree(root, tables)
    place = write_run(root, "relative-16")
    suite = root / "suites" / "STS-B.json"
    write_json(
        suite,
        {
            **read_json(suite),
            "source": {"kind": "hub", "repo": "mteb/stsbenchmark-sts", "revision": REVISION},
        },
    )
    for path in sorted((root / "suites").glob("*.json")):
        facts = read_json(path)
        write_json(path, {"source": {"kind": "directory"}, **facts})
    write_json(root / report_file(PLACE, "own"), parity_report())
    spec = {
        "tables": tables,
        "place": PLACE,
        "loaders": ["own", "four"],
        "repository": "results/export/larger/relative-16/seed-1",
        "command": "snakemake --cores 8 results/export/larger/relative-16/seed-1/README.md",
    }
    write_card(plan_from_spec(tables), Artifacts(root), spec, place.export)
    return root, spec, place


def evaluated(root: Path) -> dict:
    return read_json(root / "evaluation" / PLACE / "suites.json")["suites"]


def test_metadata_is_read_back_by_the_hub_s_own_reader(campaign):
    root, _, place = campaign
    data = ModelCard.load(place.export / "README.md", ignore_metadata_errors=False).data
    assert (data.library_name, data.license, data.pipeline_tag) == (
        "transformers",
        "mit",
        "sentence-similarity",
    )
    scores = evaluated(root)
    assert len(data.eval_results) == len(results_tree.SUITES)
    for result, name in zip(data.eval_results, results_tree.SUITES, strict=True):
        assert result.metric_value == scores[name]["spearman"]
        assert (result.task_type, result.metric_type) == ("sentence-similarity", "cosine_spearman")
        assert result.dataset_revision == (REVISION if name == "STS-B" else scores[name]["sha256"])
    assert data.eval_results[0].dataset_type == "mteb/stsbenchmark-sts"


def test_model_index_is_the_hub_s_form(campaign):
    text = (campaign[2].export / "README.md").read_text()
    header = yaml.safe_load(text.split("---")[1])
    name, results = model_index_to_eval_results(header["model-index"])
    assert name == f"made-up/{PLACE}"
    assert len(results) == len(results_tree.SUITES)


def test_scores_are_read_back_as_eval_result_entries(campaign):
    root, _, place = campaign
    (path,) = (place.export / ".eval_results").iterdir()
    entries = parse_eval_result_entries(yaml.safe_load(path.read_text()))
    scores = evaluated(root)
    assert [entry.task_id for entry in entries] == list(results_tree.SUITES)
    assert [entry.value for entry in entries] == [scores[name]["spearman"] for name in results_tree.SUITES]
    assert entries[0].dataset_id == "mteb/stsbenchmark-sts" and entries[0].dataset_revision == REVISION
    assert all(entry.dataset_revision and "64 tokens" in entry.notes for entry in entries)


def test_tables_are_those_of_final_md(campaign):
    root, spec, place = campaign
    plan, artifacts = plan_from_spec(spec["tables"]), Artifacts(root)
    text = (place.export / "README.md").read_text()
    for make in (frames.benchmarks, frames.pair_means, frames.development, frames.geometry):
        assert markdown(make(plan, artifacts)).rstrip() in text
    assert "no reproduction of the published ones" in text
    assert spec["command"] in text


def test_a_parity_report_that_is_not_there_shows(campaign):
    text = (campaign[2].export / "README.md").read_text()
    rows = [line for line in text.split("## Serving parity")[1].splitlines() if line.startswith("| ")][1:3]
    assert "0.000000000" in rows[0] and "5.24.0" in rows[0]
    assert "missing" in rows[1]


def test_the_largest_difference_shows_in_the_table(campaign, tmp_path):
    _, spec, _ = campaign
    write_json(tmp_path / report_file(PLACE, "own"), parity_report(1.2e-7))
    frame = serving(plan_from_spec(spec["tables"]), Artifacts(tmp_path), [PLACE], ["own"])
    assert frame.column("sentence_delta")[0].value == 1.2e-7
    assert "0.000000120" in markdown(frame)
    assert frame.column("differences")[0].value == 1


def test_nothing_is_left_of_the_template(campaign):
    text = (campaign[2].export / "README.md").read_text()
    assert "{{" not in text and "None" not in text.split("## Load the model")[0]


def test_the_loading_snippet_runs(campaign):
    root, _, place = campaign
    blocks = re.findall(r"```python\n(.*?)```", (place.export / "README.md").read_text(), re.DOTALL)
    script = blocks[0] + "print('\\n', tuple(embeddings.shape), tokens.shape[-1], -1 <= similarity <= 1)\n"
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HF_"))
    }
    done = subprocess.run(
        [sys.executable, "-I", "-c", script],
        cwd=root.parent,
        env={**environment, "HF_MODULES_CACHE": str(root.parent / "modules")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1].strip() == "(2, 16) 32 True"


def test_a_run_the_campaign_lacks_and_a_missing_evaluation_are_said(campaign, tmp_path):
    root, spec, _ = campaign
    plan = plan_from_spec(spec["tables"])
    with pytest.raises(CaptionlabError, match="no run 'larger/nothing/seed-1'"):
        write_card(plan, Artifacts(root), {**spec, "place": "larger/nothing/seed-1"}, tmp_path)
    with pytest.raises(MissingFileError, match="suites"):
        write_card(plan, Artifacts(tmp_path), spec, tmp_path)
