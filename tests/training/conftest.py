"""A small but whole world for real runs: vocabulary, two chunks with targets, a development suite, a spec."""

import copy
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from captionlab.chunks.manifest import with_targets
from captionlab.chunks.tokenizer import build_tokenizer, vocabulary_digest, vocabulary_text
from captionlab.chunks.write import write_chunk
from captionlab.files import canonical_json, digest_entry, read_json, write_json, write_text
from captionlab.sources.captions import CaptionSource
from captionlab.sources.directory import Caption

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
    "two",
]
PIECES = [*SPECIALS, *WORDS, "##s", "##ed"]
TARGET_WIDTH = 12


@dataclass(frozen=True)
class World:
    """Folders of the data, and what it takes to run the step on them as a process."""

    root: Path
    spec: dict

    def arguments(self, output: Path, state: Path, spec: dict | None = None, *extra: str) -> list[str]:
        spec = self.spec if spec is None else spec
        chunks = [str(self.root / "chunks" / name) for name in spec["training"]["chunks"]]
        return [
            *("train_run", "--spec", canonical_json(spec), "--code", "c0de"),
            *("--tokenizer", str(self.root / "tokenizer"), "--chunks", *chunks),
            *("--development-chunk", str(self.root / "chunks" / "development")),
            *("--development-suite", str(self.root / "suites" / "dev.tsv")),
            *("--output", str(output), "--state", str(state), *extra),
        ]

    def start(self, output: Path, state: Path) -> subprocess.Popen:
        """The step as a process of its own, silent."""
        command = [sys.executable, "-m", "captionlab", *self.arguments(output, state)]
        return subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL)

    def run(self, output: Path, state: Path, spec: dict | None = None, *extra: str) -> tuple[int, str]:
        """The step as a person runs it; exit code and everything it said."""
        done = subprocess.run(
            [sys.executable, "-m", "captionlab", *self.arguments(output, state, spec, *extra)],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        return done.returncode, done.stdout

    def changed(self, **changes: dict) -> dict:
        """The spec with some values of its parts replaced."""
        spec = copy.deepcopy(self.spec)
        for part, values in changes.items():
            spec[part].update(values)
        return spec


@dataclass(frozen=True)
class Trainer:
    """A running child of the nursery."""

    nursery: "Nursery"
    pid: int
    log: Path

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self) -> int:
        """The exit code; minus the signal's number for a killed one."""
        return self.nursery.ask({"wait": self.pid})

    def alive(self) -> bool:
        return Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"

    @property
    def text(self) -> str:
        return self.log.read_text()


class Nursery:
    """Real trainer processes without the seconds that importing torch takes: forks of one that has done so."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("nursery.py")
        self._server = subprocess.Popen(
            [sys.executable, str(script)],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, log: Path, arguments: list[str]) -> Trainer:
        return Trainer(self, self.ask({"arguments": arguments, "log": str(log)}), log)

    def ask(self, order: dict) -> int:
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())

    def close(self) -> None:
        self._server.stdin.close()
        self._server.wait(timeout=30)


def environment() -> dict[str, str]:
    library = str(Path(__file__).resolve().parents[2] / "workflow")
    return {**os.environ, "PYTHONPATH": library, "OMP_NUM_THREADS": "1"}


def _captions(generator: np.random.Generator, rows: int) -> list[str]:
    return [" ".join(generator.choice(WORDS, size=generator.integers(2, 14))) for _ in range(rows)]


def _write_chunk(folder: Path, name: str, rows: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    texts = _captions(generator, rows)
    source = CaptionSource(rows, iter([Caption(text) for text in texts]), {"kind": "test"}, None)
    write_chunk(folder, name, source, build_tokenizer(PIECES))
    basis = np.random.default_rng(0).normal(size=(len(WORDS), TARGET_WIDTH))
    counts = np.array([[text.split().count(word) for word in WORDS] for text in texts])
    targets = (counts @ basis).astype(np.float32)
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


def _spec() -> dict:
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
            "init_std": 0.02,
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
        "lookup": {"layer": 1, "heads": [0], "birth": "tied"},
        "training": {
            "chunks": ["train-0", "train-1"],
            "rows": None,
            "epochs": 3,
            "batch": 8,
            "warmup": 4,
            "learning_rate": 3e-3,
            "floor": 1e-6,
            "clip": 1.0,
            "betas": [0.9, 0.999],
            "eps": 1e-8,
            "temperature": 0.07,
            "mse_weight": 1.0,
            "mse_reduction": "sum",
            "ceiling": 12,
            "micro_batch_tokens": "auto",
            "sub_batch_tokens": 40,
            "state_every": 3,
            "evaluate_at": [0.25, 0.5, 0.75, 1.0],
            "keep_state": True,
            "mask_duplicates": True,
        },
        "development": {"chunk": "development", "rows": 20, "suite": "dev", "ceiling": 10},
        "compute": {"device": "cpu", "threads": 1, "autocast": None, "tf32": False},
    }


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("world")
    write_text(root / "tokenizer" / "vocab.txt", vocabulary_text(PIECES))
    write_json(root / "tokenizer" / "manifest.json", {"tokenizer_sha256": vocabulary_digest(PIECES)})
    for seed, (name, rows) in enumerate({"train-0": 50, "train-1": 35, "development": 24}.items()):
        _write_chunk(root / "chunks" / name, name, rows, seed)
    generator = np.random.default_rng(9)
    left, right = _captions(generator, 30), _captions(generator, 30)
    overlap = [len({*a.split()} & {*b.split()}) for a, b in zip(left, right, strict=True)]
    rows = [f"dev\t{score}\t{a}\t{b}" for score, a, b in zip(overlap, left, right, strict=True)]
    write_text(root / "suites" / "dev.tsv", "\n".join(["subset\tscore\tsentence1\tsentence2", *rows]) + "\n")
    write_json(root / "suites" / "dev.json", digest_entry(root / "suites" / "dev.tsv"))
    return World(root, json.loads(canonical_json(_spec())))


@pytest.fixture(scope="session")
def undisturbed(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of a run that nothing happened to."""
    folder = tmp_path_factory.mktemp("undisturbed")
    code, text = world.run(folder / "run", folder / "state")
    assert code == 0, text
    return folder / "run"


@pytest.fixture(scope="session")
def nursery():
    server = Nursery()
    yield server
    server.close()


@pytest.fixture
def memory_path(tmp_path):
    """A folder in memory where there is one: syncing every step's state to a disk takes most of a run's time."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as name:
        yield Path(name)
