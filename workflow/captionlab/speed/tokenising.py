"""Tokenising against transformers' calls, and reading tokens back against a `datasets` table."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, Features, Sequence, Value, disable_progress_bars, load_from_disk
from numpy.typing import NDArray
from tokenizers import Tokenizer

from captionlab.chunks.store import ChunkStore, open_chunk
from captionlab.chunks.tokenizer import CAPACITY, load_tokenizer, tokenize_flat
from captionlab.chunks.write import BLOCK
from captionlab.speed.peers import fast_bert_tokenizer
from captionlab.speed.rows import Goal, Part, Row
from captionlab.speed.timing import in_turn, rate
from captionlab.targets.captions import caption_blocks
from captionlab.training.order import row_order

PEER_BLOCK = 1000
BATCH = 64
CEILING = 256
LEAST_RATIO = 1.3

Rows = list[NDArray[Any]]
Batch = tuple[Rows, NDArray[np.float32]]


def measure(spec: Mapping[str, Any], root: Path, threads: int) -> Part:
    """Captions a second of `tokenize_flat`, tokens a second of a chunk's store.

    Captions are those of `spec["chunk"]`, then of the campaign's other chunks, up to `spec["speed"]["captions"]`.
    """
    # The tokenizers library reads it when its pool starts, at the first batch.
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    captions = read_captions(root, spec["chunk"], spec["speed"]["captions"])
    return Part(
        "tokenising",
        [
            *_tokenising_rows(captions, root / "tokenizer" / "vocab.txt", spec["speed"], threads),
            _store_row(open_chunk(root / "chunks" / spec["chunk"], verify=False), spec["speed"], threads),
        ],
    )


def read_captions(root: Path, chunk: str, most: int) -> list[str]:
    """Captions of a campaign's chunks, those of `chunk` first, the others by name; at most `most`."""
    others = sorted(path.parent.name for path in (root / "chunks").glob("*/captions.parquet"))
    captions: list[str] = []
    for name in dict.fromkeys([chunk, *others]):
        for block in caption_blocks(root / "chunks" / name / "captions.parquet", BLOCK):
            captions += block[: most - len(captions)]
            if len(captions) == most:
                return captions
    return captions


def _tokenising_rows(
    captions: list[str], vocabulary: Path, speed: Mapping[str, Any], threads: int
) -> list[Row]:
    tokenizer, peer = load_tokenizer(vocabulary), fast_bert_tokenizer(vocabulary)

    def padded() -> None:
        for block in _blocks(captions, PEER_BLOCK):
            _padded(peer, block)

    def plain() -> None:
        for block in _blocks(captions, PEER_BLOCK):
            peer(block, truncation=True, max_length=CAPACITY)

    samples = in_turn(
        {"ours": lambda: _flat_ids(tokenizer, captions), "padded": padded, "plain": plain},
        warmup=speed["warmup"],
        repeats=speed["repeats"],
    )
    ids = _flat_ids(tokenizer, captions)
    size = f"{len(captions):,} captions, {len(ids) / len(captions):.1f} tokens each"
    call = f"transformers call in blocks of {PEER_BLOCK:,}, "
    readings = {name: rate(found, len(captions), threads) for name, found in samples.items()}
    shared = f"ours: uint16 ids in one array, blocks of {BLOCK:,}; both cut to {CAPACITY:,} tokens"
    return [
        Row(
            what="tokenising, padded peer",
            size=size,
            unit="captions/s",
            ours=readings["ours"],
            peer_name=f"{call}padding=True, NumPy",
            peer=readings["padded"],
            goal=Goal("ratio", LEAST_RATIO),
            agreement=_difference(ids, _peer_ids(peer, captions)),
            note=shared,
        ),
        Row(
            what="tokenising, peer without padding",
            size=size,
            unit="captions/s",
            ours=readings["ours"],
            peer_name=f"{call}lists of ids",
            peer=readings["plain"],
            note=f"{shared}; the peer's lists would still have to become an array",
        ),
    ]


def _flat_ids(tokenizer: Tokenizer, captions: list[str]) -> NDArray[np.uint16]:
    return np.concatenate([tokenize_flat(tokenizer, block)[0] for block in _blocks(captions, BLOCK)])


def _padded(peer: Any, block: list[str]) -> Any:
    return peer(block, padding=True, truncation=True, max_length=CAPACITY, return_tensors="np")


def _peer_ids(peer: Any, captions: list[str]) -> NDArray[np.int64]:
    found = [_padded(peer, block) for block in _blocks(captions, PEER_BLOCK)]
    return np.concatenate([block["input_ids"][block["attention_mask"].astype(bool)] for block in found])


def _blocks(captions: list[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(captions), size):
        yield captions[start : start + size]


def _store_row(store: ChunkStore, speed: Mapping[str, Any], threads: int) -> Row:
    order = row_order(0, 0, 0, len(store))
    batches = [order[start : start + BATCH] for start in range(0, len(store) - BATCH + 1, BATCH)]
    tokens = int(store.lengths(CEILING)[np.concatenate(batches)].sum())
    with tempfile.TemporaryDirectory() as folder:
        table = _arrow_table(store, Path(folder))
        ways = {"ours": lambda: _read_all(store, batches), "peer": lambda: _read_all_arrow(table, batches)}
        samples = in_turn(ways, warmup=speed["warmup"], repeats=speed["repeats"])
        pairs = [(_read(store, rows), _read_arrow(table, rows)) for rows in (batches[0], batches[-1])]
        difference = max(_batch_difference(ours, theirs) for ours, theirs in pairs)
    return Row(
        what="store, rows and targets in training order",
        size=f"{len(batches):,} batches of {BATCH} of {len(store):,} rows, at most {CEILING} tokens",
        unit="tokens/s",
        ours=rate(samples["ours"], tokens, threads),
        peer_name="datasets, an Arrow table on disk with the NumPy format",
        peer=rate(samples["peer"], tokens, threads),
        agreement=difference,
        note="both read a memory map that the page cache holds: the cost of finding and copying rows, not the "
        "disk's; rows are cut here by ours while reading, for the peer beforehand",
    )


def _arrow_table(store: ChunkStore, folder: Path) -> Dataset:
    assert store.targets is not None
    width = store.targets.shape[1]
    features = Features(
        {"input_ids": Sequence(Value("uint16")), "target": Sequence(Value("float32"), length=width)}
    )
    numbers = range(len(store))
    disable_progress_bars()
    columns = {"input_ids": store.rows(numbers, CEILING), "target": list(store.target_rows(numbers))}
    Dataset.from_dict(columns, features=features).save_to_disk(str(folder / "table"))
    return load_from_disk(str(folder / "table")).with_format("numpy")


def _read(store: ChunkStore, rows: NDArray[np.int64]) -> Batch:
    return store.rows(rows, CEILING), store.target_rows(rows)


def _read_all(store: ChunkStore, batches: list[NDArray[np.int64]]) -> None:
    for rows in batches:
        _read(store, rows)


def _read_arrow(table: Dataset, rows: NDArray[np.int64]) -> Batch:
    found = table[rows]
    return list(found["input_ids"]), np.asarray(found["target"])


def _read_all_arrow(table: Dataset, batches: list[NDArray[np.int64]]) -> None:
    for rows in batches:
        _read_arrow(table, rows)


def _batch_difference(ours: Batch, theirs: Batch) -> float:
    ids = _difference(np.concatenate(ours[0]), np.concatenate(theirs[0]))
    return max(ids, float(np.abs(ours[1] - theirs[1]).max()))


def _difference(ours: NDArray[Any], theirs: NDArray[Any]) -> float:
    if ours.shape != theirs.shape:
        raise ValueError(f"{len(ours)} ids of ours, {len(theirs)} of the peer's")
    return float(np.abs(ours.astype(np.int64) - theirs.astype(np.int64)).max())
