"""Evaluation from vectors: suite scores, caption geometry and the paired bootstrap, without an encoder."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from captionlab.evaluation.bootstrap import hub_clusters
from captionlab.evaluation.geometry import rank_and_shares, self_cosine, teacher_cosine
from captionlab.evaluation.sampling import keyed_generator
from captionlab.evaluation.statistics import SuiteScores, draw
from captionlab.evaluation.suites import evaluate
from captionlab.sources.pairs import Pair, distinct_sentences, read_pairs
from captionlab.speed.peers import pairwise_cosines, similarity_matrix
from captionlab.speed.rows import Part, Row
from captionlab.speed.timing import in_turn, pin_threads, rate, seconds

WIDTH = 768
GEOMETRY_ROWS = 1000
MODELS = 8
PEER_RESAMPLES = 20
SEED = 0
CEILING = 64

Suites = Mapping[str, Sequence[Pair]]
Vectors = NDArray[np.float32]


def measure(spec: Mapping[str, Any], root: Path, threads: int) -> Part:
    """Seconds for all suites, seconds for the geometry of 1,000 captions, resamples a second of eight models.

    Vectors are synthetic and seeded, 768 wide; pairs and gold are those of `root/suites`.
    """
    pin_threads(threads)
    suites = {suite: read_pairs(root / "suites" / f"{suite}.tsv") for suite in spec["suites"]}
    speed = spec["speed"]
    return Part(
        "arithmetic",
        [
            _suite_row(suites, speed, threads),
            _geometry_row(speed, threads),
            _bootstrap_row(suites, speed, threads),
        ],
    )


def unit_vectors(rows: int, width: int, seed: int) -> Vectors:
    """Seeded float32 unit rows [rows, width] that share a direction, as sentence vectors do."""
    random = np.random.default_rng(seed)
    vectors = random.standard_normal((rows, width), dtype=np.float32) + np.float32(0.5)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def _suite_row(suites: Suites, speed: Mapping[str, Any], threads: int) -> Row:
    vectors = {suite: _sentence_vectors(pairs) for suite, pairs in suites.items()}
    sides = {suite: _sides(pairs, vectors[suite]) for suite, pairs in suites.items()}
    gold = {suite: np.array([pair.score for pair in pairs]) for suite, pairs in suites.items()}

    def ours() -> dict[str, float]:
        return {suite: _spearman(pairs, vectors[suite]) for suite, pairs in suites.items()}

    def peer() -> dict[str, float]:
        return {
            suite: float(spearmanr(pairwise_cosines(one, two), gold[suite]).statistic)
            for suite, (one, two) in sides.items()
        }

    samples = in_turn({"ours": ours, "peer": peer}, warmup=speed["warmup"], repeats=speed["repeats"])
    mine, theirs = ours(), peer()
    return Row(
        what="suite scores from vectors",
        size=f"{len(suites)} suites, {sum(map(len, suites.values())):,} pairs, width {WIDTH}",
        unit="s",
        ours=seconds(samples["ours"], threads),
        peer_name="sentence_transformers.util.pairwise_cos_sim and scipy.stats.spearmanr",
        peer=seconds(samples["peer"], threads),
        less_is_better=True,
        agreement=max(abs(mine[suite] - theirs[suite]) for suite in suites),
        note="ours: FP64 cosines, Spearman and Pearson, and the numbering of distinct sentences; the peer: FP32 "
        "cosines, Spearman, and both sides of every pair laid out beforehand",
    )


def _spearman(pairs: Sequence[Pair], vectors: Vectors) -> float:
    return evaluate(lambda texts, ceiling: (vectors, 0), pairs, CEILING).spearman


def _sentence_vectors(pairs: Sequence[Pair]) -> Vectors:
    return unit_vectors(len(distinct_sentences(pairs)), WIDTH, SEED)


def _sides(pairs: Sequence[Pair], vectors: Vectors) -> tuple[Vectors, Vectors]:
    """Both sides' vectors [pairs, width]; sentences are numbered as `evaluate` meets them: a pair's first, then
    the next pair's first, and after all of those the second sides."""
    number: dict[str, int] = {}
    one = [number.setdefault(pair.sentence1, len(number)) for pair in pairs]
    two = [number.setdefault(pair.sentence2, len(number)) for pair in pairs]
    return vectors[one], vectors[two]


def _geometry_row(speed: Mapping[str, Any], threads: int) -> Row:
    vectors = unit_vectors(GEOMETRY_ROWS, WIDTH, SEED)
    targets = unit_vectors(GEOMETRY_ROWS, WIDTH, SEED + 1) + vectors

    def ours() -> dict[str, float]:
        rank, shares = rank_and_shares(vectors)
        return {
            "teacher cosine": teacher_cosine(vectors, targets),
            "participation rank": rank,
            "self cosine": self_cosine(vectors),
            "share": shares[0],
        }

    def peer() -> dict[str, float]:
        values = np.linalg.eigvalsh(np.cov(vectors, rowvar=False))
        similar = similarity_matrix(vectors)
        return {
            "teacher cosine": float(pairwise_cosines(vectors, targets).mean()),
            "participation rank": float(values.sum() ** 2 / (values**2).sum()),
            "self cosine": float(similar[~np.eye(len(similar), dtype=bool)].mean()),
            "share": float(values[-1] / values.sum()),
        }

    samples = in_turn({"ours": ours, "peer": peer}, warmup=speed["warmup"], repeats=speed["repeats"])
    mine, theirs = ours(), peer()
    return Row(
        what="caption geometry from vectors",
        size=f"{GEOMETRY_ROWS:,} rows, width {WIDTH}",
        unit="s",
        ours=seconds(samples["ours"], threads),
        peer_name="np.cov and eigvalsh, sentence_transformers.util.cos_sim of all pairs",
        peer=seconds(samples["peer"], threads),
        less_is_better=True,
        agreement=max(abs(mine[key] - theirs[key]) / max(1.0, abs(theirs[key])) for key in mine),
        note="ours takes covariances by einsum on one thread, not by BLAS, so that no bit depends on the number of "
        "threads; agreement relative to values above 1 (the rank)",
    )


def _bootstrap_row(suites: Suites, speed: Mapping[str, Any], threads: int) -> Row:
    models = [f"model-{number}" for number in range(MODELS)]
    scored = [_scores(suite, pairs, models) for suite, pairs in suites.items()]
    resamples = speed["resamples"]
    fewer = min(PEER_RESAMPLES, resamples)
    ways = {
        "ours": lambda: draw(scored, models, resamples, SEED),
        "peer": lambda: _plain_bootstrap(scored, models, fewer),
    }
    draw(scored, models, 1, SEED)
    samples = in_turn(ways, warmup=0, repeats=speed["repeats"])
    means = draw(scored, models, fewer, SEED).resampled.mean(axis=1)
    return Row(
        what="paired bootstrap of suite scores",
        size=f"{MODELS} models, {len(suites)} suites, {sum(map(len, suites.values())):,} pairs",
        unit="resamples/s",
        ours=rate(samples["ours"], resamples, threads),
        peer_name="scipy.stats.spearmanr on each resample's indices",
        peer=rate(samples["peer"], fewer, threads),
        agreement=float(np.abs(means - _plain_bootstrap(scored, models, fewer)).max()),
        note=f"{resamples:,} resamples by ours, {fewer} by the peer; one resample is all suites of all models; "
        "agreement of the means over suites on the same resamples",
    )


def _scores(suite: str, pairs: Sequence[Pair], models: Sequence[str]) -> SuiteScores:
    gold = np.array([pair.score for pair in pairs], dtype=np.float64)
    random = keyed_generator("speed", suite)
    spread = max(gold.std(), 1e-12)
    cosines = {model: (gold - gold.mean()) / spread + random.standard_normal(len(gold)) for model in models}
    first, second = [pair.sentence1 for pair in pairs], [pair.sentence2 for pair in pairs]
    return SuiteScores(suite, gold, first, second, cosines)


def _plain_bootstrap(
    scored: Sequence[SuiteScores], models: Sequence[str], resamples: int
) -> NDArray[np.float64]:
    """Means over suites [models, resamples] by ranking every resample anew, of the resamples that `draw` takes."""
    found = np.empty((len(scored), len(models), resamples))
    for number, suite in enumerate(scored):
        clusters = hub_clusters(suite.sentence1, suite.sentence2)
        members = np.split(np.argsort(clusters, kind="stable"), np.cumsum(np.bincount(clusters))[:-1])
        generator = keyed_generator("suite", SEED, suite.name)
        picks = generator.integers(0, len(members), size=(resamples, len(members)))
        for resample, picked in enumerate(picks):
            rows = np.concatenate([members[cluster] for cluster in picked])
            for place, model in enumerate(models):
                result = spearmanr(suite.cosines[model][rows], suite.gold[rows])
                found[number, place, resample] = result.statistic
    means: NDArray[np.float64] = found.mean(axis=0)
    return means
