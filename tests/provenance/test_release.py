"""A published model's readings and table in the census, and what the audit says when one of them is damaged."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from captionlab.__main__ import main
from captionlab.errors import MissingFileError
from captionlab.evaluation.spearman import spearman
from captionlab.files import canonical_json, read_json, sha256_file, write_json
from captionlab.provenance.audit import Audit, audit
from captionlab.provenance.census import read_census
from captionlab.provenance.fingerprint import fingerprints

from .conftest import SUITES, census_of

READINGS = ["suites", "geometry", "serving"]
TABLE = {
    "campaign": "toy",
    "suites": list(SUITES),
    "development_suite": "dev",
    "card": None,
    "readings": READINGS,
}
MADE = [f"release/{name}" for name in ("suites.json", "cosines.safetensors", "geometry.json", "serving.json")]
TABLES = ["tables/release.md", "tables/release.csv"]
ROWS = [
    {
        "paths": MADE,
        "rule": "evaluate_release",
        "parents": ["chunks/train-0/manifest.json", *(f"suites/{name}.json" for name in (*SUITES, "dev"))],
        "optional": True,
    },
    {
        "paths": TABLES,
        "rule": "render_release",
        "parents": [path for path in MADE if path.endswith(".json")],
        "optional": True,
    },
]


def render(root: Path) -> None:
    words = ["--spec", canonical_json(TABLE), "--root", str(root), "--output", str(root / TABLES[0])]
    assert main(["render_release", *words]) == 0


@pytest.fixture
def released(campaign: Path, package: Path) -> Path:
    """The campaign with a published model that was read: scores of three suites, whose mean is of the two tested."""
    random = np.random.default_rng(9)
    folder = campaign / "release"
    folder.mkdir()
    cosines = {name: random.random(12) for name in (*SUITES, "dev")}
    save_file(cosines, folder / "cosines.safetensors")
    entries = {}
    for name, found in cosines.items():
        rows = (campaign / f"suites/{name}.tsv").read_text().splitlines()[1:]
        score = spearman(found, [float(row.split("\t")[1]) for row in rows])
        role = "development" if name == "dev" else "test"
        pinned = sha256_file(campaign / f"suites/{name}.tsv")
        entries[name] = {"spearman": score, "role": role, "pairs": 12, "sha256": pinned}
    model = {
        "kind": "release",
        "repo": "a/b",
        "revision": "0" * 40,
        "folder": ".",
        "weights_sha256": "1" * 64,
    }
    origin = {"model": model, "code": fingerprints(["evaluate_release"], package)["evaluate_release"]}
    mean = sum(entries[name]["spearman"] for name in SUITES) / len(SUITES)
    write_json(folder / "suites.json", {**origin, "suites": entries, "mean": mean})
    sample = {"chunk": "train-0", "teacher_cosine": 0.4, "participation_rank": 2.0, "self_cosine": 0.1}
    sample["manifest_sha256"] = sha256_file(campaign / "chunks/train-0/manifest.json")
    names = ("development:all", "test:all", "test:long")
    write_json(folder / "geometry.json", {**origin, "samples": dict.fromkeys(names, sample)})
    checks = {"float32": {"holds": True, "figure": "config says float32"}}
    largest = {"sentence_delta": 0.0, "token_delta": 0.0}
    write_json(folder / "serving.json", {**origin, "checks": checks, "largest": largest})
    render(campaign)
    census_of(campaign, package, TABLE, ROWS)
    return campaign


def audited(root: Path, package: Path) -> Audit:
    return audit(root, {}, package_root=package)


def named(root: Path, package: Path) -> list[str]:
    return sorted(finding.path for finding in audited(root, package).findings)


def test_the_census_pins_a_release_with_its_rules_and_parents(released: Path, package: Path) -> None:
    artifacts = read_census(released).artifacts
    scores, table = artifacts["release/suites.json"], artifacts["tables/release.csv"]
    assert (scores.kind, scores.rule, scores.identity) == ("release", "evaluate_release", None)
    assert set(scores.parents) == set(ROWS[0]["parents"])
    assert (table.kind, table.rule) == ("table", "render_release")
    result = audited(released, package)
    assert result.findings == ()
    # Four runs of two suites each, and three of the release.
    assert result.counts["suite scores made again from cosines and gold"] == 11
    cells = {(cell.row, cell.column) for cell in result.cells if cell.table == "release"}
    assert {("suites/alpha", "measured"), ("geometry/test:long, self cosine", "measured")} <= cells


@pytest.mark.parametrize("path", [*MADE, *TABLES])
def test_a_damaged_or_lost_file_of_a_release_is_named(released: Path, package: Path, path: str) -> None:
    file = released / path
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    result = audited(released, package)
    assert [(finding.path, finding.sort) for finding in result.findings] == [
        (path, "table" if path in TABLES else "data")
    ]
    file.unlink()
    result = audited(released, package)
    assert [(finding.path, finding.sort) for finding in result.findings] == [(path, "missing")]


def test_an_edited_release_is_found_though_the_census_was_taken_again(released: Path, package: Path) -> None:
    scores = read_json(released / "release/suites.json")
    scores["suites"]["dev"]["spearman"] += 0.01
    write_json(released / "release/suites.json", scores)
    render(released)
    census_of(released, package, TABLE, ROWS)
    assert named(released, package) == ["release/suites.json"]


def test_an_edited_table_is_found_though_the_census_was_taken_again(released: Path, package: Path) -> None:
    table = released / TABLES[0]
    table.write_text(table.read_text().replace("| yes |", "| no |", 1))
    census_of(released, package, TABLE, ROWS)
    (finding,) = audited(released, package).findings
    assert (finding.path, finding.sort) == (TABLES[0], "table")
    assert "'no' should be 'yes'" in finding.detail


def test_another_chunk_than_the_one_that_was_read_is_found(released: Path, package: Path) -> None:
    geometry = read_json(released / "release/geometry.json")
    geometry["samples"]["test:all"]["manifest_sha256"] = "f" * 64
    write_json(released / "release/geometry.json", geometry)
    census_of(released, package, TABLE, ROWS)
    assert named(released, package) == ["chunks/train-0/manifest.json"]


def test_a_release_that_was_not_read_is_not_missed(campaign: Path, package: Path) -> None:
    census_of(campaign, package, TABLE, ROWS)
    assert named(campaign, package) == []
    required = [{**row, "optional": False} for row in ROWS]
    with pytest.raises(MissingFileError, match=r"release/suites\.json is missing"):
        census_of(campaign, package, TABLE, required)
