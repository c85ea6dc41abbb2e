import json

import pytest

from captionlab.__main__ import main
from captionlab.errors import CaptionlabError
from captionlab.evaluation.leaderboard import model_revision
from captionlab.files import canonical_json, read_json, sha256_bytes, write_json

RUN = "larger/binding-whole/seed-3"


@pytest.fixture
def cache(world, tmp_path):
    """An mteb cache of one run whose suites carry the names of mteb's tasks."""
    evaluations, suites = tmp_path / "evaluation", tmp_path / "suites"
    assert main(world.arguments(evaluations / RUN)) == 0
    document = read_json(evaluations / RUN / "suites.json")
    document["suites"] = dict(zip(("STS-B", "STS16"), document["suites"].values(), strict=True))
    write_json(evaluations / RUN / "suites.json", document)
    local = {"sha256": sha256_bytes(b"local"), "source": {"kind": "directory"}}
    write_json(suites / "STS-B.json", local)
    write_json(suites / "STS16.json", {"sha256": "", "source": {"kind": "hub", "revision": "4d86"}})
    words = ["write_mteb", "--spec", canonical_json({"models": [RUN]}), "--evaluations", str(evaluations)]
    assert main([*words, "--suites", str(suites), "--output", str(tmp_path / "mteb")]) == 0
    return tmp_path / "mteb", document


def test_mteb_reads_the_files(cache, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder, document = cache
    from mteb.cache import ResultCache

    results = ResultCache(folder).load_results(validate_and_filter=False)
    (model,) = results.model_results
    assert model.model_name == "captionlab/larger-binding-whole-seed-3"
    scores = {result.task_name: result for result in model.task_results}
    assert set(scores) == {"STSBenchmark", "STS16"}
    assert scores["STS16"].dataset_revision == "4d86"
    assert scores["STSBenchmark"].dataset_revision == f"sha256-{sha256_bytes(b'local')}"
    for task, suite in (("STSBenchmark", "STS-B"), ("STS16", "STS16")):
        assert scores[task].get_score() == document["suites"][suite]["spearman"]


def test_mteb_reads_the_model_meta(cache):
    from mteb.models import ModelMeta

    folder, document = cache
    (path,) = folder.glob("results/*/*/model_meta.json")
    assert path.parent.name == document["model"]["identity"]
    content = json.loads(path.read_text())
    meta = ModelMeta.model_validate(content)
    # Pieces x width of the word table; width 16 and 23 pieces.
    assert meta.n_embedding_parameters == 23 * 16
    assert meta.n_parameters > meta.n_embedding_parameters
    assert (meta.max_tokens, meta.embed_dim) == (9, 12)
    index = read_json(folder / "index.json")
    assert sorted(file for file in index["files"]) == sorted(
        found.relative_to(folder).as_posix() for found in folder.glob("results/*/*/*.json")
    )


def test_revisions_stand_for_what_made_the_model():
    assert model_revision({"identity": "a" * 64}) == "a" * 40
    assert model_revision({"weights_sha256": "b" * 64}) == "b" * 40
    assert model_revision({"kind": "untrained", "seed": 2}) == "seed-2"
    with pytest.raises(CaptionlabError, match="neither identity, weights nor seed"):
        model_revision({"name": "x"})
