"""Reading a chunk: rows, padding, and every mismatch by its file."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from captionlab.chunks.store import open_chunk, pad_rows
from captionlab.errors import DamagedFileError, MissingFileError
from captionlab.files import digest_entry

from .conftest import ROWS


def test_rows_lengths_and_targets_by_hand(chunk):
    store = open_chunk(chunk, verify=True)
    assert len(store) == 5
    assert store.lengths(8192).tolist() == [5, 4, 6, 4, 202]
    assert store.lengths(5).tolist() == [5, 4, 5, 4, 5]
    assert [row.tolist() for row in store.rows([4, 0, 4, 2], 5)] == [
        [2, 5, 5, 5, 3], [2, 5, 6, 9, 3], [2, 5, 5, 5, 3], [2, 5, 6, 8, 3]
    ]  # fmt: skip
    assert [row.tolist() for row in store.rows(np.arange(5), 256)] == ROWS
    assert all(row.dtype == np.uint16 for row in store.rows(range(5), 2))
    targets = np.load(chunk / "targets.npy")
    assert np.array_equal(store.target_rows([3, 1, 3]), targets[[3, 1, 3]])
    assert store.rows([], 5) == [] and store.target_rows([]).shape == (0, 3)


def test_without_targets_the_captions_record_is_enough(chunk):
    (chunk / "manifest.json").unlink()
    (chunk / "targets.npy").unlink()
    store = open_chunk(chunk, verify=True, targets=False)
    assert store.targets is None and len(store.rows([0], 64)) == 1
    with pytest.raises(ValueError, match="without targets"):
        store.target_rows([0])
    with pytest.raises(MissingFileError, match=r"manifest\.json is missing"):
        open_chunk(chunk, verify=False)


@pytest.mark.parametrize("indices", [[-1], [5], [0, 7], [-9, 2]])
def test_rows_that_are_not_there_are_refused(chunk, indices):
    store = open_chunk(chunk, verify=False)
    with pytest.raises(IndexError, match="of a chunk of 5 rows"):
        store.rows(indices, 64)
    with pytest.raises(IndexError, match="of a chunk of 5 rows"):
        store.target_rows(indices)
    with pytest.raises(ValueError, match="ceiling 1 "):
        store.rows([0], 1)


def test_rows_do_not_write_through(chunk):
    store = open_chunk(chunk, verify=False)
    store.rows([4], 5)[0][:] = 9
    store.target_rows([0])[:] = 9
    open_chunk(chunk, verify=True)


def save(chunk, name, array, *, pinned):
    """Put another array in place; with `pinned` the manifest vouches for its bytes."""
    np.save(chunk / name, array)
    if pinned:
        manifest = json.loads((chunk / "manifest.json").read_text())
        manifest["files"][name] = digest_entry(chunk / name)
        (chunk / "manifest.json").write_text(json.dumps(manifest))


TOKENS, OFFSETS = np.zeros(221, "<u2"), np.array([0, 5, 9, 15, 19, 221])
MISMATCHES = [
    ("tokens.npy", TOKENS[:-1], r"holds uint16 \[220\], expected uint16 \[221\]"),
    ("tokens.npy", TOKENS.astype("<i2"), r"holds int16 \[221\], expected uint16 \[221\]"),
    ("tokens.npy", TOKENS.astype(">u2"), r"holds >u2 \[221\], expected uint16 \[221\]"),
    ("tokens.npy", TOKENS[:, None], r"holds uint16 \[221, 1\], expected uint16 \[221\]"),
    ("offsets.npy", OFFSETS[:-1], r"holds int64 \[5\], expected int64 \[6\]"),
    ("offsets.npy", OFFSETS.astype("<u8"), r"holds uint64 \[6\], expected int64 \[6\]"),
    ("offsets.npy", OFFSETS + 1, "runs from 1 to 222 in steps of at least 4, expected 0 to 221"),
    ("offsets.npy", np.array([0, 5, 4, 15, 19, 221]), "runs from 0 to 221 in steps of at least -1"),
    (
        "offsets.npy",
        np.array([0, 5, 6, 15, 19, 221]),
        "runs from 0 to 221 in steps of at least 1, expected 0 to 221 .* 2",
    ),
    ("targets.npy", np.zeros((5, 4), "<f4"), r"holds float32 \[5, 4\], expected float32 \[5, 3\]"),
    ("targets.npy", np.zeros((4, 3), "<f4"), r"holds float32 \[4, 3\], expected float32 \[5, 3\]"),
    ("targets.npy", np.zeros((5, 3), "<f8"), r"holds float64 \[5, 3\], expected float32 \[5, 3\]"),
]


@pytest.mark.parametrize(("name", "array", "says"), MISMATCHES)
@pytest.mark.parametrize("verify", [False, True])
def test_other_shapes_types_and_offsets_are_named(chunk, name, array, says, verify):
    save(chunk, name, array, pinned=True)
    with pytest.raises(DamagedFileError, match=re.escape(str(chunk / name)) + f" {says}"):
        open_chunk(chunk, verify=verify)


def test_other_lengths_of_the_same_total_are_found_when_verifying(chunk):
    save(chunk, "offsets.npy", np.array([0, 6, 9, 15, 19, 221]), pinned=True)
    open_chunk(chunk, verify=False)
    with pytest.raises(DamagedFileError, match=r"offsets\.npy gives token statistics"):
        open_chunk(chunk, verify=True)


@pytest.mark.parametrize("name", ["tokens.npy", "offsets.npy", "targets.npy"])
def test_every_flipped_byte_is_found_when_verifying(chunk, name):
    path = chunk / name
    whole = path.read_bytes()
    for position in range(0, len(whole), 7):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(DamagedFileError, match=re.escape(str(path)) + " has sha256 .* its manifest says"):
            open_chunk(chunk, verify=True)


@pytest.mark.parametrize("name", ["tokens.npy", "offsets.npy", "targets.npy"])
def test_cut_and_absent_files_are_named_without_verifying(chunk, name):
    whole = (chunk / name).read_bytes()
    for cut in (0, 5, 100, len(whole) - 1):
        (chunk / name).write_bytes(whole[:cut])
        with pytest.raises(DamagedFileError, match=f"{name} has {cut} bytes, its manifest says {len(whole)}"):
            open_chunk(chunk, verify=False)
    (chunk / name).unlink()
    with pytest.raises(MissingFileError, match=f"{name} is missing"):
        open_chunk(chunk, verify=False)


@pytest.mark.parametrize(
    "content",
    [b"PK\x03\x04" + b"\0" * 200, b"\x93NUMPY\x01\x00v\x00{'descr'" + b" " * 200, b"\x80\x04K\x01." * 50],
)
def test_files_that_are_no_array_are_named(chunk, content):
    (chunk / "tokens.npy").write_bytes(content)
    manifest = json.loads((chunk / "manifest.json").read_text())
    manifest["files"]["tokens.npy"] = digest_entry(chunk / "tokens.npy")
    (chunk / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DamagedFileError, match=r"tokens\.npy (is no array|holds an archive)"):
        open_chunk(chunk, verify=True)


@given(st.lists(st.lists(st.integers(1, 65_535), max_size=9), max_size=6), st.integers(0, 3))
def test_padding_keeps_every_row(rows, pad_id):
    ids, mask = pad_rows([np.array(row, np.uint16) for row in rows], pad_id)
    assert (ids.dtype, mask.dtype, ids.shape) == (np.int64, bool, mask.shape)
    assert ids.shape == (len(rows), max(map(len, rows), default=0))
    for row, padded, real in zip(rows, ids, mask, strict=True):
        assert padded[real].tolist() == row
        assert real.tolist() == [True] * len(row) + [False] * (len(padded) - len(row))
        assert (padded[~real] == pad_id).all()
