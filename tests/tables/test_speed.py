"""speed.md from hand-made parts."""

import csv
import io

import pytest

from captionlab.speed.rows import Goal, Limit, Part, Row, part_json
from captionlab.speed.timing import Reading
from captionlab.tables.render import comma_separated
from captionlab.tables.speed import speed_frame, speed_page


@pytest.fixture
def parts():
    ours, peer = Reading(1234.5, 1200.0, 1300.0, 3, 0.987), Reading(400.0, 390.0, 410.0, 3, 0.9)
    training = [
        Row(
            what="Training step",
            size="2 x 64",
            unit="real tokens/s",
            ours=ours,
            peer_name="another way",
            peer=peer,
            goal=Goal("ratio", 3.5),
            agreement=3e-8,
            note="short on a small model",
        ),
        Row(
            what="Products",
            size="2 x 64",
            unit="GFLOP/s",
            ours=Reading(80.0, 79.0, 81.0, 3, 1.0),
            limit=Limit("sgemm", 100.0),
            goal=Goal("fraction", 0.75),
        ),
    ]
    memory = [
        Row(
            what="Writing a chunk",
            size="1,000,000 rows",
            unit="MB",
            ours=Reading(283.0, 283.0, 283.0, 1),
            less_is_better=True,
            goal=Goal("value", 400.0),
        )
    ]
    made = [Part("training", training, {"Where a step goes": "aten::mm 55%"}), Part("memory", memory)]
    return [{**part_json(part, {}), "threads": 2} for part in made]


def test_a_row_shows_figures_ratio_goal_and_verdict(parts):
    frame = speed_frame(parts)
    line = next(line for line in speed_page("demo", parts).splitlines() if "another way" in line)
    assert "1,235 [1,200, 1,300]" in line or "1,234 [1,200, 1,300]" in line
    assert "| 3.09 |" in line
    assert "| ≥ 3.5× | no |" in line
    assert [cell.value for cell in frame.column("met")] == ["no", "yes", "yes"]
    assert frame.column("fraction")[1].value == 0.8
    assert frame.column("ratio")[0].source.file == "speed/training.json"
    assert frame.column("ratio")[0].source.pointer == "/rows/0/ratio"


def test_the_page_counts_its_goals_and_names_what_is_missed(parts):
    page = speed_page("demo", parts)
    assert "2 of 3 goals reached; missed: Training step." in page
    assert "- Training step (another way): short on a small model; largest difference" in page
    assert "≤ 400 MB" in page
    assert "≥ 75% of the limit" in page
    assert "### Where a step goes\n\n```\naten::mm 55%\n```" in page


def test_a_part_without_rows_has_no_section(parts):
    none = {**part_json(Part("from_nothing", []), {}), "threads": 2}
    assert speed_page("demo", [*parts, none]) == speed_page("demo", parts)


def test_the_csv_has_full_figures_and_notes(parts):
    rows = list(csv.DictReader(io.StringIO(comma_separated(speed_frame(parts)))))
    assert [row["part"] for row in rows] == ["training", "training", "memory"]
    assert rows[0]["ours"] == "1234.5"
    assert (rows[0]["ours_low"], rows[0]["peer_high"]) == ("1200.0", "410.0")
    assert rows[0]["agreement"] == "3e-08"
    assert rows[0]["note"] == "short on a small model"
