"""The spec of every job: one canonical JSON string that holds everything which decides its result.

The engine keeps a job's params without their names and forgets those it cannot print, so each rule passes
one such string: two swapped values then change it, and a key that does not matter to a job is not in it.
"""

import json
from collections.abc import Mapping
from typing import Any

from captionlab.campaign import Campaign, Run
from captionlab.files import canonical_json
from captionlab.meaning import option_switches, recipe_steps, rows_of_chunk

Spec = dict[str, Any]
SUITE_SPARE_KEYS = ("label",)
RECIPE_SPARE_KEYS = ("label", "keep_state")
# Lengths that a plan assumes where no manifest tells them: a mix of short, long and original captions; a suite's
# sentence; a suite whose rows the config does not state.
ASSUMED_CAPTION_TOKENS = 96
ASSUMED_SENTENCE_TOKENS = 20
ASSUMED_PAIRS = 2000


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
            "model": _model(campaign),
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
            "model": _model(campaign),
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
            "model": _model(campaign),
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


def plan_spec(campaign: Campaign) -> str:
    """Sizes, recipes and runs: what a campaign will take follows from them."""
    config = campaign.config
    evaluation, suites = config["evaluation"], config["suites"]
    captions = (
        evaluation["development"]["rows"] + evaluation["test"]["rows"] + evaluation["test"]["long_rows"]
    )
    pairs = {name: _pairs(row) for name, row in {**suites["development"], **suites["test"]}.items()}
    recipes = {}
    for name in config["recipes"]:
        keys = ("batch", "chunks", "ceiling", "sub_batch_tokens", "keep_state")
        recipes[name] = {key: campaign.recipe(name)[key] for key in keys}
        recipes[name]["steps"] = recipe_steps(config, name)
    return canonical_json(
        {
            "campaign": campaign.name,
            "model": _model(campaign),
            "options": {name: option_switches(config, name) for name in config["options"]},
            "lookup_heads": len(config["lookup"]["heads"]),
            "recipes": recipes,
            "runs": [{**run.as_json(), "keeps_state": keeps_state(campaign, run)} for run in campaign.runs],
            "rows": {name: rows_of_chunk(row) for name, row in config["chunks"].items()},
            "half": config["compute"]["autocast"] is not None,
            "fetched": {
                "captions": config["captions"]["kind"] == "hub",
                "targets": config["targets"]["kind"] == "published",
            },
            "reading": {
                "captions": captions + config["lookup"]["rows"],
                "pairs": {
                    stage: sum(pairs[name] for name in (campaign.development_suite, *names))
                    for stage in ("screen", "larger")
                    for names in [campaign.evaluated_suites(stage)]
                },
                "sentence_tokens": ASSUMED_SENTENCE_TOKENS,
            },
            "assumed_tokens": ASSUMED_CAPTION_TOKENS,
        }
    )


def keeps_state(campaign: Campaign, run: Run) -> bool:
    """Whether a run keeps optimizer and RNG state beside its weights."""
    kept = campaign.recipe(run.recipe)["keep_state"]
    return bool(kept == "all" or run.option in kept)


def census_spec(campaign: Campaign) -> str:
    """Whose artifacts are pinned, and how its tables are laid out, for those who make them again."""
    return canonical_json({"campaign": campaign.name, "tables": json.loads(table_spec(campaign))})


def audit_spec(campaign: Campaign) -> str:
    """What the audit needs to render every table again."""
    return canonical_json({"tables": json.loads(table_spec(campaign))})


def table_spec(campaign: Campaign) -> str:
    """What the tables need of the config: names, labels, sizes; no number that a table prints as a result."""
    config = campaign.config
    suites = config["suites"]
    return canonical_json(
        {
            "campaign": campaign.name,
            "sources": {"captions": config["captions"]["kind"], "suites": suites["kind"]},
            "scale": {
                "published": campaign.name == "published",
                "model": _model(campaign),
                "recipes": {name: _recipe_facts(campaign, name) for name in config["recipes"]},
            },
            "options": config["options"],
            "runs": [
                {**run.as_json(), "label": config["options"][run.option].get("label", run.option)}
                for run in campaign.runs
            ],
            "references": [{"name": row.name, "label": row.label} for row in campaign.references],
            "suites": _labelled(suites["test"], "test"),
            "screen_suites": list(config["evaluation"]["screen_suites"]),
            "development_suite": _labelled(suites["development"], "development")[0],
            "chunks": list(campaign.chunks),
            "teachers": list(campaign.teachers),
            "development_chunk": config["evaluation"]["development"]["chunk"],
            "test_chunk": config["evaluation"]["test"]["chunk"],
            "ceiling": config["evaluation"]["ceiling"],
            "caption_ceiling": config["training"]["ceiling"],
            "long_tokens": config["evaluation"]["test"]["long_tokens"],
            "near_tie": config["selection"]["near_tie"],
            "resamples": config["evaluation"]["resamples"],
            "hygiene": True,
        }
    )


def _pairs(suite: Mapping[str, Any]) -> int:
    return int(suite.get("rows") or suite.get("expect", {}).get("rows") or ASSUMED_PAIRS)


def _labelled(rows: Mapping[str, Any], role: str) -> list[Spec]:
    return [{"name": name, "label": row.get("label", name), "role": role} for name, row in rows.items()]


def _model(campaign: Campaign) -> Spec:
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


def _recipe_facts(campaign: Campaign, name: str) -> Spec:
    recipe = campaign.recipe(name)
    steps = recipe_steps(campaign.config, name)
    return {
        "label": recipe["label"],
        "rows": sum(rows_of_chunk(campaign.config["chunks"][chunk]) for chunk in recipe["chunks"]),
        "epochs": recipe["epochs"],
        "batch": recipe["batch"],
        "steps": steps,
        "presentations": steps * recipe["batch"],
    }
