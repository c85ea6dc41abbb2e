"""A small finished campaign, made by hand in the shapes that the stages write; no training."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from captionlab.evaluation.spearman import spearman
from captionlab.files import digest_entry, sha256_file, versions, write_json, write_text
from captionlab.provenance.census import CENSUS, take_census
from captionlab.provenance.fingerprint import PACKAGE_ROOT, all_steps, fingerprints, step_digests
from captionlab.provenance.identity import identity
from captionlab.selection import development_row, select
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.final import all_frames, document, final_markdown
from captionlab.tables.plan import plan_from_spec
from captionlab.tables.render import comma_separated, latex

SUITES = ("alpha", "beta")
RUNS = [("larger", option, seed) for option in ("plain", "fancy") for seed in (1, 2)]
TABLES = {
    "campaign": "toy",
    "scale": {
        "published": False,
        "model": {"layers": 1, "width": 4, "ffn": 8, "target_width": 4},
        "recipes": {
            "larger": {
                "label": "10 × 1",
                "rows": 10,
                "epochs": 1,
                "batch": 5,
                "steps": 2,
                "presentations": 10,
            }
        },
    },
    "runs": [{"stage": "larger", "recipe": r, "option": o, "seed": s, "repeat": 0} for r, o, s in RUNS],
    "references": [],
    "suites": [{"name": name, "label": name, "role": "test"} for name in SUITES],
    "development_suite": {"name": "dev", "label": "dev", "role": "development"},
    "options": {},
    "captions": "scenes",
    "screen_suites": ["alpha"],
    "chunks": ["train-0"],
    "teachers": [],
    "development_chunk": "train-0",
    "test_chunk": "train-0",
    "ceiling": 64,
    "caption_ceiling": 64,
    "long_tokens": 128,
    "near_tie": 0.002,
    "resamples": 10,
}


def make_suites(root: Path, random: np.random.Generator) -> None:
    for name in (*SUITES, "dev"):
        gold = random.random(12).round(3)
        rows = [f"all\t{score}\ta {index}\tb {index}" for index, score in enumerate(gold)]
        write_text(
            root / f"suites/{name}.tsv", "\n".join(["subset\tscore\tsentence1\tsentence2", *rows]) + "\n"
        )
        facts = {
            "suite": name,
            "role": "development" if name == "dev" else "test",
            "rows": 12,
            "unique_pairs": 12,
            "unique_sentences": 24,
            "score": {"min": min(gold), "mean": float(np.mean(gold)), "max": max(gold)},
            "sha256": sha256_file(root / f"suites/{name}.tsv"),
            "source": {"kind": "scenes", "seed": 0},
            "versions": versions("numpy"),
        }
        write_json(root / f"suites/{name}.json", facts)


def make_chunk(root: Path, random: np.random.Generator) -> None:
    folder = root / "chunks/train-0"
    folder.mkdir(parents=True)
    np.save(folder / "tokens.npy", random.integers(0, 30000, 100).astype(np.uint16))
    np.save(folder / "targets.npy", random.random((10, 4)).astype(np.float32))
    files = {name: digest_entry(folder / name) for name in ("tokens.npy", "targets.npy")}
    write_json(
        folder / "manifest.json",
        {"chunk": "train-0", "rows": 10, "files": files, "versions": versions("numpy")},
    )
    write_text(root / "tokenizer/vocab.txt", "[PAD]\n[UNK]\n")
    entry = digest_entry(root / "tokenizer/vocab.txt")
    facts = {"tokenizer_sha256": entry["sha256"], "vocabulary": 2, "files": {"vocab.txt": entry}}
    write_json(root / "tokenizer/manifest.json", facts)


def make_run(
    root: Path, package: Path, random: np.random.Generator, recipe: str, option: str, seed: int
) -> None:
    run = {"stage": "larger", "recipe": recipe, "option": option, "seed": seed, "repeat": 0}
    folder = root / f"runs/{recipe}/{option}/seed-{seed}"
    folder.mkdir(parents=True)
    for name in ("final", "best", "midpoint", "training-state"):
        save_file({"w": random.random(32).astype(np.float32)}, folder / f"{name}.safetensors")
    write_json(folder / "rng.json", {"python": [1, seed]})
    write_text(folder / "history.jsonl", json.dumps({"step": 1, "loss": random.random()}) + "\n")
    (folder / "events").mkdir()
    (folder / f"events/events.{seed}").write_bytes(random.bytes(40))
    spec = {"run": run, "training": {"clip": 1.0}, "development": {"suite": "dev"}}
    inputs = {
        "manifests": {"train-0": sha256_file(root / "chunks/train-0/manifest.json")},
        "tokenizer_sha256": sha256_file(root / "tokenizer/vocab.txt"),
        "development_suite_sha256": sha256_file(root / "suites/dev.tsv"),
    }
    code = fingerprints(["train_run"], package)["train_run"]
    name = identity(spec, code, inputs)
    development = {
        "run": run,
        "suite": "dev",
        "spearman": float(random.random()),
        "teacher_cosine": 0.5,
        "participation_rank": 3.0,
        "rows": 10,
        "pairs": 12,
        "harmonics": None,
        "additions": 0 if option == "plain" else 2,
        "parameters": 32,
        "final_sha256": sha256_file(folder / "final.safetensors"),
        "identity": name,
        "best_step": 2,
        "versions": versions("numpy"),
    }
    write_json(folder / "development.json", development)
    outputs = {path.name: digest_entry(path) for path in sorted(folder.iterdir()) if path.is_file()}
    record = {"run": run, "spec": spec, "code": code, "identity": name, "inputs": inputs, "outputs": outputs}
    write_json(folder / "run.json", {**record, "versions": versions("numpy")})
    make_evaluation(root, random, run, development["final_sha256"], name)


def make_evaluation(root: Path, random: np.random.Generator, run: dict, weights: str, name: str) -> None:
    folder = root / f"evaluation/{run['recipe']}/{run['option']}/seed-{run['seed']}"
    folder.mkdir(parents=True)
    cosines = {suite: random.random(12) for suite in SUITES}
    save_file(cosines, folder / "cosines.safetensors")
    model = {"kind": "run", "run": run, "weights_sha256": weights, "identity": name}
    scores = {}
    for suite in SUITES:
        gold = [
            float(line.split("\t")[1]) for line in (root / f"suites/{suite}.tsv").read_text().splitlines()[1:]
        ]
        scores[suite] = {
            "spearman": spearman(cosines[suite], gold),
            "pairs": 12,
            "sha256": sha256_file(root / f"suites/{suite}.tsv"),
        }
    mean = sum(entry["spearman"] for entry in scores.values()) / len(scores)
    write_json(folder / "suites.json", {"model": model, "ceiling": 64, "suites": scores, "mean": mean})
    sample = {
        "chunk": "train-0",
        "rows": 10,
        "asked": 10,
        "teacher_cosine": 0.4,
        "participation_rank": 2.0,
        "self_cosine": 0.1,
        "manifest_sha256": sha256_file(root / "chunks/train-0/manifest.json"),
    }
    write_json(folder / "geometry.json", {"model": model, "samples": {"development:all": sample}})


def expected_artifacts(root: Path) -> list[dict]:
    """What a campaign would declare: the training state and the events are left for the census to find."""
    entries = []
    for recipe, option, seed in RUNS:
        run = f"runs/{recipe}/{option}/seed-{seed}"
        evaluation = f"evaluation/{recipe}/{option}/seed-{seed}"
        names = (
            "run.json",
            "development.json",
            "final.safetensors",
            "best.safetensors",
            "midpoint.safetensors",
        )
        data = ["chunks/train-0/manifest.json", "tokenizer/manifest.json", "suites/dev.json"]
        entries.append({"paths": [f"{run}/{name}" for name in names], "rule": "train_run", "parents": data})
        readings = ("suites.json", "cosines.safetensors", "geometry.json")
        parents = [f"{run}/final.safetensors", f"{run}/run.json"]
        paths = [f"{evaluation}/{name}" for name in readings]
        entries.append({"paths": paths, "rule": "evaluate_run", "parents": parents})
    tables = sorted(path.relative_to(root).as_posix() for path in (root / "tables").iterdir())
    sources = [f"evaluation/{r}/{o}/seed-{s}/suites.json" for r, o, s in RUNS]
    entries.append({"paths": tables, "rule": "render_final", "parents": sources})
    return entries


def census_of(root: Path, package: Path, release: dict | None = None, more: Sequence[dict] = ()) -> None:
    """Take the census of a results root, as the step does; `release` is the spec of a published model's table."""
    tables = TABLES if release is None else {**TABLES, "release": release}
    spec = {"campaign": "toy", "tables": tables, "expected": [*expected_artifacts(root), *more]}
    steps = all_steps(package)
    covered = step_digests(steps, package).values()
    modules = {name: digest for one in covered for name, digest in one.items()}
    write_json(root / CENSUS, take_census(root, spec, fingerprints(steps, package), modules))


def render(root: Path) -> None:
    """Write the tables as `render_final` does."""
    sections = document(plan_from_spec(TABLES), Artifacts(root))
    for frame in all_frames(sections):
        write_text(root / f"tables/{frame.name}.csv", comma_separated(frame))
        write_text(root / f"tables/{frame.name}.tex", latex(frame))
    write_text(root / "tables/final.md", final_markdown(sections))


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This project's package as it was when the session began; read it, do not write into it."""
    root = tmp_path_factory.mktemp("code") / "workflow" / "captionlab"
    shutil.copytree(PACKAGE_ROOT, root, ignore=shutil.ignore_patterns("__pycache__"))
    return root


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, package: Path) -> Path:
    """The campaign's results root; read it, do not write into it."""
    root = tmp_path_factory.mktemp("campaign") / "results"
    random = np.random.default_rng(0)
    make_suites(root, random)
    make_chunk(root, random)
    for recipe, option, seed in RUNS:
        make_run(root, package, random, recipe, option, seed)
    paths = [root / f"runs/{r}/{o}/seed-{s}/development.json" for r, o, s in RUNS]
    rows = [development_row(json.loads(path.read_text()), str(path)) for path in paths]
    code = fingerprints(["select_run"], package)["select_run"]
    write_json(root / "selection/larger.json", {"stage": "larger", **select(rows, 0.002), "code": code})
    render(root)
    census_of(root, package)
    return root


@pytest.fixture
def campaign(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished campaign that a test may damage."""
    shutil.copytree(finished, tmp_path / "results")
    return tmp_path / "results"
