"""BERT's forward pass in pure torch: importing transformers costs seconds before a teacher reads a caption.

Devlin et al. 2019, post-LayerNorm, exact GELU, learned absolute positions, no pooler. Weights come under the
names of transformers' `BertModel`; outputs agree with it to rounding.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from captionlab.errors import ConfigError, DamagedFileError


@dataclass(frozen=True)
class BertConfig:
    """The numbers that shape a BERT; `positions` is the most tokens a row may have."""

    vocabulary: int
    width: int
    layers: int
    heads: int
    ffn: int
    positions: int
    types: int
    layer_norm_eps: float = 1e-12


def bert_config(values: Mapping[str, Any], state: Mapping[str, Tensor], where: str) -> BertConfig:
    """A config from transformers' own names (`hidden_size`...) or from this project's (`width`...).

    Rows of the three embedding tables that it leaves out are read off the weights. `where` names the source in
    errors. Raises ConfigError on a missing key and on a variant of BERT whose arithmetic is another: relative
    positions, an activation that is not exact GELU, a decoder.
    """
    for key, allowed in (
        ("hidden_act", "gelu"),
        ("position_embedding_type", "absolute"),
        ("is_decoder", False),
        ("add_cross_attention", False),
    ):
        if values.get(key, allowed) != allowed:
            raise ConfigError(f"{where}: {key} is {values[key]!r}; only {allowed!r} is supported for bert")
    names = {
        "vocabulary": "vocab_size",
        "width": "hidden_size",
        "layers": "num_hidden_layers",
        "heads": "num_attention_heads",
        "ffn": "intermediate_size",
        "positions": "max_position_embeddings",
        "types": "type_vocab_size",
        "layer_norm_eps": "layer_norm_eps",
    }
    found = {ours: values.get(ours, values.get(theirs)) for ours, theirs in names.items()}
    for name, table in (("vocabulary", "word"), ("positions", "position"), ("types", "token_type")):
        tensors = [
            value for key, value in state.items() if key.endswith(f"embeddings.{table}_embeddings.weight")
        ]
        if found[name] is None and tensors:
            found[name] = len(tensors[0])
    absent = [name for name, value in found.items() if value is None and name != "layer_norm_eps"]
    if absent:
        raise ConfigError(f"{where}: a bert config needs {', '.join(absent)}")
    config = BertConfig(**{name: value for name, value in found.items() if value is not None})
    if config.width % config.heads:
        raise ConfigError(f"{where}: width {config.width} is not divisible by {config.heads} heads")
    return config


class BertLayer(nn.Module):
    """One block: self-attention and feed-forward, LayerNorm after each sum."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        width, eps = config.width, config.layer_norm_eps
        self.heads = config.heads
        self.query_key_value = nn.Linear(width, 3 * width)
        self.attention_output = nn.Linear(width, width)
        self.attention_norm = nn.LayerNorm(width, eps=eps)
        self.intermediate = nn.Linear(width, config.ffn)
        self.output = nn.Linear(config.ffn, width)
        self.output_norm = nn.LayerNorm(width, eps=eps)

    def forward(self, hidden: Tensor, bias: Tensor | None) -> Tensor:
        """[B, L, width] to the same shape; bias [B, 1, 1, L] is added to the attention logits."""
        rows, length, width = hidden.shape
        heads = self.query_key_value(hidden).view(rows, length, 3, self.heads, width // self.heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4).unbind(0)  # each [B, heads, L, head width]
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        mixed = mixed.transpose(1, 2).reshape(rows, length, width)
        hidden = self.attention_norm(self.attention_output(mixed) + hidden)
        return self.output_norm(self.output(F.gelu(self.intermediate(hidden))) + hidden)  # type: ignore[no-any-return]


class BertEncoder(nn.Module):
    """Token ids to hidden states, as transformers' `BertModel(add_pooling_layer=False).last_hidden_state`."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        # Bare parameters: the random start of nn.Embedding on the meta device costs more than a second of imports.
        self.words = nn.Parameter(torch.empty(config.vocabulary, config.width))
        self.positions = nn.Parameter(torch.empty(config.positions, config.width))
        self.types = nn.Parameter(torch.empty(config.types, config.width))
        self.norm = nn.LayerNorm(config.width, eps=config.layer_norm_eps)
        self.layers = nn.ModuleList(BertLayer(config) for _ in range(config.layers))

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Ids int64 [B, L] and mask bool [B, L] (None: no padding) to float32 [B, L, width]."""
        place = self.positions[: ids.shape[1]] + self.types[0]
        hidden = self.norm(F.embedding(ids, self.words) + place)
        bias = None
        if mask is not None:
            bias = torch.zeros(mask.shape, dtype=hidden.dtype).masked_fill(
                ~mask, torch.finfo(hidden.dtype).min
            )
            bias = bias[:, None, None, :]
        for layer in self.layers:
            hidden = layer(hidden, bias)
        return hidden  # type: ignore[no-any-return]


def build_bert(config: BertConfig, state: Mapping[str, Tensor], where: str) -> BertEncoder:
    """An encoder in evaluation mode holding a `BertModel` state exactly (float32 tensors by their names).

    A leading `bert.` is taken off, `gamma`/`beta` of old checkpoints are read as weight/bias; pooler and
    pretraining heads are left out because no hidden state depends on them. Raises DamagedFileError naming
    every other tensor that is missing, left over or of another shape.
    """
    given = {_current_name(name): value.float() for name, value in state.items() if not _outside_body(name)}
    with torch.device("meta"):
        encoder = BertEncoder(config)
    wanted = {name: tuple(value.shape) for name, value in encoder.state_dict().items()}
    filled, used = {}, set()
    for name, shape in wanted.items():
        sources = _source_names(name)
        absent = [source for source in sources if source not in given]
        if absent:
            raise DamagedFileError(
                f"{where} lacks {', '.join(absent)}: it does not hold the model its config describes"
            )
        value = torch.cat([given[source] for source in sources]) if len(sources) > 1 else given[sources[0]]
        if tuple(value.shape) != shape:
            raise DamagedFileError(
                f"{where}: {sources[0]} makes shape {tuple(value.shape)}, its config wants {shape}"
            )
        filled[name] = value.contiguous()
        used.update(sources)
    left = sorted(set(given) - used)
    if left:
        raise DamagedFileError(
            f"{where} holds tensors that a {config.layers}-layer bert has no place for: {', '.join(left[:4])}"
        )
    encoder.load_state_dict(filled, assign=True)
    return encoder.eval().requires_grad_(False)


def _outside_body(name: str) -> bool:
    body = name.removeprefix("bert.")
    return body.startswith(("pooler.", "cls.")) or body.endswith("position_ids")


def _current_name(name: str) -> str:
    name = name.removeprefix("bert.")
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def _source_names(name: str) -> list[str]:
    """The BertModel tensors that make one tensor of `BertEncoder`, in the order they are stacked."""
    embeddings = {
        "words": "embeddings.word_embeddings.weight",
        "positions": "embeddings.position_embeddings.weight",
        "types": "embeddings.token_type_embeddings.weight",
        "norm.weight": "embeddings.LayerNorm.weight",
        "norm.bias": "embeddings.LayerNorm.bias",
    }
    if name in embeddings:
        return [embeddings[name]]
    _, layer, module, kind = name.split(".")
    parts = {
        "query_key_value": ["attention.self.query", "attention.self.key", "attention.self.value"],
        "attention_output": ["attention.output.dense"],
        "attention_norm": ["attention.output.LayerNorm"],
        "intermediate": ["intermediate.dense"],
        "output": ["output.dense"],
        "output_norm": ["output.LayerNorm"],
    }
    return [f"encoder.layer.{layer}.{part}.{kind}" for part in parts[module]]
