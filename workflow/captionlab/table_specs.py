"""The specs of jobs that describe a campaign: its plan, tables, census and audit."""

import json
from collections.abc import Mapping
from typing import Any

from captionlab.campaign import Campaign
from captionlab.files import canonical_json
from captionlab.meaning import option_switches, recipe_steps, rows_of_chunk
from captionlab.release_specs import release_readings, release_table_spec
from captionlab.specs import Spec, keeps_state, model_sizes

# Lengths that a plan assumes where no manifest tells them: a mix of short, long and original captions; a suite's
# sentence; a suite whose rows the config does not state.
ASSUMED_CAPTION_TOKENS = 96
ASSUMED_SENTENCE_TOKENS = 20
ASSUMED_PAIRS = 2000


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
            "model": model_sizes(campaign),
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


def census_spec(campaign: Campaign) -> str:
    """Whose artifacts are pinned, and how its tables are laid out, for those who make them again."""
    return canonical_json({"campaign": campaign.name, "tables": _all_tables(campaign)})


def audit_spec(campaign: Campaign) -> str:
    """What the audit needs to render every table again."""
    return canonical_json({"tables": _all_tables(campaign)})


def _all_tables(campaign: Campaign) -> Spec:
    """The spec of the tables, with that of a published model's where config names one."""
    spec: Spec = json.loads(table_spec(campaign))
    if release_readings(campaign):
        spec["release"] = json.loads(release_table_spec(campaign))
    return spec


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
                "model": model_sizes(campaign),
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
