"""A results root as a finished campaign leaves it, with the card's numbers where it has them."""

import csv
import json
from pathlib import Path
from typing import Any

from captionlab.files import write_json, write_text
from captionlab.tables import published

SUITES = ("STS-B", "SICK-R", "STS12", "STS13", "STS14", "STS15", "STS16", "BIOSSES")
PAIRS = dict(zip(SUITES, (1379, 9927, 3108, 1500, 3750, 3000, 1186, 100), strict=True))
LABELS = {
    "relative-8": "Relative 8 heads",
    "relative-16": "Relative 16 heads",
    "hierarchical": "Hierarchical",
    "binding-whole": "Complete binding",
}
LARGER = (("larger", "hierarchical"), ("larger", "relative-16"), ("exposure", "hierarchical"))


def spec(published_size: bool = True) -> dict[str, Any]:
    """What a campaign hands to a table step."""
    runs = [_run("screen", "screen", option, seed, 0) for option in LABELS for seed in (1, 2)]
    runs += [_run("screen", "screen", "relative-16", seed, 1) for seed in (1, 2)]
    runs += [_run("larger", recipe, option, seed, 0) for recipe, option in LARGER for seed in (1, 2)]
    return {
        "campaign": "made-up",
        "scale": {
            "published": published_size,
            "model": {"layers": 12, "width": 512, "ffn": 2048, "target_width": 768, "vocabulary": 30522},
            "recipes": {
                "screen": _recipe("1M × 4 epochs", 1_000_000, 4, 1952),
                "larger": _recipe("4M × 4 epochs", 4_000_000, 4, 7808),
                "exposure": _recipe("1M × 16 epochs", 1_000_000, 16, 7808),
            },
        },
        "runs": runs,
        "references": [
            {"name": "teacher-minilm-l6", "label": "MiniLM-L6, own ceiling"},
            {"name": "teacher-minilm-l6-64", "label": "MiniLM-L6, 64 tokens"},
            {"name": "untrained-relative-16-seed-1", "label": "untrained Relative 16 heads, seed 1"},
            {"name": "bag", "label": "bag of word embeddings"},
        ],
        "suites": [{"name": name, "label": name, "role": "test"} for name in SUITES],
        "development_suite": {"name": "STS-B-dev", "label": "STS-B"},
        "screen_suites": ["STS-B"],
        "chunks": ["000", "060", "061"],
        "teachers": ["minilm-l6", "minilm-l3"],
        "ceiling": 64,
        "caption_ceiling": 256,
    }


def write_tree(root: Path, plan: dict[str, Any]) -> None:
    """Every JSON file the tables read, below `root`."""
    for run in plan["runs"]:
        _write_run(root, run)
    for reference in plan["references"]:
        scores = {name: 0.3 + 0.05 * place for place, name in enumerate(SUITES)}
        own = reference["name"] == "teacher-minilm-l6"
        file = root / "evaluation" / "reference" / reference["name"] / "suites.json"
        write_json(file, _suites({"kind": "teacher", "name": reference["name"]}, scores, None if own else 64))
    for place, name in enumerate((*SUITES, "STS-B-dev")):
        write_json(root / "suites" / f"{name}.json", _suite(name, PAIRS.get(name, 1500), place))
    for chunk in plan.get("chunks", ()):
        write_json(root / "chunks" / chunk / "manifest.json", _manifest(chunk))
    write_json(root / "selection" / "screen.json", {"selected": {"option": "key"}, "decided_by": "mean"})
    write_json(root / "teachers" / "alignment.json", _alignment())
    write_json(root / "statistics" / "suites.json", _statistics(plan))
    chosen = {"recipe": "larger", "option": "relative-16", "seed": 1}
    write_json(
        root / "selection" / "larger.json",
        {"selected": chosen, "decided_by": "mean", "suite": "STS-B-dev"},
    )


def place(run: dict[str, Any]) -> str:
    """The folder of a run below runs/ and evaluation/."""
    repeat = f".repeat-{run['repeat']}" if run["repeat"] else ""
    return f"{run['recipe']}/{run['option']}/seed-{run['seed']}{repeat}"


def card(table: str) -> list[dict[str, str]]:
    """The rows of one published table, read without the code under test."""
    path = Path(published.__file__).parent / "published" / f"{table}.csv"
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def _run(stage: str, recipe: str, option: str, seed: int, repeat: int) -> dict[str, Any]:
    return {
        "stage": stage,
        "recipe": recipe,
        "option": option,
        "seed": seed,
        "repeat": repeat,
        "label": LABELS[option],
    }


def _recipe(label: str, rows: int, epochs: int, steps: int) -> dict[str, Any]:
    return {"label": label, "rows": rows, "epochs": epochs, "steps": steps, "presentations": steps * 2048}


def _suites(model: dict[str, Any], scores: dict[str, float], ceiling: int | None) -> dict[str, Any]:
    suites = {
        name: {
            "spearman": score,
            "pearson": score - 0.01,
            "pairs": PAIRS[name],
            "unique_sentences": 2 * PAIRS[name] - 5,
            "truncated": 3,
            "sha256": "ab" * 32,
            "role": "test",
        }
        for name, score in scores.items()
    }
    return {
        "model": model,
        "ceiling": ceiling,
        "suites": suites,
        "mean": sum(scores.values()) / len(scores),
        "versions": {},
    }


def _statistics(plan: dict[str, Any]) -> dict[str, Any]:
    runs = [run for run in plan["runs"] if run["stage"] == "larger"]
    names = [place(run) for run in runs] + [f"reference/{row['name']}" for row in plan["references"]]
    scores = {place(run): _scores(run) for run in runs}
    references = {name: dict.fromkeys(SUITES, 0.4) for name in names if name not in scores}
    scores.update(references)
    groups = [f"{recipe}/{option}" for recipe, option in LARGER]
    pairs = [(a, b) for at, a in enumerate(groups) for b in groups[at + 1 :]]
    return {
        "method": {},
        "resamples": 2000,
        "seed": 0,
        "suites": [{"suite": name, "pairs": PAIRS[name]} for name in SUITES],
        "rows": [
            {"model": name, "suite": suite, **_interval("spearman", scores[name][suite], PAIRS[suite])}
            for name in names
            for suite in SUITES
        ],
        "means": [{"model": name, **_over("mean", _average(scores[name]))} for name in names],
        "groups": [
            {"group": group, "models": [], "over": "items", **_over("mean", 0.57)} for group in groups
        ],
        "differences": [
            {"a": a, "b": b, "kind": "groups", "over": "items | items", **_over("mean_difference", 0.003)}
            for a, b in pairs
        ]
        + [
            {"a": place(run), "b": "x", "kind": "untrained", "over": "items", **_over("mean_difference", 0.2)}
            for run in runs
        ],
        "seeds": [
            {"group": group, "models": [], "values": [0.571, 0.579], "spread": 0.008} for group in groups
        ],
    }


def _scores(run: dict[str, Any]) -> dict[str, float]:
    rows = [row for row in card("benchmarks") if _same(row, run) and row["suite"] != "mean"]
    return {row["suite"]: float(row["value"]) for row in rows}


def _manifest(chunk: str) -> dict[str, Any]:
    tokens = {"total": 30_000_000, "mean": 60.0, "median": 52.0, "p95": 140.0, "max": 900, "over_128": 31_000}
    files = {"captions.parquet": {"sha256": "ee" * 32, "bytes": 1}}
    return {"chunk": chunk, "rows": 500_000, "tokens": tokens, "files": files}


def _alignment() -> dict[str, Any]:
    return {
        "fit": {"chunks": ["000"], "rows": 500_000},
        "iterations": 3,
        "residual": 0.399,
        "residuals": [0.5, 0.41, 0.4, 0.399],
        "teachers": {
            "minilm-l6": {"cosine_before": 0.11, "cosine_after": 0.91},
            "minilm-l3": {"cosine_before": 0.07, "cosine_after": 0.89},
        },
    }


def _average(scores: dict[str, float]) -> float:
    return sum(scores.values()) / len(scores)


def _interval(key: str, value: float, pairs: int) -> dict[str, float]:
    half = 1.5 / pairs**0.5
    return {key: value, "low": value - half, "high": value + half}


def _over(key: str, value: float) -> dict[str, Any]:
    without = {"suite": "BIOSSES", **_interval(key, value + 0.002, 24_000)}
    return {**_interval(key, value, 6_000), "without_smallest": without}


def _suite(name: str, rows: int, place_of_suite: int) -> dict[str, Any]:
    return {
        "suite": name,
        "role": "development" if name.endswith("dev") else "test",
        "rows": rows,
        "unique_pairs": rows - 1,
        "unique_sentences": 2 * rows - 5,
        "characters": [74107, 73779],
        "score": {"min": 0.0, "mean": 2.5 + place_of_suite / 100, "max": 5.0},
        "sha256": "cd" * 32,
        "source": {"kind": "directory"},
        "versions": {},
    }


def _write_run(root: Path, run: dict[str, Any]) -> None:
    steps = 1952 if run["recipe"] == "screen" else 7808
    digits = None if run["option"].startswith("relative") else 4
    numbers = _numbers(run)
    model = {"kind": "run", "run": run, "weights_sha256": "0f" * 32, "identity": "1e" * 32}
    folder, evaluation = root / "runs" / place(run), root / "evaluation" / place(run)
    additions = {"relative-8": 0, "relative-16": 0, "hierarchical": 2, "binding-whole": 5}[run["option"]]
    write_json(
        folder / "run.json",
        {
            "run": run,
            "spec": {"training": {"batch": 2048}, "option": {"heads": 16}},
            "code": "c0" * 32,
            "identity": "1e" * 32,
            "inputs": {
                "manifests": {"000": "aa" * 32},
                "tokenizer_sha256": "bb" * 32,
                "development_suite_sha256": "cc" * 32,
            },
            "steps": steps,
            "presentations": steps * 2048,
            "tokens": steps * 100_000,
            "parameters": 54_114_560,
            "harmonics": digits,
            "additions": additions,
            "outputs": {
                "final.safetensors": {"sha256": "0f" * 32, "bytes": 1, "tensors_sha256": "2d" * 32},
                "history.jsonl": {"sha256": "3c" * 32, "bytes": 1},
            },
            "best": {"step": steps // 2, "spearman": numbers["spearman"] + 0.001},
            "versions": {},
        },
    )
    write_json(
        folder / "development.json",
        {
            "run": run,
            "suite": "STS-B-dev",
            **numbers,
            "rows": 5000,
            "pairs": 1500,
            "harmonics": digits,
            "additions": additions,
            "parameters": 54_114_560,
            "final_sha256": "0f" * 32,
            "identity": "1e" * 32,
            "best_step": steps // 2,
            "evaluations": [
                {
                    "step": steps * quarter // 4,
                    "spearman": numbers["spearman"] * quarter / 4,
                    "teacher_cosine": 0.7,
                }
                for quarter in (1, 2, 3, 4)
            ],
            "versions": {},
        },
    )
    write_text(
        folder / "history.jsonl", "".join(json.dumps(line) + "\n" for line in _history(steps, numbers))
    )
    larger = run["stage"] == "larger"
    scores = _scores(run) if larger else {"STS-B": numbers["spearman"] - 0.1}
    binding = run["option"] == "binding-whole"
    removed = {"suites": _suites(model, {"STS-B": 0.31}, 64)["suites"], "mean": 0.31} if binding else None
    write_json(evaluation / "suites.json", {**_suites(model, scores, 64), "path_removed": removed})
    samples = _geometry(run) if larger else {}
    write_json(evaluation / "geometry.json", {"model": model, "samples": samples})
    write_json(evaluation / "lookup.json", {"model": model, **_lookup(run["seed"], binding)})
    write_text(evaluation / "lookup-queries.jsonl", _queries(binding))


def _lookup(seed: int, binding: bool) -> dict[str, Any]:
    printed = {
        row["quantity"]: float(row["value"])
        for row in card("lookup")
        if row["option"] == "binding-whole" and row["seed"] == str(seed)
    }
    reading = {
        "head": 0,
        "rows": 4096,
        "captions": 1935,
        "queries": 10146,
        "correct": 10146 if binding else 1203,
        "accuracy": 1.0 if binding else 1203 / 10146,
        "mean_probability": printed["mean_probability"] if binding else 0.08,
        "chance": 0.071,
        "mean_distance": 23.5,
    }
    removed = {**reading, "correct": 900, "accuracy": 900 / 10146, "mean_probability": 0.07}
    whole = {**reading, "other_heads": [], "path_removed": removed if binding else None, "at_birth": removed}
    suite = {**whole, "rows": 2753, "captions": 90, "queries": 120, "correct": 60, "accuracy": 0.5}
    return {"layer": 5, "heads": [0], "source": "061", **whole, "suites": {"STS-B": suite}}


def _queries(binding: bool) -> str:
    lines = []
    for at in range(200):
        distance = 2 + at % 60
        probability = 0.999 - at / 1e5 if binding else 1 / (distance + 2)
        query = {"source": "061", "row": at, "head": 0, "position": 70, "records": [70 - distance]}
        query |= {"distance": distance, "candidates": 30, "probability": probability, "correct": binding}
        lines.append(json.dumps(query) + "\n")
    return "".join(lines)


def _numbers(run: dict[str, Any]) -> dict[str, float]:
    if run["stage"] == "larger":
        return {row["quantity"]: float(row["value"]) for row in card("development") if _same(row, run)}
    shift = 0.01 * list(LABELS).index(run["option"]) + 0.003 * run["seed"]
    return {"spearman": 0.6 + shift, "teacher_cosine": 0.77 + shift, "participation_rank": 90 + shift}


def _geometry(run: dict[str, Any]) -> dict[str, Any]:
    samples: dict[str, Any] = {}
    for row in card("geometry"):
        if _same(row, run):
            sample = samples.setdefault(row["sample"], {"chunk": "060", "asked": 5000, "min_tokens": None})
            number = float(row["value"])
            sample[row["quantity"]] = int(number) if row["quantity"] == "rows" else number
            sample["variance_shares"] = [0.02 * 0.99**place for place in range(768)]
    samples["development:all"] = {**samples["test:all"], "chunk": "061"}
    return samples


def _history(steps: int, numbers: dict[str, float]) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for step in range(1, steps + 1, max(1, steps // 60)):
        part = step / steps
        infonce = 5.0 * (1 - part) ** 2 + 1.0 + 0.05 * ((step * 7919) % 13) / 13
        lines.append(
            {
                "step": step,
                "epoch": int(part * 4),
                "chunk": "000",
                "loss": infonce,
                "infonce": infonce,
                "mse": 0.001,
                "lookup": None,
                "learning_rate": 6e-4 * (1 - part),
                "gradient_norm": 1.0,
                "tokens": 100_000,
            }
        )
    for quarter in (1, 2, 3, 4):
        development = {key: value * quarter / 4 for key, value in numbers.items()}
        lines.append({"step": steps * quarter // 4, "development": development})
    return lines


def _same(row: dict[str, str], run: dict[str, Any]) -> bool:
    return (row["recipe"], row["option"], row["seed"]) == (run["recipe"], run["option"], str(run["seed"]))
