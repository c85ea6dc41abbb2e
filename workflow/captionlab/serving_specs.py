"""Specs of the serving jobs, which runs they are made for, and what an export holds."""

import json
from collections.abc import Sequence
from typing import Any

from captionlab.campaign import Campaign, Run
from captionlab.files import canonical_json
from captionlab.table_specs import table_spec

OWN_LOADER = "own"
EXPORTED = (
    *("config.json", "config_sentence_transformers.json", "configuration_captionbert.py", "encoder.py"),
    *("export.json", "lookup.py", "model.safetensors", "modeling_captionbert.py", "modules.json"),
    *("sentence_bert_config.json", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json"),
    "vocab.txt",
)
CARD = ("README.md", ".eval_results/sentence-suites.yaml")


def served_runs(campaign: Campaign) -> tuple[Run, ...]:
    """Runs that keep their training state, which parity needs; repeats are left out."""
    return tuple(run for run in campaign.runs if not run.repeat and keeps_state(campaign, run))


def keeps_state(campaign: Campaign, run: Run) -> bool:
    """Whether a run's recipe keeps the training state of its option."""
    kept = campaign.recipe(run.recipe)["keep_state"]
    return kept == "all" or run.option in kept


def loaders(campaign: Campaign) -> dict[str, str | None]:
    """Interpreters that load the exports, by name; None stands for the workflow's own."""
    return {OWN_LOADER: None, **_serving(campaign).get("pythons", {})}


def parity_spec(campaign: Campaign, loader: str) -> str:
    """A parity check: the device it runs on and the interpreter of the exported side."""
    return canonical_json(
        {"compute": campaign.config["compute"], "loader": loader, **_python(campaign, loader)}
    )


def serving_table_spec(campaign: Campaign) -> str:
    """The parity table."""
    places = [run.key for run in served_runs(campaign)]
    return canonical_json({**_tables(campaign), "places": places})


def card_spec(campaign: Campaign, run: Run, configfiles: Sequence[str]) -> str:
    """A model card: the run it is of, where its snippet loads from and what makes it again.

    configfiles: those given on the command line, with --replace-workflow-config.
    """
    chosen = f"--configfile {' '.join(configfiles)} --replace-workflow-config " if configfiles else ""
    target = campaign.paths.export(CARD[0], run)
    return canonical_json(
        {
            **_tables(campaign),
            "place": run.key,
            "repository": _serving(campaign).get("repository") or target.rpartition("/")[0],
            "command": f"snakemake --cores 8 {chosen}{target}",
        }
    )


def publishing_spec(campaign: Campaign) -> str:
    """Where the exports are published to, and of which runs they are."""
    serving = _serving(campaign)
    return canonical_json(
        {
            "compute": campaign.config["compute"],
            "repository": serving.get("repository"),
            "private": serving.get("private", True),
            "places": [run.key for run in served_runs(campaign)],
        }
    )


def _tables(campaign: Campaign) -> dict[str, Any]:
    return {"tables": json.loads(table_spec(campaign)), "loaders": list(loaders(campaign))}


def _python(campaign: Campaign, loader: str) -> dict[str, Any]:
    python = loaders(campaign)[loader]
    return {} if python is None else {"python": python}


def _serving(campaign: Campaign) -> dict[str, Any]:
    serving: dict[str, Any] = campaign.config.get("serving", {})
    return serving
