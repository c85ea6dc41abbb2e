"""Angles, addresses and word identities against values worked out by hand."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import BertWordPieceTokenizer

from captionlab.rotary.encoder import (
    EncoderConfig,
    address,
    address_code,
    ntk_base,
    position_angles,
    positions,
    rotate,
    word_angles,
    words_of,
)


def config(position="relative", width=32, heads=1, harmonics=None):
    return EncoderConfig(
        64, width, layers=1, heads=heads, ffn=8, target_width=8, position=position, harmonics=harmonics
    )


def kernel(angles: torch.Tensor, start: int, stop: int) -> torch.Tensor:
    """Mean cosine of the angle differences over some pairs, for every pair of positions."""
    part = angles[:, start:stop].double()
    return torch.cos(part[:, None] - part[None]).mean(-1)


@pytest.mark.parametrize(
    ("position", "digits"),
    [
        (0, (0, 0, 0)),
        (15, (0, 0, 0)),
        (16, (0, 0, 1)),
        (127, (0, 0, 7)),
        (128, (0, 1, 0)),
        (1023, (0, 7, 7)),
        (1024, (1, 0, 0)),
        (8191, (7, 7, 7)),
    ],
)
def test_digits_at_segment_borders(position, digits):
    at = torch.tensor([position])
    assert tuple(address(at)[0].tolist()) == digits
    code = address_code(at)[0]
    assert code.nonzero()[:, 0].tolist() == [8 * place + digit for place, digit in enumerate(digits)]


def test_every_address_is_its_own():
    starts = torch.arange(0, 8192, 16)
    assert len({tuple(row) for row in address(starts).tolist()}) == 512
    angles = position_angles(config("hierarchical", harmonics=4), torch.arange(8192))
    turned = torch.cat((angles.cos(), angles.sin()), -1).mul(1e3).round().int()
    assert len(torch.unique(turned, dim=0)) == 8192


@pytest.mark.parametrize(
    ("harmonics", "width", "values"),
    [
        # mean over k = 1..K of cos(2 pi k d / 8) at digit differences d = 0..4, by hand with r = sqrt(1/2).
        (4, 32, [1, -0.25, 0, -0.25, 0]),
        (3, 20, [1, 0, -1 / 3, 0, -1 / 3]),
        (2, 16, [1, math.sqrt(0.5) / 2, -0.5, -math.sqrt(0.5) / 2, 0]),
        (1, 8, [1, math.sqrt(0.5), 0, -math.sqrt(0.5), -1]),
    ],
)
@pytest.mark.parametrize("digit", [0, 1, 2])
def test_digit_kernel(harmonics, width, values, digit):
    stride = 16 * 8 ** (2 - digit)
    angles = position_angles(config("hierarchical", width, 1, harmonics), torch.arange(8) * stride)
    found = kernel(angles, digit * harmonics, (digit + 1) * harmonics)
    for a in range(8):
        for b in range(8):
            distance = min((a - b) % 8, (b - a) % 8)
            assert found[a, b] == pytest.approx(values[distance], abs=1e-6)
    others = [other for other in range(3) if other != digit]
    for other in others:
        assert torch.all(angles[:, other * harmonics : (other + 1) * harmonics] == 0)


def test_offset_turns_once_a_segment():
    angles = position_angles(config("hierarchical", 32, 1, 4), torch.arange(8192))[:, 12:]
    expected = torch.arange(8192)[:, None].double() * torch.arange(1, 5).double() * math.tau / 16
    assert torch.allclose(angles.cos().double(), expected.cos(), atol=1e-6)
    assert torch.allclose(angles.sin().double(), expected.sin(), atol=1e-6)


def test_ntk_base_by_hand():
    # 10,000 x 4^(32/30) and 10,000 x 4^(16/14).
    assert ntk_base(10000.0, 4.0, 32) == pytest.approx(43873.0, abs=0.5)
    assert ntk_base(10000.0, 4.0, 16) == pytest.approx(10000 * 2 ** (16 / 7), rel=1e-12)
    angles = position_angles(config(), torch.tensor([0, 1, 8191]))
    assert angles.dtype == torch.float32
    assert angles[0].tolist() == [0.0] * 16
    assert angles[1, 0] == 1.0
    assert angles[1, 8].item() == pytest.approx(43873.0**-0.5, rel=1e-5)
    assert angles[2, 15].item() == pytest.approx(8191 * 43872.7**-0.9375, rel=1e-5)


def test_rotation_by_hand():
    # Channels 0 and 2 turn by 90 degrees, channels 1 and 3 by 60.
    angles = torch.tensor([math.pi / 2, math.pi / 3])
    turned = rotate(torch.tensor([1.0, 2.0, 3.0, 4.0]), angles.cos(), angles.sin())
    root = math.sqrt(3)
    assert turned.tolist() == pytest.approx([-3.0, 1 - 2 * root, 1.0, 2 + root], abs=1e-6)


def test_rotation_and_its_gradients_equal_complex_products():
    """Of a view of a wider tensor, as attention gives it; a pair of channels is a complex number turned by i phi."""
    draw = torch.Generator().manual_seed(0)
    wide = torch.randn(5, 2, 3, 12, generator=draw, dtype=torch.float64, requires_grad=True)
    angles = torch.rand(5, 1, 3, 4, generator=draw, dtype=torch.float64) * math.tau
    x = wide[..., 2:10]
    turned = rotate(x, angles.cos(), angles.sin())
    expected = torch.view_as_real(
        torch.complex(x[..., :4], x[..., 4:]) * torch.polar(torch.ones(()).double(), angles)
    )
    torch.testing.assert_close(turned, torch.cat(expected.unbind(-1), -1))
    assert torch.autograd.gradcheck(lambda y: rotate(y[..., 2:10], angles.cos(), angles.sin()), wide)
    assert torch.autograd.gradgradcheck(lambda y: rotate(y[..., 2:10], angles.cos(), angles.sin()), wide)


@given(st.integers(0, 255), st.integers(0, 255), st.integers(0, 7900), st.integers(0, 9))
def test_relative_scores_depend_on_the_distance_only(a, b, shift, seed):
    draw = torch.Generator().manual_seed(seed)
    query, key = torch.randn(2, 32, generator=draw)

    def score(at: int, other: int) -> float:
        angles = position_angles(config(), torch.tensor([at, other]))
        turned = [rotate(x, angles[i].cos(), angles[i].sin()) for i, x in enumerate((query, key))]
        return float(turned[0] @ turned[1])

    assert score(a, b) == pytest.approx(score(a + shift, b + shift), abs=5e-3)


def test_positions_count_real_tokens():
    right = torch.tensor([[1, 1, 1, 0], [1, 0, 0, 0]], dtype=torch.bool)
    left = torch.tensor([[0, 1, 1, 1], [0, 0, 0, 0]], dtype=torch.bool)
    assert positions(right).tolist() == [[0, 1, 2, 3]]
    assert positions(left).tolist() == [[0, 0, 1, 2], [0, 0, 0, 0]]


# -- word identity -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def identify(vocabulary_file):
    """Identities of the words of a text, as the real tokenizer splits it."""
    tokenizer = BertWordPieceTokenizer(str(vocabulary_file), lowercase=True)
    pieces = vocabulary_file.read_text(encoding="utf-8").splitlines()
    continuation = torch.tensor([piece.startswith("##") for piece in pieces])
    special = torch.tensor([piece in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]") for piece in pieces])

    def of(text: str) -> tuple[list[int], list[str]]:
        encoded = tokenizer.encode(text)
        ids = torch.tensor([encoded.ids])
        words = words_of(ids, torch.ones_like(ids, dtype=torch.bool), continuation, special)
        assert words.text[0].tolist() == [
            piece not in ("[CLS]", "[SEP]", "[UNK]") for piece in encoded.tokens
        ]
        return words.identity[0][words.starts[0]].tolist(), encoded.tokens

    return of


def test_a_word_of_many_pieces_is_one_word(identify):
    words, pieces = identify("windowsill unbelievableness windowsill")
    assert any(piece.startswith("##") for piece in pieces)
    assert len(words) == 3
    assert words[0] == words[2] != words[1]


def test_words_that_share_a_piece_differ(identify):
    words, pieces = identify("snowboarder snowboard snowboarders")
    assert pieces.count("snow") == 3
    assert len(set(words)) == 3


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Café cafe CAFÉ", True),
        ("The THE the", True),
        ("naïve Naive NAÏVE", True),
        ("Ångström angstrom ÅNGSTRÖM", True),
        ("dog dogs doge", False),
    ],
)
def test_identity_after_uncasing(identify, text, same):
    words, _ = identify(text)
    assert len(words) == 3
    assert (len(set(words)) == 1) is same


def test_punctuation_stands_alone(identify):
    words, _ = identify("cat, dog, cat.")
    assert len(words) == 6
    assert words[0] == words[4] and words[1] == words[3]
    assert len(set(words)) == 4
    inside, _ = identify("semi-wild semi")
    assert len(inside) >= 4 and inside[0] == inside[-1]


def test_each_chinese_character_is_a_word(identify):
    words, _ = identify("中国人中国")
    assert len(words) == 5
    assert words[:2] == words[3:] and len(set(words)) == 3


def test_unknown_words_are_never_the_same_word(identify):
    words, pieces = identify("🤖 cat 🦀 cat")
    assert pieces.count("[UNK]") == 2
    assert len(words) == 2 and words[0] == words[1]


CONTINUATION = torch.tensor([False] * 8 + [True] * 8)
SPECIAL = torch.tensor([True] * 3 + [False] * 13)


def plain_words(row: list[int]) -> list[tuple[int, ...]]:
    """Words as tuples of ids at every piece, by a loop of its own; () for a special."""
    out: list[tuple[int, ...]] = [()] * len(row)
    start: int | None = None
    for i, piece in enumerate(row):
        if piece < 3:
            start = None
            continue
        if piece < 8 or start is None:
            start = i
        for j in range(start, i + 1):
            out[j] = tuple(row[start : i + 1])
    return out


@given(st.lists(st.lists(st.integers(0, 15), min_size=12, max_size=12), min_size=1, max_size=4))
def test_identities_are_those_of_a_plain_loop(rows):
    ids = torch.tensor(rows)
    words = words_of(ids, torch.ones_like(ids, dtype=torch.bool), CONTINUATION, SPECIAL)
    seen: dict[int, tuple[int, ...]] = {}
    for row, names in enumerate(map(plain_words, rows)):
        for i, name in enumerate(names):
            assert bool(words.text[row, i]) == bool(name)
            if name:
                assert seen.setdefault(int(words.identity[row, i]), name) == name
    texts = {name for row in rows for name in plain_words(row) if name}
    assert len(seen) == len(texts)


def test_a_word_angle_is_pinned():
    # Worked out with Python's unlimited integers: splitmix64(42 + 0x9E3779B97F4A7C15), its top 24 bits as a turn.
    def mixed(x: int) -> int:
        x = (x + 0x9E3779B97F4A7C15) % 2**64
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
        return x ^ (x >> 31)

    assert mixed(0) == 0xE220A8397B1DCDAF  # the first output of the published splitmix64 at seed 0
    found = word_angles(torch.tensor([42]), 3)[0]
    for j in range(3):
        turn = (mixed((42 + 0x9E3779B97F4A7C15 * (j + 1)) % 2**64) >> 40) / 2**24
        assert found[j].item() == pytest.approx(turn * math.tau, rel=1e-6)


def test_word_angles_are_spread_evenly():
    angles = word_angles(torch.arange(20000), 8)
    assert angles.min() >= 0 and angles.max() < math.tau + 1e-6
    assert angles.cos().mean(0).abs().max() < 0.03 and angles.sin().mean(0).abs().max() < 0.03
    assert torch.corrcoef(angles.T).fill_diagonal_(0).abs().max() < 0.03
