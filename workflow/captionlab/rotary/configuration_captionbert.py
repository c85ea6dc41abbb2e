"""The encoder's config as Transformers reads it; exported beside `encoder.py` and `modeling_captionbert.py`."""

from dataclasses import MISSING, asdict, fields
from typing import Any

from transformers import PretrainedConfig

from .encoder import EncoderConfig

_PUBLISHED_SIZE = {
    "vocabulary": 30522,
    "width": 512,
    "layers": 12,
    "heads": 16,
    "ffn": 2048,
    "target_width": 768,
}


class CaptionBertConfig(PretrainedConfig):  # type: ignore[no-untyped-call]
    """EncoderConfig's fields under their own names, readable under Transformers' names as well.

    Without arguments it is `relative-16` at the published size.
    """

    model_type = "captionbert"
    attribute_map = {  # noqa: RUF012 - Transformers reads a plain class attribute
        "vocab_size": "vocabulary",
        "hidden_size": "width",
        "num_hidden_layers": "layers",
        "num_attention_heads": "heads",
        "intermediate_size": "ffn",
        "max_position_embeddings": "max_tokens",
        "initializer_range": "init_std",
        "pad_token_id": "pad_id",
    }

    def __init__(self, **kwargs: Any) -> None:
        own = {}
        for field in fields(EncoderConfig):
            default = _PUBLISHED_SIZE[field.name] if field.default is MISSING else field.default
            own[field.name] = kwargs.pop(field.name, default)
        standard = {
            ours: kwargs.pop(theirs) for theirs, ours in self.attribute_map.items() if theirs in kwargs
        }
        super().__init__(**kwargs)
        # Last, because Transformers 4 sets a pad_token_id of its own.
        for name, value in (own | standard).items():
            setattr(self, name, value)

    @classmethod
    def from_encoder_config(cls, config: EncoderConfig) -> "CaptionBertConfig":
        """The config to export with an encoder: float32 and the AutoConfig / AutoModel mapping."""
        return cls(
            **asdict(config),
            architectures=["CaptionBertModel"],
            auto_map={
                "AutoConfig": "configuration_captionbert.CaptionBertConfig",
                "AutoModel": "modeling_captionbert.CaptionBertModel",
            },
            dtype="float32",
        )

    def encoder_config(self) -> EncoderConfig:
        """The pure encoder's config."""
        values = {field.name: getattr(self, field.name) for field in fields(EncoderConfig)}
        return EncoderConfig(**{**values, "lookup_heads": tuple(values["lookup_heads"])})
