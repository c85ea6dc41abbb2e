"""Paired bootstrap of Spearman's correlation: whole clusters of pairs are drawn, ranks are taken anew each time.

A resample is a vector of multiplicities, the same for every model. Re-ranking it needs no sort: with the
values sorted once, the average rank of a tie group is (copies below it) + (its own copies + 1) / 2, which a
cumulative sum of multiplicities gives. Nothing here calls BLAS, so bits do not depend on its threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from captionlab.evaluation.spearman import FloatArray

IntArray = NDArray[np.int64]
_BLOCK = 32
# Multiplicities of one block; suites of up to 32,768 pairs, which are all there are, keep whole blocks.
_BLOCK_VALUES = _BLOCK * 32_768


@dataclass(frozen=True)
class RankPlan:
    """The order of n values and, for each value, where its tie group begins and ends in that order; all [n]."""

    order: IntArray
    first: IntArray
    last: IntArray


def rank_plan(values: ArrayLike) -> RankPlan:
    """Sort `values` [n] once, for ranks under any multiplicities."""
    array = np.asarray(values)
    order = np.argsort(array, kind="stable")
    ordered = array[order]
    return RankPlan(order, np.searchsorted(ordered, array, "left"), np.searchsorted(ordered, array, "right"))


def weighted_ranks(plan: RankPlan, weights: FloatArray) -> FloatArray:
    """Average ranks [n, b] of the values when value i occurs `weights[i, r]` times in resample r."""
    below = np.zeros((len(weights) + 1, weights.shape[1]))
    np.cumsum(weights[plan.order], axis=0, out=below[1:])
    ranks: FloatArray = below[plan.first]
    ranks += below[plan.last]
    ranks += 1.0
    ranks *= 0.5
    return ranks


def hub_clusters(sentence1: Sequence[str], sentence2: Sequence[str]) -> IntArray:
    """Cluster number of each pair [n]: pairs go together when they share the sentence that most pairs use.

    Pairs that share a sentence are not independent. Connected components would put thousands of hardly
    related pairs into one cluster (SICK: 1,875 of 9,927 pairs), and clustering by one column misses what the
    other one shares. So each pair joins the one of its two sentences that occurs in more pairs (the first
    where both occur equally often).
    """
    texts = [*sentence1, *sentence2]
    number = {text: index for index, text in enumerate(dict.fromkeys(texts))}
    numbers = np.array([number[text] for text in texts], dtype=np.int64)
    uses = np.bincount(numbers)
    one, two = numbers[: len(sentence1)], numbers[len(sentence1) :]
    hubs = np.where(uses[two] > uses[one], two, one)
    clusters: IntArray = np.unique(hubs, return_inverse=True)[1].astype(np.int64)
    return clusters


def bootstrap_spearman(
    gold: ArrayLike,
    scores: NDArray[np.float64],
    clusters: NDArray[np.int64],
    resamples: int,
    generator: np.random.Generator,
) -> FloatArray:
    """Spearman of each model with `gold` in each resample; float64 [models, resamples].

    `gold` [n], `scores` [models, n], `clusters` [n] numbered from 0 without gaps. A resample draws as many
    clusters as there are, with replacement. Where one side of a resample is constant the correlation is NaN.
    """
    count = int(clusters.max()) + 1
    gold_plan = rank_plan(gold)
    plans = [rank_plan(row) for row in scores]
    drawn = np.empty((len(scores), resamples))
    block = max(1, min(_BLOCK, _BLOCK_VALUES // len(clusters)))
    for start in range(0, resamples, block):
        stop = min(start + block, resamples)
        weights = _cluster_weights(generator, count, stop - start)[clusters]
        drawn[:, start:stop] = _block(gold_plan, plans, weights)
    return drawn


def _cluster_weights(generator: np.random.Generator, count: int, block: int) -> FloatArray:
    picks = generator.integers(0, count, size=(block, count))
    flat = (picks + np.arange(block)[:, None] * count).ravel()
    return np.bincount(flat, minlength=block * count).reshape(block, count).T.astype(np.float64)


def _block(gold_plan: RankPlan, plans: Sequence[RankPlan], weights: FloatArray) -> FloatArray:
    middle = (weights.sum(axis=0) + 1.0) / 2
    gold = weighted_ranks(gold_plan, weights) - middle
    weighted_gold = gold * weights
    gold_square = np.einsum("nb,nb->b", weighted_gold, gold)
    result = np.empty((len(plans), weights.shape[1]))
    for row, plan in zip(result, plans, strict=True):
        ranks = weighted_ranks(plan, weights)
        ranks -= middle
        product = np.einsum("nb,nb->b", ranks, weighted_gold)
        square = np.einsum("nb,nb,nb->b", ranks, ranks, weights)
        scale = np.sqrt(square * gold_square)
        row[:] = np.divide(product, scale, out=np.full_like(product, np.nan), where=scale > 0)
    return result
