"""What makes a finished campaign run again, and what the audit says where the engine is blind.

Each test damages a copy of one finished `tiny` campaign; a copy is also a folder that was moved.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from captionlab.provenance.audit import audit
from captionlab.provenance.census import CENSUS, read_census
from captionlab.provenance.engine import records_below

from .conftest import Checkout

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

RUNS = 8
ONE, TWO = (f"runs/larger/relative/seed-{seed}/final.safetensors" for seed in (1, 2))
SCORES = "evaluation/larger/relative/seed-1/suites.json"


def command(checkout: Checkout, step: str, *words: str) -> subprocess.CompletedProcess[str]:
    """`python -m captionlab <step>` in a checkout, with its own code."""
    environment = {**os.environ, "PYTHONPATH": str(checkout.folder / "workflow"), "OMP_NUM_THREADS": "1"}
    line = [sys.executable, "-m", "captionlab", step, *words]
    return subprocess.run(line, cwd=checkout.folder, env=environment, capture_output=True, text=True)


def audited(checkout: Checkout, *words: str) -> subprocess.CompletedProcess[str]:
    return command(checkout, "audit_campaign", "--root", checkout.root, *words)


def edit(path: Path, old: str, new: str, *, keep_mtime: bool = False) -> None:
    stamp = path.stat()
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    if keep_mtime:
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def append(path: Path, text: str, *, keep_mtime: bool = False) -> None:
    edit(path, path.read_text(), path.read_text() + text, keep_mtime=keep_mtime)


@pytest.fixture(scope="module")
def whole(finished: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The finished campaign with its census and audit; read it, do not write into it."""
    copy = finished.copy(tmp_path_factory.mktemp("whole") / "checkout")
    copy.engine(f"{copy.root}/provenance/audit.md")
    return copy


@pytest.fixture
def checkout(whole: Checkout, tmp_path: Path) -> Iterator[Checkout]:
    """A copy to damage, removed at the end because it is large."""
    yield whole.copy(tmp_path / "checkout")
    shutil.rmtree(tmp_path / "checkout")


def config(checkout: Checkout) -> Path:
    return checkout.folder / checkout.campaign


def module(checkout: Checkout, name: str) -> Path:
    return checkout.folder / "workflow/captionlab" / name


def swap(root: Path, one: str, two: str) -> None:
    (root / one).rename(root / "kept")
    (root / two).rename(root / one)
    (root / "kept").rename(root / two)


def test_finished_campaign_needs_nothing_and_passes_its_audit(checkout: Checkout) -> None:
    assert checkout.planned() == {}
    assert checkout.planned("--forceall") != {}
    done = audited(checkout, "--configfile", checkout.campaign)
    assert done.returncode == 0, done.stdout + done.stderr
    report = (checkout.path("provenance/audit.md")).read_text()
    assert "Passed" in report
    assert "it has records of" in report


def test_touching_every_file_runs_nothing(checkout: Checkout) -> None:
    for path in checkout.folder.rglob("*"):
        if path.is_file() and ".snakemake" not in path.parts:
            os.utime(path)
    assert checkout.planned() == {}
    assert audited(checkout).returncode == 0


def test_layout_of_code_runs_nothing(checkout: Checkout) -> None:
    for path in (checkout.folder / "workflow/captionlab").rglob("*.py"):
        body = re.sub(r'\A""".*?"""\n', "", path.read_text(), flags=re.DOTALL)
        path.write_text(f'"""Another docstring."""\n{body}\n# a remark\n')
    losses = module(checkout, "training/losses.py")
    lines = losses.read_text().splitlines()
    imports = [number for number, line in enumerate(lines) if re.match(r"(import|from) .*[^(]$", line)]
    block = sorted((lines[number] for number in imports), reverse=True)
    for number, line in zip(imports, block, strict=True):
        lines[number] = line
    losses.write_text("\n".join(lines) + "\n")
    assert checkout.planned() == {}


def test_other_spelling_of_a_number_runs_nothing(checkout: Checkout) -> None:
    edit(config(checkout), "learning_rate: 1.0e-3", "learning_rate: 0.0010")
    assert checkout.planned() == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("learning_rate: 1.0e-3", "learning_rate: 2.0e-3"),
        ("threads: 1 ", "threads: 2 "),
        ("betas: [0.9, 0.999]", "betas: [0.999, 0.9]"),
        ("scenes-development: {rows: 40}", "scenes-development: {rows: 41}"),
    ],
)
def test_changed_value_trains_again(checkout: Checkout, old: str, new: str) -> None:
    edit(config(checkout), old, new)
    assert checkout.planned()["train_run"] == RUNS


def test_swapped_values_train_again(checkout: Checkout) -> None:
    edit(config(checkout), "learning_rate: 1.0e-3", "learning_rate: 0.07")
    edit(config(checkout), "temperature: 0.07", "temperature: 1.0e-3")
    assert checkout.planned()["train_run"] == RUNS


def test_test_data_and_labels_train_nothing(checkout: Checkout) -> None:
    edit(config(checkout), "scenes-topic: {rows: 40}", "scenes-topic: {rows: 41}")
    planned = checkout.planned()
    assert planned["evaluate_run"] == 5
    assert "train_run" not in planned
    edit(config(checkout), "scenes-topic: {rows: 41}", "scenes-topic: {rows: 40}")
    edit(config(checkout), 'label: "Hierarchical"', 'label: "Deep"')
    planned = checkout.planned()
    assert "render_final" in planned
    assert not {"train_run", "evaluate_run", "select_run", "tokenize_chunk"} & set(planned)


@pytest.mark.parametrize("keep_mtime", [False, True])
def test_changed_module_trains_again_even_with_its_old_mtime(checkout: Checkout, keep_mtime: bool) -> None:
    append(module(checkout, "training/losses.py"), "\nSPARE = 1\n", keep_mtime=keep_mtime)
    assert checkout.planned()["train_run"] == RUNS
    done = audited(checkout)
    assert done.returncode == 23
    assert "captionlab.training.losses changed" in done.stdout
    told = command(checkout, "why", f"results/tiny/{ONE}", "--configfile", checkout.campaign)
    assert "  code: captionlab.training.losses changed" in told.stdout
    told = command(checkout, "why", checkout.final, "--configfile", checkout.campaign)
    assert "upstream, train_run: code: captionlab.training.losses changed" in told.stdout


def test_table_code_touches_no_run(checkout: Checkout) -> None:
    append(module(checkout, "tables/frames.py"), "\nSPARE = 1\n")
    planned = checkout.planned()
    assert "render_final" in planned
    assert all(rule.startswith("render") or rule == "all" for rule in planned)


def test_accepted_change_runs_nothing_and_the_audit_lists_it(checkout: Checkout) -> None:
    append(module(checkout, "training/losses.py"), "\nSPARE = 1\n")
    words = ["accept_change", "--step", "train_run", "--reason", "an unused constant", "--who", "me"]
    done = command(checkout, *words)
    assert done.returncode == 0, done.stderr
    assert checkout.planned() == {}
    assert audited(checkout).returncode == 0
    assert "an unused constant (me, " in (checkout.path("provenance/audit.md")).read_text()
    again = command(checkout, *words)
    assert again.returncode == 1
    assert "nothing to accept" in again.stderr


def test_new_bytes_under_an_old_mtime_are_caught(checkout: Checkout) -> None:
    path = checkout.path("suites/scenes-count.json")
    edit(path, '"rows": 40', '"rows": 41', keep_mtime=True)
    done = audited(checkout)
    assert done.returncode == 20
    assert [line for line in done.stdout.splitlines() if line.startswith("tampered")] == [
        line for line in done.stdout.splitlines() if "suites/scenes-count.json:" in line
    ]


def test_edited_intermediate_is_caught_though_the_engine_uses_it(checkout: Checkout) -> None:
    path = checkout.path(SCORES)
    document = json.loads(path.read_text())
    document["mean"] = 0.99
    path.write_text(json.dumps(document))
    assert audited(checkout).returncode == 20
    checkout.engine(checkout.final, f"{checkout.root}/provenance/census.json")
    done = audited(checkout)
    assert done.returncode == 20
    assert f"tampered data: {SCORES}: mean is 0.99" in done.stdout


def test_edited_table_is_caught_by_cell(checkout: Checkout) -> None:
    table = checkout.path("tables/final.md")
    score = f"{json.loads((checkout.path(SCORES)).read_text())['mean']:.4f}"
    edit(table, score, "0.9999")
    assert checkout.planned() == {}
    done = audited(checkout)
    assert done.returncode == 21
    assert f"'0.9999' should be '{score}'" in done.stdout.replace("**", "")


def test_swapped_weights_are_caught(checkout: Checkout) -> None:
    swap(checkout.path(""), ONE, TWO)
    done = audited(checkout)
    assert done.returncode == 20
    assert all(f"tampered data: {path}: " in done.stdout for path in (ONE, TWO))
    assert done.stdout.count("tampered") == 2


def test_missing_file_is_caught_and_made_again(checkout: Checkout) -> None:
    (checkout.path(ONE)).unlink()
    done = audited(checkout)
    assert done.returncode == 22
    assert f"missing file: {ONE}: " in done.stdout
    assert checkout.planned(target=f"{checkout.root}/{ONE}")["train_run"] == 1


def test_config_changed_after_the_engine_lost_its_records_is_caught(checkout: Checkout) -> None:
    shutil.rmtree(checkout.folder / ".snakemake")
    edit(config(checkout), "learning_rate: 1.0e-3", "learning_rate: 2.0e-3")
    assert checkout.planned() == {}, (
        "the engine is blind here; if it no longer is, say so in the documentation"
    )
    done = audited(checkout, "--configfile", checkout.campaign)
    assert done.returncode == 23
    assert "training.learning_rate: 0.001 -> 0.002" in done.stdout
    told = command(checkout, "why", f"results/tiny/{TWO}", "--configfile", checkout.campaign)
    assert "spec: training.learning_rate: 0.001 -> 0.002" in told.stdout


def test_every_job_recorded_its_spec_and_code(whole: Checkout) -> None:
    """The engine drops params that it cannot print; a spec is one string, so none is lost."""
    records = records_below(whole.path(""), whole.folder / ".snakemake/metadata")
    pinned = [record for path, record in records.items() if not path.startswith("provenance/")]
    assert len(pinned) > 100
    assert not [record.output for record in pinned if not record.spec or not record.code]


def test_explain_is_short_and_whole(whole: Checkout) -> None:
    words = ["explain", "--root", "results/tiny", "--cell", "larger/relative/seed-1:scenes-count"]
    done = command(whole, *words)
    assert done.returncode == 0, done.stderr
    for path in (SCORES, ONE, "chunks/train-1/manifest.json", "suites/scenes-count.json"):
        assert path in done.stdout
    assert "ALTERED" not in done.stdout
    assert len(done.stdout.splitlines()) < 30
    assert "wasDerivedFrom" in json.loads(command(whole, *words, "--json").stdout)


def test_sampled_runs_give_the_same_numbers_again(checkout: Checkout) -> None:
    words = ["--root", "results/tiny", "--output", "results/tiny/provenance/recomputed.json"]
    done = command(checkout, "recompute_sample", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((checkout.path("provenance/recomputed.json")).read_text())["rows"]
    assert {row["largest_difference"] for row in rows} == {0.0}
    assert audited(checkout).returncode == 0


def test_random_damage_is_named_exactly_200_times(checkout: Checkout, tmp_path: Path) -> None:
    """A flipped byte, a cut tail or two swapped files anywhere in the campaign, all in one process."""
    cached = {"syntax_cache": tmp_path / "syntax.json", "cache": tmp_path / "digests.json"}
    cached["package_root"] = checkout.folder / "workflow/captionlab"
    dice = random.Random(11)
    artifacts = sorted(path for path, one in read_census(checkout.path("")).artifacts.items() if one.bytes)
    for trial in range(200):
        chosen, undo = damage(checkout.path(""), artifacts, dice, trial)
        found = sorted(finding.path for finding in audit(checkout.path(""), {}, **cached).findings)
        assert found == chosen, trial
        undo()
    assert audit(checkout.path(""), {}, **cached).findings == ()


def damage(
    root: Path, artifacts: list[str], dice: random.Random, trial: int
) -> tuple[list[str], Callable[[], None]]:
    """Damage one or two files; the paths that an audit must name, and how to mend them."""
    action = ("flip", "cut", "swap")[trial % 3]
    one = dice.choice(artifacts if action == "swap" else [*artifacts, CENSUS])
    data = (root / one).read_bytes()
    if action == "swap":
        two = dice.choice([path for path in artifacts if (root / path).read_bytes() != data])
        swap(root, one, two)
        return sorted([one, two]), lambda: swap(root, one, two)
    place = dice.randrange(len(data))
    spoiled = bytearray(data)
    if action == "cut":
        del spoiled[place:]
    else:
        spoiled[place] ^= 1 << dice.randrange(8)
    (root / one).write_bytes(spoiled)
    return [one], lambda: (root / one).write_bytes(data) and None
