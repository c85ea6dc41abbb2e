"""Atomic files and canonical JSON."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from captionlab import files
from captionlab.errors import CaptionlabError, DamagedFileError, MissingFileError

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_canonical_json_reads_back_and_is_stable(value):
    text = files.canonical_json(value)
    assert json.loads(text) == value
    assert files.canonical_json(json.loads(text)) == text


@given(st.dictionaries(st.text(), st.integers(), min_size=2))
def test_canonical_json_forgets_key_order(value):
    turned = dict(reversed(list(value.items())))
    assert files.canonical_json(turned) == files.canonical_json(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_json_has_no_word_for_are_refused(value, tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        files.canonical_json({"x": value})
    with pytest.raises(ValueError, match="JSON"):
        files.write_json(tmp_path / "x.json", value)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_inside_atomic_path_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "value.json"
    files.write_text(path, "old")
    with pytest.raises(RuntimeError, match="halfway"), files.atomic_path(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError("halfway")
    assert [entry.name for entry in tmp_path.iterdir()] == ["value.json"]
    assert path.read_text() == "old"


def test_atomic_path_keeps_the_suffix_and_gives_plain_permissions(tmp_path):
    path = tmp_path / "deep" / "vectors.npy"
    with files.atomic_path(path) as temporary:
        assert temporary.suffix == ".npy"
        temporary.write_bytes(b"x")
    plain = tmp_path / "plain"
    plain.write_bytes(b"x")
    assert path.stat().st_mode == plain.stat().st_mode


def test_digests_are_sha256(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"abc" * 1_000_000)
    wanted = hashlib.sha256(b"abc" * 1_000_000).hexdigest()
    assert files.digest_entry(path) == {"sha256": wanted, "bytes": 3_000_000}


def test_errors_name_the_file(tmp_path):
    with pytest.raises(MissingFileError, match=r"nothing\.json"):
        files.read_json(tmp_path / "nothing.json")
    (tmp_path / "half.json").write_text('{"a": ')
    with pytest.raises(DamagedFileError, match=r"half\.json"):
        files.read_json(tmp_path / "half.json")
    with pytest.raises(MissingFileError, match="nothing"):
        files.sha256_file(tmp_path / "nothing")


@pytest.mark.parametrize("text", ["{", "[1]", "3", "'x'"])
def test_a_spec_is_one_json_object(text):
    with pytest.raises(CaptionlabError, match="--spec"):
        files.parse_spec(text)


def test_versions_say_absent():
    found = files.versions("numpy", "no-such-package-anywhere")
    assert found["no-such-package-anywhere"] == "absent"
    assert found["numpy"][0].isdigit()
