"""From a run's spec to an encoder with its first weights."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from captionlab.errors import ConfigError
from captionlab.rotary.encoder import CaptionEncoder, EncoderConfig, Layer, set_first_value
from captionlab.rotary.options import check_option, harmonics, option_from_mapping

SPECIAL_PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LOOKUP_BIRTHS = ("tied", "free")
_CHOICES = {
    "norm": ("post", "pre"),
    "activation": ("gelu", "gelu_tanh"),
    "pooling": ("mean-then-head", "head-then-mean"),
}


def config_from_spec(spec: Mapping[str, Any]) -> EncoderConfig:
    """The encoder's config from the `run`, `model`, `option` and `lookup` of a spec.

    Raises ConfigError naming the option or key that cannot be.
    """
    name = str(spec["run"]["option"])
    model, lookup = spec["model"], spec["lookup"]
    option = option_from_mapping(name, spec["option"])
    check_option(name, option, model, lookup)
    for key, allowed in _CHOICES.items():
        if model[key] not in allowed:
            raise ConfigError(f"model.{key} is {model[key]!r}; allowed are {', '.join(allowed)}")
    birth = lookup.get("birth", "tied")
    if birth not in LOOKUP_BIRTHS:
        raise ConfigError(f"lookup.birth is {birth!r}; allowed are {', '.join(LOOKUP_BIRTHS)}")
    return EncoderConfig(
        vocabulary=model["vocabulary"],
        width=model["width"],
        layers=model["layers"],
        heads=option.heads,
        ffn=model["ffn"],
        target_width=model["target_width"],
        max_tokens=model["max_tokens"],
        norm=model["norm"],
        activation=model["activation"],
        init_std=model["init_std"],
        layer_norm_eps=model["layer_norm_eps"],
        rope_base=model["rope_base"],
        ntk_scale=model["ntk_scale"],
        pooling=model["pooling"],
        position=option.position,
        harmonics=harmonics(option, model["width"]),
        value_path=option.value_path,
        key_phase=option.key_phase,
        record_norm=option.record_norm,
        lookup_layer=lookup["layer"],
        lookup_heads=tuple(lookup["heads"]),
        lookup_birth=birth,
    )


def build_encoder(config: EncoderConfig, pieces: Sequence[str], seed: int) -> CaptionEncoder:
    """An encoder on the CPU in float32, its weights a function of (parameter name, shape, seed).

    Values at birth are those of `set_first_value` with `config.init_std`. Each parameter has a generator of
    its own, so options share every weight they have in common and torch's global generator is left alone.
    With `lookup_birth: tied` the designated heads' key maps start as copies of their query maps, for every
    option alike (they train apart): equal tokens then meet at the top of the score from the first step, which
    rare words would otherwise need thousands of steps to learn. pieces: the vocabulary in id order.
    Raises ConfigError when it does not have `config.vocabulary` pieces.
    """
    if len(pieces) != config.vocabulary:
        raise ConfigError(
            f"model.vocabulary is {config.vocabulary}, but the tokenizer has {len(pieces)} pieces"
        )
    # Not on the meta device: torch draws an embedding there by way of its compiler, seconds of imports.
    with torch.random.fork_rng(devices=[]):
        encoder = CaptionEncoder(config)
    for path, module in encoder.named_modules():
        for name, parameter in module.named_parameters(recurse=False):
            generator = _generator(seed, f"{path}.{name}")
            set_first_value(module, name, parameter, config.init_std, generator)
    if config.lookup_birth == "tied":
        _tie_lookup_heads(encoder)
    encoder.continuation.copy_(torch.tensor([piece.startswith("##") for piece in pieces]))
    encoder.special.copy_(torch.tensor([piece in SPECIAL_PIECES for piece in pieces]))
    return encoder


@torch.no_grad()
def _tie_lookup_heads(encoder: CaptionEncoder) -> None:
    config = encoder.config
    layer = encoder.layers[config.lookup_layer]
    assert isinstance(layer, Layer)
    query, key, _ = layer.attention.qkv.weight.view(3, config.heads, -1, config.width)
    for head in config.lookup_heads:
        key[head].copy_(query[head])


def _generator(seed: int, name: str) -> torch.Generator:
    digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)
