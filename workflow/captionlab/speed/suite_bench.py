"""Reading the suites with one model in three ways: ours, sentence-transformers and mteb's own loop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from tokenizers import Tokenizer

from captionlab.evaluation.spearman import FloatArray, cosine_rows, spearman
from captionlab.evaluation.suites import Encode, SuiteReadings, evaluate, read_suites
from captionlab.sources.pairs import Pair, distinct_sentences

# What both peers take where nothing is said, and another size, which moves the peer's own scores.
PEER_BATCH = 32
OTHER_BATCH = 64
WARM_PAIRS = 64
# Any task of pairs will do; its own data is never loaded.
_TASK = "STS16"


@dataclass(frozen=True)
class Bench:
    """One model, as we and as sentence-transformers read it, and the pairs of each suite in `folder`."""

    encode: Encode
    tokenizer: Tokenizer
    peer: Any
    folder: Path
    pairs: Mapping[str, Sequence[Pair]]
    ceiling: int


def few(bench: Bench) -> Bench:
    """The first pairs of the first suite: enough to warm up on."""
    suite, pairs = next(iter(bench.pairs.items()))
    return replace(bench, pairs={suite: pairs[:WARM_PAIRS]})


def scored_by_us(bench: Bench) -> SuiteReadings:
    """Every suite as evaluate_run reads it."""
    return read_suites(bench.encode, bench.folder, list(bench.pairs), bench.ceiling)


def warmed_by_us(bench: Bench) -> None:
    """The same work on the pairs at hand, which may be fewer than the files hold."""
    for pairs in bench.pairs.values():
        evaluate(bench.encode, pairs, bench.ceiling)


def scored_by_peer(bench: Bench) -> tuple[dict[str, float], dict[str, FloatArray]]:
    """Spearman and cosines by suite, from the vectors of each side as the peer's own evaluator asks for them."""
    cosines = {suite: peer_cosines(bench, pairs, PEER_BATCH) for suite, pairs in bench.pairs.items()}
    return scores_of(bench, cosines), cosines


def peer_cosines(bench: Bench, pairs: Sequence[Pair], batch: int) -> FloatArray:
    """Cosines float64 [pairs] of what the peer makes of each side, `batch` texts at a time."""
    one, two = (
        bench.peer.encode(texts, batch_size=batch, show_progress_bar=False)
        for texts in ([pair.sentence1 for pair in pairs], [pair.sentence2 for pair in pairs])
    )
    return cosine_rows(one, two)


def scored_by_mteb(bench: Bench) -> dict[str, float]:
    """Spearman by suite as mteb.evaluate gives it for the same SentenceTransformer."""
    import mteb

    scores = {}
    for suite, pairs in bench.pairs.items():
        task = mteb.get_task(_TASK)
        columns = {
            "sentence1": [pair.sentence1 for pair in pairs],
            "sentence2": [pair.sentence2 for pair in pairs],
            "score": [pair.score for pair in pairs],
        }
        task.dataset = {"test": Dataset.from_dict(columns)}
        task.data_loaded = True
        options: Any = {"batch_size": PEER_BATCH, "show_progress_bar": False}
        result = mteb.evaluate(bench.peer, task, cache=None, show_progress_bar=False, encode_kwargs=options)
        scores[suite] = float(result[0].scores["test"][0]["cosine_spearman"])
    return scores


def scores_of(bench: Bench, cosines: Mapping[str, FloatArray]) -> dict[str, float]:
    """Spearman by suite of `cosines` with gold."""
    return {
        suite: spearman(values, np.array([pair.score for pair in bench.pairs[suite]], dtype=np.float64))
        for suite, values in cosines.items()
    }


def sentences(bench: Bench) -> int:
    """Sentences of all pairs, each as often as it stands there."""
    return 2 * sum(map(len, bench.pairs.values()))


def size_of(bench: Bench) -> str:
    """The suites in words."""
    distinct = sum(len(distinct_sentences(pairs)) for pairs in bench.pairs.values())
    return f"{len(bench.pairs)} suites, {sentences(bench)} sentences, {distinct} distinct"
