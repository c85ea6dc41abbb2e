"""A trained run that keeps its state, made without training: random weights at a small size, and its export."""

import importlib.metadata
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from packaging.requirements import Requirement

from captionlab.chunks.tokenizer import SPECIALS, vocabulary_digest, vocabulary_text
from captionlab.files import digest_entry, read_json, write_json, write_text
from captionlab.rotary.build import build_encoder, config_from_spec
from captionlab.serving.export import export_run
from captionlab.training.tensors import write_tensors

WORDS = [
    *("a", "an", "the", "red", "blue", "dog", "cat", "runs", "sees", "near", "and", "two", "house", "tree"),
    *("small", "old", "man", "woman", "on", "in"),
]
LETTERS = list("abcdefghijklmnopqrstuvwxyz0123456789.,!?-'")
PIECES = [
    *SPECIALS,
    *LETTERS,
    *WORDS[1:],
    *(f"##{letter}" for letter in LETTERS),
    "猫",
    "##ing",
    "caf",
    "##es",
]
OPTIONS = {
    "relative-16": {"heads": 4, "position": "relative", "value_path": False, "key_phase": "none"},
    "binding-whole": {
        "heads": 2,
        "position": "hierarchical",
        "value_path": True,
        "key_phase": "word",
        "record_norm": 2.18,
        "lookup_loss": 0.1,
    },
}


@dataclass(frozen=True)
class Place:
    """A run's folder, the campaign's tokenizer and the run's export."""

    run: Path
    tokenizer: Path
    export: Path

    @property
    def record(self) -> dict:
        return read_json(self.run / "run.json")


def spec(option: str) -> dict:
    return {
        "run": {"stage": "larger", "recipe": "larger", "option": option, "seed": 1, "repeat": 0},
        "model": {
            "vocabulary": len(PIECES),
            "width": 32,
            "layers": 2,
            "ffn": 64,
            "target_width": 16,
            "max_tokens": 8192,
            "norm": "post",
            "activation": "gelu",
            "init_std": 0.2,
            "layer_norm_eps": 1e-12,
            "rope_base": 10000.0,
            "ntk_scale": 4.0,
            "pooling": "mean-then-head",
        },
        "option": {"record_norm": None, "lookup_loss": 0.0, **OPTIONS[option]},
        "lookup": {"layer": 1, "heads": [0]},
        "training": {"ceiling": 256},
        "compute": {"device": "cpu", "threads": 1, "autocast": None, "tf32": False},
    }


def write_run(root: Path, option: str) -> Place:
    """A finished run below `root`, its state and its export."""
    place = Place(
        root / "runs" / "larger" / option / "seed-1",
        root / "tokenizer",
        root / "export" / "larger" / option / "seed-1",
    )
    write_text(place.tokenizer / "vocab.txt", vocabulary_text(PIECES))
    write_json(place.tokenizer / "manifest.json", {"tokenizer_sha256": vocabulary_digest(PIECES)})
    encoder = build_encoder(config_from_spec(spec(option)), PIECES, seed=1)
    noise = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=noise))
    tensors = dict(encoder.state_dict())
    state = {f"model.{name}": tensor for name, tensor in tensors.items()}
    state |= {f"adam.first.{name}": torch.zeros_like(tensor) for name, tensor in encoder.named_parameters()}
    write_tensors(place.run / "final.safetensors", tensors)
    write_tensors(place.run / "training-state.safetensors", state)
    names = ("final.safetensors", "training-state.safetensors")
    record = {
        "run": spec(option)["run"],
        "spec": spec(option),
        "identity": "1d" * 32,
        "code": "c0de",
        "inputs": {"tokenizer_sha256": vocabulary_digest(PIECES)},
        "outputs": {name: digest_entry(place.run / name) for name in names},
    }
    write_json(place.run / "run.json", record)
    export_run(place.run, record, place.tokenizer, place.export, "c0de")
    return place


@pytest.fixture(scope="session")
def relative(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return write_run(tmp_path_factory.mktemp("campaign"), "relative-16")


@pytest.fixture(scope="session")
def binding(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return write_run(tmp_path_factory.mktemp("campaign"), "binding-whole")


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment in which torch and Transformers, with what they need, are all there is."""
    folder = tmp_path_factory.mktemp("bare")
    python = make_environment(folder)
    link_packages(folder, ["torch", "transformers"])
    return python


@pytest.fixture(scope="session")
def transformers_4(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with Transformers 4.57.6 and this environment's torch, and nothing else."""
    folder = tmp_path_factory.mktemp("transformers-4")
    python = make_environment(folder)
    install = [str(python), "-m", "pip", "install", "-q", "transformers==4.57.6"]
    done = subprocess.run(install, capture_output=True, text=True, timeout=600)
    if done.returncode:
        pytest.skip(f"pip cannot install transformers 4.57.6 here: {done.stderr.strip().splitlines()[-1]}")
    link_packages(folder, ["torch"])
    return python


def make_environment(folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=120)
    return folder / "bin" / "python"


def link_packages(folder: Path, roots: list[str]) -> None:
    """Link packages of this environment, and all they require, into another; what is there already stays."""
    site = next(folder.glob("lib/python*/site-packages"))
    waiting, seen = list(roots), set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        distribution = importlib.metadata.distribution(name)
        for entry in {file.parts[0] for file in distribution.files or [] if file.parts[0] not in ("..", "")}:
            if not (site / entry).exists() and entry != "__pycache__":
                (site / entry).symlink_to(Path(str(distribution.locate_file(entry))))
        for line in distribution.requires or []:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
