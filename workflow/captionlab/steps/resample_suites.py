"""Put intervals around suite scores, their means and their differences by a paired bootstrap over pairs."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from captionlab.errors import CaptionlabError, MissingFileError
from captionlab.evaluation.results import read_cosines
from captionlab.evaluation.statistics import METHOD, Member, SuiteScores, draw, summarise
from captionlab.files import parse_spec, read_json, versions, write_json
from captionlab.sources.pairs import read_pairs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`--spec` {"resamples","seed","models":[{"name","group","reference"}],"suites","smallest"?}.

    A model's name is its folder below `--evaluations`; "reference" names one below `reference/`.
    """
    parser.add_argument("--spec", required=True)
    parser.add_argument("--code", default="")
    parser.add_argument("--evaluations", type=Path, required=True)
    parser.add_argument("--suites", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)


def run(args: argparse.Namespace) -> None:
    """Write the statistics; without "smallest" the suite with the fewest pairs is the one left out once."""
    spec = parse_spec(args.spec)
    members = [_member(model) for model in spec["models"]]
    names = list(
        dict.fromkeys([member.name for member in members] + [m.reference for m in members if m.reference])
    )
    cosines = {name: read_cosines(args.evaluations / name) for name in names}
    digests = {name: _suite_digests(args.evaluations / name, spec["suites"]) for name in names}
    suites = [_suite(args.suites, suite, cosines) for suite in spec["suites"]]
    for suite in spec["suites"]:
        _check_digests(suite, read_json(args.suites / f"{suite}.json")["sha256"], digests)
    smallest = spec.get("smallest") or min(suites, key=lambda suite: len(suite.gold)).name
    draws = draw(suites, names, spec["resamples"], spec["seed"])
    write_json(
        args.output,
        {
            "method": METHOD,
            "resamples": spec["resamples"],
            "seed": spec["seed"],
            "suites": list(draws.facts),
            **summarise(draws, members, spec["seed"], smallest),
            "spec": spec,
            "code": args.code,
            "versions": versions("captionlab", "numpy"),
        },
    )


def _member(model: dict[str, Any]) -> Member:
    reference = model.get("reference")
    return Member(model["name"], model.get("group"), f"reference/{reference}" if reference else None)


def _suite(folder: Path, suite: str, cosines: dict[str, Any]) -> SuiteScores:
    pairs = read_pairs(folder / f"{suite}.tsv")
    held = {model: found[suite] for model, found in cosines.items() if suite in found}
    return SuiteScores(
        suite,
        np.array([pair.score for pair in pairs], dtype=np.float64),
        [pair.sentence1 for pair in pairs],
        [pair.sentence2 for pair in pairs],
        held,
    )


def _suite_digests(folder: Path, suites: list[str]) -> dict[str, str]:
    evaluated = read_json(folder / "suites.json")["suites"]
    missing = [suite for suite in suites if suite not in evaluated]
    if missing:
        raise MissingFileError(
            f"{folder / 'suites.json'} has no suite {missing[0]}: evaluate the model on it"
        )
    return {suite: evaluated[suite]["sha256"] for suite in suites}


def _check_digests(suite: str, digest: str, digests: dict[str, dict[str, str]]) -> None:
    for model, found in digests.items():
        if found[suite] != digest:
            raise CaptionlabError(
                f"{model} was evaluated on another {suite}.tsv than the present one: do it again"
            )
