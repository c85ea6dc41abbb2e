"""Small teachers with real weights formats, made on the spot."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from captionlab.chunks.tokenizer import build_tokenizer
from captionlab.chunks.write import write_chunk
from captionlab.sources.captions import CaptionSource
from captionlab.sources.directory import Caption
from captionlab.targets.bert import BertConfig

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *"abcdefghijklmnopqrstuvwxyz",
    "##a",
    "##b",
    "red",
    "dog",
    "runs",
]
TINY = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24}


def tiny_config() -> BertConfig:
    return BertConfig(
        vocabulary=len(WORDS),
        width=16,
        layers=2,
        heads=4,
        ffn=24,
        positions=32,
        types=2,
        layer_norm_eps=1e-12,
    )


def tiny_state(seed: int = 3) -> dict[str, torch.Tensor]:
    """A BertModel state with every tensor away from its usual start, LayerNorms too."""
    random = torch.Generator().manual_seed(seed)
    width, ffn = 16, 24
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), width),
        "embeddings.position_embeddings.weight": (32, width),
        "embeddings.token_type_embeddings.weight": (2, width),
        "embeddings.LayerNorm.weight": (width,),
        "embeddings.LayerNorm.bias": (width,),
    }
    for layer in range(2):
        linears = {
            "attention.self.query": (width, width),
            "attention.self.key": (width, width),
            "attention.self.value": (width, width),
            "attention.output.dense": (width, width),
            "intermediate.dense": (ffn, width),
            "output.dense": (width, ffn),
        }
        for name, shape in linears.items():
            shapes[f"encoder.layer.{layer}.{name}.weight"] = shape
            shapes[f"encoder.layer.{layer}.{name}.bias"] = shape[:1]
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"encoder.layer.{layer}.{name}.weight"] = (width,)
            shapes[f"encoder.layer.{layer}.{name}.bias"] = (width,)
    return {name: 0.4 * torch.randn(shape, generator=random) for name, shape in shapes.items()}


def write_teacher_folder(folder: Path, state: dict[str, torch.Tensor], **config: Any) -> dict[str, Any]:
    """A folder of kind `directory`; returns its spec."""
    folder.mkdir(parents=True)
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    described = {
        "model_type": "bert",
        "vocab_size": len(WORDS),
        "max_position_embeddings": 32,
        "type_vocab_size": 2,
        **TINY,
        **config,
    }
    (folder / "config.json").write_text(json.dumps(described))
    (folder / "tokenizer.json").write_text(build_tokenizer(WORDS).to_str())
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    return {"name": folder.name, "kind": "directory", "path": str(folder), "sha256": digest, "ceiling": 12}


def write_captions(folder: Path, chunk: str, texts: list[str]) -> Path:
    """A chunk folder without targets."""
    source = CaptionSource(len(texts), iter([Caption(text) for text in texts]), {"kind": "directory"}, None)
    write_chunk(folder, chunk, source, build_tokenizer(WORDS))
    return folder


@pytest.fixture
def tiny_teacher_spec(tmp_path: Path) -> dict[str, Any]:
    """A two-layer BERT, 16 wide, in a folder."""
    return write_teacher_folder(tmp_path / "tiny", tiny_state())
