"""The peers, as their users build them, from what a campaign has: its vocabulary and its teachers' weights."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from transformers import BertConfig, BertModel, BertTokenizer

from captionlab.errors import CaptionlabError
from captionlab.sources.packages import package_file
from captionlab.targets.bert import BertConfig as Shape
from captionlab.targets.bert import BertEncoder
from captionlab.targets.onnx_weights import bert_state
from captionlab.targets.teachers import Teacher


def require(*packages: str) -> None:
    """Refuse to measure without packages of the optional extra `bench`; raises CaptionlabError, naming both."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise CaptionlabError(
                f"{package} is not installed and the benchmark measures it as a peer: run `pip install -e '.[bench]'`"
            )


def fast_bert_tokenizer(vocabulary: Path) -> Any:
    """transformers' own fast BERT tokenizer over a `vocab.txt`."""
    return BertTokenizer(vocab=str(vocabulary))


def packaged_teacher(targets: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The spec of the first teacher, by order of the config, whose weights lie in a package; None without one."""
    teachers = (targets or {}).get("teachers") or {}
    found = [{"name": name, **entry} for name, entry in teachers.items() if entry.get("kind") == "package"]
    return found[0] if found else None


def teacher_peer(entry: Mapping[str, Any], teacher: Teacher, folder: Path, ceiling: int) -> Any:
    """A packaged BERT teacher (`entry` is its spec, `teacher` what it loads as) as a SentenceTransformer."""
    assert isinstance(teacher.model, BertEncoder)
    weights = package_file(entry["package"], entry["weights"], entry["sha256"])
    state: Mapping[str, torch.Tensor] = (
        bert_state(weights) if entry.get("format") == "onnx" else load_file(weights)
    )
    file = entry["tokenizer"]
    vocabulary = package_file(file["package"], file["file"], file.get("sha256"))
    return sentence_bert(folder, teacher.model.config, state, vocabulary, ceiling)


def sentence_bert(
    folder: Path, shape: Shape, state: Mapping[str, torch.Tensor], vocabulary: Path, ceiling: int
) -> Any:
    """A SentenceTransformer with mean pooling of a BERT of this shape and these weights.

    `state` has the names of transformers' BertModel. Config, weights and tokenizer are written to `folder` and
    loaded from it. Texts are cut to `ceiling` tokens.
    """
    config = BertConfig(
        vocab_size=shape.vocabulary,
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.ffn,
        max_position_embeddings=shape.positions,
        type_vocab_size=shape.types,
        layer_norm_eps=shape.layer_norm_eps,
    )
    model = BertModel(config, add_pooling_layer=False)
    wanted = model.state_dict()
    model.load_state_dict({name: state[name] for name in wanted if name in state})
    model.save_pretrained(folder)
    fast_bert_tokenizer(vocabulary).save_pretrained(folder)
    require("sentence_transformers")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    body = Transformer(str(folder), max_seq_length=ceiling)
    pooling = Pooling(shape.width, pooling_mode="mean")
    return SentenceTransformer(modules=[body, pooling], device="cpu")


def pairwise_cosines(one: NDArray[np.float32], two: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cosine [n] of row i of `one` with row i of `two`, as sentence-transformers takes it."""
    require("sentence_transformers")
    from sentence_transformers.util import pairwise_cos_sim

    similar = pairwise_cos_sim(one, two)
    return np.asarray(similar.numpy())


def similarity_matrix(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cosines [n, n] of all pairs of rows, as sentence-transformers takes them."""
    require("sentence_transformers")
    from sentence_transformers.util import cos_sim

    return np.asarray(cos_sim(vectors, vectors).numpy())
