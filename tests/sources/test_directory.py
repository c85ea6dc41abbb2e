"""Caption files: what is read, and what each kind of damage says."""

import gzip
import json
import re

import pytest

from captionlab.errors import CaptionlabError, DamagedFileError, MissingFileError
from captionlab.sources.directory import Caption, find_file, read_captions


def test_jsonl_keeps_text_and_image_and_ignores_the_rest(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text(
        '{"caption": " A “dog”\\nruns. ", "image": 7, "split": "val", "score": [1]}\n'
        '{"caption": "No image."}\r\n'
        '{"image": null, "caption": "Null image.\u2028one line"}\n',
        encoding="utf-8",
    )
    assert list(read_captions(path)) == [
        Caption(" A “dog”\nruns. ", "7"),
        Caption("No image.", None),
        Caption("Null image.\u2028one line", None),
    ]


@pytest.mark.parametrize("name", ["c.txt", "c.txt.gz"])
def test_text_file_holds_a_caption_a_line(tmp_path, name):
    data = 'One "quoted".\nTwo\x85still two.\r\nThree'.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    found = [caption.text for caption in read_captions(tmp_path / name)]
    assert found == ['One "quoted".', "Two\x85still two.", "Three"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"{", "line 2 is not JSON"),
        (b"", "line 2 is not JSON"),
        (b"[" * 100_000, "line 2 is not JSON"),
        (b'{"caption": ' + b"9" * 5000 + b"}", "line 2 is not JSON"),
        (b'["caption"]', "line 2 has no field `caption`"),
        (b'{"text": "A dog."}', "line 2 has no field `caption`"),
        (b'{"caption": 3}', "line 2: `caption` is a int"),
        (b'{"caption": null}', "line 2: `caption` is a NoneType"),
        (b'{"caption": " \\t "}', "line 2 holds an empty caption"),
        (b'{"caption": "A dog.", "image": [1]}', "line 2: `image` is a list"),
        (b'{"caption": "A dog.", "image": true}', "line 2: `image` is a bool"),
        (b'{"caption": "half \\ud83d"}', "line 2: `caption` holds half of a surrogate pair"),
        (b'{"caption": "caf\xe9"}', "line 2 is not UTF-8"),
    ],
)
def test_damage_names_file_and_line(tmp_path, line, says):
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"caption": "A dog."}\n' + line + b'\n{"caption": "A cat."}\n')
    with pytest.raises(DamagedFileError, match="^" + re.escape(f"{path} {says}")) as caught:
        list(read_captions(path))
    assert "\n" not in str(caught.value)


def test_an_empty_line_of_text_is_an_empty_caption(tmp_path):
    (tmp_path / "c.txt").write_text("One.\n\nThree.\n")
    with pytest.raises(DamagedFileError, match="line 2 holds an empty caption"):
        list(read_captions(tmp_path / "c.txt"))


@pytest.mark.parametrize("cut", [3, 40, -1])
def test_truncated_gzip_is_named(tmp_path, cut):
    path = tmp_path / "c.jsonl.gz"
    whole = gzip.compress(
        b"".join(json.dumps({"caption": f"A dog {n}."}).encode() + b"\n" for n in range(99))
    )
    path.write_bytes(whole[:cut])
    with pytest.raises(DamagedFileError, match=r"c\.jsonl\.gz is damaged gzip near line"):
        list(read_captions(path))


def test_flipped_gzip_bytes_never_end_in_a_traceback(tmp_path):
    path = tmp_path / "c.jsonl.gz"
    whole = gzip.compress(
        b"".join(json.dumps({"caption": f"A dog {n}."}).encode() + b"\n" for n in range(99))
    )
    damaged = 0
    for position in range(10, len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x5A]) + whole[position + 1 :])
        with pytest.raises(DamagedFileError):
            list(read_captions(path))
        damaged += 1
    assert damaged > 100


def test_other_formats_folders_and_absent_files_are_named(tmp_path):
    (tmp_path / "c.csv").write_text("caption\n")
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(CaptionlabError, match=r"c\.csv is in no known format: captions come as \.jsonl"):
        list(read_captions(tmp_path / "c.csv"))
    with pytest.raises(CaptionlabError, match=r"folder\.txt cannot be read"):
        list(read_captions(tmp_path / "folder.txt"))
    with pytest.raises(MissingFileError, match=r"folder .*nowhere is missing, it should hold c\.txt"):
        find_file(str(tmp_path / "nowhere"), "c.txt")
    with pytest.raises(MissingFileError, match=r"c\.txt is missing: put it there"):
        find_file(str(tmp_path), "c.txt")
