"""Encoding and scoring the suites: ours beside sentence-transformers and mteb's own loop with the same weights."""

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray
from tokenizers import Tokenizer

from captionlab.chunks.tokenizer import load_tokenizer, vocabulary
from captionlab.evaluation.encode import SUB_BATCH_TOKENS, encode_sentences
from captionlab.evaluation.spearman import FloatArray, cosine_rows, spearman
from captionlab.evaluation.suites import SuiteReadings, read_suites
from captionlab.rotary.build import build_encoder, config_from_spec
from captionlab.rotary.cost import Shape, attention_flops, linear_flops
from captionlab.rotary.encoder import CaptionEncoder
from captionlab.rotary.options import option_from_mapping
from captionlab.serving.export import model_tensors, write_model
from captionlab.sources.pairs import Pair, distinct_sentences, read_pairs
from captionlab.speed.limits import GIGA, sgemm_limit
from captionlab.speed.peers import require
from captionlab.speed.rows import Goal, Limit, Part, Row
from captionlab.speed.timing import Reading, in_turn, pin_threads, rate
from captionlab.training.devices import make_deterministic

# What both peers take where nothing is said, and another size, which moves the peer's own scores.
PEER_BATCH = 32
OTHER_BATCH = 64
WARM_PAIRS = 64
# Any task of pairs will do; its own data is never loaded.
_TASK = "STS16"


@dataclass(frozen=True)
class Bench:
    """One encoder, loaded by us and by sentence-transformers, and the pairs of each suite."""

    encoder: CaptionEncoder
    tokenizer: Tokenizer
    peer: Any
    folder: Path
    pairs: Mapping[str, Sequence[Pair]]
    ceiling: int


def measure(spec: Mapping[str, Any], root: Path, threads: int) -> Part:
    """Rows of encoding: sentences a second over all suites, each scored from its cosines.

    A sentence counts each time it stands in a pair, for ours too, which encodes it once a suite.
    """
    # Before mteb is imported: it reads them then.
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true"}
    require("sentence_transformers", "mteb")
    pin_threads(threads)
    make_deterministic({**spec["run"]["compute"], "threads": threads})
    with tempfile.TemporaryDirectory() as folder:
        bench = prepare(spec, root, Path(folder))
        return Part("encoding", _rows(spec, bench, threads))


def prepare(spec: Mapping[str, Any], root: Path, folder: Path) -> Bench:
    """The encoder at its first weights, and the same as sentence-transformers loads it from an export in `folder`."""
    from sentence_transformers import SentenceTransformer

    tokenizer = load_tokenizer(root / "tokenizer" / "vocab.txt")
    pieces, config = vocabulary(tokenizer), config_from_spec(spec["run"])
    encoder = build_encoder(config, pieces, spec["run"]["run"]["seed"]).eval().requires_grad_(False)
    write_model(folder, model_tensors(encoder.state_dict(), folder), config, pieces, spec["ceiling"])
    peer = SentenceTransformer(str(folder), device="cpu", trust_remote_code=True)
    suites = root / "suites"
    pairs = {suite: read_pairs(suites / f"{suite}.tsv") for suite in spec["suites"]}
    return Bench(encoder, tokenizer, peer, suites, pairs, spec["ceiling"])


def _rows(spec: Mapping[str, Any], bench: Bench, threads: int) -> list[Row]:
    found: dict[str, Any] = {}
    ways: dict[str, Callable[[], Any]] = {
        "ours": lambda: found.update(ours=_ours(bench)),
        "sentence-transformers": lambda: found.update(peer=_scored_by_peer(bench)),
        "mteb": lambda: found.update(mteb=_scored_by_mteb(bench)),
    }
    few = {suite: pairs[:WARM_PAIRS] for suite, pairs in list(bench.pairs.items())[:1]}
    for _ in range(spec["speed"]["warmup"]):
        warm = Bench(bench.encoder, bench.tokenizer, bench.peer, bench.folder, few, bench.ceiling)
        _encoded_by_us(warm)
        _scored_by_peer(warm)
        _scored_by_mteb(warm)
    samples = in_turn(ways, warmup=0, repeats=spec["speed"]["encoding"]["repeats"])
    sentences = 2 * sum(map(len, bench.pairs.values()))
    readings = {name: rate(taken, sentences, threads) for name, taken in samples.items()}
    size = _size(spec["speed"]["model"], bench)
    row = Row(
        "Encoding and scoring the suites", size, "sentences/s", readings["ours"], goal=Goal("ratio", 2.0)
    )
    limit = sgemm_limit(spec["speed"]["model"])
    return [
        *_peer_rows(bench, row, readings, found),
        _rate_row(spec, bench, samples["ours"], threads, size, limit),
    ]


def _peer_rows(
    bench: Bench, row: Row, readings: Mapping[str, Reading], found: Mapping[str, Any]
) -> list[Row]:
    agreement, note = _agreement(bench, found["ours"].cosines, found["peer"][1])
    scores = {suite: float(entry["spearman"]) for suite, entry in found["ours"].entries.items()}
    return [
        replace(
            row,
            peer_name="SentenceTransformer.encode",
            peer=readings["sentence-transformers"],
            agreement=agreement,
            note=note,
        ),
        replace(
            row,
            peer_name="mteb.evaluate",
            peer=readings["mteb"],
            agreement=_largest_difference(scores, found["mteb"])[0],
            note="difference of Spearman as each scores it; mteb scores float32 cosines",
        ),
    ]


def _ours(bench: Bench) -> SuiteReadings:
    def encode(texts: Sequence[str], ceiling: int) -> tuple[NDArray[np.float32], int]:
        return encode_sentences(
            bench.encoder, bench.tokenizer, texts, ceiling=ceiling, sub_batch_tokens=SUB_BATCH_TOKENS["cpu"]
        )

    return read_suites(encode, bench.folder, list(bench.pairs), bench.ceiling)


def _encoded_by_us(bench: Bench) -> None:
    for pairs in bench.pairs.values():
        texts = distinct_sentences(pairs)
        encode_sentences(
            bench.encoder,
            bench.tokenizer,
            texts,
            ceiling=bench.ceiling,
            sub_batch_tokens=SUB_BATCH_TOKENS["cpu"],
        )


def _scored_by_peer(bench: Bench) -> tuple[dict[str, float], dict[str, FloatArray]]:
    """Spearman and cosines by suite, from the vectors of each side as the peer's own evaluator asks for them."""
    cosines = {suite: _peer_cosines(bench, pairs, PEER_BATCH) for suite, pairs in bench.pairs.items()}
    return _scores(bench, cosines), cosines


def _peer_cosines(bench: Bench, pairs: Sequence[Pair], batch: int) -> FloatArray:
    one, two = (
        bench.peer.encode(texts, batch_size=batch, show_progress_bar=False)
        for texts in ([pair.sentence1 for pair in pairs], [pair.sentence2 for pair in pairs])
    )
    return cosine_rows(one, two)


def _scored_by_mteb(bench: Bench) -> dict[str, float]:
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


def _agreement(
    bench: Bench, ours: Mapping[str, FloatArray], theirs: Mapping[str, FloatArray]
) -> tuple[float, str]:
    """The largest difference of Spearman where a pair of equal sentences has cosine 1 for both, and the note that
    tells of the difference without that.

    Ours encodes a sentence once. The peer encodes each side by itself, padded to other neighbours, and its two
    float32 vectors of one sentence differ in their last bits: pairs that tie come apart in any order.
    """
    scores, as_they_are = _scores(bench, ours), _scores(bench, theirs)
    tied = {
        suite: np.where([pair.sentence1 == pair.sentence2 for pair in bench.pairs[suite]], 1.0, cosines)
        for suite, cosines in theirs.items()
    }
    agreement, _ = _largest_difference(scores, _scores(bench, tied))
    apart, suite = _largest_difference(scores, as_they_are)
    again = {suite: _peer_cosines(bench, bench.pairs[suite], OTHER_BATCH)}
    itself, _ = _largest_difference(_scores(bench, again), as_they_are)
    return agreement, (
        "difference of Spearman by our scorer, with cosine 1 for a pair of equal sentences; as the peer's vectors of "
        f"the two sides leave such pairs, {apart:.1e} ({suite}), where the peer differs by {itself:.1e} from itself "
        f"in batches of {OTHER_BATCH}"
    )


def _scores(bench: Bench, cosines: Mapping[str, FloatArray]) -> dict[str, float]:
    return {
        suite: spearman(values, np.array([pair.score for pair in bench.pairs[suite]], dtype=np.float64))
        for suite, values in cosines.items()
    }


def _largest_difference(one: Mapping[str, float], two: Mapping[str, float]) -> tuple[float, str]:
    return max((abs(value - two[suite]), suite) for suite, value in one.items())


def _rate_row(
    spec: Mapping[str, Any], bench: Bench, samples: Any, threads: int, size: str, limit: Limit
) -> Row:
    """Products on the real tokens of distinct sentences, against what torch's products reach by themselves."""
    lengths = np.concatenate([_lengths(bench, pairs) for pairs in bench.pairs.values()]).astype(np.float64)
    shape = Shape(len(lengths), float(lengths.sum()), float((lengths**2).sum()))
    model = spec["speed"]["model"]
    option = option_from_mapping(spec["run"]["run"]["option"], spec["run"]["option"])
    flops = linear_flops(model, option, shape, lookup_heads=0) + attention_flops(model, shape)
    return Row(
        what="Encoding and scoring the suites, products on real tokens",
        size=size,
        unit="GFLOP/s",
        ours=rate(samples, flops / GIGA, threads),
        limit=limit,
        note=f"{lengths.sum():.0f} tokens of distinct sentences; reading, tokenising and scoring are in the time",
    )


def _lengths(bench: Bench, pairs: Sequence[Pair]) -> NDArray[np.int64]:
    texts = distinct_sentences(pairs)
    lengths = [len(encoding.ids) for encoding in bench.tokenizer.encode_batch_fast(texts)]
    return np.minimum(np.array(lengths, dtype=np.int64), bench.ceiling)


def _size(model: Mapping[str, Any], bench: Bench) -> str:
    total = 2 * sum(map(len, bench.pairs.values()))
    distinct = sum(len(distinct_sentences(pairs)) for pairs in bench.pairs.values())
    return f"{model['layers']} x {model['width']}, {len(bench.pairs)} suites, {total} sentences, {distinct} distinct"
