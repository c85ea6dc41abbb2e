import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from captionlab.errors import DamagedFileError, MissingFileError
from captionlab.files import digest_entry, write_json
from captionlab.provenance.identity import differences, identity, mismatches, tensors_sha256

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9, allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=8,
)
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
SPECS = st.dictionaries(st.sampled_from("abcd"), JSON, max_size=4)


@UNHURRIED
@given(SPECS, SPECS)
def test_identities_differ_exactly_where_a_difference_is_named(old, new):
    same = identity(old, "", {}) == identity(new, "", {})
    assert same == (differences(old, new) == [])


@UNHURRIED
@given(SPECS)
def test_key_order_is_no_difference(spec):
    turned = json.loads(json.dumps({key: spec[key] for key in reversed(list(spec))}))
    assert identity(spec, "c", {"x": 1}) == identity(turned, "c", {"x": 1})


def test_swapped_values_a_new_key_and_a_lost_one_are_named():
    old = {"training": {"clip": 1.0, "rate": 0.1}, "seed": 1, "gone": None}
    new = {"training": {"clip": 0.1, "rate": 1.0}, "seed": 1, "heads": [0]}
    assert differences(old, new) == [
        "gone: null -> absent",
        "heads: absent -> [0]",
        "training.clip: 1.0 -> 0.1",
        "training.rate: 0.1 -> 1.0",
    ]


def test_code_and_inputs_are_part_of_it():
    base = identity({"a": 1}, "code", {"manifest": "x"})
    assert base != identity({"a": 1}, "other", {"manifest": "x"})
    assert base != identity({"a": 1}, "code", {"manifest": "y"})


def _finished(folder):
    (folder / "final.bin").write_bytes(b"weights")
    write_json(
        folder / "run.json",
        {"identity": "i" * 64, "outputs": {"final.bin": digest_entry(folder / "final.bin")}},
    )
    return folder / "run.json"


def test_a_run_is_complete_only_while_its_files_match(tmp_path):
    assert mismatches(tmp_path / "run.json", "i" * 64) is None
    record = _finished(tmp_path)
    assert mismatches(record, "i" * 64) == []
    assert "belongs to identity iiiiiiiiiiii, not kkkkkkkkkkkk" in mismatches(record, "k" * 64)[0]
    (tmp_path / "final.bin").write_bytes(b"Weights")
    assert mismatches(record, "i" * 64) == [f"{tmp_path / 'final.bin'} does not match run.json"]
    (tmp_path / "final.bin").unlink()
    assert mismatches(record, "i" * 64) == [f"{tmp_path / 'final.bin'} does not match run.json"]


@pytest.mark.parametrize(
    "text", ["", "[]", "null", '{"identity": 3}', '{"identity": "i", "outputs": 4}', "9" * 5000]
)
def test_a_damaged_record_is_a_mismatch(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    assert mismatches(tmp_path / "run.json", "i") == [f"{tmp_path / 'run.json'} is damaged"]


@pytest.mark.parametrize("data", [b"", b"12345678", b"\x02" + b"\0" * 7 + b"[]", b"\xff" * 40])
def test_what_is_no_safetensors_file_is_refused(tmp_path, data):
    (tmp_path / "x.safetensors").write_bytes(data)
    with pytest.raises(DamagedFileError, match="is not a safetensors file"):
        tensors_sha256(tmp_path / "x.safetensors")
    with pytest.raises(MissingFileError):
        tensors_sha256(tmp_path / "y.safetensors")
