"""Row samples and random streams that depend on named keys alone."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from captionlab.errors import CaptionlabError


def keyed_generator(*key: Any) -> np.random.Generator:
    """A Philox generator whose stream depends on `key` alone."""
    digest = hashlib.sha256("\x1f".join(str(part) for part in key).encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))


def sample_rows(
    candidates: NDArray[np.int64], asked: int, *, seed: int, sample: str, allow_fewer: bool
) -> NDArray[np.int64]:
    """`asked` of the row numbers in `candidates`, ascending: the start of one shuffle keyed by seed and sample.

    A larger sample of the same candidates holds every smaller one. With fewer candidates than asked for all
    are taken if `allow_fewer`, else CaptionlabError says how many there are.
    """
    if len(candidates) < asked and not allow_fewer:
        raise CaptionlabError(
            f"sample {sample} asks for {asked} rows and there are {len(candidates)}: "
            "ask for fewer or set evaluation.allow_fewer"
        )
    order = keyed_generator("sample", seed, sample).permutation(len(candidates))
    return np.sort(candidates[order[:asked]])
