"""Tokenising and reading tokens back: equal ids and equal rows, and figures in the right places."""

import numpy as np
import pytest

from captionlab.speed import tokenising
from captionlab.speed.rows import part_json
from captionlab.targets.captions import caption_blocks


@pytest.fixture
def part(campaign_root, bench_spec):
    return tokenising.measure(bench_spec, campaign_root, 1)


def test_ids_and_rows_are_the_peers(part):
    padded, plain, store = part.rows
    assert padded.agreement == 0 and store.agreement == 0
    assert plain.ours == padded.ours


def test_rows_have_peers_units_and_one_goal(part, bench_spec):
    found = part_json(part, bench_spec)["rows"]
    assert [row["unit"] for row in found] == ["captions/s", "captions/s", "tokens/s"]
    assert [row["goal"] is not None for row in found] == [True, False, False]
    assert all(row["ratio"] > 0 for row in found)
    assert found[0]["size"].startswith("120 captions")


def test_captions_are_the_first_of_the_asked_chunk(campaign_root):
    (every,) = caption_blocks(campaign_root / "chunks" / "train-0" / "captions.parquet", 1000)
    assert tokenising.read_captions(campaign_root, "train-0", 7) == every[:7]
    assert tokenising.read_captions(campaign_root, "train-0", 10_000) == every


def test_other_numbers_of_ids_are_no_small_difference():
    with pytest.raises(ValueError, match="3 ids of ours, 2 of the peer's"):
        tokenising._difference(np.arange(3), np.arange(2))
