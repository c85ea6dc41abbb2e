"""Specs of the benchmark stage: what is timed, at which size, on what of the campaign."""

import json
from typing import Any

from captionlab.campaign import Campaign, Run
from captionlab.files import canonical_json
from captionlab.specs import train_spec

# In the order of the table. The first one measures the machine.
PARTS = (
    *("limits", "training", "encoding", "tokenising", "consensus", "arithmetic", "memory", "startup"),
    *("from_nothing", "workflow"),
)


def speed_spec(campaign: Campaign, part: str) -> str:
    """One part of the benchmark; only the engine's part, which calls it again, has the whole config."""
    config = campaign.config
    return canonical_json(
        {
            "part": part,
            "speed": _speed(campaign),
            "run": timed_run(campaign),
            "chunk": timed_chunk(campaign),
            "suites": encoded_suites(campaign) if part == "encoding" else list(campaign.test_suites),
            "ceiling": config["evaluation"]["ceiling"],
            "targets": config["targets"] if config["targets"]["kind"] == "consensus" else None,
            "final": campaign.paths.under("tables/final.md"),
            "config": config if part == "workflow" else None,
        }
    )


def speed_table_spec(campaign: Campaign) -> str:
    """The table of all parts."""
    return canonical_json({"campaign": campaign.name, "parts": list(PARTS)})


def timed_chunk(campaign: Campaign) -> str:
    """The chunk whose captions are used: the first one that the screen trains on."""
    chunk: str = campaign.recipe(campaign.config["screen"]["recipe"])["chunks"][0]
    return chunk


def encoded_suites(campaign: Campaign) -> list[str]:
    """The suites encoded at the timed size."""
    return list(campaign.config["speed"]["encoding"]["suites"] or campaign.test_suites)


def timed_run(campaign: Campaign) -> dict[str, Any]:
    """The run whose step and encoder are timed: a screen run's spec at the benchmark's size and batch."""
    speed = campaign.config["speed"]
    run = Run("screen", campaign.config["screen"]["recipe"], speed["option"], seed=1)
    spec: dict[str, Any] = json.loads(train_spec(campaign, run))
    spec["model"] |= speed["model"]
    spec["training"] |= {"chunks": [timed_chunk(campaign)], "batch": speed["training"]["rows"], "warmup": 0}
    return spec


def _speed(campaign: Campaign) -> dict[str, Any]:
    """The benchmark's own keys, the timed size with the vocabulary and widths that it gets from the campaign."""
    return {**campaign.config["speed"], "model": timed_run(campaign)["model"]}
