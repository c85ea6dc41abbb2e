"""Parameter counts by formula, from the sizes a card states."""

from captionlab.rotary.options import Option, parameter_count
from captionlab.tables.checks.finding import Evidence, Finding, decided


def decoder_parameters(
    vocabulary: int, width: int, layers: int, heads: int, gate_channels: int
) -> dict[str, int]:
    """Parts of a nanochat-like decoder: untied head, value embeddings on every second layer, no biases.

    A block has 12 width² weights (four attention maps and a four-fold MLP); each value embedding has a gate of
    gate_channels x heads; two scalars a layer mix the residual stream.
    """
    return {
        "token embedding": vocabulary * width,
        "output head": vocabulary * width,
        "value embeddings": layers // 2 * vocabulary * width,
        "blocks": layers * 12 * width * width,
        "gates": layers // 2 * gate_channels * heads,
        "scalars": 2 * layers,
    }


def relay_parameters(width: int, slots: int, atoms: int, dimensions: int, hidden: int) -> int:
    """Trainable parameters of one relay block: address projection, codebook, two-layer patch, LayerNorm, gate."""
    address = slots * dimensions
    patch = (address * hidden + hidden) + 2 * hidden + (hidden * width + width)
    return width * address + atoms * dimensions + patch + 1


def encoder_size(evidence: Evidence, *, printed_million: str, heads: int, **sizes: int) -> Finding:
    """The encoder's stated size in millions; the head's shape is deduced, not stated."""
    total = parameter_count(sizes, Option(heads=heads))
    written = f"{total / 1e6:.{_decimals(printed_million)}f}"
    return decided(written == printed_million, f"{total:,} by formula = {written}M, with the deduced head")


def decoder_size(evidence: Evidence, *, printed: int, **sizes: int) -> Finding:
    """The decoder's stated count against the parts its own table implies."""
    parts = decoder_parameters(**sizes)
    total = sum(parts.values())
    figure = f"the table's own sizes give {total:,}; {printed - total:,} of {printed:,} are unaccounted for"
    return decided(total == printed, figure)


def relay_size(
    evidence: Evidence, *, printed_block_thousand: int, printed_million: str, blocks: int, **sizes: int
) -> Finding:
    """The adapter's stated sizes: a block in thousands, all blocks in millions."""
    block = relay_parameters(**sizes)
    total = blocks * block
    holds = round(block / 1e3) == printed_block_thousand
    holds = holds and f"{total / 1e6:.{_decimals(printed_million)}f}" == printed_million
    return decided(holds, f"{block:,} a block × {blocks} = {total:,}")


def perplexity_name(evidence: Evidence, *, bits_per_byte: float, printed: str) -> Finding:
    """A figure called perplexity that is 2 to the bits a byte: a per-byte figure, not one per token."""
    value = f"{2**bits_per_byte:.{_decimals(printed)}f}"
    figure = f"2^{bits_per_byte} = {value}: per byte, not the perplexity of a token that the name promises"
    return decided(value != printed, figure)


def flop_utilisation(
    evidence: Evidence,
    *,
    counted: int,
    attention: int,
    tokens: int,
    seconds: float,
    peak: float,
    printed: str,
) -> Finding:
    """Model FLOP utilisation in percent: (6 counted + attention) x tokens / seconds / peak."""
    share = 100 * (6 * counted + attention) * tokens / seconds / peak
    written = f"{share:.{_decimals(printed)}f}"
    figure = f"(6 × {counted:,} + {attention:,}) FLOP a token gives {written}%, printed {printed}%"
    return decided(written == printed, figure)


def _decimals(printed: str) -> int:
    return len(printed.partition(".")[2])
