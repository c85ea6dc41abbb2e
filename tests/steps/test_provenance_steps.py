"""The provenance commands by hand: one clear line for what a person can get wrong."""

import json
import random
from pathlib import Path

import pytest

from captionlab.__main__ import main
from captionlab.files import read_json, write_json, write_text
from captionlab.provenance.census import CENSUS


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_json(tmp_path / "results/suites/a.json", {"suite": "a"})
    write_text(tmp_path / "results/tables/final.md", "# a\n")
    write_text(tmp_path / "results/state/screen/x/seed-1/rng.json", "{}")
    write_text(tmp_path / "results/logs/a.log", "12:00\n")
    return tmp_path / "results"


def take(root: Path, expected: list[dict]) -> int:
    spec = json.dumps({"campaign": "toy", "expected": expected})
    return main(["take_census", "--spec", spec, "--root", str(root), "--output", str(root / CENSUS)])


def test_census_holds_declared_and_found_files_and_no_logs(root: Path) -> None:
    assert take(root, [{"path": "tables", "rule": "render_final", "parents": ["suites/a.json"]}]) == 0
    rows = {row["path"]: row for row in read_json(root / CENSUS)["artifacts"]}
    assert set(rows) == {"suites/a.json", "tables/final.md", "state/screen/x/seed-1/rng.json"}
    assert rows["tables/final.md"]["rule"] == "render_final"
    assert rows["tables/final.md"]["parents"] == ["suites/a.json"]
    assert rows["suites/a.json"]["rule"] is None


def test_missing_artifact_stops_the_census_and_writes_nothing(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"paths": ["tables/final.md", "tables/gone.csv"], "rule": "render_final", "parents": []}
    assert take(root, [row]) == 3
    assert "tables/gone.csv is missing (1 of 2 expected are)" in capsys.readouterr().err
    assert not (root / CENSUS).exists()


@pytest.mark.parametrize("expected", [[{}], [3], [{"paths": 3}], None, {"a": 1}])
def test_wrong_spec_is_one_line(root: Path, capsys: pytest.CaptureFixture[str], expected: object) -> None:
    assert take(root, expected) == 1  # type: ignore[arg-type]
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "--spec is not a census's" in error


def test_commands_refuse_damaged_censuses_in_one_line(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A hundred damaged censuses: the crate and the audit say so, and change nothing."""
    take(root, [])
    whole = (root / CENSUS).read_bytes()
    (root.parent / "Snakefile").write_text("rule all: input: []\n")
    dice = random.Random(5)
    for _ in range(100):
        spoiled = bytearray(whole)
        if dice.random() < 0.5:
            spoiled = spoiled[: dice.randrange(len(spoiled))]
        else:
            spoiled[dice.randrange(len(spoiled) - 1)] ^= 1 << dice.randrange(8)
        (root / CENSUS).write_bytes(spoiled)
        words = ["write_crate", "--root", str(root), "--checkout", str(root.parent)]
        code = main([*words, "--metadata", str(root / "absent/metadata")])
        error = capsys.readouterr().err
        assert (code, error.count("\n")) in {(0, 0), (4, 1)}, error
        assert code or json.loads(spoiled) == json.loads(whole)
        assert (root / CENSUS).read_bytes() == spoiled


def test_audit_by_hand_needs_no_spec(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    take(root, [])
    words = ["audit_campaign", "--root", str(root), "--metadata", str(root / "absent/metadata")]
    assert main(words) == 0
    assert "passed: 3 artifacts, 0 table cells" in capsys.readouterr().out
    (root / "tables/final.md").write_text("# b\n")
    assert main(words) == 21
    assert "tampered table: tables/final.md" in capsys.readouterr().out
    (root / "tables/final.md").unlink()
    assert main(words) == 22
    (root / CENSUS).unlink()
    assert main(words) == 22
    assert "census.json is missing" in (root / "provenance/audit.md").read_text()


def test_explain_and_why_without_a_campaign_say_what_is_missing(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "--root", str(root), "--cell", "a:b"]) == 3
    assert "census.json is missing" in capsys.readouterr().err
    take(root, [])
    assert main(["explain", "--root", str(root), "--cell", "a:b"]) == 1
    assert "no layout of tables" in capsys.readouterr().err
    assert main(["why", str(root / "tables/final.md"), "--configfile", str(root / "none.yaml")]) == 2
    assert "none.yaml is missing" in capsys.readouterr().err


def test_why_refuses_what_nothing_records(
    root: Path, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "why",
        str(root / "tables/final.md"),
        "--root",
        str(root),
        "--metadata",
        str(root / "absent/metadata"),
    ]
    assert main([*words, "--configfile", str(repository / "config.yaml")]) == 1
    assert "nothing records how" in capsys.readouterr().err


def test_recompute_needs_evaluated_runs(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recompute_sample", "--root", str(root), "--output", str(root / "r.json")]) == 1
    assert "holds no evaluated run" in capsys.readouterr().err
    assert not (root / "r.json").exists()


def test_accept_change_needs_something_out_of_date(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "accept_change",
        "--step",
        "train_run",
        "--reason",
        "x",
        "--metadata",
        str(tmp_path / "a/metadata"),
    ]
    assert main(words) == 1
    assert "nothing to accept" in capsys.readouterr().err
