"""Development numbers of a run in training: the one suite and the one row sample that may choose anything."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from captionlab.chunks.store import ChunkStore
from captionlab.chunks.tokenizer import load_tokenizer
from captionlab.evaluation.encode import encode_rows, tokenize_cut
from captionlab.evaluation.geometry import participation_rank, teacher_cosine
from captionlab.evaluation.sampling import sample_rows
from captionlab.evaluation.spearman import cosine_rows, spearman
from captionlab.evaluation.suites import open_suite
from captionlab.rotary.encoder import CaptionEncoder


@dataclass(frozen=True)
class Development:
    """What is read: `captions` token rows with their `targets` float32 [n, d]; unique `sentences` as token
    rows, of which pair i holds numbers `first`[i] and `second`[i] and has the gold score `scores`[i]."""

    captions: list[NDArray[np.uint16]]
    targets: NDArray[np.float32]
    sentences: list[NDArray[np.uint16]]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    scores: NDArray[np.float64]


def read_development(
    store: ChunkStore, suite: Path, tokenizer: Path, development: Mapping[str, Any], caption_ceiling: int
) -> Development:
    """The development data of a spec's `development`: `rows` sampled captions of the chunk (null: all) at
    `caption_ceiling`, and the suite's sentences at the spec's own ceiling.

    Raises CaptionlabError for a sample that is smaller than asked for, unless the spec allows it, and what
    open_suite raises.
    """
    every = np.arange(len(store), dtype=np.int64)
    asked = development["rows"] if development["rows"] is not None else len(store)
    rows = sample_rows(
        every,
        asked,
        seed=development.get("seed", 0),
        sample="development:all",
        allow_fewer=development.get("allow_fewer", False),
    )
    pairs, _ = open_suite(suite.parent, suite.stem)
    unique = sorted({text for pair in pairs for text in (pair.sentence1, pair.sentence2)})
    number = {sentence: index for index, sentence in enumerate(unique)}
    ceiling = development["ceiling"]
    return Development(
        captions=store.rows(rows, caption_ceiling),
        targets=store.target_rows(rows),
        sentences=tokenize_cut(load_tokenizer(tokenizer), unique, ceiling),
        first=np.array([number[pair.sentence1] for pair in pairs], dtype=np.int64),
        second=np.array([number[pair.sentence2] for pair in pairs], dtype=np.int64),
        scores=np.array([pair.score for pair in pairs], dtype=np.float64),
    )


def development_reading(
    encoder: CaptionEncoder, development: Development, sub_batch_tokens: int
) -> Callable[[], dict[str, float]]:
    """A function that reads the encoder as it is then, in FP32: the suite's Spearman correlation, the mean
    cosine of the captions with their targets, and the participation rank of the captions."""

    def read() -> dict[str, float]:
        sentences = encode_rows(encoder, development.sentences, sub_batch_tokens=sub_batch_tokens)
        captions = encode_rows(encoder, development.captions, sub_batch_tokens=sub_batch_tokens)
        cosines = cosine_rows(sentences[development.first], sentences[development.second])
        return {
            "spearman": spearman(cosines, development.scores),
            "teacher_cosine": teacher_cosine(captions, development.targets),
            "participation_rank": participation_rank(captions),
        }

    return read
