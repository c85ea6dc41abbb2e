"""The spec of every job: one canonical JSON string that holds everything which decides its result.

The engine keeps a job's params without their names and forgets those it cannot print, so each rule passes
one such string: two swapped values then change it, and a key that does not matter to a job is not in it.
"""

import json
from typing import Any

from captionlab.campaign import Campaign, Run
from captionlab.files import canonical_json
from captionlab.meaning import option_switches

Spec = dict[str, Any]
SUITE_SPARE_KEYS = ("label",)
RECIPE_SPARE_KEYS = ("label", "keep_state")


def config_spec(campaign: Campaign) -> str:
    """The effective config with the digests of the source files."""
    return canonical_json({"config": campaign.config, "digests": campaign.digests})


def tokenizer_spec(campaign: Campaign) -> str:
    """Where the vocabulary comes from."""
    tokenizer = dict(campaign.config["tokenizer"])
    if tokenizer["kind"] == "directory":
        tokenizer["path"] = str(campaign.data_path(tokenizer["path"]))
        tokenizer["sha256"] = tokenizer["sha256"] or campaign.digests["tokenizer"]
    return canonical_json(tokenizer)


def chunk_spec(campaign: Campaign, chunk: str) -> str:
    """Where a chunk's captions come from."""
    config = campaign.config
    source = dict(config["captions"])
    if source["kind"] == "directory":
        rows = config["chunks"][chunk]["rows"]
        source["path"] = str(campaign.data_path(source["path"]))
        source["files"] = rows
        source["chunks"] = [[name, row["rows"]] for name, row in config["chunks"].items()]
        source["digests"] = {name: campaign.digests[f"captions/{name}"] for name in rows}
    else:
        source |= config["chunks"][chunk]
    return canonical_json({"chunk": chunk, "source": source})


def suite_spec(campaign: Campaign, suite: str) -> str:
    """Where a suite's pairs come from, and what is expected of them."""
    config = campaign.config["suites"]
    role = "development" if suite in config["development"] else "test"
    own = {key: value for key, value in config[role][suite].items() if key not in SUITE_SPARE_KEYS}
    source: Spec = {"kind": config["kind"], **own}
    if config["kind"] == "scenes":
        source["seed"] = config.get("seed", 0)
    if config["kind"] == "directory":
        source["path"] = str(campaign.data_path(config["path"]))
        source["sha256"] = own.get("sha256") or campaign.digests[f"suites/{own['file']}"]
    return canonical_json({"suite": suite, "role": role, "source": source})


def teacher_spec(campaign: Campaign, teacher: str, chunk: str) -> str:
    """A teacher's vectors of one chunk."""
    config = campaign.config
    return canonical_json(
        {
            "teacher": _teacher(campaign, teacher),
            "chunk": chunk,
            "threads": config["compute"]["threads"],
        }
    )


def alignment_spec(campaign: Campaign) -> str:
    """The fit of the teachers' alignment."""
    targets = campaign.config["targets"]
    return canonical_json(
        {
            "teachers": list(campaign.teachers),
            "fit": targets["fit"],
            "target_width": targets["width"],
            "iterations": targets["iterations"],
            "tolerance": targets["tolerance"],
            "ridge": targets["ridge"],
            "threads": campaign.config["compute"]["threads"],
        }
    )


def targets_spec(campaign: Campaign, chunk: str) -> str:
    """The target vectors of one chunk."""
    targets = campaign.config["targets"]
    spec: Spec = {"chunk": chunk, "kind": targets["kind"], "target_width": targets["width"]}
    if targets["kind"] == "consensus":
        spec |= {"teachers": list(campaign.teachers), "threads": campaign.config["compute"]["threads"]}
    else:
        spec["source"] = json.loads(published_spec(campaign, chunk))
    return canonical_json(spec)


def published_spec(campaign: Campaign, chunk: str) -> str:
    """Where a chunk's published target vectors come from."""
    targets, row = campaign.config["targets"], campaign.config["chunks"][chunk]
    spec = {key: targets[key] for key in ("repo", "revision", "allow_floating", "column") if key in targets}
    return canonical_json(
        {**spec, "repo_type": "dataset", "file": row["targets_file"], "sha256": row.get("targets_sha256")}
    )


def train_spec(campaign: Campaign, run: Run) -> str:
    """A run: nothing of test suites, tables or labels is in it."""
    config = campaign.config
    recipe = campaign.recipe(run.recipe)
    training = {key: value for key, value in recipe.items() if key not in RECIPE_SPARE_KEYS}
    training["rows"] = None
    training["keep_state"] = keeps_state(campaign, run)
    development = config["evaluation"]["development"]
    return canonical_json(
        {
            "run": run.as_json(),
            "model": model_sizes(campaign),
            "option": option_switches(config, run.option),
            "lookup": {key: config["lookup"][key] for key in ("layer", "heads", "birth")},
            "training": training,
            "development": {
                **development,
                "suite": campaign.development_suite,
                "ceiling": config["evaluation"]["ceiling"],
                "allow_fewer": config["evaluation"]["allow_fewer"],
                "seed": config["evaluation"]["seed"],
            },
            "compute": config["compute"],
        }
    )


def evaluation_spec(campaign: Campaign, run: Run) -> str:
    """All readings of a run's final weights."""
    config = campaign.config
    evaluation = config["evaluation"]
    option = option_switches(config, run.option)
    return canonical_json(
        {
            "run": run.as_json(),
            "model": model_sizes(campaign),
            "option": option,
            "lookup": {**config["lookup"], "suites": list(evaluation["screen_suites"])},
            "ceiling": evaluation["ceiling"],
            "caption_ceiling": campaign.recipe(run.recipe)["ceiling"],
            "suites": list(campaign.evaluated_suites(run.stage)),
            "path_removal": option["key_phase"] != "none",
            "geometry": {
                "development": evaluation["development"],
                "test": evaluation["test"],
                "allow_fewer": evaluation["allow_fewer"],
                "seed": evaluation["seed"],
            },
            "compute": config["compute"],
        }
    )


def reference_spec(campaign: Campaign, reference: str) -> str:
    """All readings of a reference row."""
    spec = dict(campaign.reference(reference).spec)
    if spec["kind"] == "untrained":
        spec |= {
            "model": model_sizes(campaign),
            "option": option_switches(campaign.config, spec["option"]),
            "lookup": campaign.config["lookup"],
        }
    return canonical_json(
        {
            "reference": spec,
            "ceiling": spec["ceiling"],
            "suites": [*campaign.test_suites],
            "compute": campaign.config["compute"],
        }
    )


def resampling_spec(campaign: Campaign) -> str:
    """The paired bootstrap over all evaluated models."""
    untrained = campaign.config["evaluation"]["references"]["untrained"]
    models: list[Spec] = [
        {
            "name": run.key,
            "group": f"{run.recipe}/{run.option}",
            "reference": f"untrained-{run.option}-seed-{run.seed}" if untrained else None,
        }
        for run in campaign.stage_runs("larger")
    ]
    models += [
        {"name": f"reference/{row.name}", "group": None, "reference": None} for row in campaign.references
    ]
    suites = campaign.config["suites"]["test"]
    return canonical_json(
        {
            "resamples": campaign.config["evaluation"]["resamples"],
            "seed": campaign.config["evaluation"]["seed"],
            "models": models,
            "suites": list(suites),
        }
    )


def mteb_spec(campaign: Campaign) -> str:
    """The models whose scores are also written in mteb's format."""
    places = [run.key for run in campaign.stage_runs("larger")]
    return canonical_json({"models": places + [f"reference/{row.name}" for row in campaign.references]})


def recomputation_spec(campaign: Campaign) -> str:
    """How many runs are evaluated again from their weights, drawn by which seed, equal to which difference."""
    return canonical_json({"runs": 2, "seed": campaign.config["evaluation"]["seed"], "tolerance": 1e-6})


def selection_spec(campaign: Campaign, stage: str) -> str:
    """The declared rule and the runs it may choose from."""
    return canonical_json(
        {
            "stage": stage,
            "near_tie": campaign.config["selection"]["near_tie"],
            "runs": [run.as_json() for run in campaign.stage_runs(stage)],
        }
    )


def keeps_state(campaign: Campaign, run: Run) -> bool:
    """Whether a run keeps optimizer and RNG state beside its weights."""
    kept = campaign.recipe(run.recipe)["keep_state"]
    return bool(kept == "all" or run.option in kept)


def model_sizes(campaign: Campaign) -> Spec:
    """The encoder's sizes: those of the config, the vocabulary and the width of the targets."""
    return {
        "vocabulary": 30522,
        "target_width": campaign.config["targets"]["width"],
        **campaign.config["model"],
    }


def _teacher(campaign: Campaign, name: str) -> Spec:
    teacher = {"name": name, **campaign.config["targets"]["teachers"][name]}
    if teacher["kind"] == "directory":
        teacher["path"] = str(campaign.data_path(teacher["path"]))
    return teacher
