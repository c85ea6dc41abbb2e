"""Caption geometry of an encoder: deterministic row samples of the development and test chunks."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from captionlab.chunks.manifest import MANIFEST_JSON
from captionlab.chunks.store import ChunkStore, open_chunk
from captionlab.errors import CaptionlabError
from captionlab.evaluation.encode import encode_rows
from captionlab.evaluation.geometry import rank_and_shares, self_cosine, teacher_cosine
from captionlab.evaluation.sampling import sample_rows
from captionlab.files import sha256_bytes, sha256_file
from captionlab.rotary.encoder import CaptionEncoder


@dataclass(frozen=True)
class Sample:
    """Rows of a chunk; `min_tokens` is the fewest tokens (with [CLS] and [SEP], before any cut) a row may have."""

    name: str
    chunk: str
    asked: int
    min_tokens: int
    rows: NDArray[np.int64]


def caption_samples(geometry: Mapping[str, Any], stores: Mapping[str, ChunkStore]) -> Iterator[Sample]:
    """The samples of a spec's `geometry`, by the stores of its chunks; `rows` null asks for all.

    Raises CaptionlabError when a chunk has fewer rows than asked for and `allow_fewer` is off.
    """
    development, test = geometry["development"], geometry["test"]
    asked = [("development:all", development["chunk"], development["rows"], 0)]
    asked.append(("test:all", test["chunk"], test["rows"], 0))
    if test.get("long_rows"):
        asked.append(("test:long", test["chunk"], test["long_rows"], test["long_tokens"] + 1))
    for name, chunk, count, fewest in asked:
        store = stores[chunk]
        count = len(store) if count is None else count
        candidates = np.flatnonzero(np.diff(store.offsets) >= fewest).astype(np.int64)
        rows = sample_rows(
            candidates, count, seed=geometry["seed"], sample=name, allow_fewer=geometry["allow_fewer"]
        )
        yield Sample(name, chunk, count, fewest, rows)


def read_geometry(
    encoder: CaptionEncoder, store: ChunkStore, sample: Sample, *, ceiling: int, sub_batch_tokens: int
) -> dict[str, Any]:
    """Teacher cosine, participation rank, self cosine and variance shares of a sample, its rows cut to `ceiling`.

    Fewer than two rows have no geometry: its values are then None.
    """
    facts: dict[str, Any] = {
        "chunk": sample.chunk,
        "rows": len(sample.rows),
        "asked": sample.asked,
        "min_tokens": sample.min_tokens,
        "ceiling": ceiling,
        "rows_sha256": sha256_bytes(sample.rows.astype("<i8").tobytes()),
        "manifest_sha256": sha256_file(store.directory / MANIFEST_JSON),
    }
    if len(sample.rows) < 2:
        names = ("teacher_cosine", "participation_rank", "self_cosine", "variance_shares")
        return {**facts, **dict.fromkeys(names)}
    rows = store.rows(sample.rows, ceiling)
    vectors = encode_rows(encoder, rows, sub_batch_tokens=sub_batch_tokens)
    targets = store.target_rows(sample.rows)
    if targets.shape != vectors.shape:
        raise CaptionlabError(
            f"targets of chunk {sample.chunk} are {targets.shape[1]} wide, the encoder's vectors {vectors.shape[1]}: "
            "set targets.width to one of them"
        )
    rank, shares = rank_and_shares(vectors)
    return {
        **facts,
        "teacher_cosine": teacher_cosine(vectors, targets),
        "participation_rank": rank,
        "self_cosine": self_cosine(vectors),
        "variance_shares": shares,
    }


def read_samples(
    encoder: CaptionEncoder,
    geometry: Mapping[str, Any] | None,
    stores: Mapping[str, ChunkStore],
    *,
    ceiling: int,
    sub_batch_tokens: int,
) -> dict[str, dict[str, Any]]:
    """The geometry of every sample that a spec's `geometry` asks for, by the sample's name; nothing for None."""
    samples = {}
    for sample in caption_samples(geometry, stores) if geometry else ():
        store = stores[sample.chunk]
        samples[sample.name] = read_geometry(
            encoder, store, sample, ceiling=ceiling, sub_batch_tokens=sub_batch_tokens
        )
        print(f"{sample.name}: geometry of {len(sample.rows)} rows", file=sys.stderr, flush=True)
    return samples


def open_chunks(geometry: Mapping[str, Any] | None, folder: Path) -> dict[str, ChunkStore]:
    """The chunks that a spec's `geometry` names, below `folder`, every array checked against its manifest."""
    names = dict.fromkeys(geometry[role]["chunk"] for role in ("development", "test")) if geometry else {}
    return {name: open_chunk(folder / name, verify=True) for name in names}
