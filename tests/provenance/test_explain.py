"""A cell's chain names everything it rests on, and what was altered in it."""

from pathlib import Path

import pytest

from captionlab.errors import CaptionlabError
from captionlab.files import read_json
from captionlab.provenance.census import read_census
from captionlab.provenance.explain import chain_text, explain_cell, prov_document

CELL = "larger/fancy/seed-2:beta"


def test_chain_walks_from_the_number_to_the_source(finished: Path) -> None:
    chain = explain_cell(finished, read_census(finished), CELL)
    assert (
        chain.value
        == read_json(finished / "evaluation/larger/fancy/seed-2/suites.json")["suites"]["beta"]["spearman"]
    )
    assert chain.pointer == "/suites/beta/spearman"
    paths = [link.path for link in chain.links]
    for path in (
        "evaluation/larger/fancy/seed-2/suites.json",
        "runs/larger/fancy/seed-2/final.safetensors",
        "runs/larger/fancy/seed-2/run.json",
        "chunks/train-0/manifest.json",
        "suites/beta.json",
        "tokenizer/manifest.json",
    ):
        assert path in paths
    assert not [path for path in paths if "seed-1" in path or "plain" in path]
    text = chain_text(chain)
    record = read_json(finished / "runs/larger/fancy/seed-2/run.json")
    assert f"identity {record['identity'][:12]}, seed 2" in text
    assert "source kind scenes, seed 0" in text
    assert "ALTERED" not in text
    assert "suites/alpha.json" not in text
    assert len(text.splitlines()) < 20
    whole = chain_text(chain, full=True)
    assert all(path in whole for path in paths)


def test_altered_link_is_marked(campaign: Path) -> None:
    (campaign / "runs/larger/fancy/seed-2/final.safetensors").write_bytes(b"x")
    marked = [link.path for link in explain_cell(campaign, read_census(campaign), CELL).links if link.fault]
    assert marked == ["runs/larger/fancy/seed-2/final.safetensors"]


def test_prov_document_is_closed(finished: Path) -> None:
    """Every relation of the PROV-JSON points at an entity or activity that it holds."""
    prov = prov_document(explain_cell(finished, read_census(finished), CELL))
    for relation in prov["wasDerivedFrom"].values():
        assert relation["prov:generatedEntity"] in prov["entity"]
        assert relation["prov:usedEntity"] in prov["entity"]
    for relation in prov["wasGeneratedBy"].values():
        assert relation["prov:entity"] in prov["entity"]
        assert relation["prov:activity"] in prov["activity"]
    assert f"cell:{CELL}" in prov["entity"]
    assert "train_run" in {activity["prov:label"] for activity in prov["activity"].values()}


def test_unknown_cell_is_answered_with_the_nearest(finished: Path) -> None:
    with pytest.raises(CaptionlabError, match="larger/fancy/seed-2:beta"):
        explain_cell(finished, read_census(finished), "larger/fancy/seed-2:beto")
