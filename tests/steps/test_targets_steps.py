"""fit_alignment and build_targets as commands: the files they write and the pairings they refuse."""

import json

import numpy as np
import pytest
from tests.targets.conftest import write_captions

from captionlab.__main__ import main
from captionlab.chunks.store import open_chunk
from captionlab.files import canonical_json, digest_entry, read_json, sha256_file, write_json
from captionlab.targets.embeddings import fit_reader, open_chunk_embeddings

ROWS = {"c0": 90, "c1": 60}
SPEC = {
    "teachers": ["one", "two"],
    "fit": {"chunks": ["c0"], "rows": None},
    "target_width": 6,
    "iterations": 20,
    "tolerance": 1e-9,
    "ridge": 1e-4,
    "threads": 1,
}


def put_embeddings(root, teacher, chunk, vectors, **changes):
    path = root / "teachers" / teacher / f"{chunk}.npy"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, vectors.astype(np.float32))
    facts = {
        "teacher": teacher,
        "chunk": chunk,
        "rows": len(vectors),
        "width": vectors.shape[1],
        "weights_sha256": f"{teacher:0>64}",
        "captions_sha256": sha256_file(root / "chunks" / chunk / "captions.parquet"),
        "files": {path.name: digest_entry(path)},
    }
    write_json(path.with_suffix(".json"), facts | changes)


@pytest.fixture
def root(tmp_path):
    random = np.random.default_rng(0)
    mixing = {"one": random.normal(size=(6, 6)), "two": random.normal(size=(6, 6))}
    for chunk, rows in ROWS.items():
        write_captions(
            tmp_path / "chunks" / chunk, chunk, [f"a b {'c ' * (row % 7)}{row}" for row in range(rows)]
        )
        facts = random.normal(size=(rows, 6))
        for teacher, matrix in mixing.items():
            put_embeddings(tmp_path, teacher, chunk, facts @ matrix + 0.1 * random.normal(size=(rows, 6)) + 1)
    return tmp_path


def fit(root, out="teachers", **changes):
    return main(
        [
            "fit_alignment",
            "--spec",
            canonical_json(SPEC | changes),
            "--embeddings",
            f"{root}/teachers",
            "--output",
            f"{root}/{out}/alignment.safetensors",
            "--output-json",
            f"{root}/{out}/alignment.json",
        ]
    )


def build(root, chunk, *extra, **changes):
    spec = {
        "chunk": chunk,
        "kind": "consensus",
        "target_width": 6,
        "teachers": ["one", "two"],
        "threads": 1,
    } | changes
    paths = ["--embeddings", f"{root}/teachers", "--alignment", f"{root}/teachers/alignment.safetensors"]
    return main(
        ["build_targets", "--spec", canonical_json(spec), "--chunk", f"{root}/chunks/{chunk}", *paths, *extra]
    )


def test_targets_are_unit_rows_with_a_manifest_that_opens(root):
    assert fit(root) == 0
    assert build(root, "c1") == 0
    store = open_chunk(root / "chunks/c1", verify=True)
    norms = np.linalg.norm(store.targets.astype(np.float64), axis=1)
    assert np.allclose(norms, 1, atol=1e-6)
    targets = store.manifest["targets"]
    assert targets["shape"] == [60, 6]
    assert targets["alignment_sha256"] == sha256_file(root / "teachers/alignment.safetensors")
    assert targets["norm"] == pytest.approx({"min": norms.min(), "mean": norms.mean(), "max": norms.max()})
    for row in targets["teachers"].values():
        assert row["cosine_after"] > 0.95
    # The manifest's cosine of the frame teacher, from the files themselves.
    raw = np.load(root / "teachers/one/c1.npy").astype(np.float64)
    cosine = np.mean(np.sum(raw * store.targets, axis=1) / np.linalg.norm(raw, axis=1))
    assert targets["teachers"]["one"]["cosine_before"] == pytest.approx(cosine, abs=1e-7)


def test_the_same_bytes_again(root):
    for out in ("first", "second"):
        assert fit(root, out) == 0
    for name in ("alignment.safetensors", "alignment.json"):
        assert (root / "first" / name).read_bytes() == (root / "second" / name).read_bytes()
    assert fit(root) == 0
    files = [root / "chunks/c0/targets.npy", root / "chunks/c0/manifest.json"]
    assert build(root, "c0") == 0
    before = [path.read_bytes() for path in files]
    assert build(root, "c0") == 0
    assert [path.read_bytes() for path in files] == before


def test_alignment_json_says_what_it_rests_on(root):
    assert fit(root, fit={"chunks": ["c0", "c1"], "rows": 40}) == 0
    facts = read_json(root / "teachers/alignment.json")
    assert facts["fit"] == {"rows": 80, "chunks": {"c0": 40, "c1": 40}}
    assert set(facts["inputs"]) == {"one/c0.npy", "one/c1.npy", "two/c0.npy", "two/c1.npy"}
    assert facts["inputs"]["two/c1.npy"] == sha256_file(root / "teachers/two/c1.npy")
    assert facts["converged"] is True
    assert facts["frame"] == "one"


@pytest.mark.parametrize("wanted", [None, 7, 9000])
def test_the_fit_set_is_the_same_rows_of_every_teacher(root, wanted):
    # More rows than one block of 8,192, so that a block's offset matters.
    vectors = np.arange(40_000, dtype=np.float64).reshape(20_000, 2)
    put_embeddings(root, "one", "c0", vectors)
    put_embeddings(root, "two", "c0", -vectors)
    opened = open_chunk_embeddings(root / "teachers", ["one", "two"], "c0")
    read, rows = fit_reader({"c0": opened}, wanted)
    expected = vectors if wanted is None else vectors[np.arange(wanted) * 20_000 // wanted]
    assert np.array_equal(np.vstack(list(read("one"))), expected)
    assert np.array_equal(np.vstack(list(read("two"))), -expected)
    assert rows == {"c0": len(expected)}


def test_too_few_rows_are_said_or_refused(root, capsys):
    assert fit(root, fit={"chunks": ["c1"], "rows": 61}) == 2
    assert "chunk c1 has 60" in capsys.readouterr().err
    assert fit(root, fit={"chunks": ["c1"], "rows": 5}) == 0
    assert "rank-deficient" in capsys.readouterr().err


def refused(capsys, code, *parts):
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("captionlab ")]
    assert code == 4
    assert len(lines) == 1
    for part in parts:
        assert part in lines[0]


def test_another_number_of_rows_is_refused(root, capsys):
    assert fit(root) == 0
    for teacher in ("one", "two"):
        put_embeddings(root, teacher, "c1", np.ones((59, 6)))
    refused(capsys, build(root, "c1"), "c1.npy has 59 rows", "captions.json 60")
    assert not (root / "chunks/c1/manifest.json").exists()


def test_captions_of_another_digest_are_refused(root, capsys):
    assert fit(root) == 0
    write_captions(root / "chunks/c1", "c1", [f"b {row}" for row in range(60)])
    refused(capsys, build(root, "c1"), "one/c1.npy has 60 rows", "captions.json 60 of")


def test_teachers_of_different_captions_are_not_fitted(root, capsys):
    put_embeddings(root, "two", "c0", np.ones((90, 6)), captions_sha256="f" * 64)
    refused(capsys, fit(root), "one/c0.npy", "two/c0.npy")


def test_altered_embeddings_are_refused(root, capsys):
    vectors = np.load(root / "teachers/one/c1.npy")
    vectors[3, 3] += 1
    np.save(root / "teachers/one/c1.npy", vectors)
    assert fit(root) == 0
    refused(capsys, build(root, "c1"), "one/c1.npy has another sha256")


def test_an_alignment_of_other_weights_is_refused(root, capsys):
    assert fit(root) == 0
    put_embeddings(root, "two", "c1", np.load(root / "teachers/two/c1.npy"), weights_sha256="e" * 64)
    refused(capsys, build(root, "c1"), "another weights_sha256 of two")


def source_of(revision):
    return {"kind": "hub", "repo": "a/b", "revision": revision, "requested": "main"}


def test_a_teacher_that_moved_between_chunks_is_refused(root, capsys):
    for chunk, revision in (("c0", "a"), ("c1", "b")):
        vectors = np.load(root / f"teachers/two/{chunk}.npy")
        put_embeddings(root, "two", chunk, vectors, source=source_of(revision * 40))
    refused(
        capsys, fit(root, fit={"chunks": ["c0", "c1"], "rows": None}), "two/c0.npy", "two/c1.npy", "commit"
    )
    assert not (root / "teachers/alignment.json").exists()
    assert fit(root) == 0
    fitted = read_json(root / "teachers/alignment.json")["teachers"]
    assert fitted["two"]["source"] == source_of("a" * 40)
    refused(capsys, build(root, "c1"), "another source of two", "two/c1.npy")
    assert build(root, "c0") == 0


def test_an_alignment_of_another_width_is_refused(root, capsys):
    assert fit(root) == 0
    refused(capsys, build(root, "c1", target_width=5), "6 wide", "targets.width is 5")


def published(root, path, **changes):
    spec = {"chunk": "c1", "kind": "published", "target_width": 3} | changes
    return main(
        [
            "build_targets",
            "--spec",
            canonical_json(spec),
            "--chunk",
            f"{root}/chunks/c1",
            "--published",
            str(path),
        ]
    )


def test_published_vectors_keep_their_rows_and_state_their_norms(root):
    vectors = np.random.default_rng(1).normal(size=(60, 3))
    np.save(root / "vectors.npy", vectors)
    assert published(root, root / "vectors.npy", source={"sha256": sha256_file(root / "vectors.npy")}) == 0
    store = open_chunk(root / "chunks/c1", verify=True)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    assert np.allclose(store.targets, vectors / norms, atol=1e-7)
    source = store.manifest["targets"]["source"]
    assert source["sha256"] == sha256_file(root / "vectors.npy")
    assert source["norm"] == pytest.approx({"min": norms.min(), "mean": norms.mean(), "max": norms.max()})
    assert store.manifest["targets"]["alignment_sha256"] is None


def test_published_vectors_of_another_count_width_or_digest_are_refused(root, capsys):
    np.save(root / "vectors.npy", np.ones((61, 3)))
    refused(capsys, published(root, root / "vectors.npy"), "vectors.npy has 61 rows", "has 60")
    np.save(root / "vectors.npy", np.ones((60, 4)))
    refused(capsys, published(root, root / "vectors.npy"), "4 wide", "targets.width is 3")
    np.save(root / "vectors.npy", np.zeros((60, 3)))
    refused(capsys, published(root, root / "vectors.npy"), "row 0 is zero")
    code = published(root, root / "vectors.npy", source={"sha256": "0" * 64})
    refused(capsys, code, "sha256")
    assert not (root / "chunks/c1/manifest.json").exists()


def test_a_kind_without_its_paths_is_one_clear_line(root, capsys):
    spec = json.dumps({"chunk": "c1", "kind": "published", "target_width": 3})
    assert main(["build_targets", "--spec", spec, "--chunk", f"{root}/chunks/c1"]) == 2
    assert "--published" in capsys.readouterr().err
