"""The document: the card's own tables come back from a results root that holds the card's numbers."""

import json
import shutil

import pytest

from captionlab.errors import CaptionlabError, DamagedFileError
from captionlab.tables import frames, screen
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.cells import Source
from captionlab.tables.final import all_frames, document, final_markdown
from captionlab.tables.plan import plan_from_spec


@pytest.fixture
def plan(plan_spec):
    return plan_from_spec(plan_spec)


@pytest.fixture
def copy(results, tmp_path):
    """A copy of the results that a test may damage."""
    return shutil.copytree(results, tmp_path / "results")


def rendered(plan, root):
    return final_markdown(document(plan, Artifacts(root)))


def test_the_card_s_benchmark_row_comes_back(plan, results):
    line = (
        "| 4M × 4 epochs / Hierarchical | 2 | 64 | 4 | 23,950 | 0.5540 | 0.6535 | 0.4932 | 0.5589 | 0.5285 "
    )
    line += "| 0.6981 | 0.6243 | 0.5197 | 0.5788 |"
    assert line in rendered(plan, results)


def test_the_card_s_pair_means_come_back(plan, results):
    means = [cell.number for cell in frames.pair_means(plan, Artifacts(results)).column("mean")]
    # The card prints 0.57467, 0.57191 and 0.56567, from unrounded scores.
    assert means == pytest.approx([0.57467, 0.57191, 0.56567], abs=2e-5)


def test_the_selected_default_is_marked_and_no_other(plan, results):
    marked = [row.cells[3].value for row in frames.benchmarks(plan, Artifacts(results)).rows if row.marked]
    assert marked == ["4M × 4 epochs / Relative 16 heads (default)"]


def test_a_row_prints_ceiling_n_and_harmonics(plan, results):
    frame = frames.benchmarks(plan, Artifacts(results))
    ceilings = [cell.value for cell in frame.column("ceiling")]
    assert ceilings == [64] * 6 + ["own"] + [64] * 3
    assert [cell.value for cell in frame.column("harmonics")] == [4, 4, "–", "–", 4, 4] + ["–"] * 4
    assert {cell.value for cell in frame.column("pairs")} == {23950}


def test_the_same_results_give_the_same_bytes(plan, plan_spec, results, copy):
    again = plan_from_spec(json.loads(json.dumps(plan_spec)))
    assert rendered(plan, results) == rendered(again, copy)


def test_no_clock_and_no_machine_path_in_the_document(plan, results):
    text = rendered(plan, results)
    assert str(results) not in text
    assert "2026" not in text


def test_a_lost_evaluation_stays_visible(plan, copy):
    (copy / "evaluation/larger/hierarchical/seed-2/suites.json").unlink()
    artifacts = Artifacts(copy)
    row = frames.benchmarks(plan, artifacts).rows[1]
    assert [cell.value for cell in row.cells[7:]] == [None] * 10
    pairs = frames.pair_means(plan, artifacts)
    assert [cell.value for cell in pairs.column("seeds")] == ["1 of 2", 2, 2]
    text = rendered(plan, copy)
    assert "| 4M × 4 epochs / Hierarchical | 2 | missing | 4 | missing |" in text
    assert len(frames.benchmarks(plan, artifacts).rows) == 10


def test_a_mean_over_fewer_suites_says_so(plan, copy):
    file = copy / "evaluation/larger/hierarchical/seed-1/suites.json"
    scores = json.loads(file.read_text())
    del scores["suites"]["BIOSSES"]
    file.write_text(json.dumps(scores))
    cell = frames.benchmarks(plan, Artifacts(copy)).column("mean")[0]
    # Mean of the card's other seven scores.
    assert cell.value == pytest.approx(sum((0.5427, 0.6536, 0.4882, 0.5523, 0.5275, 0.7023, 0.6226)) / 7)
    assert cell.note == "7 of 8"


def test_an_empty_root_gives_every_table_with_gaps(plan, tmp_path):
    text = rendered(plan, tmp_path)
    assert "Selected default: missing." in text
    assert text.count("missing") > 100
    sizes = {frame.name: len(frame.rows) for frame in all_frames(document(plan, Artifacts(tmp_path)))}
    assert sizes["benchmarks"] == 10
    assert sizes["screen"] == 10
    assert sizes["lookup"] == 16


def test_a_damaged_file_is_named(plan, copy):
    (copy / "evaluation/larger/hierarchical/seed-1/suites.json").write_text("{")
    with pytest.raises(DamagedFileError, match=r"hierarchical/seed-1/suites\.json is not JSON"):
        rendered(plan, copy)


def test_a_small_sample_says_its_n(plan, copy):
    file = copy / "evaluation/larger/hierarchical/seed-1/geometry.json"
    geometry = json.loads(file.read_text())
    geometry["samples"]["test:long"]["rows"] = 312
    file.write_text(json.dumps(geometry))
    assert "| Test chunk, >128-token rows | 312 (of 5000 asked) | 0.735772 |" in rendered(plan, copy)


def test_every_measured_number_has_a_source(plan, results):
    unsourced = set()
    for frame in all_frames(document(plan, Artifacts(results))):
        for row in frame.rows:
            for column, cell in zip(frame.columns, row.cells, strict=True):
                if isinstance(cell.value, float) and not (cell.source or cell.sources):
                    unsourced.add((frame.name, column.name))
    assert unsourced == {("beside-published", "published")}


def test_sources_point_at_what_they_name(plan, results):
    def resolve(source: Source) -> object:
        value = json.loads((results / source.file).read_text())
        for key in source.pointer.split("/")[1:]:
            key = key.replace("~1", "/").replace("~0", "~")
            value = value[int(key)] if isinstance(value, list) else value[key]
        return value

    checked = 0
    for frame in all_frames(document(plan, Artifacts(results))):
        for cell in (
            cell for row in frame.rows for cell in row.cells if cell.source and cell.interval is None
        ):
            found = resolve(cell.source)
            if not isinstance(found, dict | list) and cell.value != "–":
                assert found == cell.value, cell
                checked += 1
    assert checked > 500


def test_screen_means_leave_repeats_out(plan, results):
    frame = screen.screen_means(plan, Artifacts(results))
    relative = next(row for row in frame.rows if row.cells[0].value == "relative-16")
    # The generator gives 0.6 + 0.01 * place + 0.003 * seed: 0.613 and 0.616.
    assert relative.cells[3].number == pytest.approx(0.6145)
    assert relative.cells[5].number == 0.0
    assert relative.cells[2].value == 2


def test_lookup_reads_the_path_removal(plan, results):
    frame = screen.lookup(plan, Artifacts(results))
    removed = {
        row.cells[1].value: row.cells[-1].value for row in frame.rows if row.cells[5].value == "screen"
    }
    assert removed["binding-whole"] == 0.07
    assert removed["relative-16"] == "–"


def test_another_size_says_that_it_is_one(tree, tmp_path):
    spec = tree.spec(published_size=False)
    text = rendered(plan_from_spec(spec), tmp_path)
    assert "This is **not** the published campaign" in text
    assert "they confirm and contradict nothing" in text


def test_other_suites_are_not_compared(tree, tmp_path):
    spec = tree.spec(published_size=False)
    spec["suites"] = [{"name": "scenes-count", "role": "test"}]
    spec["development_suite"] = {"name": "scenes-development"}
    text = rendered(plan_from_spec(spec), tmp_path)
    assert "No number here has a published twin" in text
    assert "| Published |" not in text


def test_a_spec_without_a_key_is_refused(plan_spec):
    with pytest.raises(CaptionlabError, match="lacks the key 'suites'"):
        plan_from_spec({key: value for key, value in plan_spec.items() if key != "suites"})


def test_hygiene_stands_in_the_document_only_where_it_is_declared(tree, tmp_path):
    spec = tree.spec()
    assert "## Data hygiene" not in rendered(plan_from_spec(spec), tmp_path)
    text = rendered(plan_from_spec({**spec, "hygiene": True}), tmp_path)
    assert "## Data hygiene" in text
    assert "| in several chunks | – | missing | missing |" in text


def test_chunks_print_rows_and_lengths(plan, results):
    assert "| 000 | 500,000 | 30,000,000 | 60.0 | 52.0 | 140.0 | 900 | 31,000 |" in rendered(plan, results)
