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
from dataclasses import dataclass

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
    """Cosine and sine [B or 1, L, 1, heads or 1, pairs], and how lookup heads are scaled, if they are."""

    cosine: Tensor
    sine: Tensor
    scaled_heads: Tensor | None = None
    scale: float = 1.0


@dataclass(frozen=True)
class _Start:
    """What the layers get: x [B, L, width], which tokens are real, phases of all layers and of the designated one,
    words and address code where needed, keys that may be read (None: all)."""

    x: Tensor
    real: Tensor
    plain: _Phase
    lookup_phase: _Phase
    words: Words | None
    code: Tensor | None
    keys: Tensor | None


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
    a, b = x.view(*x.shape[:-1], 2, -1).unbind(-2)
    return torch.stack((a * cosine - b * sine, b * cosine + a * sine), -2).flatten(-2)


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
        self, x: Tensor, phase: _Phase, code: Tensor | None, keys: Tensor | None, asked: _Asked
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Attend over x [B, L, width].

        keys: bool [B, 1, 1, L] of keys that may be read, None for all. Returns the output [B, L, width], the
        attention [B, heads, L, L] where asked, and the lookup heads' scores where asked.
        """
        batch, length, width = x.shape
        query, key, value = self._project(x, phase)
        if self.value_path is not None and code is not None:
            value = value + self.value_path(code.to(x.dtype))
        value = value.view(batch, length, self.heads, -1).transpose(1, 2)
        if asked.attentions:
            attention = _attention(query, key, keys)
            mixed = attention.to(value.dtype) @ value
        else:
            attention = None
            mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=keys)
        scores = _scores(query, key, asked.lookup_heads) if asked.lookup_heads else None
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width)), attention, scores

    def scores(self, x: Tensor, phase: _Phase, heads: tuple[int, ...]) -> Tensor:
        """The scores of chosen heads over x [B, L, width], float32 [B, heads, L, L], as `forward` has them."""
        query, key, _ = self._project(x, phase)
        return _scores(query, key, heads)

    def _project(self, x: Tensor, phase: _Phase) -> tuple[Tensor, Tensor, Tensor]:
        """Turned queries and keys [B, heads, L, head width], values [B, L, width]."""
        batch, length, width = x.shape
        turned, value = self.qkv(x).split((2 * width, width), -1)
        turned = turned.view(batch, length, 2, self.heads, -1)
        if phase.scaled_heads is not None:
            turned = _scale_heads(turned, phase.scaled_heads, phase.scale)
        turned = rotate(turned, phase.cosine, phase.sine).to(value.dtype)
        query, key = turned.transpose(1, 3).unbind(2)
        return query, key, value


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
        self, x: Tensor, phase: _Phase, code: Tensor | None, keys: Tensor | None, asked: _Asked
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """One layer over x [B, L, width]; arguments and returns as in Attention."""
        inner = self.attention_norm(x) if self.pre else x
        inner, attention, scores = self.attention(inner, phase, code, keys, asked)
        x = x + inner if self.pre else self.attention_norm(x + inner)
        inner = self.ffn_norm(x) if self.pre else x
        inner = self.narrow(F.gelu(self.widen(inner), approximate=self.approximate))
        return x + inner if self.pre else self.ffn_norm(x + inner), attention, scores

    def scores(self, x: Tensor, phase: _Phase, heads: tuple[int, ...]) -> Tensor:
        """What the layer's attention scores over x [B, L, width], without the rest of the layer."""
        return self.attention.scores(self.attention_norm(x) if self.pre else x, phase, heads)


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
        start = self._start(ids, mask, inputs_embeds, wants_lookup=want_lookup, binding_path=binding_path)
        x = start.x
        hidden, attentions, lookup = [x], [], None
        for index, layer in enumerate(self.layers):
            designated = index == self.config.lookup_layer
            asked = _Asked(want_attentions, self.config.lookup_heads if designated and want_lookup else ())
            phase = start.lookup_phase if designated else start.plain
            x, attention, scores = layer(x, phase, start.code, start.keys, asked)
            if scores is not None and start.words is not None:
                lookup = Lookup(scores, start.words)
            hidden.append(x)
            attentions.append(attention)
        if self.final_norm is not None:
            x = hidden[-1] = self.final_norm(x)
        return EncoderOutput(
            tokens=x,
            sentence=self._sentence(x, start.real),
            hidden=tuple(hidden) if want_hidden else None,
            attentions=tuple(attentions) if want_attentions else None,
            lookup=lookup,
        )

    def lookup(self, ids: Tensor, mask: Tensor | None = None, *, binding_path: bool = True) -> Lookup:
        """What `forward` gives as lookup, bit for bit, without the work behind the designated layer's scores."""
        start = self._start(ids, mask, None, wants_lookup=True, binding_path=binding_path)
        assert start.words is not None
        x = start.x
        for layer in self.layers[: self.config.lookup_layer]:
            x, _, _ = layer(x, start.plain, start.code, start.keys, _Asked(False, ()))
        designated: Layer = self.layers[self.config.lookup_layer]  # type: ignore[assignment]
        return Lookup(designated.scores(x, start.lookup_phase, self.config.lookup_heads), start.words)

    def words(self, ids: Tensor, real: Tensor) -> Words:
        """Whole words of ids int64 [B, L] with real bool [B, L]."""
        return words_of(ids, real, self.continuation, self.special)

    def _start(
        self,
        ids: Tensor | None,
        mask: Tensor | None,
        embeds: Tensor | None,
        *,
        wants_lookup: bool,
        binding_path: bool,
    ) -> _Start:
        binding = binding_path and self.config.key_phase != "none"
        real = self._real(ids, mask, embeds, needs_ids=binding or wants_lookup)
        position = positions(real)
        plain = lookup_phase = self._position_phase(position)
        words = None
        if ids is not None and (binding or wants_lookup):
            ids = ids.long()
            words = self.words(ids, real)
            lookup_phase = self._lookup_phase(plain, ids, words) if binding else plain
        code = address_code(position) if self.config.value_path else None
        keys = None if bool(real.all()) else (real | ~real.any(1, keepdim=True))[:, None, None]
        x = self.embedding_norm(self.embedding(ids) if embeds is None else embeds)
        return _Start(x, real, plain, lookup_phase, words, code, keys)

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

    def _sentence(self, x: Tensor, real: Tensor) -> Tensor:
        weight = real[..., None].float()
        count = weight.sum(1).clamp_min(1)
        if self.config.pooling == "mean-then-head":
            mean = (x.float() * weight).sum(1) / count
            vector = self.head(mean.to(x.dtype)).float()
        else:
            vector = (self.head(x).float() * weight).sum(1) / count
        return F.normalize(vector, dim=-1) * real.any(1, keepdim=True)


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


def _attention(query: Tensor, key: Tensor, keys: Tensor | None) -> Tensor:
    scores = (query @ key.transpose(-1, -2)).float() / math.sqrt(query.shape[-1])
    return (scores if keys is None else scores.masked_fill(~keys, -math.inf)).softmax(-1)


def _scores(query: Tensor, key: Tensor, heads: tuple[int, ...]) -> Tensor:
    chosen = list(heads)
    with torch.autocast(query.device.type, enabled=False):
        scores = query[:, chosen].float() @ key[:, chosen].float().transpose(-1, -2)
    return scores / math.sqrt(query.shape[-1])


def _scale_heads(x: Tensor, heads: Tensor, rms: float) -> Tensor:
    """Scale chosen heads of x [B, L, 2, heads, d] to a root mean square of `rms` a channel, in float32."""
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
