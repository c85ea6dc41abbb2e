"""The audit passes what is whole and names exactly what is not."""

import json
import os
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from captionlab.files import read_json, sha256_file, write_json
from captionlab.provenance.accepted import accepted_file, record_accepted
from captionlab.provenance.audit import Audit, AuditError, audit
from captionlab.provenance.census import CENSUS, read_census
from captionlab.provenance.fingerprint import PACKAGE_ROOT, fingerprint
from captionlab.provenance.report import audit_markdown, finding_lines

from .conftest import census_of, render

SPEC: dict = {}
ONE = "runs/larger/plain/seed-1/final.safetensors"
TWO = "runs/larger/plain/seed-2/final.safetensors"
SCORES = "evaluation/larger/fancy/seed-2/suites.json"


@dataclass(frozen=True)
class Auditor:
    """The audit with the code as it was when the session began, and with a cache of its syntax."""

    package: Path
    syntax: Path

    def __call__(self, root: Path, spec: dict = SPEC, **keys: Any) -> Audit:
        return audit(root, spec, **{"package_root": self.package, "syntax_cache": self.syntax, **keys})

    def named(self, root: Path) -> list[str]:
        return sorted(finding.path for finding in self(root).findings)


@pytest.fixture(scope="module")
def auditor(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Auditor:
    return Auditor(package, tmp_path_factory.mktemp("syntax") / "syntax.json")


def code(result: Audit) -> int:
    return AuditError(list(result.findings), Path("audit.md")).exit_code


def test_clean_campaign_passes_and_says_what_it_checked(auditor: Auditor, finished: Path) -> None:
    result = auditor(finished)
    assert result.findings == ()
    assert result.counts["run identities made again"] == 4
    assert result.counts["suite scores made again from cosines and gold"] == 8
    assert result.counts["selections made again"] == 1
    assert result.counts["table cells traced to their JSON"] > 50
    text = audit_markdown(result)
    assert "Passed" in text
    assert sha256_file(finished / CENSUS) in text
    assert "`evaluation/larger/fancy/seed-2/suites.json`" in text
    assert audit_markdown(auditor(finished)) == text


def test_census_holds_every_file_with_kind_rule_identity_and_parents(finished: Path) -> None:
    artifacts = read_census(finished).artifacts
    on_disk = {path.relative_to(finished).as_posix() for path in finished.rglob("*") if path.is_file()}
    assert set(artifacts) == {path for path in on_disk if not path.startswith("provenance/")}
    record = read_json(finished / "runs/larger/plain/seed-1/run.json")
    weights = artifacts[ONE]
    assert (weights.kind, weights.rule, weights.identity) == ("weights", "train_run", record["identity"])
    assert "chunks/train-0/manifest.json" in weights.parents
    assert artifacts["runs/larger/plain/seed-1/events/events.1"].kind == "events"
    assert artifacts["runs/larger/plain/seed-1/rng.json"].kind == "rng"
    assert artifacts["runs/larger/plain/seed-1/training-state.safetensors"].rule is None
    assert artifacts[SCORES].identity == read_json(finished / "runs/larger/fancy/seed-2/run.json")["identity"]
    assert sum(artifact.bytes for artifact in artifacts.values()) == sum(
        (finished / path).stat().st_size for path in artifacts
    )


@pytest.mark.parametrize("seed", range(4))
def test_names_exactly_the_files_touched_in_random_trials(
    auditor: Auditor, campaign: Path, seed: int
) -> None:
    """Four times fifty: a flipped byte, a cut tail or two swapped files, anywhere: named, and nothing else is."""
    dice = random.Random(seed)
    artifacts = sorted(read_census(campaign).artifacts)
    for trial in range(50):
        action = ("flip", "cut", "swap")[trial % 3]
        chosen = [dice.choice(artifacts if action == "swap" else [*artifacts, CENSUS])]
        if action == "swap":
            content = (campaign / chosen[0]).read_bytes()
            others = [path for path in artifacts if (campaign / path).read_bytes() != content]
            chosen.append(dice.choice(others))
        before = {path: (campaign / path).read_bytes() for path in chosen}
        if action == "flip":
            data = bytearray(before[chosen[0]])
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            (campaign / chosen[0]).write_bytes(data)
        elif action == "cut":
            data = before[chosen[0]]
            (campaign / chosen[0]).write_bytes(data[: dice.randrange(len(data))])
        else:
            (campaign / chosen[0]).write_bytes(before[chosen[1]])
            (campaign / chosen[1]).write_bytes(before[chosen[0]])
        assert auditor.named(campaign) == sorted(chosen), (trial, action)
        for path, data in before.items():
            (campaign / path).write_bytes(data)
    assert auditor.named(campaign) == []


def test_swapped_census_is_named(auditor: Auditor, campaign: Path) -> None:
    """Without a census its partner is judged by the other records alone; a lock would name both."""
    partner = campaign / "runs/larger/plain/seed-1/rng.json"
    census, other = (campaign / CENSUS).read_bytes(), partner.read_bytes()
    (campaign / CENSUS).write_bytes(other)
    partner.write_bytes(census)
    assert auditor.named(campaign) == [CENSUS, "runs/larger/plain/seed-1/rng.json"]


def test_sorts_have_their_own_exit_codes(auditor: Auditor, campaign: Path) -> None:
    (campaign / ONE).rename(campaign / "kept")
    assert code(auditor(campaign)) == 22
    (campaign / "kept").rename(campaign / ONE)
    table = campaign / "tables/final.md"
    whole = table.read_text()
    table.write_text(whole.replace("0.", "1.", 1))
    assert code(auditor(campaign)) == 21
    table.write_text(whole)
    (campaign / TWO).write_bytes(b"x")
    assert code(auditor(campaign)) == 20
    table.write_text("")
    assert code(auditor(campaign)) == 20


def test_swapped_weights_are_found_even_when_the_census_was_taken_again(
    auditor: Auditor, campaign: Path
) -> None:
    (campaign / ONE).rename(campaign / "kept")
    (campaign / TWO).rename(campaign / ONE)
    (campaign / "kept").rename(campaign / TWO)
    census_of(campaign, auditor.package)
    assert auditor.named(campaign) == [ONE, TWO]


def test_edited_score_is_found_even_when_all_below_it_was_made_again(
    auditor: Auditor, campaign: Path
) -> None:
    document = read_json(campaign / SCORES)
    document["suites"]["alpha"]["spearman"] += 0.01
    document["mean"] += 0.005
    write_json(campaign / SCORES, document)
    render(campaign)
    census_of(campaign, auditor.package)
    result = auditor(campaign)
    assert [finding.path for finding in result.findings] == [SCORES]
    assert "alpha" in result.findings[0].detail


def test_edited_development_number_is_found_by_its_run_record(auditor: Auditor, campaign: Path) -> None:
    path = "runs/larger/fancy/seed-1/development.json"
    document = read_json(campaign / path)
    document["spearman"] = 0.99
    write_json(campaign / path, document)
    render(campaign)
    census_of(campaign, auditor.package)
    assert path in auditor.named(campaign)


def test_edited_spec_or_selection_is_found_by_making_it_again(auditor: Auditor, campaign: Path) -> None:
    record = campaign / "runs/larger/fancy/seed-1/run.json"
    document = read_json(record)
    document["spec"]["training"]["clip"] = 2.0
    write_json(record, document)
    selection = read_json(campaign / "selection/larger.json")
    selection["selected"]["seed"] = 3 - selection["selected"]["seed"]
    write_json(campaign / "selection/larger.json", selection)
    census_of(campaign, auditor.package)
    found = {finding.path: finding.detail for finding in auditor(campaign).findings}
    assert "identity" in found["runs/larger/fancy/seed-1/run.json"]
    assert "selected" in found["selection/larger.json"]


@pytest.mark.parametrize("name", ["tables/final.md", "tables/benchmarks.csv", "tables/benchmarks.tex"])
def test_edited_table_cell_is_named_with_what_it_should_be(
    auditor: Auditor, campaign: Path, name: str
) -> None:
    score = read_json(campaign / SCORES)["suites"]["beta"]["spearman"]
    shown = repr(score) if name.endswith("csv") else f"{score:.4f}"
    text = (campaign / name).read_text()
    assert shown in text
    (campaign / name).write_text(text.replace(shown, "0.9876"))
    census_of(campaign, auditor.package)
    (finding,) = auditor(campaign).findings
    assert (finding.sort, finding.path) == ("table", name)
    assert "0.9876" in finding.detail
    assert shown in finding.detail
    assert "column 'beta'" in finding.detail


def test_altered_data_tells_which_cells_rest_on_it(auditor: Auditor, campaign: Path) -> None:
    (campaign / ONE).write_bytes(b"x")
    result = auditor(campaign)
    assert [finding.path for finding in result.findings] == [ONE]
    (campaign / "chunks/train-0/tokens.npy").write_bytes(b"x")
    whole = auditor(campaign)
    for file in (SCORES, "evaluation/larger/plain/seed-1/suites.json"):
        assert "chunks/train-0/manifest.json" in whole.lineage.ancestors(file)
    assert ONE in whole.lineage.ancestors("evaluation/larger/plain/seed-1/suites.json")
    assert ONE not in whole.lineage.ancestors(SCORES)


def test_lock_protects_the_census(auditor: Auditor, campaign: Path, tmp_path: Path) -> None:
    outputs = {path: artifact.sha256 for path, artifact in read_census(campaign).artifacts.items()}
    write_json(tmp_path / "lock.json", {"outputs": outputs})
    path = "runs/larger/plain/seed-1/rng.json"
    (campaign / path).write_text("{}")
    record = read_json(campaign / "runs/larger/plain/seed-1/run.json")
    record["outputs"].pop("rng.json")
    write_json(campaign / "runs/larger/plain/seed-1/run.json", record)
    census_of(campaign, auditor.package)
    assert auditor.named(campaign) == []
    found = auditor(campaign, SPEC, lock=tmp_path / "lock.json").findings
    assert [finding.path for finding in found] == [path, "runs/larger/plain/seed-1/run.json"]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_fuzzed_documents_end_in_findings_and_change_nothing(
    auditor: Auditor, campaign: Path, seed: int
) -> None:
    """A hundred damaged manifests, records, evaluations and censuses: never an exception, never a write."""
    dice = random.Random(seed)
    documents = sorted(campaign.rglob("*.json"))
    for trial in range(100):
        path = documents[trial % len(documents)]
        before = path.read_bytes()
        path.write_bytes(damaged(before, dice))
        census = (campaign / CENSUS).read_bytes()
        if path.name != "census.json" and trial % 2:
            (campaign / CENSUS).unlink()
        stamps = {one: one.read_bytes() for one in documents if one.exists()}
        result = auditor(campaign)
        assert result.findings, (trial, path)
        assert finding_lines(result)
        assert stamps == {one: one.read_bytes() for one in documents if one.exists()}
        path.write_bytes(before)
        (campaign / CENSUS).write_bytes(census if path.name != "census.json" else before)


def damaged(data: bytes, dice: random.Random) -> bytes:
    """One of: cut, flipped, another shape, a key gone, a value of another type, not UTF-8."""
    way = dice.randrange(6)
    if way == 0:
        return data[: dice.randrange(len(data))]
    if way == 1:
        spoiled = bytearray(data)
        spoiled[dice.randrange(len(spoiled))] ^= 1 << dice.randrange(8)
        return bytes(spoiled)
    if way == 2:
        return dice.choice([b"[]", b"null", b"3", b'"text"', b"{}", b'{"a": NaN}'])
    if way == 3:
        return b"\xff\xfe" + data
    document = json.loads(data)
    key = dice.choice(sorted(document))
    if way == 4:
        del document[key]
    else:
        document[key] = dice.choice([None, [], 3, "x", {"a": []}, [[1]]])
    return json.dumps(document).encode()


def test_command_ends_with_the_code_writes_the_report_and_no_traceback(
    auditor: Auditor, campaign: Path, tmp_path: Path
) -> None:
    (campaign / ONE).write_bytes(b"x")
    report = tmp_path / "audit.md"
    words = ["audit_campaign", "--root", str(campaign), "--output", str(report)]
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "captionlab", *words],
        capture_output=True,
        text=True,
        cwd=PACKAGE_ROOT.parent,
    )
    assert done.returncode == 20
    assert ONE in done.stdout
    assert ONE in report.read_text()
    assert "Traceback" not in done.stderr
    assert not {line.split("|")[-1].strip() for line in done.stderr.splitlines()} & {"torch", "transformers"}


def test_other_roots_below_this_one_are_left_alone(auditor: Auditor, campaign: Path) -> None:
    shutil.copytree(campaign, campaign / "captions")
    assert auditor.named(campaign) == []


@pytest.fixture
def edited(package: Path, tmp_path: Path) -> Path:
    """A copy of this project's package that a test may edit."""
    return shutil.copytree(package, tmp_path / "code/workflow/captionlab")


def append(path: Path, text: str) -> None:
    """Edit a module and leave its mtime as it was, as rsync or a git tool may."""
    stamp = path.stat()
    path.write_text(path.read_text() + text)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def test_changed_module_is_named_even_with_its_old_mtime(
    auditor: Auditor, finished: Path, edited: Path
) -> None:
    append(edited / "training/losses.py", "# a remark\n")
    append(edited / "tables/frames.py", "SPARE = 1\n")
    assert auditor(finished, SPEC, package_root=edited).findings == ()
    append(edited / "training/losses.py", "SCALE = 2\n")
    result = auditor(finished, SPEC, package_root=edited)
    (finding,) = result.findings
    assert (finding.sort, finding.path) == ("code", "captionlab.steps.train_run")
    assert "captionlab.training.losses changed" in finding.detail
    assert "made 4 artifacts" in finding.detail
    assert code(result) == 23


def test_accepted_change_passes_and_is_listed(auditor: Auditor, finished: Path, edited: Path) -> None:
    before = fingerprint("train_run", edited)
    append(edited / "training/losses.py", "SCALE = 2\n")
    entry = {"step": "train_run", "from": before, "to": fingerprint("train_run", edited)}
    entry |= {"reason": "a constant nobody reads", "who": "me", "date": "2026-01-01"}
    record_accepted(accepted_file(edited), entry)
    result = auditor(finished, SPEC, package_root=edited)
    assert result.findings == ()
    assert "a constant nobody reads (me, 2026-01-01)" in audit_markdown(result)
