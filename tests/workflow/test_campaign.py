"""The tiny campaign end to end: the same bytes twice, and only what is missing or changed made again."""

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
TABLES = {"resample_suites", "render_final"}


@pytest.fixture
def made(finished, tmp_path):
    return finished.copy(tmp_path / "copy")


def rows(text, heading):
    """The cells of the first table below a heading of final.md."""
    lines = text.split(f"## {heading}\n", 1)[1].splitlines()
    end = next((i for i, line in enumerate(lines) if line.startswith("#")), len(lines))
    table = [line for line in lines[:end] if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def test_two_clean_runs_on_one_and_on_two_cores_give_the_same_tables(finished, fresh):
    fresh.engine(fresh.final, cores=1)
    folder = finished.path("tables")
    names = sorted(path.name for path in folder.iterdir())
    assert "final.md" in names
    for name in names:
        assert fresh.path(f"tables/{name}").read_bytes() == (folder / name).read_bytes(), name
    for weights in finished.path("runs").rglob("*.safetensors"):
        other = fresh.path("runs") / weights.relative_to(finished.path("runs"))
        assert other.read_bytes() == weights.read_bytes(), weights


def test_a_finished_campaign_has_nothing_to_do(made):
    assert made.planned() == {}


def test_one_deleted_evaluation_is_made_again_with_the_tables_only(made):
    lost = made.path("evaluation/larger/relative/seed-2/suites.json")
    before = lost.read_bytes()
    lost.unlink()
    planned = made.planned()
    assert planned.pop("evaluate_run") == 1
    assert set(planned) <= TABLES | {"write_mteb"}
    made.engine(made.final)
    assert lost.read_bytes() == before


def test_another_seed_trains_its_own_runs_only(made):
    campaign = made.folder / made.campaign
    text = campaign.read_text()
    old = "options: [relative, hierarchical], seeds: [1, 2]"
    assert old in text
    campaign.write_text(text.replace(old, old.replace("2]", "2, 3]")))
    planned = made.planned()
    assert planned["train_run"] == planned["evaluate_run"] == 2
    assert "encode_teacher" not in planned
    assert "build_targets" not in planned


def test_final_md_has_the_card_s_four_parts_and_marks_the_selected_run(finished):
    text = finished.path("tables/final.md").read_text()
    for heading in ("Final sentence benchmarks", "Pair test means", "Development", "Caption geometry"):
        assert f"## {heading}\n" in text
    benchmarks = rows(text, "Final sentence benchmarks")
    trained = [row for row in benchmarks[2:] if not row[0].startswith("Reference")]
    assert len(trained) == 5
    assert sum("(default)" in row[0] for row in trained) == 1
    assert len([row for row in benchmarks if row[0].startswith("Reference")]) == 9
    assert (finished.path("tables/benchmarks.csv")).read_text().count("\n") == len(benchmarks) - 1


def test_a_repeat_of_a_run_gives_its_bytes(finished):
    run, repeat = (finished.path(f"runs/screen/relative/{name}") for name in ("seed-1", "seed-1.repeat-1"))
    for name in ("final.safetensors", "best.safetensors", "midpoint.safetensors", "history.jsonl"):
        assert (run / name).read_bytes() == (repeat / name).read_bytes()


def test_a_strict_environment_makes_package_versions_a_reason_to_train(made):
    planned = made.planned("--config", "environment=strict")
    assert planned["train_run"] == 8
    assert planned["encode_teacher"] == 8
    assert "tokenize_chunk" not in planned
