"""Options of the study as rows of switches; nothing here needs torch.

An option is one row of data: how many heads, how positions turn queries and keys, and four switches that
each add one mechanism. What a switch does is arithmetic and lives in `encoder.py`; here options are read,
checked against the model they go into and counted.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from captionlab.errors import ConfigError

POSITIONS = ("relative", "hierarchical")
KEY_PHASES = ("none", "piece", "word")
DIGITS = 3
BASE = 8
MAX_HARMONICS = BASE // 2
MIN_HEAD_DIM = 4


@dataclass(frozen=True)
class Option:
    """One architecture as switches.

    heads: attention heads a layer. position: `relative` (NTK-scaled rotary) or `hierarchical` (base-8
    digits of the segment). value_path: a zero-born map from the segment address to the values.
    key_phase: what turns queries and keys of the lookup heads (`none` keeps positions). record_norm:
    root mean square per channel to which those queries and keys are scaled, or None. lookup_loss: weight
    of the lookup loss, 0 for none.
    """

    heads: int
    position: str = "relative"
    value_path: bool = False
    key_phase: str = "none"
    record_norm: float | None = None
    lookup_loss: float = 0.0


def option_from_mapping(name: str, mapping: Mapping[str, Any]) -> Option:
    """Read an option from a config's mapping; `heads` is required, the other switches are off by default.

    Raises ConfigError naming the option, the key and what is allowed.
    """
    if not isinstance(mapping, Mapping):
        raise ConfigError(f"option {name} is {mapping!r}: give it a mapping with at least `heads`")
    known = [field.name for field in fields(Option)]
    for key in mapping:
        if key not in known:
            raise ConfigError(f"option {name} has an unknown switch {key!r}: allowed are {', '.join(known)}")
    if "heads" not in mapping:
        raise ConfigError(f"option {name} has no `heads`: give the number of attention heads")
    norm = mapping.get("record_norm")
    return Option(
        heads=_whole(name, "heads", mapping["heads"]),
        position=_one_of(name, "position", mapping.get("position", "relative"), POSITIONS),
        value_path=_switch(name, "value_path", mapping.get("value_path", False)),
        key_phase=_one_of(name, "key_phase", mapping.get("key_phase", "none"), KEY_PHASES),
        record_norm=None if norm is None else _number(name, "record_norm", norm, least_excluded=0.0),
        lookup_loss=_number(name, "lookup_loss", mapping.get("lookup_loss", 0.0)),
    )


def check_option(
    name: str, option: Option, model: Mapping[str, Any], lookup: Mapping[str, Any] | None = None
) -> None:
    """Refuse an option that contradicts itself, the model or the designated lookup head.

    model: the mapping with `width` and `layers`. lookup: the mapping with `layer` (0-based) and `heads`;
    it is the same for every option, because options without lookup are read too. Without it the lookup
    head is not checked.
    Raises ConfigError naming the option and the contradiction.
    """
    width = int(model["width"])
    if width % option.heads:
        raise ConfigError(f"option {name}: heads {option.heads} does not divide the model's width {width}")
    head_dim = width // option.heads
    if head_dim % 2 or head_dim < MIN_HEAD_DIM:
        raise ConfigError(
            f"option {name}: width {width} / heads {option.heads} gives head dim {head_dim}; "
            f"rotary pairs need an even one of at least {MIN_HEAD_DIM}"
        )
    try:
        harmonics(option, width)
    except ConfigError as error:
        raise ConfigError(f"option {name}: {error}") from None
    if option.record_norm is not None and option.key_phase == "none":
        raise ConfigError(
            f"option {name}: record_norm {option.record_norm} without a key phase: "
            "set key_phase to piece or word, or drop record_norm"
        )
    if lookup is not None:
        _check_lookup(name, option, int(model["layers"]), lookup)


def additions(option: Option) -> int:
    """How many switches are on beside plain relative attention: a near tie goes to the fewer."""
    switches = (
        option.position != "relative",
        option.value_path,
        option.key_phase != "none",
        option.record_norm is not None,
        option.lookup_loss > 0,
    )
    return sum(switches)


def harmonics(option: Option, width: int) -> int | None:
    """Harmonics a digit, K = min(4, (pairs - 1) // 3) with head dim / 2 pairs; None for relative positions.

    Three digits take 3K pairs and at least one is left for the offset. Only K = 4 gives the exact
    0 / -0.25 digit kernel.
    Raises ConfigError where K would be below 1.
    """
    if option.position != "hierarchical":
        return None
    pairs = width // option.heads // 2
    count = min(MAX_HARMONICS, (pairs - 1) // DIGITS)
    if count < 1:
        raise ConfigError(
            f"heads {option.heads} at width {width} leave {pairs} rotary pairs a head; "
            f"three digits and an offset need at least {DIGITS + 1}: use fewer heads"
        )
    return count


def parameter_count(model: Mapping[str, Any], option: Option) -> int:
    """Trainable numbers of the encoder, by formula.

    Linear maps count weight and bias, LayerNorms gain and bias. The value path adds
    layers x (24 + 1) x width; phases, norm and lookup loss add none.
    """
    width, ffn, layers = int(model["width"]), int(model["ffn"]), int(model["layers"])
    target = int(model["target_width"])
    norm = 2 * width
    embedding = int(model["vocabulary"]) * width + norm
    attention = _linear(width, 3 * width) + _linear(width, width) + norm
    feed_forward = _linear(width, ffn) + _linear(ffn, width) + norm
    value_path = _linear(DIGITS * BASE, width) if option.value_path else 0
    final_norm = norm if model.get("norm", "post") == "pre" else 0
    head = _linear(width, width) + norm + _linear(width, target)
    return embedding + layers * (attention + feed_forward + value_path) + final_norm + head


def _linear(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


def _check_lookup(name: str, option: Option, layers: int, lookup: Mapping[str, Any]) -> None:
    heads = list(lookup.get("heads") or ())
    uses = [
        f"{switch} {value}"
        for switch, value, on in (
            ("lookup_loss", option.lookup_loss, option.lookup_loss > 0),
            ("key_phase", option.key_phase, option.key_phase != "none"),
        )
        if on
    ]
    if not heads or lookup.get("layer") is None:
        if uses:
            raise ConfigError(
                f"option {name}: {' and '.join(uses)} without a lookup head: name lookup layer and heads"
            )
        return
    layer = int(lookup["layer"])
    if not 0 <= layer < layers:
        raise ConfigError(
            f"option {name}: lookup layer {layer} is outside the model's layers 0 to {layers - 1}"
        )
    outside = [head for head in heads if not 0 <= int(head) < option.heads]
    if outside:
        raise ConfigError(
            f"option {name}: lookup heads {outside} are outside its heads 0 to {option.heads - 1}"
        )
    if len(set(heads)) != len(heads):
        raise ConfigError(f"option {name}: lookup heads {heads} name a head twice")


def _whole(name: str, key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"option {name}: {key} is {value!r}; give a whole number of at least 1")
    return value


def _switch(name: str, key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"option {name}: {key} is {value!r}; give true or false")
    return value


def _one_of(name: str, key: str, value: Any, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ConfigError(f"option {name}: {key} is {value!r}; allowed are {', '.join(allowed)}")
    return str(value)


def _number(name: str, key: str, value: Any, *, least_excluded: float | None = None) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ConfigError(f"option {name}: {key} is {value!r}; give a finite number")
    if value < 0 or (least_excluded is not None and value <= least_excluded):
        bound = "above 0" if least_excluded is not None else "of at least 0"
        raise ConfigError(f"option {name}: {key} is {value!r}; give a number {bound}")
    return float(value)
