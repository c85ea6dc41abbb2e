"""Manifests: what is accepted, and 300 and more kinds of damage that are not."""

import copy
import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from captionlab.chunks.manifest import check_manifest, read_manifest, with_targets
from captionlab.chunks.store import open_chunk
from captionlab.errors import CaptionlabError, DamagedFileError, MissingFileError

WRONG_VALUES = [
    None,
    "x",
    "",
    -1,
    0,
    1.5,
    True,
    [],
    {},
    [1],
    {"a": 1},
    float("nan"),
    float("inf"),
    10**400,
    "é" * 5000,
]


def paths_of(value, path=()):
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from paths_of(value[key], (*path, key))


def changed(manifest, path, value=None, *, delete=False):
    if not path:
        return value
    damaged = copy.deepcopy(manifest)
    inner = damaged
    for key in path[:-1]:
        inner = inner[key]
    if delete:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return damaged


def refused(path, text):
    path.write_text(text, encoding="utf-8")
    try:
        read_manifest(path, targets=True)
    except DamagedFileError as error:
        assert "\n" not in str(error) and str(path) in str(error) and len(str(error)) < 1000
        return True
    return False


def test_structural_damage_is_refused(chunk, tmp_path):
    manifest = json.loads((chunk / "manifest.json").read_text())
    path = tmp_path / "damaged.json"
    kinds = accepted = 0
    for place in paths_of(manifest):
        optional = (place[:1] == ("versions",) and len(place) == 2) or place[:2] == ("targets", "teachers")
        damages = [(changed(manifest, place, delete=True), optional)] if place and place[-1] != 0 else []
        damages += [(changed(manifest, place, value), False) for value in WRONG_VALUES]
        for damaged, may_pass in damages:
            kinds += 1
            if not refused(path, json.dumps(damaged)):
                accepted += 1
                assert may_pass or plausible(place, damaged), (place, damaged)
    assert kinds - accepted > 300, (kinds, accepted)


def plausible(place, damaged):
    """Values that another true manifest could hold at this place."""
    value = damaged
    for key in place:
        value = value[key]
    name = place[-1]
    if place[0] in ("chunk", "source") or place[0] == "versions" or name == "teachers":
        return isinstance(value, str | dict)
    if name in ("alignment_sha256", "earlier", "inside", "over_128") or place[-2:-1] in (("norm",), ("one",)):
        return value is None or isinstance(value, int | float)
    return False


@pytest.mark.parametrize("key", ["rows", "tokens", "files", "source", "targets"])
def test_unknown_and_repeated_fields(chunk, tmp_path, key):
    manifest = json.loads((chunk / "manifest.json").read_text())
    assert refused(tmp_path / "m.json", json.dumps({**manifest, f"{key}_": 1}))
    assert not refused(tmp_path / "m.json", json.dumps(manifest))


def test_truncated_text_is_refused(chunk, tmp_path):
    text = (chunk / "manifest.json").read_text()
    for length in range(len(text) - 2):
        assert refused(tmp_path / "m.json", text[:length])


def test_strange_files_are_refused(chunk, tmp_path):
    path = tmp_path / "m.json"
    for text in (
        "",
        "null",
        "[]",
        "3",
        '"manifest"',
        "[" * 100_000,
        '{"rows": ' * 5000,
        "9" * 5000,
        "\x00" * 100,
    ):
        assert refused(path, text), text[:20]
    path.write_bytes(b"\xff\xfe" + (chunk / "manifest.json").read_bytes())
    with pytest.raises(DamagedFileError):
        read_manifest(path)
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(DamagedFileError):
        read_manifest(tmp_path / "folder.json")
    with pytest.raises(MissingFileError, match=r"none\.json is missing"):
        read_manifest(tmp_path / "none.json")


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_flipped_bytes_never_end_in_a_traceback(chunk, data):
    """A flipped digit of a mean cosine is a manifest like another; whatever describes the arrays is caught."""
    path = chunk / "manifest.json"
    original = path.with_name("captions.json").read_bytes()
    text = bytearray(data.draw(st.just(_manifest_bytes(chunk))))
    for _ in range(data.draw(st.integers(1, 3))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    before = json.loads(_manifest_bytes(chunk))
    try:
        path.write_bytes(text)
        store = open_chunk(chunk, verify=True)
        for key in ("rows", "tokens", "files"):
            assert store.manifest[key] == before[key] or _only_captions_differ(store.manifest, before, key)
    except CaptionlabError as error:
        assert "\n" not in str(error)
    finally:
        path.write_text(json.dumps(before))
    assert path.with_name("captions.json").read_bytes() == original


def _manifest_bytes(chunk):
    return json.dumps(json.loads((chunk / "manifest.json").read_text()), sort_keys=True).encode()


def _only_captions_differ(manifest, before, key):
    # captions.parquet is no array: its readers verify it.
    return key == "files" and all(
        manifest["files"][name] == before["files"][name] for name in before["files"] if name.endswith(".npy")
    )


def test_swapped_fields_are_refused(chunk, tmp_path):
    manifest = json.loads((chunk / "manifest.json").read_text())
    draw = random.Random(0)
    places = [place for place in paths_of(manifest) if place and place[0] not in ("source", "versions")]
    for _ in range(300):
        one, other = draw.sample(places, 2)
        values = [changed_value(manifest, place) for place in (one, other)]
        if type(values[0]) is type(values[1]) or one == other[: len(one)] or other == one[: len(other)]:
            continue
        damaged = changed(changed(manifest, one, values[1]), other, values[0])
        assert refused(tmp_path / "m.json", json.dumps(damaged)) or {int, float} == set(map(type, values))


def changed_value(manifest, place):
    for key in place:
        manifest = manifest[key]
    return manifest


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (("tokens", "mean"), 44.0, "tokens.mean is 44.0, by its other fields it is 44.2"),
        (("tokens", "p95"), 3.0, "tokens.p95 is 3.0"),
        (("tokens", "over_128"), 6, "tokens.over_128 is 6, by its other fields it is at most 5"),
        (("duplicates", "inside"), 6, "duplicates.inside is 6"),
        (("targets", "shape"), [4, 3], r"targets.shape is \[4, 3\], by its other fields it is of 5 rows"),
        (("targets", "dtype"), "float64", "targets.dtype: 'float32' was expected"),
        (("rows",), 5.0, r"rows: 5.0 is not of type 'integer'"),
        (("first_row_sha256",), "A" * 64, "first_row_sha256: .* does not match"),
        (("first_row_sha256",), "a" * 64 + "\n", "first_row_sha256: .*"),
    ],
)
def test_the_wrong_field_is_named(chunk, place, value, says):
    manifest = json.loads((chunk / "manifest.json").read_text())
    with pytest.raises(DamagedFileError, match=f"^m.json: {says}"):
        check_manifest(changed(manifest, place, value), "m.json")


def test_targets_are_asked_for_by_name(chunk):
    with pytest.raises(DamagedFileError, match=r"captions\.json has no `targets`"):
        read_manifest(chunk / "captions.json", targets=True)


def test_targets_need_their_file(chunk):
    record = read_manifest(chunk / "captions.json")
    targets = json.loads((chunk / "manifest.json").read_text())["targets"]
    with pytest.raises(DamagedFileError, match=r"files"):
        with_targets(record, targets)
    published = {
        **targets,
        "teachers": {},
        "alignment_sha256": None,
        "file": {"sha256": "0" * 64, "bytes": 188},
    }
    assert with_targets(record, published)["files"]["targets.npy"] == {"sha256": "0" * 64, "bytes": 188}
