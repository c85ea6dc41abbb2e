"""Encoding and scoring the suites: ours beside sentence-transformers and mteb's own loop with the same weights."""

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from captionlab.chunks.tokenizer import distinct_rows, load_tokenizer, vocabulary
from captionlab.evaluation.encode import SUB_BATCH_TOKENS, encode_sentences, tokenize_cut
from captionlab.evaluation.references import teacher_sentences
from captionlab.evaluation.spearman import FloatArray
from captionlab.rotary.build import build_encoder, config_from_spec
from captionlab.rotary.cost import Shape, attention_flops, linear_flops
from captionlab.rotary.options import option_from_mapping
from captionlab.serving.export import model_tensors, write_model
from captionlab.sources.pairs import Pair, distinct_sentences, read_pairs
from captionlab.speed.limits import GIGA, sgemm_limit
from captionlab.speed.peers import packaged_teacher, require, teacher_peer
from captionlab.speed.profiling import profile_table
from captionlab.speed.rows import Goal, Limit, Part, Row
from captionlab.speed.suite_bench import (
    OTHER_BATCH,
    Bench,
    few,
    peer_cosines,
    scored_by_mteb,
    scored_by_peer,
    scored_by_us,
    scores_of,
    sentences,
    size_of,
    warmed_by_us,
)
from captionlab.speed.timing import Reading, Sample, in_turn, pin_threads, rate
from captionlab.targets.teachers import load_teacher
from captionlab.training.devices import make_deterministic

# Every way by its name; `peer` is sentence-transformers. Ours reads whole files, so it warms up another way.
_WAYS: Mapping[str, Callable[[Bench], Any]] = {
    "ours": scored_by_us,
    "peer": scored_by_peer,
    "mteb": scored_by_mteb,
}
_WARM: Mapping[str, Callable[[Bench], Any]] = {"ours": warmed_by_us}


def measure(spec: Mapping[str, Any], root: Path, threads: int) -> Part:
    """Rows of encoding: sentences a second over all suites, each scored from its cosines.

    A sentence counts each time it stands in a pair, for ours too, which encodes it once a suite. The encoder of
    the timed size has its first weights; the campaign's first packaged teacher, where there is one, trained ones.
    """
    # Before mteb is imported: it reads them then.
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true"}
    require("sentence_transformers", "mteb")
    pin_threads(threads)
    make_deterministic({**spec["run"]["compute"], "threads": threads})
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        bench = prepare(spec, root, Path(first))
        rows = [*_encoder_rows(spec, bench, threads), *_teacher_rows(spec, root, Path(second), threads)]
        suite, pairs = next(iter(bench.pairs.items()))
        profile = profile_table(partial(warmed_by_us, replace(bench, pairs={suite: pairs})))
        return Part("encoding", rows, {f"Where reading {suite} goes": profile})


def prepare(spec: Mapping[str, Any], root: Path, folder: Path) -> Bench:
    """The encoder at its first weights, and the same as sentence-transformers loads it from an export in `folder`."""
    from sentence_transformers import SentenceTransformer

    tokenizer = load_tokenizer(root / "tokenizer" / "vocab.txt")
    pieces, config = vocabulary(tokenizer), config_from_spec(spec["run"])
    encoder = build_encoder(config, pieces, spec["run"]["run"]["seed"]).eval().requires_grad_(False)
    write_model(folder, model_tensors(encoder.state_dict(), folder), config, pieces, spec["ceiling"])
    peer = SentenceTransformer(str(folder), device="cpu", trust_remote_code=True)

    def encode(texts: Sequence[str], ceiling: int) -> tuple[NDArray[np.float32], int]:
        return encode_sentences(
            encoder, tokenizer, texts, ceiling=ceiling, sub_batch_tokens=SUB_BATCH_TOKENS["cpu"]
        )

    return Bench(encode, tokenizer, peer, root / "suites", _pairs(spec, root), spec["ceiling"])


def _pairs(spec: Mapping[str, Any], root: Path) -> dict[str, list[Pair]]:
    return {suite: read_pairs(root / "suites" / f"{suite}.tsv") for suite in spec["suites"]}


def _timed(
    spec: Mapping[str, Any], bench: Bench, names: Sequence[str], threads: int
) -> tuple[dict[str, Any], dict[str, list[Sample]], dict[str, Reading]]:
    """What each way of reading found, the calls measured, and sentences a second."""
    for _ in range(spec["speed"]["warmup"]):
        for name in names:
            {**_WAYS, **_WARM}[name](few(bench))
    found: dict[str, Any] = {}

    def read(name: str) -> None:
        found[name] = _WAYS[name](bench)

    ways = {name: partial(read, name) for name in names}
    samples = in_turn(ways, warmup=0, repeats=spec["speed"]["encoding"]["repeats"])
    return found, samples, {name: rate(taken, sentences(bench), threads) for name, taken in samples.items()}


def _encoder_rows(spec: Mapping[str, Any], bench: Bench, threads: int) -> list[Row]:
    found, samples, readings = _timed(spec, bench, list(_WAYS), threads)
    model = spec["speed"]["model"]
    size = f"{model['layers']} x {model['width']}, {size_of(bench)}"
    distinct = distinct_lengths(bench)
    row = Row(
        what="Encoding and scoring the suites",
        size=size,
        unit="sentences/s",
        ours=readings["ours"],
        goal=Goal("ratio", 2.0),
        note=f"{sentences(bench) / len(distinct):.2f}x of it, because a suite's equal rows of tokens are read once; "
        "the rest, because rows of one length share a product: the peer runs the layers of our export",
    )
    limit = sgemm_limit(model)
    return [
        *_peer_rows(bench, row, readings, found),
        _rate_row(spec, distinct, samples["ours"], threads, size, limit),
    ]


def _teacher_rows(spec: Mapping[str, Any], root: Path, folder: Path, threads: int) -> list[Row]:
    entry = packaged_teacher(spec["targets"])
    if entry is None:
        return []
    teacher = load_teacher(entry, threads=threads)
    peer = teacher_peer(entry, teacher, folder, spec["ceiling"])
    pairs = _pairs(spec, root)
    bench = Bench(
        teacher_sentences(teacher), teacher.tokenizer, peer, root / "suites", pairs, spec["ceiling"]
    )
    found, _, readings = _timed(spec, bench, ("ours", "peer"), threads)
    agreement, note = _agreement(bench, found["ours"].cosines, found["peer"][1])
    return [
        Row(
            what="Encoding and scoring the suites, trained weights",
            size=f"{teacher.name}, {size_of(bench)}",
            unit="sentences/s",
            ours=readings["ours"],
            peer_name="SentenceTransformer.encode",
            peer=readings["peer"],
            agreement=agreement,
            note=note,
        )
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
            peer=readings["peer"],
            agreement=agreement,
            note=f"{row.note}; {note}",
        ),
        replace(
            row,
            peer_name="mteb.evaluate",
            peer=readings["mteb"],
            agreement=_largest_difference(scores, found["mteb"])[0],
            note=f"{row.note}; difference of Spearman as each scores it; mteb scores float32 cosines",
        ),
    ]


def _agreement(
    bench: Bench, ours: Mapping[str, FloatArray], theirs: Mapping[str, FloatArray]
) -> tuple[float, str]:
    """The largest difference of Spearman where pairs that must tie do, and the note on the difference as it is.

    Ours encodes equal rows of tokens once, so that pairs of the same two rows tie. The peer encodes each side by
    itself, among other neighbours, and its float32 vectors of one row differ in their last bits: such pairs come
    apart in any order.
    """
    scores, as_they_are = scores_of(bench, ours), scores_of(bench, theirs)
    whole = {suite: tied(bench, suite, cosines) for suite, cosines in theirs.items()}
    agreement, worst = _largest_difference(scores, scores_of(bench, whole))
    apart, suite = _largest_difference(scores, as_they_are)
    again = {suite: peer_cosines(bench, bench.pairs[suite], OTHER_BATCH)}
    itself, _ = _largest_difference(scores_of(bench, again), as_they_are)
    return agreement, (
        "difference of Spearman by our scorer, with one cosine for pairs of the same tokens, greatest in "
        f"{worst}, where two neighbouring cosines that change places move it by up to "
        f"{one_exchange(len(bench.pairs[worst])):.1e}; as the peer's vectors leave such pairs, {apart:.1e} ({suite}), "
        f"where the peer differs by {itself:.1e} from itself in batches of {OTHER_BATCH}"
    )


def one_exchange(pairs: int) -> float:
    """The most that Spearman of so many pairs moves where two neighbouring ranks change places.

    From rho = 1 - 6 sum(d^2) / (n^3 - n): the exchange moves the sum by twice the distance of the two gold ranks,
    which is at most n - 1.
    """
    return 12 / (pairs * (pairs + 1))


def tied(bench: Bench, suite: str, cosines: FloatArray) -> FloatArray:
    """`cosines` with 1 for pairs of two equal rows of tokens, and that of the first for pairs of the same rows."""
    pairs = bench.pairs[suite]
    texts = distinct_sentences(pairs)
    _, places = distinct_rows(tokenize_cut(bench.tokenizer, texts, bench.ceiling))
    place = dict(zip(texts, places.tolist(), strict=True))
    first: dict[frozenset[int], float] = {}
    keys = [frozenset((place[pair.sentence1], place[pair.sentence2])) for pair in pairs]
    return np.array(
        [
            1.0 if len(key) == 1 else first.setdefault(key, cosine)
            for key, cosine in zip(keys, cosines.tolist(), strict=True)
        ]
    )


def _largest_difference(one: Mapping[str, float], two: Mapping[str, float]) -> tuple[float, str]:
    return max((abs(value - two[suite]), suite) for suite, value in one.items())


def distinct_lengths(bench: Bench) -> NDArray[np.float64]:
    """Tokens of every row that ours reads: the distinct ones of each suite, cut."""
    texts = [distinct_sentences(pairs) for pairs in bench.pairs.values()]
    distinct = [distinct_rows(tokenize_cut(bench.tokenizer, every, bench.ceiling))[0] for every in texts]
    return np.array([len(row) for rows in distinct for row in rows], dtype=np.float64)


def _rate_row(
    spec: Mapping[str, Any],
    lengths: NDArray[np.float64],
    samples: list[Sample],
    threads: int,
    size: str,
    limit: Limit,
) -> Row:
    """Products on the real tokens of distinct sentences, against what torch's products reach by themselves."""
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
        note=f"{lengths.sum():.0f} tokens of distinct rows; reading, tokenising and scoring are in the time, and "
        "norms, GELU and softmax count no FLOP: the profile below",
    )
