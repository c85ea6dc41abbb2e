"""Caption sources: chunks of a folder of files, and of the scene grammar."""

import gzip
import json
from collections import Counter
from itertools import chain

import pytest

from captionlab.errors import ConfigError, DamagedFileError, MissingFileError
from captionlab.files import sha256_file
from captionlab.sources.captions import open_captions, text_key

REAL = {"coco-val2017.jsonl.gz": 25_014, "dpg-bench.jsonl.gz": 1_065, "imageinwords.jsonl.gz": 2_812}


@pytest.fixture
def folder(tmp_path):
    """Two files: 30 captions of 10 images, and 20 lines of text, of which three stand in the first file too."""
    lines = [json.dumps({"caption": f"Picture {n // 3}, view {n % 3}.", "image": n // 3}) for n in range(30)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    shared = [f"Picture {n}, view 0." for n in range(3)]
    with gzip.open(tmp_path / "b.txt.gz", "wt") as handle:
        handle.write("\n".join([*shared, *(f"Line {n}." for n in range(17))]) + "\n")
    return tmp_path


def source_of(folder, chunks, name, **more):
    return {
        "kind": "directory", "path": str(folder), "seed": 0,
        "chunks": [[chunk, files] for chunk, files in chunks.items()], "files": chunks[name], **more,
    }  # fmt: skip


def texts_of(folder, chunks, name, **more):
    opened = open_captions(name, source_of(folder, chunks, name, **more))
    texts = [caption.text for caption in opened.captions]
    assert len(texts) == opened.rows
    return texts


def test_chunks_share_no_image_and_no_row_and_files_are_mixed_evenly(folder):
    chunks = {
        "train": {"a.jsonl": 12, "b.txt.gz": 6},
        "dev": {"a.jsonl": 9},
        "test": {"a.jsonl": 9, "b.txt.gz": 14},
    }
    texts = {name: texts_of(folder, chunks, name) for name in chunks}
    assert Counter(chain.from_iterable(texts.values())) == Counter(
        [f"Picture {n // 3}, view {n % 3}." for n in range(30)]
        + [f"Picture {n}, view 0." for n in range(3)]
        + [f"Line {n}." for n in range(17)]
    )
    images = [{t.split(",")[0] for t in texts[name] if "view 1" in t or "view 2" in t} for name in chunks]
    assert len(set.union(*images)) == sum(map(len, images)) == 10
    # 12 rows of one file and 6 of the other: each third of the chunk holds 4 and 2.
    mixed = list(open_captions("train", source_of(folder, chunks, "train")).captions)
    assert [sum(c.image is not None for c in mixed[start : start + 6]) for start in (0, 6, 12)] == [4, 4, 4]


def test_rows_keep_their_file_order(folder):
    texts = texts_of(folder, {"all": {"b.txt.gz": 20}}, "all")
    assert texts == [*(f"Picture {n}, view 0." for n in range(3)), *(f"Line {n}." for n in range(17))]


def test_record_names_digests_and_rows_and_no_folder(folder):
    record = open_captions("x", source_of(folder, {"x": {"a.jsonl": 6, "b.txt.gz": 0}}, "x")).record
    size = (folder / "a.jsonl").stat().st_size
    entry = {"sha256": sha256_file(folder / "a.jsonl"), "bytes": size, "rows": 6}
    assert record == {"kind": "directory", "seed": 0, "files": {"a.jsonl": entry}}


def test_captions_of_earlier_chunks_are_counted_once_with_the_later(folder):
    chunks = {"first": {"a.jsonl": 30}, "second": {"b.txt.gz": 20}}
    earlier = {name: open_captions(name, source_of(folder, chunks, name)).earlier for name in chunks}
    assert earlier == {"first": 0, "second": 3}


def test_a_chunk_declared_later_leaves_a_chunk_as_it_is(folder):
    chunks = {"first": {"a.jsonl": 9}, "second": {"a.jsonl": 9, "b.txt.gz": 10}}
    more = {**chunks, "third": {"a.jsonl": 12, "b.txt.gz": 10}}
    for name in chunks:
        before, after = (open_captions(name, source_of(folder, c, name)) for c in (chunks, more))
        assert list(before.captions) == list(after.captions)
        assert (before.record, before.earlier) == (after.record, after.earlier)


def test_digests_are_checked(folder):
    chunks = {"x": {"a.jsonl": 6}}
    right = sha256_file(folder / "a.jsonl")
    assert len(texts_of(folder, chunks, "x", digests={"a.jsonl": right})) == 6
    with pytest.raises(DamagedFileError, match=f"a.jsonl has sha256 {right}, pinned is {'0' * 64}"):
        texts_of(folder, chunks, "x", digests={"a.jsonl": "0" * 64})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "hbu"}, "source.kind is 'hbu': the kinds are directory, hub, scenes"),
        ({"kind": None}, "source.kind is None: give a text"),
        ({"seed": -1}, "source.seed is -1: give 0 or more"),
        ({"seed": True}, "source.seed is True: give a whole number"),
        ({"path": 3}, "source.path is 3: give a text"),
        (
            {"files": {"a.jsonl": 7}},
            "source.files is {'a.jsonl': 7}, but source.chunks gives x {'a.jsonl': 6}",
        ),
        ({"chunks": [["y", {"a.jsonl": 6}]]}, "source.chunks does not name chunk 'x': only ['y']"),
        ({"chunks": ["x"]}, "source.chunks holds 'x': give pairs"),
        ({"chunks": [["x", {"a.jsonl": "6"}]]}, "source.chunks.x.a.jsonl is '6': give a whole number"),
        ({"chunks": [["x", {}]], "files": {}}, "source.files asks for no captions for chunk x"),
        ({"digests": []}, "source.digests is []: give a mapping"),
    ],
)
def test_wrong_fields_are_named(folder, change, says):
    with pytest.raises(ConfigError) as caught:
        open_captions("x", {**source_of(folder, {"x": {"a.jsonl": 6}}, "x"), **change})
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize("source", [None, [], "directory", {}])
def test_a_source_that_is_none_is_named(source):
    with pytest.raises(ConfigError, match=r"^source"):
        open_captions("x", source)


def test_missing_files_are_named(folder):
    chunks = {"x": {"c.jsonl": 6}}
    with pytest.raises(MissingFileError, match=r"c\.jsonl is missing: put it there"):
        open_captions("x", source_of(folder, chunks, "x"))


def test_scene_captions_pass_through():
    source = {"kind": "scenes", "seed": 3, "first": 100, "rows": 50}
    opened = open_captions("x", source)
    texts = [caption.text for caption in opened.captions]
    assert len(texts) == len(set(texts)) == opened.rows == 50
    assert opened.record == source
    assert opened.earlier is None


def test_real_files_split_into_whole_images(shared_data):
    chunks = {
        "development": {
            "coco-val2017.jsonl.gz": 1_000,
            "dpg-bench.jsonl.gz": 100,
            "imageinwords.jsonl.gz": 250,
        },
        "train-0": {"coco-val2017.jsonl.gz": 9_600, "dpg-bench.jsonl.gz": 400, "imageinwords.jsonl.gz": 700},
        "train-1": {"coco-val2017.jsonl.gz": 12_802, "dpg-bench.jsonl.gz": 500, "imageinwords.jsonl.gz": 701},
    }
    images = {}
    for name, files in chunks.items():
        source = source_of(shared_data / "captions", chunks, name)
        found = list(open_captions(name, source).captions)
        assert len(found) == sum(files.values())
        images[name] = {caption.image for caption in found}
    assert not images["development"] & images["train-0"]
    assert not images["train-0"] & images["train-1"]
    assert not images["development"] & images["train-1"]


def test_real_files_whole_have_the_published_rows_and_duplicates(shared_data):
    opened = open_captions("all", source_of(shared_data / "captions", {"all": REAL}, "all"))
    captions = list(opened.captions)
    assert len(captions) == sum(REAL.values())
    assert all(isinstance(caption.image, str) for caption in captions)
    # Unique captions of the three files by SOURCES.md: 24,789, 2,804 and (unstated) 1,065 at most.
    assert 24_789 + 2_804 <= len({text_key(c.text) for c in captions}) <= 24_789 + 2_804 + 1_065
