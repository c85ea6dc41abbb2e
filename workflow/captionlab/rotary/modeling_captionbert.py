"""A thin Transformers wrapper around `encoder.py`, exported beside it; it adds no arithmetic.

Runs on Transformers 4.57 and 5. Every file of the export is imported here directly, because Transformers 4
copies only direct imports of a local model into its cache.
"""

from dataclasses import dataclass

from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.utils.generic import ModelOutput

from .configuration_captionbert import CaptionBertConfig
from .encoder import CaptionEncoder, set_first_value
from .lookup import lookup_loss


@dataclass
class CaptionBertOutput(ModelOutput):
    """What the model returns.

    last_hidden_state [B, L, width] (not zero at padding); pooler_output [B, target_width] of unit length, zero
    for a row of padding; hidden_states: layers + 1 tensors [B, L, width]; attentions: one [B, heads, L, L] a
    layer; pointer_loss: the lookup loss of the designated head, a scalar. The last three where asked for.
    """

    last_hidden_state: Tensor | None = None
    pooler_output: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None
    pointer_loss: Tensor | None = None


class CaptionBertModel(PreTrainedModel):  # type: ignore[no-untyped-call]
    """Caption sentence encoder; use `pooler_output` for sentence similarity."""

    config_class = CaptionBertConfig
    base_model_prefix = "captionbert"
    main_input_name = "input_ids"
    _no_split_modules = ["Layer"]  # noqa: RUF012 - Transformers expects a list
    _supports_sdpa = True

    def __init__(self, config: CaptionBertConfig) -> None:
        super().__init__(config)
        self.encoder = CaptionEncoder(config.encoder_config())
        self.post_init()  # type: ignore[no-untyped-call]

    def get_input_embeddings(self) -> nn.Module:
        """The piece embedding."""
        return self.encoder.embedding

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the piece embedding."""
        self.encoder.embedding = value  # type: ignore[assignment]

    def _init_weights(self, module: nn.Module) -> None:
        # Called for modules of which anything was missing from a checkpoint: what was loaded is left alone.
        for name, parameter in module.named_parameters(recurse=False):
            if not getattr(parameter, "_is_hf_initialized", False):
                set_first_value(module, name, parameter, self.config.init_std)
        for buffer in module.buffers(recurse=False):
            if not getattr(buffer, "_is_hf_initialized", False):
                buffer.zero_()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        output_pointer_loss: bool = False,
        return_dict: bool | None = None,
    ) -> CaptionBertOutput | tuple[Tensor, ...]:
        """Encode input_ids int64 [B, L] with attention_mask [B, L] of ones and zeros.

        Without a mask, ids equal to the padding id are padding. token_type_ids are accepted because BERT
        tokenizers return them, and have no effect. inputs_embeds [B, L, width] works where no word phase or
        pointer loss needs ids. Attentions come from an explicit softmax; otherwise the fused kernel runs.
        Raises ValueError for too long or misshapen input, ids outside the vocabulary, or masks that are not
        made of ones and zeros.
        """
        config = self.config
        attentions = config.output_attentions if output_attentions is None else output_attentions
        hidden = config.output_hidden_states if output_hidden_states is None else output_hidden_states
        encoded = self.encoder(
            input_ids,
            attention_mask,
            inputs_embeds=inputs_embeds,
            want_hidden=bool(hidden),
            want_attentions=bool(attentions) or config._attn_implementation == "eager",
            want_lookup=output_pointer_loss,
        )
        output = CaptionBertOutput(
            last_hidden_state=encoded.tokens,
            pooler_output=encoded.sentence,
            hidden_states=encoded.hidden,
            attentions=encoded.attentions if attentions else None,
            pointer_loss=None if encoded.lookup is None else lookup_loss(encoded.lookup),
        )
        as_dict = config.return_dict if return_dict is None else return_dict
        return output if as_dict else output.to_tuple()
