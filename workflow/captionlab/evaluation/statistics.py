"""Intervals over suites: per model, of means, of option groups and of their differences.

All models of a suite share its resamples, so a difference is paired. Suites are resampled independently of
each other, and resample r of the mean is the mean over suites of their resamples r. Groups hold the seeds of
one recipe and option. From five seeds on, a group's interval also resamples its seeds; with fewer it speaks of
items alone, and the seeds' values stand beside it without a claim of significance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from captionlab.errors import CaptionlabError
from captionlab.evaluation.bootstrap import (
    IntArray,
    bootstrap_spearman,
    hub_clusters,
)
from captionlab.evaluation.sampling import keyed_generator
from captionlab.evaluation.spearman import FloatArray, spearman

Drawn = tuple[FloatArray, FloatArray]

LEVEL = 0.95
SEEDS_FOR_AN_INTERVAL = 5
METHOD = {
    "interval": "percentile, 95%",
    "resampling": "pairs in clusters, with replacement; the same resamples for every model; ranks taken anew",
    "clusters": "a pair belongs to the one of its sentences that occurs in more pairs of the suite",
    "mean": "suites weighted equally and resampled independently",
    "seeds": f"resampled with the items where a group has {SEEDS_FOR_AN_INTERVAL} seeds or more; else items alone",
}


@dataclass(frozen=True)
class SuiteScores:
    """One suite: gold [n], a cosine [n] for every model, and the two sentence columns."""

    name: str
    gold: FloatArray
    sentence1: Sequence[str]
    sentence2: Sequence[str]
    cosines: Mapping[str, FloatArray]


@dataclass(frozen=True)
class Draws:
    """Spearman of every model on every suite: the point [models, suites], the resamples [models, suites, r]."""

    models: tuple[str, ...]
    suites: tuple[str, ...]
    point: FloatArray
    resampled: FloatArray
    facts: tuple[dict[str, Any], ...]

    def __getitem__(self, model: str) -> Drawn:
        """Point [suites] and resamples [suites, r] of a model."""
        index = self.models.index(model)
        return self.point[index], self.resampled[index]


@dataclass(frozen=True)
class Member:
    """A model of the analysis: its group (recipe and option) and its untrained initialisation, where it has one."""

    name: str
    group: str | None
    reference: str | None


def draw(suites: Sequence[SuiteScores], models: Sequence[str], resamples: int, seed: int) -> Draws:
    """Resample every suite with a stream that depends on the seed and the suite's name alone.

    Raises CaptionlabError when a model has no cosines of a suite or their number is not that of the pairs.
    """
    columns = [_draw_suite(suite, models, resamples, seed) for suite in suites]
    return Draws(
        tuple(models),
        tuple(suite.name for suite in suites),
        np.stack([point for point, _, _ in columns], axis=1),
        np.stack([resampled for _, resampled, _ in columns], axis=1),
        tuple(facts for _, _, facts in columns),
    )


def summarise(draws: Draws, members: Sequence[Member], seed: int, smallest: str | None) -> dict[str, Any]:
    """Rows, means, groups, differences and seed spreads as JSON; `smallest` is the suite to leave out once."""
    names = dict.fromkeys(member.group for member in members if member.group is not None)
    groups = {name: [member.name for member in members if member.group == name] for name in names}
    grouped = {name: _group_draws(draws, name, models, seed) for name, models in groups.items()}
    order = list(groups)
    pairs = [(a, b) for index, a in enumerate(order) for b in order[index + 1 :]]
    trained = [member for member in members if member.reference is not None]
    table = _Table(draws.suites, smallest)
    return {
        "rows": [row for model in draws.models for row in table.rows(model, draws[model])],
        "means": [{"model": model, **table.mean(draws[model])} for model in draws.models],
        "groups": [
            {"group": name, "models": groups[name], "over": _over(groups[name]), **table.mean(grouped[name])}
            for name in groups
        ],
        "differences": [
            {"a": a, "b": b, "kind": "groups", "over": _over_both(groups[a], groups[b])}
            | table.difference(grouped[a], grouped[b])
            for a, b in pairs
        ]
        + [
            {"a": member.name, "b": str(member.reference), "kind": "untrained", "over": "items"}
            | table.difference(draws[member.name], draws[str(member.reference)])
            for member in trained
        ],
        "seeds": [_seed_values(draws, name, models) for name, models in groups.items()],
    }


def _draw_suite(
    suite: SuiteScores, models: Sequence[str], resamples: int, seed: int
) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    for model in models:
        held = len(suite.cosines[model]) if model in suite.cosines else None
        if held != len(suite.gold):
            found = "none" if held is None else f"{held}"
            raise CaptionlabError(
                f"{model} has {found} of the {len(suite.gold)} cosines of suite {suite.name}: evaluate it again"
            )
    clusters = hub_clusters(suite.sentence1, suite.sentence2)
    scores = np.stack([suite.cosines[model] for model in models])
    generator = keyed_generator("suite", seed, suite.name)
    resampled = bootstrap_spearman(suite.gold, scores, clusters, resamples, generator)
    degenerate = np.isnan(resampled)
    point = np.array([spearman(row, suite.gold) for row in scores])
    facts = _facts(suite, clusters) | {"degenerate_resamples": int(degenerate.any(axis=0).sum())}
    return point, np.where(degenerate, 0.0, resampled), facts


def _facts(suite: SuiteScores, clusters: IntArray) -> dict[str, Any]:
    sizes = np.bincount(clusters)
    return {
        "suite": suite.name,
        "pairs": len(suite.gold),
        "clusters": len(sizes),
        "largest_cluster": int(sizes.max()),
        "effective_clusters": float(sizes.sum() ** 2 / (sizes**2).sum()),
    }


def _over(models: Sequence[str]) -> str:
    return "seeds and items" if len(models) >= SEEDS_FOR_AN_INTERVAL else "items"


def _over_both(a: Sequence[str], b: Sequence[str]) -> str:
    first, second = _over(a), _over(b)
    return first if first == second else f"{first} of A, {second} of B"


def _group_draws(draws: Draws, name: str, models: Sequence[str], seed: int) -> Drawn:
    index = np.array([draws.models.index(model) for model in models])
    point = draws.point[index].mean(axis=0)
    resampled = draws.resampled[index]
    if _over(models) == "items":
        return point, resampled.mean(axis=0)
    resamples = resampled.shape[2]
    generator = keyed_generator("seeds", seed, name)
    picks = generator.integers(0, len(models), size=(len(models), resamples))
    return point, resampled[picks, :, np.arange(resamples)].mean(axis=0).T


def _seed_values(draws: Draws, name: str, models: Sequence[str]) -> dict[str, Any]:
    values = [float(draws[model][0].mean()) for model in models]
    spread = max(values) - min(values) if len(values) > 1 else None
    return {"group": name, "models": list(models), "values": values, "spread": spread}


@dataclass(frozen=True)
class _Table:
    suites: tuple[str, ...]
    smallest: str | None

    def rows(self, model: str, drawn: Drawn) -> list[dict[str, Any]]:
        return [
            {"model": model, "suite": suite, **_interval("spearman", point, resampled)}
            for suite, point, resampled in zip(self.suites, *drawn, strict=True)
        ]

    def mean(self, drawn: Drawn) -> dict[str, Any]:
        return self._over_suites("mean", *drawn)

    def difference(self, a: Drawn, b: Drawn) -> dict[str, Any]:
        point, resampled = a[0] - b[0], a[1] - b[1]
        suites = {
            suite: _interval("difference", value, values)
            for suite, value, values in zip(self.suites, point, resampled, strict=True)
        }
        return {**self._over_suites("mean_difference", point, resampled), "suites": suites}

    def _over_suites(self, key: str, point: FloatArray, resampled: FloatArray) -> dict[str, Any]:
        without = None
        if self.smallest is not None and len(self.suites) > 1:
            kept = np.array([suite != self.smallest for suite in self.suites])
            interval = _interval(key, point[kept].mean(), resampled[kept].mean(axis=0))
            without = {"suite": self.smallest, **interval}
        return {**_interval(key, point.mean(), resampled.mean(axis=0)), "without_smallest": without}


def _interval(key: str, point: Any, resampled: NDArray[np.float64]) -> dict[str, float]:
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return {key: float(point), "low": float(low), "high": float(high)}
