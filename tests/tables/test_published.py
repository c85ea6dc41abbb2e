"""Every number of the card's tables is kept as data, and the data says where it is from."""

import re
from collections import Counter

import pytest

from captionlab.tables import published

REVISION = "ad14b77f4cc9017d513173f3b340e735af02ef14"


@pytest.fixture(scope="module")
def card(repository):
    path = repository.parent / "shared" / "seeds" / "captionbert-8192-rotary.txt"
    if not path.is_file():
        pytest.skip(f"the card is not at {path}")
    return path.read_text(encoding="utf-8")


def table_rows(card):
    return [line.split("\t") for line in card.splitlines() if line.count("\t") >= 2]


def printed(table):
    return Counter(row["value"] for row in published.records(table))


def test_every_benchmark_number_is_kept(card):
    rows = [row for row in table_rows(card) if len(row) == 11 and row[1] in ("1", "2")]
    assert len(rows) == 6
    assert Counter(number for row in rows for number in row[2:]) == printed("benchmarks")


def test_every_development_number_is_kept(card):
    rows = [row for row in table_rows(card) if len(row) == 6 and row[2] in ("1", "2")]
    assert len(rows) == 6
    assert Counter(number for row in rows for number in row[3:]) == printed("development")


def test_every_geometry_number_is_kept(card):
    rows = [row for row in table_rows(card) if len(row) == 7 and row[1] in ("1", "2")]
    assert len(rows) == 12
    assert Counter(number for row in rows for number in row[3:]) == printed("geometry")


def test_every_verification_number_is_kept(card):
    rows = [row for row in table_rows(card) if len(row) == 6 and row[0].startswith(("Complete", "Default"))]
    kept = []
    for row in published.records("verification"):
        deltas = f"{row['max_sentence_delta']} / {row['max_token_delta']}"
        words = (f"{row['model']} / {row['load']}", row["transformers"], row["pytorch"], row["cases"])
        kept.append((*words, deltas, row["peak_gb"]))
    assert [tuple(row) for row in rows] == kept


def test_every_output_count_is_kept(card):
    shapes = [row for row in table_rows(card) if len(row) == 3 and row[0] != "Field"]
    counts = set(re.findall(r"\d+", " ".join(row[1] + row[2] for row in shapes))) - {"2"}
    kept = {row["value"] for row in published.records("counts")}
    assert counts <= kept


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("parameters_million", "A 54.1M-parameter"),
        ("release_rows", "trained on 4,000,000 paired"),
        ("larger_steps", "for 7,808 steps"),
        ("screen_steps", "1,952steps"),
        ("larger_presentations", "15,990,784 example presentations"),
        ("batch", "batch 2,048"),
        ("learning_rate", "peak LR6e-4"),
        ("floor", "cosine decay to1e-6"),
        ("lookup_loss", "Lookup loss weight0.1"),
        ("temperature", "InfoNCE at 0.07"),
        ("record_norm", "record-only norm 2.18"),
        ("screen_models", "for 18 screen models"),
        ("campaign_models", "for 24 trained models"),
        ("local_memory_bound", "stayed below 4.2 decimal GB"),
        ("memory_guard", "under an 18 GB guard"),
    ],
)
def test_counts_stand_in_the_text(card, name, words):
    assert words in card
    digits = words.replace(",", "")
    assert published.count(name).printed in digits


def test_pair_means_and_lookup_stand_in_the_text(card):
    for row in published.records("pair-means"):
        assert row["value"] in card
    plain = card.replace(",", "")
    for row in published.records("lookup"):
        assert row["value"] in plain


@pytest.mark.parametrize("table", published.TABLES)
def test_every_number_names_its_origin(table):
    rows = published.records(table)
    assert rows
    assert {(row["revision"], row["read"]) for row in rows} == {(REVISION, "2026-11-29")}
    assert all("captionbert-8192-rotary" in row["source"] for row in rows)


def test_one_refuses_an_ambiguous_question():
    with pytest.raises(LookupError, match="fits 54"):
        published.one("benchmarks")
    assert published.one("benchmarks", recipe="larger", option="key") is None
    found = published.one("benchmarks", recipe="larger", option="hierarchical", seed=2, suite="mean")
    assert found is not None and found.number == 0.5788
    assert found.half_unit == pytest.approx(0.00005)
