"""A small chunk with targets, written by the library itself."""

import numpy as np
import pytest

from captionlab.chunks.manifest import read_manifest, with_targets
from captionlab.chunks.tokenizer import build_tokenizer
from captionlab.chunks.write import write_chunk
from captionlab.files import digest_entry, write_json
from captionlab.sources.captions import CaptionSource
from captionlab.sources.directory import Caption

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "dog", "##s", "runs", "."]
TEXTS = ["A dog.", "dogs", "A dog runs.", "dogs", "a " * 200]
ROWS = [[2, 5, 6, 9, 3], [2, 6, 7, 3], [2, 5, 6, 8, 9, 3], [2, 6, 7, 3], [2, *[5] * 200, 3]]
WIDTH = 3


@pytest.fixture(scope="session")
def tokenizer():
    return build_tokenizer(PIECES)


def source_of(texts, rows=None):
    captions = (Caption(text, "7" if number % 2 else None) for number, text in enumerate(texts))
    return CaptionSource(len(texts) if rows is None else rows, captions, {"kind": "test"}, 0)


@pytest.fixture
def chunk(tmp_path, tokenizer):
    """Folder of a complete chunk of five rows, targets 3 wide."""
    folder = tmp_path / "train-0"
    record = write_chunk(folder, "train-0", source_of(TEXTS), tokenizer)
    targets = np.random.default_rng(0).normal(size=(len(TEXTS), WIDTH)).astype("<f4")
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    np.save(folder / "targets.npy", targets)
    norms = np.linalg.norm(targets.astype(float), axis=1)
    stats = {
        "dtype": "float32", "shape": list(targets.shape),
        "norm": {"min": float(norms.min()), "mean": float(norms.mean()), "max": float(norms.max())},
        "teachers": {"one": {"cosine_before": 0.25, "cosine_after": 0.75}}, "alignment_sha256": "ab" * 32,
        "file": digest_entry(folder / "targets.npy"),
    }  # fmt: skip
    write_json(folder / "manifest.json", with_targets(record, stats))
    assert read_manifest(folder / "captions.json") == record
    return folder
