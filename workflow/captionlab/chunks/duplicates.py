"""Duplicates among captions, and captions near to sentences of a suite.

Exact and normalised duplicates are counted over all rows by 64-bit BLAKE2b digests; among N captions the chance
of one false match is about N^2 / 2^65, below 1e-6 for five million. Near-duplicates are found by MinHash with
locality-sensitive hashing over word pairs and then confirmed by their true Jaccard similarity.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
from datasketch import MinHash, MinHashLSH
from numpy.typing import NDArray

from captionlab.errors import MissingFileError

Digests = NDArray[np.uint64]

_SLACK = 0.2
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class NearRule:
    """Sentences are near when the Jaccard similarity of their word pairs reaches `threshold`."""

    threshold: float
    permutations: int
    seed: int


def normalise(text: str) -> str:
    """Words alone, case-folded and without accents (NFKD), one space between: what an uncased reader sees."""
    plain = text.casefold()
    if not plain.isascii():
        letters = unicodedata.normalize("NFKD", plain)
        plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return " ".join(_WORD.findall(plain))


def shingles(text: str) -> frozenset[str]:
    """Pairs of neighbouring words of the normalised text; a single word stands for itself."""
    words = normalise(text).split()
    if len(words) < 2:
        return frozenset(words)
    return frozenset(f"{first} {second}" for first, second in pairwise(words))


def jaccard(one: frozenset[str], two: frozenset[str]) -> float:
    """Shared shingles over all shingles; 0 where both are empty."""
    union = len(one | two)
    return len(one & two) / union if union else 0.0


def read_captions(path: Path) -> Iterator[str]:
    """The captions of a chunk's Parquet file, in order and in bounded memory.

    Raises MissingFileError when the file is not there.
    """
    if not path.is_file():
        raise MissingFileError(f"{path} is missing: prepare the chunk first")
    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=["caption"], batch_size=10_000):
            yield from batch.column(0).to_pylist()


def count_chunks(folders: Mapping[str, Path]) -> dict[str, Any]:
    """Duplicates inside each chunk and across chunks, of captions as they stand and normalised.

    `folders` maps chunk names to their folders. "inside" counts rows beyond the first of each caption; "across"
    and "pairs" count different captions that stand in more than one chunk, or in both of two.
    """
    exact: dict[str, Digests] = {}
    normalised: dict[str, Digests] = {}
    chunks: dict[str, dict[str, int]] = {}
    for name, folder in folders.items():
        raw, plain = _both_digests(read_captions(folder / "captions.parquet"))
        exact[name], normalised[name] = np.unique(raw), np.unique(plain)
        inside = {"exact": len(raw) - len(exact[name]), "normalised": len(plain) - len(normalised[name])}
        chunks[name] = {"rows": len(raw), **inside}
    return {
        "chunks": chunks,
        "across": {"exact": _in_several(exact), "normalised": _in_several(normalised)},
        "pairs": [
            {"a": a, "b": b, "exact": _shared(exact, a, b), "normalised": _shared(normalised, a, b)}
            for a, b in combinations(folders, 2)
        ],
    }


def count_near(
    captions: Iterable[str], suites: Mapping[str, Sequence[str]], rule: NearRule
) -> dict[str, dict[str, int]]:
    """Per suite: different sentences, how many equal a caption after normalising, how many are near one."""
    sentences = {sentence for part in suites.values() for sentence in part}
    held = {normalise(sentence): shingles(sentence) for sentence in sorted(sentences)}
    empty = MinHash(num_perm=rule.permutations, seed=rule.seed)
    # A looser index misses fewer pairs at the threshold; every candidate is confirmed exactly below.
    index = MinHashLSH(threshold=rule.threshold - _SLACK, num_perm=rule.permutations)
    for name, parts in held.items():
        if parts:
            index.insert(name, _signature(parts, empty), check_duplication=False)
    equal, near = set(), set()
    for caption in captions:
        parts = shingles(caption)
        if not parts:
            continue
        plain = normalise(caption)
        if plain in held:
            equal.add(plain)
        for name in index.query(_signature(parts, empty)):
            if name not in near and jaccard(parts, held[name]) >= rule.threshold:
                near.add(name)
    return {suite: _suite_counts(part, equal, near | equal) for suite, part in suites.items()}


def _both_digests(captions: Iterable[str]) -> tuple[Digests, Digests]:
    """Digests of the captions and of their normalised forms, of which memory holds 8 bytes each and no text."""
    raw, plain = bytearray(), bytearray()
    for caption in captions:
        raw += _digest(caption)
        plain += _digest(normalise(caption))
    return np.frombuffer(raw, dtype="<u8"), np.frombuffer(plain, dtype="<u8")


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest()


def _suite_counts(sentences: Sequence[str], equal: set[str], near: set[str]) -> dict[str, int]:
    different = [normalise(sentence) for sentence in dict.fromkeys(sentences)]
    return {
        "sentences": len(different),
        "equal": sum(name in equal for name in different),
        "near": sum(name in near for name in different),
    }


def _signature(parts: frozenset[str], empty: MinHash) -> MinHash:
    # Copying keeps the permutations; drawing them anew for each signature would take most of the time.
    signature = empty.copy()
    signature.update_batch([part.encode("utf-8") for part in parts])
    return signature


def _in_several(held: Mapping[str, Digests]) -> int:
    if not held:
        return 0
    _, counts = np.unique(np.concatenate(list(held.values())), return_counts=True)
    return int((counts > 1).sum())


def _shared(held: Mapping[str, Digests], one: str, two: str) -> int:
    return len(np.intersect1d(held[one], held[two], assume_unique=True))
