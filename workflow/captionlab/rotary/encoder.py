"""The caption encoder's arithmetic, written once: torch and the standard library only.

A BERT-like stack without a position table. Positions turn queries and keys (rotate-half pairs), the
sentence vector is a masked mean through a small head. What published descriptions leave open is fixed here:

- LayerNorm after each residual sum (`norm: post`) or before each block with one more at the end (`pre`);
  GELU exact (`gelu`) or by tanh (`gelu_tanh`); no dropout.
- Pooling: masked mean over all real tokens, then Linear, activation, LayerNorm, Linear (`mean-then-head`), or
  the same head on every token and then the mean (`head-then-mean`); the result is scaled to unit length in
  float32, and a row without a real token gives the zero vector.
- Positions count real tokens from the first one, so left and right padding agree for every option.
- Every phase is computed in float32 from the config in the forward pass; no buffer holds one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SEGMENT = 16
BASE = 8
DIGITS = 3
_RMS_FLOOR = 1e-12
_GAMMA = 0x9E3779B97F4A7C15
_MULTIPLIER = 0xD6E8FEB86659FD93
_ANGLE_BITS = 24


@dataclass(frozen=True)
class EncoderConfig:
    """Everything that decides the arithmetic; widths in channels, tokens in pieces.

    harmonics: pairs a digit for `hierarchical` positions, None for `relative`. lookup_layer (0-based) and
    lookup_heads name the designated head(s), read for every option; key_phase (`none`, `piece`, `word`) and
    record_norm act there only. lookup_birth: `tied` where the designated heads' key maps are born equal to
    their query maps, `free` where not; it decides first weights, never arithmetic.
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    ffn: int
    target_width: int
    max_tokens: int = 8192
    norm: str = "post"
    activation: str = "gelu"
    init_std: float = 0.02
    layer_norm_eps: float = 1e-12
    rope_base: float = 10000.0
    ntk_scale: float = 4.0
    pooling: str = "mean-then-head"
    position: str = "relative"
    harmonics: int | None = None
    value_path: bool = False
    key_phase: str = "none"
    record_norm: float | None = None
    lookup_layer: int = 0
    lookup_heads: tuple[int, ...] = (0,)
    lookup_birth: str = "tied"
    pad_id: int = 0


@dataclass(frozen=True)
class Words:
    """Whole words of a batch.

    identity int64 [B, L]: the same at every piece of a word and for equal words everywhere; starts bool
    [B, L]: the first piece of each word; text bool [B, L]: pieces that belong to a word.
    """

    identity: Tensor
    starts: Tensor
    text: Tensor


@dataclass(frozen=True)
class Lookup:
    """For the lookup loss and reading: scores float32 [B, heads, L, L] before softmax, and the words."""

    scores: Tensor
    words: Words


@dataclass(frozen=True)
class EncoderOutput:
    """tokens [B, L, width], sentence float32 [B, target_width] of unit length, and what was asked for.

    hidden: layers + 1 tensors [B, L, width]; attentions: layers tensors [B, heads, L, L].
    """

    tokens: Tensor
    sentence: Tensor
    hidden: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None
    lookup: Lookup | None = None


@dataclass(frozen=True)
class _Phase:
    """Cosine and sine [T, 1, heads or 1, pairs], and how lookup heads are scaled, if they are."""

    cosine: Tensor
    sine: Tensor
    scaled_heads: Tensor | None = None
    scale: float = 1.0


@dataclass(frozen=True)
class _Group:
    """Rows padded to one length: which tokens are real, bool [B, L], keys that may be read, bool [B, 1, 1, L]
    (None: all), and words and address code where needed."""

    real: Tensor
    keys: Tensor | None
    words: Words | None
    code: Tensor | None


@dataclass(frozen=True)
class _Start:
    """What the layers get: the tokens x [T, width] of all groups, one group after another, and their phases in all
    layers and in the designated one."""

    x: Tensor
    groups: tuple[_Group, ...]
    plain: _Phase
    lookup_phase: _Phase


@dataclass(frozen=True)
class _Asked:
    attentions: bool
    lookup_heads: tuple[int, ...]


def ntk_base(base: float, scale: float, head_dim: int) -> float:
    """Rotary base stretched for `scale` times longer inputs: base * scale^(d / (d - 2)) at head dim d."""
    return float(base * scale ** (head_dim / (head_dim - 2)))


def positions(real: Tensor) -> Tensor:
    """Real tokens before each one, int64: [1, L] where all rows are padded on the right, else [B, L]."""
    if bool((real[:, 1:] <= real[:, :-1]).all()):
        return torch.arange(real.shape[1], device=real.device)[None]
    return (real.cumsum(1) - 1).clamp_min(0)


def address(position: Tensor) -> Tensor:
    """Digits of the segment, int64 [..., 3], most significant first: s = position // 16 in base 8."""
    segment = position // SEGMENT
    return torch.stack((segment // BASE**2 % BASE, segment // BASE % BASE, segment % BASE), -1)


def address_code(position: Tensor) -> Tensor:
    """The fixed code read by the value path: one-hot digits, float32 [..., 24]."""
    return F.one_hot(address(position), BASE).flatten(-2).float()


def position_angles(config: EncoderConfig, position: Tensor) -> Tensor:
    """Angles in radians, float32 [..., pairs]; pair j turns channels j and j + pairs of a head.

    `relative`: position * base'^(-2j/d). `hierarchical`: K pairs a digit, most significant digit first, at
    2 pi k digit / 8 for k = 1..K, then the rest at 2 pi k offset / 16 with offset = position mod 16 and
    k = 1, 2, .. 8, 1, ..: whole turns a digit (a segment), so nothing jumps where a digit wraps.
    """
    pairs = config.width // config.heads // 2
    if config.position == "relative":
        base = ntk_base(config.rope_base, config.ntk_scale, 2 * pairs)
        frequencies = [base ** (-j / pairs) for j in range(pairs)]
        return position[..., None].float() * torch.tensor(
            frequencies, dtype=torch.float32, device=position.device
        )
    if config.harmonics is None:
        raise ValueError("hierarchical positions need harmonics in the config")
    digit = torch.arange(1, config.harmonics + 1, device=position.device)
    offset = torch.arange(pairs - DIGITS * config.harmonics, device=position.device) % (SEGMENT // 2) + 1
    turns = (address(position)[..., None] * digit % BASE).flatten(-2).float() / BASE
    inside = (position[..., None] % SEGMENT * offset % SEGMENT).float() / SEGMENT
    return torch.cat((turns, inside), -1) * math.tau


def words_of(ids: Tensor, real: Tensor, continuation: Tensor, special: Tensor) -> Words:
    """Group pieces into whole words and name each word by a 64-bit hash of its piece ids.

    A word is a piece followed by its continuation pieces ('##'). Punctuation and CJK characters are words of
    their own, as the tokenizer splits them. Specials and padding belong to no word and end one. The hash is a
    polynomial over mixed ids modulo 2^64: different words share an identity with a chance of about 2^-64.
    """
    text = real & ~special[ids]
    joined = continuation[ids] & text & F.pad(text[:, :-1], (1, 0))
    index = torch.arange(ids.shape[1], device=ids.device)
    first = torch.where(joined, 0, index).cummax(1).values
    powers = torch.full((ids.shape[1],), _signed(_MULTIPLIER), device=ids.device)
    powers[:1] = 1
    terms = _mix(ids) * powers.cumprod(0)[index - first]
    identity = torch.zeros_like(ids).scatter_add(1, first, terms).gather(1, first)
    return Words(identity, text & ~joined, text)


def word_angles(identity: Tensor, pairs: int) -> Tensor:
    """Angles in radians from identities, float32 [..., pairs]: 24 hashed bits a pair, uniform on a circle."""
    salts = torch.tensor([_signed(_GAMMA * (j + 1)) for j in range(pairs)], device=identity.device)
    bits = _mix(identity[..., None] + salts) >> (64 - _ANGLE_BITS) & (2**_ANGLE_BITS - 1)
    angles: Tensor = bits.float() * (math.tau / 2**_ANGLE_BITS)
    return angles


def rotate(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Turn channels j and j + pairs of x [..., 2 pairs] by the angle of pair j, in the tables' precision."""
    if x.device.type == "cpu" and x.dtype == cosine.dtype and not torch.compiler.is_compiling():
        turned: Tensor = _Turn.apply(x, cosine, sine)  # type: ignore[no-untyped-call]
        return turned
    a, b = x.view(*x.shape[:-1], 2, -1).unbind(-2)
    return torch.stack((a * cosine - b * sine, b * cosine + a * sine), -2).flatten(-2)


class _Turn(torch.autograd.Function):
    """`rotate` in half the passes over memory, and back in as few; the angles get no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        ctx.save_for_backward(cosine, sine)
        return _turn(x, cosine, sine)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None, None]:
        cosine, sine = ctx.saved_tensors
        return _Turn.apply(slope, cosine, -sine), None, None  # type: ignore[no-untyped-call]


def _turn(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    turned = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    a, b = x.view(*x.shape[:-1], 2, -1).unbind(-2)
    turned_a, turned_b = turned.view(*x.shape[:-1], 2, -1).unbind(-2)
    torch.mul(a, cosine, out=turned_a).addcmul_(b, sine, value=-1)
    torch.mul(b, cosine, out=turned_b).addcmul_(a, sine)
    return turned


class ZeroBornLinear(nn.Linear):
    """A linear map whose weight and bias start at zero, so that what it adds to is unchanged at birth."""

    def reset_parameters(self) -> None:
        """Set weight and bias to zero."""
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)


class Attention(nn.Module):
    """Multi-head self-attention with turned queries and keys and an optional address term in the values."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)
        self.value_path = ZeroBornLinear(DIGITS * BASE, config.width) if config.value_path else None

    def forward(
        self, x: Tensor, phase: _Phase, groups: Sequence[_Group], asked: _Asked
    ) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """Attend over x [T, width], each row of a group to itself.

        Returns the output [T, width] and, a tensor a group, the attentions [B, heads, L, L] and the lookup heads'
        scores where asked.
        """
        turned, value = self._project(x, phase)
        mixed, attentions, scores = [], [], []
        for group, turned_part, value_part in zip(
            groups, _apart(turned, groups), _apart(value, groups), strict=True
        ):
            query, key = turned_part.transpose(1, 3).unbind(2)
            if self.value_path is not None and group.code is not None:
                value_part = value_part + self.value_path(group.code.to(x.dtype))
            values = value_part.view(*group.real.shape, self.heads, -1).transpose(1, 2)
            if asked.attentions:
                attention = _attention(query, key, group.keys)
                attentions.append(attention)
                read = attention.to(values.dtype) @ values
            else:
                read = F.scaled_dot_product_attention(query, key, values, attn_mask=group.keys)
            if asked.lookup_heads:
                scores.append(_scores(query, key, asked.lookup_heads))
            mixed.append(read.transpose(1, 2).reshape(-1, x.shape[-1]))
        return self.out(_together(mixed)), attentions, scores

    def scores(
        self, x: Tensor, phase: _Phase, groups: Sequence[_Group], heads: tuple[int, ...]
    ) -> list[Tensor]:
        """The scores of chosen heads over x [T, width], float32 [B, heads, L, L] a group, as `forward` has them."""
        turned, _ = self._project(x, phase)
        parts = [part.transpose(1, 3).unbind(2) for part in _apart(turned, groups)]
        return [_scores(query, key, heads) for query, key in parts]

    def _project(self, x: Tensor, phase: _Phase) -> tuple[Tensor, Tensor]:
        """Turned queries and keys [T, 2, heads, head width], values [T, width]."""
        width = x.shape[-1]
        turned, value = self.qkv(x).split((2 * width, width), -1)
        turned = turned.view(x.shape[0], 2, self.heads, -1)
        if phase.scaled_heads is not None:
            turned = _scale_heads(turned, phase.scaled_heads, phase.scale)
        return rotate(turned, phase.cosine, phase.sine).to(value.dtype), value


class Layer(nn.Module):
    """Attention and feed-forward, each with a residual sum and a LayerNorm after it or before it."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.approximate = _gelu(config.activation)
        self.attention = Attention(config)
        self.attention_norm = nn.LayerNorm(config.width, eps=config.layer_norm_eps)
        self.widen = nn.Linear(config.width, config.ffn)
        self.narrow = nn.Linear(config.ffn, config.width)
        self.ffn_norm = nn.LayerNorm(config.width, eps=config.layer_norm_eps)

    def forward(
        self, x: Tensor, phase: _Phase, groups: Sequence[_Group], asked: _Asked
    ) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """One layer over x [T, width]; arguments and returns as in Attention."""
        inner = self.attention_norm(x) if self.pre else x
        inner, attentions, scores = self.attention(inner, phase, groups, asked)
        x = x + inner if self.pre else self.attention_norm(x + inner)
        inner = self.ffn_norm(x) if self.pre else x
        inner = self.narrow(F.gelu(self.widen(inner), approximate=self.approximate))
        return x + inner if self.pre else self.ffn_norm(x + inner), attentions, scores

    def scores(
        self, x: Tensor, phase: _Phase, groups: Sequence[_Group], heads: tuple[int, ...]
    ) -> list[Tensor]:
        """What the layer's attention scores over x [T, width], without the rest of the layer."""
        return self.attention.scores(self.attention_norm(x) if self.pre else x, phase, groups, heads)


class Head(nn.Module):
    """Linear(width, width), activation, LayerNorm, Linear(width, target width)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.approximate = _gelu(config.activation)
        self.dense = nn.Linear(config.width, config.width)
        self.norm = nn.LayerNorm(config.width, eps=config.layer_norm_eps)
        self.out = nn.Linear(config.width, config.target_width)

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., width] to [..., target width]."""
        vector: Tensor = self.out(self.norm(F.gelu(self.dense(x), approximate=self.approximate)))
        return vector


class CaptionEncoder(nn.Module):
    """Caption ids to token states and one unit vector a caption.

    The bool buffers `continuation` and `special` [vocabulary] say which pieces continue a word and which are
    no text; they belong to the tokenizer and are saved with the weights.
    """

    continuation: Tensor
    special: Tensor

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.width)
        self.embedding_norm = nn.LayerNorm(config.width, eps=config.layer_norm_eps)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        pre = config.norm == "pre"
        self.final_norm = nn.LayerNorm(config.width, eps=config.layer_norm_eps) if pre else None
        self.head = Head(config)
        self.register_buffer("continuation", torch.zeros(config.vocabulary, dtype=torch.bool))
        self.register_buffer("special", torch.zeros(config.vocabulary, dtype=torch.bool))

    def forward(
        self,
        ids: Tensor | None,
        mask: Tensor | None = None,
        *,
        inputs_embeds: Tensor | None = None,
        want_hidden: bool = False,
        want_attentions: bool = False,
        want_lookup: bool = False,
        binding_path: bool = True,
    ) -> EncoderOutput:
        """Encode ids int64 [B, L].

        mask [B, L]: nonzero where a token is real; without it every id but the padding id is. inputs_embeds
        [B, L, width] replaces ids where nothing needs them. binding_path=False leaves key phase and record
        norm out (frozen path removal).
        Raises ValueError for inputs that are too long, of a wrong shape, outside the vocabulary, or without
        ids where words are needed.
        """
        start = self._start([(ids, mask, inputs_embeds)], wants_lookup=want_lookup, binding_path=binding_path)
        (output,) = self._encode(start, want_hidden, want_attentions, want_lookup)
        return output

    def forward_together(
        self,
        batches: Sequence[tuple[Tensor, Tensor]],
        *,
        want_lookup: bool = False,
        binding_path: bool = True,
    ) -> list[EncoderOutput]:
        """What `forward` gives for each of several (ids, mask), up to rounding, by one product a weight.

        Rows of different lengths need no common padding then. Raises what `forward` raises.
        """
        inputs = [(ids, mask, None) for ids, mask in batches]
        start = self._start(inputs, wants_lookup=want_lookup, binding_path=binding_path)
        return self._encode(start, False, False, want_lookup)

    def lookup(self, ids: Tensor, mask: Tensor | None = None, *, binding_path: bool = True) -> Lookup:
        """What `forward` gives as lookup, bit for bit, without the work behind the designated layer's scores."""
        start = self._start([(ids, mask, None)], wants_lookup=True, binding_path=binding_path)
        x = start.x
        for layer in self.layers[: self.config.lookup_layer]:
            x, _, _ = layer(x, start.plain, start.groups, _Asked(False, ()))
        designated: Layer = self.layers[self.config.lookup_layer]  # type: ignore[assignment]
        scores = designated.scores(x, start.lookup_phase, start.groups, self.config.lookup_heads)
        (found,) = _lookups(scores, start.groups)
        return found

    def words(self, ids: Tensor, real: Tensor) -> Words:
        """Whole words of ids int64 [B, L] with real bool [B, L]."""
        return words_of(ids, real, self.continuation, self.special)

    def _start(
        self,
        batches: Sequence[tuple[Tensor | None, Tensor | None, Tensor | None]],
        *,
        wants_lookup: bool,
        binding_path: bool,
    ) -> _Start:
        """Groups and first states of several (ids, mask, embeds)."""
        binding = binding_path and self.config.key_phase != "none"
        needs_ids = binding or wants_lookup
        groups, plain, designated = [], [], []
        for ids, mask, embeds in batches:
            real = self._real(ids, mask, embeds, needs_ids=needs_ids)
            position = positions(real)
            words = self.words(ids.long(), real) if ids is not None and needs_ids else None
            keys = None if bool(real.all()) else (real | ~real.any(1, keepdim=True))[:, None, None]
            groups.append(
                _Group(real, keys, words, address_code(position) if self.config.value_path else None)
            )
            plain.append(self._position_phase(position))
            if binding and ids is not None and words is not None:
                designated.append(self._lookup_phase(plain[-1], ids.long(), words))
        together = _phase_of_tokens(plain, groups)
        lookup_phase = _phase_of_tokens(designated, groups) if designated else together
        return _Start(self.embedding_norm(self._embed(batches)), tuple(groups), together, lookup_phase)

    def _embed(self, batches: Sequence[tuple[Tensor | None, Tensor | None, Tensor | None]]) -> Tensor:
        """Embeddings [T, width] of the ids of several batches, or what they bring instead."""
        ids = [ids.flatten() for ids, _, _ in batches if ids is not None]
        if ids:
            found: Tensor = self.embedding(_together(ids))
            return found
        return _together([embeds.flatten(0, 1) for _, _, embeds in batches if embeds is not None])

    def _encode(
        self, start: _Start, want_hidden: bool, want_attentions: bool, want_lookup: bool
    ) -> list[EncoderOutput]:
        """The outputs of each group."""
        x, groups = start.x, start.groups
        hidden, attentions = [x], []
        lookups: Sequence[Lookup | None] = [None] * len(groups)
        for index, layer in enumerate(self.layers):
            designated = index == self.config.lookup_layer
            asked = _Asked(want_attentions, self.config.lookup_heads if designated and want_lookup else ())
            phase = start.lookup_phase if designated else start.plain
            x, attention, scores = layer(x, phase, groups, asked)
            if scores:
                lookups = _lookups(scores, groups)
            hidden.append(x)
            attentions.append(attention)
        if self.final_norm is not None:
            x = hidden[-1] = self.final_norm(x)
        parts = [_apart(state, groups) for state in (hidden if want_hidden else [x])]
        return [
            EncoderOutput(
                tokens=parts[-1][index],
                sentence=sentence,
                hidden=tuple(part[index] for part in parts) if want_hidden else None,
                attentions=tuple(layer[index] for layer in attentions) if want_attentions else None,
                lookup=lookups[index],
            )
            for index, sentence in enumerate(self._sentences(parts[-1], groups))
        ]

    def _real(
        self, ids: Tensor | None, mask: Tensor | None, embeds: Tensor | None, *, needs_ids: bool
    ) -> Tensor:
        if (ids is None) == (embeds is None):
            raise ValueError("give either ids or inputs_embeds, and not both")
        if ids is None and needs_ids:
            raise ValueError(
                "word phases and lookup are computed from ids: give ids instead of inputs_embeds"
            )
        shape = tuple(ids.shape if ids is not None else embeds.shape[:2])  # type: ignore[union-attr]
        if len(shape) != 2 or 0 in shape:
            raise ValueError(f"input of shape {shape}: expected [rows, tokens] with at least one of each")
        if shape[1] > self.config.max_tokens:
            raise ValueError(
                f"{shape[1]} tokens in a row, but the encoder takes {self.config.max_tokens}: truncate"
            )
        if ids is not None and not 0 <= int(ids.min()) <= int(ids.max()) < self.config.vocabulary:
            raise ValueError(
                f"ids outside the vocabulary of {self.config.vocabulary} pieces: use its tokenizer"
            )
        if mask is not None:
            if tuple(mask.shape) != shape:
                raise ValueError(f"mask of shape {tuple(mask.shape)} does not fit input of shape {shape}")
            if mask.is_floating_point() and not bool(((mask == 0) | (mask == 1)).all()):
                raise ValueError("mask holds values other than 0 and 1: pass the tokenizer's attention mask")
            return mask != 0
        if ids is not None:
            return ids != self.config.pad_id
        return torch.ones(shape, dtype=torch.bool, device=self.embedding.weight.device)

    def _position_phase(self, position: Tensor) -> _Phase:
        angles = position_angles(self.config, position)[:, :, None, None]
        return _Phase(angles.cos(), angles.sin())

    def _lookup_phase(self, plain: _Phase, ids: Tensor, words: Words) -> _Phase:
        """Word (or piece) phases in the lookup heads; other heads and special tokens keep position."""
        identity = words.identity if self.config.key_phase == "word" else _mix(ids)
        angles = word_angles(identity, plain.cosine.shape[-1])[:, :, None, None]
        heads = torch.zeros(self.config.heads, 1, dtype=torch.bool, device=ids.device)
        heads[list(self.config.lookup_heads)] = True
        chosen = words.text[:, :, None, None, None] & heads
        cosine = torch.where(chosen, angles.cos(), plain.cosine)
        sine = torch.where(chosen, angles.sin(), plain.sine)
        if self.config.record_norm is None:
            return _Phase(cosine, sine)
        return _Phase(cosine, sine, heads, self.config.record_norm)

    def _sentences(self, parts: Sequence[Tensor], groups: Sequence[_Group]) -> list[Tensor]:
        """Unit vectors [B, target_width] of each group's last states [B, L, width]."""
        weights = [group.real[..., None].float() for group in groups]
        counts = [weight.sum(1).clamp_min(1) for weight in weights]
        pooled = self.config.pooling == "mean-then-head"
        if not pooled:
            parts = [self.head(part) for part in parts]
        means = [
            (part.float() * weight).sum(1) / count
            for part, weight, count in zip(parts, weights, counts, strict=True)
        ]
        vectors = self.head(_together(means).to(parts[0].dtype)).float() if pooled else _together(means)
        is_real = _together([group.real.any(1, keepdim=True) for group in groups])
        unit = F.normalize(vectors, dim=-1) * is_real
        return list(torch.split(unit, [len(group.real) for group in groups]))


@torch.no_grad()
def set_first_value(
    module: nn.Module, name: str, parameter: Tensor, std: float, generator: torch.Generator | None = None
) -> None:
    """Give a module's own parameter its value at birth.

    Linear and embedding weights are normal with standard deviation `std`, biases 0, LayerNorm gains 1, the
    value path 0.
    """
    if isinstance(module, ZeroBornLinear) or name == "bias":
        parameter.zero_()
    elif isinstance(module, nn.LayerNorm):
        parameter.fill_(1.0)
    else:
        parameter.normal_(0.0, std, generator=generator)


def _together(parts: Sequence[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))


def _apart(x: Tensor, groups: Sequence[_Group]) -> list[Tensor]:
    """The tokens of each group, [B, L, ...], of x [T, ...]."""
    parts = torch.split(x, [group.real.numel() for group in groups]) if len(groups) > 1 else [x]
    return [part.view(*group.real.shape, *x.shape[1:]) for part, group in zip(parts, groups, strict=True)]


def _phase_of_tokens(phases: Sequence[_Phase], groups: Sequence[_Group]) -> _Phase:
    """One phase for the tokens of all groups, from one a group of [B or 1, L, 1, heads or 1, pairs]."""

    def flat(tables: Sequence[Tensor]) -> Tensor:
        pairs = zip(tables, groups, strict=True)
        return _together(
            [table.expand(len(group.real), -1, -1, -1, -1).flatten(0, 1) for table, group in pairs]
        )

    return _Phase(
        flat([phase.cosine for phase in phases]),
        flat([phase.sine for phase in phases]),
        phases[0].scaled_heads,
        phases[0].scale,
    )


def _lookups(scores: Sequence[Tensor], groups: Sequence[_Group]) -> list[Lookup]:
    pairs = zip(scores, groups, strict=True)
    return [Lookup(some, group.words) for some, group in pairs if group.words is not None]


def _attention(query: Tensor, key: Tensor, keys: Tensor | None) -> Tensor:
    scores = (query @ key.transpose(-1, -2)).float() / math.sqrt(query.shape[-1])
    return (scores if keys is None else scores.masked_fill(~keys, -math.inf)).softmax(-1)


def _scores(query: Tensor, key: Tensor, heads: tuple[int, ...]) -> Tensor:
    chosen = list(heads)
    with torch.autocast(query.device.type, enabled=False):
        scores = query[:, chosen].float() @ key[:, chosen].float().transpose(-1, -2)
    return scores / math.sqrt(query.shape[-1])


def _scale_heads(x: Tensor, heads: Tensor, rms: float) -> Tensor:
    """Scale chosen heads of x [T, 2, heads, d] to a root mean square of `rms` a channel, in float32."""
    factor = rms * (x.float().square().mean(-1, keepdim=True) + _RMS_FLOOR).rsqrt()
    return x * torch.where(heads, factor, 1.0)


def _gelu(activation: str) -> str:
    return {"gelu": "none", "gelu_tanh": "tanh"}[activation]


def _mix(x: Tensor) -> Tensor:
    """The splitmix64 finaliser (Steele, Lea and Flood 2014) on int64, modulo 2^64: a bijection."""
    x = x + _signed(_GAMMA)
    x = (x ^ (x >> 30 & 2**34 - 1)) * _signed(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> 27 & 2**37 - 1)) * _signed(0x94D049BB133111EB)
    return x ^ (x >> 31 & 2**33 - 1)


def _signed(value: int) -> int:
    """The int64 with the bits of an unsigned value modulo 2^64."""
    return (value + 2**63) % 2**64 - 2**63
