"""The crate: valid JSON-LD that names every artifact, inside the results root."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from rocrate.rocrate import ROCrate

from captionlab.__main__ import main
from captionlab.errors import CaptionlabError
from captionlab.provenance.census import read_census
from captionlab.provenance.crate import CRATE, write_workflow_copy


@pytest.fixture
def crate(campaign: Path, repository: Path) -> Path:
    words = [
        "--root",
        str(campaign),
        "--checkout",
        str(repository),
        "--metadata",
        str(campaign / "absent/metadata"),
    ]
    assert main(["write_crate", *words]) == 0
    return campaign


def test_every_artifact_is_a_file_with_size_and_digest(crate: Path) -> None:
    graph = json.loads((crate / CRATE).read_text())["@graph"]
    entities = {entity["@id"]: entity for entity in graph}
    for path, artifact in read_census(crate).artifacts.items():
        assert entities[path]["@type"] == "File"
        assert entities[path]["sha256"] == artifact.sha256
        assert entities[path]["contentSize"] == str(artifact.bytes)
    for name, entity in entities.items():
        kinds = entity["@type"] if isinstance(entity["@type"], list) else [entity["@type"]]
        if "File" in kinds:
            assert (crate / name).is_file()
            assert ".." not in name


def test_the_library_reads_it_back_as_a_run_of_a_snakemake_workflow(crate: Path) -> None:
    read = ROCrate(crate)
    assert read.mainEntity.id == "provenance/workflow/Snakefile"
    assert "snakemake" in read.mainEntity["programmingLanguage"].id
    (action,) = read.get_by_type("CreateAction")
    assert action["instrument"] is read.mainEntity
    assert len(action["result"]) >= len(read_census(crate).artifacts) - 1
    assert {profile.id for profile in read.root_dataset["conformsTo"]} == {
        "https://w3id.org/ro/wfrun/process/0.5",
        "https://w3id.org/ro/wfrun/workflow/0.5",
        "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
    }


def test_crate_is_no_artifact_of_the_census(crate: Path) -> None:
    before = (crate / CRATE).read_bytes()
    (crate / CRATE).unlink()
    words = [
        "--root",
        str(crate),
        "--checkout",
        str(Path.cwd()),
        "--metadata",
        str(crate / "absent/metadata"),
    ]
    assert main(["write_crate", *words]) == 0
    assert (crate / CRATE).read_bytes() == before


def test_checkout_without_snakefile_is_named(campaign: Path, tmp_path: Path) -> None:
    with pytest.raises(CaptionlabError, match="Snakefile is missing"):
        write_workflow_copy(campaign, tmp_path)


@pytest.mark.slow
def test_an_existing_validator_finds_nothing_required_missing(crate: Path) -> None:
    validator = shutil.which("rocrate-validator")
    if validator is None:
        pytest.skip("rocrate-validator (package roc-validator) is not installed")
    words = [
        validator,
        "--disable-color",
        "validate",
        str(crate),
        "--profile-identifier",
        "workflow-run-crate",
    ]
    done = subprocess.run(
        [*words, "--requirement-severity", "REQUIRED", "--no-paging"], capture_output=True, text=True
    )
    if "Max retries exceeded" in done.stdout or "urlopen error" in done.stdout:
        pytest.skip("rocrate-validator loads the JSON-LD context of RO-Crate 1.1 from the network")
    assert done.returncode == 0, done.stdout + done.stderr
