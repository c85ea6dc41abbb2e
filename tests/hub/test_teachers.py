"""Teachers from a hub by the name of a branch: the commit that it stood for is recorded and held to."""

import hashlib
import json
import shutil

import pytest
from tests.targets.conftest import tiny_state, write_captions, write_teacher_folder

REPO = "test/tiny-teacher"
FIT = {"fit": {"chunks": ["a", "b"], "rows": None}, "target_width": 8, "iterations": 5, "tolerance": 1e-9}


@pytest.fixture
def moved(hub, tmp_path):
    """Files of a teacher at two commits: the weights are the same, the config is not."""
    commits = []
    for name, changes in (("first", {}), ("second", {"layer_norm_eps": 1e-5})):
        write_teacher_folder(tmp_path / name, tiny_state(), **changes)
        commits.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    for chunk in ("a", "b"):
        write_captions(
            tmp_path / "chunks" / chunk, chunk, [f"a b c {'d e ' * (n % 4)}red" for n in range(40)]
        )
    return commits


def encode(commands, root, chunk, output="teachers", **changes):
    spec = {
        "name": "tiny",
        "kind": "hub",
        "repo": REPO,
        "revision": "main",
        "allow_floating": True,
        "ceiling": 12,
    }
    words = ["--chunk", root / "chunks" / chunk, "--state", root / "state" / chunk]
    words += ["--output-npy", root / output / f"tiny/{chunk}.npy"]
    words += ["--output-json", root / output / f"tiny/{chunk}.json"]
    return commands.run("encode_teacher", {"teacher": spec | changes, "chunk": chunk, "threads": 1}, *words)


def facts(root, chunk):
    return json.loads((root / f"teachers/tiny/{chunk}.json").read_text())


def test_the_commit_of_a_floating_teacher_is_recorded_and_its_move_is_seen(hub, commands, moved, tmp_path):
    first = hub.put(REPO, moved[0], "model")
    assert encode(commands, tmp_path, "a").code == 0
    # A job that was begun at one commit does not go on at another: here it ends before its files have their names.
    (tmp_path / "blocked").write_text("a file where a folder belongs")
    assert encode(commands, tmp_path, "b", output="blocked").code != 0
    second = hub.put(REPO, moved[1], "model")
    assert first != second
    refused = encode(commands, tmp_path, "b")
    assert "was begun with another source" in refused.reason
    assert not (tmp_path / "teachers/tiny/b.npy").exists()

    shutil.rmtree(tmp_path / "state")
    assert encode(commands, tmp_path, "b").code == 0
    digests = [{name: hashlib.sha256(data).hexdigest() for name, data in files.items()} for files in moved]
    common = {"kind": "hub", "repo": REPO, "requested": "main"}
    assert facts(tmp_path, "a")["source"] == {**common, "revision": first, "files": digests[0]}
    assert facts(tmp_path, "b")["source"] == {**common, "revision": second, "files": digests[1]}
    assert facts(tmp_path, "a")["weights_sha256"] == facts(tmp_path, "b")["weights_sha256"]

    spec = {"teachers": ["tiny"], "ridge": 1e-4, "threads": 1, **FIT}
    words = ["--embeddings", tmp_path / "teachers", "--output", tmp_path / "alignment.safetensors"]
    words += ["--output-json", tmp_path / "alignment.json"]
    outcome = commands.run("fit_alignment", spec, *words)
    assert outcome.code == 4
    assert "another commit of tiny: encode both again, and pin its revision" in outcome.reason
    assert not (tmp_path / "alignment.json").exists()


def test_a_pinned_teacher_s_source_names_no_branch(hub, commands, moved, tmp_path):
    commit = hub.put(REPO, moved[0], "model")
    assert encode(commands, tmp_path, "a", revision=commit, allow_floating=False).code == 0
    source = facts(tmp_path, "a")["source"]
    assert (source["revision"], "requested" in source) == (commit, False)
