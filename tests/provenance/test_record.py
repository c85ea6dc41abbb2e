"""Records and their differences."""

import json
from pathlib import Path

import pytest

from captionlab.__main__ import main
from captionlab.errors import CaptionlabError, DamagedFileError
from captionlab.files import read_json, sha256_file, write_json
from captionlab.provenance.diff import compare, diff_table
from captionlab.provenance.record import load_record, make_record

SCORES = "evaluation/larger/fancy/seed-2/suites.json"


def test_record_holds_metrics_code_data_and_digests(finished: Path) -> None:
    record = make_record(finished)
    beta = read_json(finished / SCORES)["suites"]["beta"]["spearman"]
    assert record["metrics"][f"{SCORES}#/suites/beta/spearman"] == beta
    assert record["metrics"]["runs/larger/plain/seed-1/development.json#/teacher_cosine"] == 0.5
    assert record["outputs"][SCORES] == sha256_file(finished / SCORES)
    assert record["data"]["suites/dev.tsv"] == sha256_file(finished / "suites/dev.tsv")
    assert not [path for path in record["outputs"] if "/events/" in path]
    assert len(json.dumps(record)) < 30_000


def test_equal_sets_have_no_differences(finished: Path, campaign: Path) -> None:
    assert compare(make_record(finished), make_record(campaign)) == []
    assert main(["diff_results", str(finished), str(campaign)]) == 0


def test_each_part_of_a_difference_is_named(
    finished: Path, campaign: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores = read_json(campaign / SCORES)
    scores["suites"]["beta"]["spearman"] += 0.25
    write_json(campaign / SCORES, scores)
    path = "runs/larger/plain/seed-1/run.json"
    run = read_json(campaign / path)
    run |= {"code": "0" * 64, "versions": {"numpy": "1.0"}}
    write_json(campaign / path, run)
    (campaign / "suites/alpha.tsv").write_text("x")
    (campaign / "tables/final.md").unlink()
    lock = tmp_path / "left.json"
    assert main(["record_lock", "--root", str(finished), "--output", str(lock)]) == 0
    rows = {(row.part, row.name): row for row in compare(load_record(lock), load_record(campaign))}
    assert "+0.25" in rows["metrics", f"{SCORES}#/suites/beta/spearman"].right
    assert rows["code", path].right == "0" * 12
    assert "1.0" in rows["environment", "numpy"].right
    assert ("data", "suites/alpha.tsv") in rows
    assert rows["files", "tables/final.md"].right == "absent"
    assert len(rows) == 5
    capsys.readouterr()
    assert main(["diff_results", str(lock), str(campaign)]) == 1
    out, err = capsys.readouterr()
    assert out.count("\n") == 2 + 5
    assert "5 differences" in err
    assert compare(load_record(lock), load_record(campaign), tolerance=0.3) != []
    assert "metrics" not in {row.part for row in compare(load_record(lock), load_record(campaign), 0.3)}


def test_config_differences_are_named_by_key() -> None:
    empty = {key: {} for key in ("code", "versions", "device", "data", "metrics", "outputs")}
    left = {**empty, "config": {"recipes": {"larger": {"epochs": 4}}}}
    right = {**empty, "config": {"recipes": {"larger": {"epochs": 8}}}}
    assert diff_table(compare(left, right)).splitlines()[-1] == "| config | recipes.larger.epochs | 4 | 8 |"


@pytest.mark.parametrize("text", ["{}", "[]", "{", '{"config": 1}'])
def test_what_is_no_record_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "lock.json").write_text(text)
    with pytest.raises(DamagedFileError, match=r"lock\.json"):
        load_record(tmp_path / "lock.json")
    with pytest.raises(CaptionlabError, match="not a folder of results"):
        load_record(tmp_path / "absent")
