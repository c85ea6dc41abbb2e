"""Seeded vectors of two teachers that agree in part, of as many rows and columns as are asked for."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from captionlab.files import digest_entry, write_json
from captionlab.targets.rows import block_ranges, write_rows

TEACHERS = ("one", "two")
LATENT = 256
NOISE = 0.5


def write_teachers(folder: Path, rows: int, width: int, *, captions_sha256: str) -> None:
    """Both teachers' vectors of one chunk, float32 [rows, width], with the facts that vouch for them."""
    for seed, teacher in enumerate(TEACHERS, 1):
        path = folder / teacher / "chunk.npy"
        path.parent.mkdir(parents=True)
        write_rows(path, rows, width, vector_blocks(rows, width, seed))
        facts = {"rows": rows, "width": width, "captions_sha256": captions_sha256}
        write_json(path.with_suffix(".json"), {**facts, "files": {path.name: digest_entry(path)}})


def vector_blocks(rows: int, width: int, seed: int) -> Iterator[NDArray[np.float32]]:
    """Rows block by block: a latent that all seeds share under a map of the seed's own, and noise, so that there
    is a consensus to find."""
    shared, own = np.random.default_rng(0), np.random.default_rng(seed)
    latent = min(LATENT, width)
    spread = np.linspace(2.0, 0.2, latent)[:, None]
    mixing = (spread * own.standard_normal((latent, width)) / np.sqrt(latent)).astype(np.float32)
    offset = own.standard_normal(width).astype(np.float32)
    for start, stop in block_ranges(rows):
        known = shared.standard_normal((stop - start, latent), dtype=np.float32)
        noise = own.standard_normal((stop - start, width), dtype=np.float32)
        yield known @ mixing + np.float32(NOISE) * noise + offset
