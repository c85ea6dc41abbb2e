"""Each stage's peak in a process of its own: stages feed each other, work on every row, and say their growth."""

import numpy as np
import pytest

from captionlab.chunks.store import open_chunk
from captionlab.errors import CaptionlabError
from captionlab.speed import memory, memory_child
from captionlab.speed.children import peak_bytes, run_child
from captionlab.speed.rows import part_json


@pytest.mark.slow
def test_every_stage_has_a_row_of_every_size(campaign_root, bench_spec):
    part = memory.measure(bench_spec, campaign_root, 1)
    rows = part_json(part, bench_spec)["rows"]
    assert [(row["what"], row["size"]) for row in rows] == [
        (f"memory: {stage.what}", f"{size} rows") for stage in memory.SHOWN.values() for size in (100, 300)
    ]
    assert all(row["unit"] == "MB" and row["less_is_better"] and row["ours"]["median"] > 10 for row in rows)
    assert all("bytes a row from 100 to 300 rows" in row["note"] for row in rows[1::2])
    assert [row["what"] for row in rows if row["goal"]] == ["memory: writing and tokenising a chunk"]


def test_a_child_reports_its_own_peak_not_its_parents(campaign_root, tmp_path):
    held = np.ones(40_000_000)
    figures = run_child("captionlab.speed.memory_child", "bootstrap", "50", str(tmp_path), threads=1)
    assert figures["before"] <= figures["peak"] < held.nbytes < peak_bytes()


def test_a_child_that_fails_is_named_with_its_last_line(tmp_path):
    with pytest.raises(CaptionlabError, match=r"memory_child nothing 5 .* ended with 1: KeyError: 'nothing'"):
        run_child("captionlab.speed.memory_child", "nothing", "5", str(tmp_path), threads=1)


def test_stages_leave_each_other_a_chunk_with_targets(campaign_root, tmp_path):
    vocabulary = (campaign_root / "tokenizer" / "vocab.txt").read_bytes()
    (tmp_path / "vocab.txt").write_bytes(vocabulary)
    for stage, make in memory_child.STAGES.items():
        make(70, tmp_path)()
        assert (tmp_path / "suite.tsv").exists() is False, stage
    store = open_chunk(tmp_path / "chunk", verify=True)
    assert len(store) == 70
    assert store.target_rows([69]).shape == (1, memory_child.WIDTH)
    assert (tmp_path / "alignment.safetensors").is_file()


def test_captions_are_seeded_and_of_many_lengths():
    texts = list(memory_child.caption_texts(500))
    lengths = [len(text.split()) for text in texts]
    assert len(texts) == 500 and texts == list(memory_child.caption_texts(500))
    assert 1 <= min(lengths) < max(lengths) <= memory_child.LONGEST_CAPTION
    assert len(set(lengths)) > 20


def test_growth_is_bytes_a_row():
    assert memory.growth(1000.0, 9000.0, [10, 50, 110]) == 80.0
    assert memory.growth(1000.0, 1000.0, [10]) is None
