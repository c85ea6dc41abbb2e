"""The lookup loss and reading against captions and probabilities worked out by hand."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import BertWordPieceTokenizer

from captionlab.rotary.build import build_encoder, config_from_spec
from captionlab.rotary.encoder import Lookup, words_of
from captionlab.rotary.lookup import lookup_count, lookup_loss, lookup_reading, lookup_sum

# Ids 0..4 are specials, 5..9 start words, 10..14 continue them.
CONTINUATION = torch.tensor([False] * 10 + [True] * 5)
SPECIAL = torch.tensor([True] * 5 + [False] * 10)


def lookup_of(ids, scores=None, heads=1):
    ids = torch.tensor(ids)
    words = words_of(ids, ids != 0, CONTINUATION, SPECIAL)
    rows, length = ids.shape
    return Lookup(torch.zeros(rows, heads, length, length) if scores is None else scores, words)


@pytest.fixture(scope="module")
def read_caption(vocabulary_file):
    """Targets of a caption as pieces: [(query, its records)], with scores all equal."""
    tokenizer = BertWordPieceTokenizer(str(vocabulary_file), lowercase=True)
    pieces = vocabulary_file.read_text(encoding="utf-8").splitlines()
    continuation = torch.tensor([piece.startswith("##") for piece in pieces])
    special = torch.tensor([piece.startswith("[") and piece.endswith("]") for piece in pieces])
    special[[pieces.index("["), pieces.index("]")]] = False

    def of(caption):
        encoded = tokenizer.encode(caption)
        ids = torch.tensor([encoded.ids])
        words = words_of(ids, torch.ones_like(ids, dtype=torch.bool), continuation, special)
        reading = lookup_reading(Lookup(torch.zeros(1, 1, ids.shape[1], ids.shape[1]), words))
        queries = zip(reading.position.tolist(), reading.records, strict=True)
        return encoded.tokens, list(queries), reading

    return of


def test_two_repeats(read_caption):
    pieces, queries, reading = read_caption("A dog chases a cat.")
    assert pieces == ["[CLS]", "a", "dog", "chases", "a", "cat", ".", "[SEP]"]
    assert queries == [(4, [1])]
    assert reading.candidates.tolist() == [3]
    assert reading.probability.tolist() == pytest.approx([1 / 3])
    assert reading.correct.tolist() == [False]


def test_three_repeats(read_caption):
    pieces, queries, reading = read_caption("Café, cafe and CAFÉ")
    assert pieces == ["[CLS]", "cafe", ",", "cafe", "and", "cafe", "[SEP]"]
    assert queries == [(3, [1]), (5, [1, 3])]
    assert reading.probability.tolist() == pytest.approx([1 / 2, 2 / 4])


def test_a_word_of_many_pieces_is_one_record(read_caption):
    pieces, queries, reading = read_caption("snowboarder sees snowboarder, snowboarders")
    assert pieces[1:4] == ["snow", "##board", "##er"]
    assert pieces[5:8] == ["snow", "##board", "##er"]
    assert queries == [(5, [1])]
    assert reading.candidates.tolist() == [2]


def test_a_caption_without_repeats_bears_no_target(read_caption):
    assert read_caption("two dogs run")[1] == []
    assert read_caption("")[1] == []


def test_punctuation_bears_targets(read_caption):
    pieces, queries, _ = read_caption("red, green, blue")
    assert [pieces[query] for query, _ in queries] == [","]


def test_specials_padding_and_the_query_itself_take_no_part():
    # [CLS] w5 w6 w5 [MASK] w5 [SEP] and padding; enormous scores wherever nothing may be read.
    lookup = lookup_of([[2, 5, 6, 5, 4, 5, 3, 0]])
    scores = torch.full((1, 1, 8, 8), 50.0)
    scores[0, 0, :, [1, 2, 3]] = 0.0
    scores[0, 0, 3, 3] = scores[0, 0, 5, 5] = 50.0
    reading = lookup_reading(Lookup(scores, lookup.words))
    assert reading.row.tolist() == [0, 0] and reading.position.tolist() == [3, 5]
    assert reading.records == [[1], [1, 3]]
    assert reading.candidates.tolist() == [2, 3]
    assert reading.probability.tolist() == pytest.approx([1 / 2, 2 / 3])


def test_probability_and_loss_by_hand():
    # Word 5 asks at 4 with scores log 6 on its record, log 3 and log 1 on two other words: 6 / 10.
    lookup = lookup_of([[2, 5, 6, 7, 5, 3]])
    scores = torch.zeros(1, 1, 6, 6)
    scores[0, 0, 4, 1:4] = torch.tensor([6.0, 3.0, 1.0]).log()
    lookup = Lookup(scores, lookup.words)
    reading = lookup_reading(lookup)
    assert reading.probability.tolist() == pytest.approx([0.6])
    assert reading.correct.tolist() == [True]
    assert lookup_loss(lookup).item() == pytest.approx(-math.log(0.6))
    total, count = lookup_sum(lookup)
    assert (total.item(), count) == (pytest.approx(-math.log(0.6)), 1)


def test_the_loss_is_a_mean_over_queries_and_heads():
    lookup = lookup_of([[2, 5, 6, 5, 3, 0], [2, 7, 8, 9, 7, 3]], heads=2)
    scores = torch.zeros(2, 2, 6, 6)
    scores[0, 1, 3, 1] = math.log(3.0)
    lookup = Lookup(scores, lookup.words)
    # Probabilities 1/2 and 3/4 at the first query, 1/3 and 1/3 at the second.
    expected = [-math.log(1 / 2), -math.log(3 / 4), -math.log(1 / 3), -math.log(1 / 3)]
    assert lookup_count(lookup) == 2
    assert lookup_loss(lookup).item() == pytest.approx(sum(expected) / 4)
    assert lookup_reading(lookup, 1).probability.tolist() == pytest.approx([3 / 4, 1 / 3])


@pytest.mark.parametrize(
    ("record", "rival", "correct"), [(2.0, 1.0, True), (1.0, 1.0, False), (1.0, 2.0, False)]
)
def test_a_tie_is_wrong(record, rival, correct):
    lookup = lookup_of([[2, 5, 6, 5, 3]])
    scores = torch.zeros(1, 1, 5, 5)
    scores[0, 0, 3, 1:3] = torch.tensor([record, rival])
    assert lookup_reading(Lookup(scores, lookup.words)).correct.tolist() == [correct]


def test_equal_scores_on_two_records_are_no_tie():
    lookup = lookup_of([[2, 5, 6, 5, 5, 3]])
    scores = torch.zeros(1, 1, 6, 6)
    scores[0, 0, 4, [1, 3]] = 1.0
    assert lookup_reading(Lookup(scores, lookup.words)).correct.tolist() == [False, True]


def test_without_a_query_the_loss_is_zero_and_differentiable():
    scores = torch.zeros(1, 1, 4, 4, requires_grad=True)
    lookup = Lookup(scores, lookup_of([[2, 5, 6, 3]]).words)
    loss = lookup_loss(lookup)
    loss.backward()
    assert loss.item() == 0 and torch.all(scores.grad == 0)
    reading = lookup_reading(lookup)
    assert reading.records == [] and len(reading.probability) == 0


def test_the_gradient_is_softmax_minus_record():
    scores = torch.zeros(1, 1, 5, 5, requires_grad=True)
    lookup_loss(Lookup(scores, lookup_of([[2, 5, 6, 5, 3]]).words)).backward()
    expected = torch.zeros(1, 1, 5, 5)
    expected[0, 0, 3, 1:3] = torch.tensor([-0.5, 0.5])
    assert torch.allclose(scores.grad, expected)


@given(
    st.lists(st.lists(st.integers(3, 14), min_size=10, max_size=10), min_size=1, max_size=3),
    st.integers(0, 9),
)
def test_targets_are_those_of_a_plain_loop(rows, seed):
    lookup = lookup_of(rows)
    scores = torch.randn(lookup.scores.shape, generator=torch.Generator().manual_seed(seed))
    reading = lookup_reading(Lookup(scores, lookup.words))
    found = {}
    for i, (row, position) in enumerate(zip(reading.row.tolist(), reading.position.tolist(), strict=True)):
        found[row, position] = (reading.records[i], reading.probability[i].item(), bool(reading.correct[i]))
    expected = {}
    for row, ids in enumerate(rows):
        words = []
        for i, piece in enumerate(ids):
            if piece >= 10 and i and ids[i - 1] >= 5:
                words[-1][1].append(piece)
            elif piece >= 5:
                words.append((i, [piece]))
        for n, (position, word) in enumerate(words):
            records = [start for start, other in words[:n] if other == word]
            if records:
                mass = {start: math.exp(scores[row, 0, position, start]) for start, _ in words[:n]}
                share = sum(mass[start] for start in records) / sum(mass.values())
                best = max(mass, key=mass.__getitem__)
                expected[row, position] = (records, pytest.approx(share, rel=1e-4), best in records)
    assert found == expected
    assert lookup_count(lookup) == len(expected)
    if expected:
        loss = lookup_loss(Lookup(scores, lookup.words)).item()
        assert loss == pytest.approx(-reading.probability.log().mean().item(), rel=1e-4)


def sentences(words, rows, length, draw):
    """Captions of whole words drawn at random, as ids between [CLS] and [SEP]."""
    inside = words[torch.randint(0, len(words), (rows, length), generator=draw)]
    return torch.cat((torch.full((rows, 1), 2), inside, torch.full((rows, 1), 3)), 1)


@pytest.mark.parametrize(
    ("width", "birth", "rate", "probability"),
    [
        (256, "free", 2e-3, 0.9),
        (256, "tied", 1e-3, 0.9),
        pytest.param(512, "free", 1e-3, 0.99, marks=pytest.mark.slow),
        pytest.param(512, "tied", 1e-3, 0.99, marks=pytest.mark.slow),
    ],
)
def test_a_binding_head_learns_to_find_records(make_spec, small_size, width, birth, rate, probability):
    """Head dims 16 and 32, trained on the lookup loss alone, read on captions not trained on."""
    size = {"vocabulary": 200, "width": width, "ffn": 256, "target_width": 32, "init_std": 0.02}
    spec = make_spec("binding-whole", small_size | size, birth=birth)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [f"w{i}" for i in range(195)]
    encoder = build_encoder(config_from_spec(spec), pieces, seed=1)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=rate)
    draw = torch.Generator().manual_seed(0)
    words = torch.arange(5, 65)
    for _ in range(30):
        output = encoder(sentences(words, 16, 20, draw), want_lookup=True)
        optimizer.zero_grad()
        lookup_loss(output.lookup).backward()
        optimizer.step()
    with torch.no_grad():
        reading = lookup_reading(encoder(sentences(words, 100, 20, draw), want_lookup=True).lookup)
    print(f"accuracy {reading.correct.float().mean():.5f}, probability {reading.probability.mean():.5f}")
    assert len(reading.row) > 200
    assert reading.correct.float().mean() > 0.99
    assert reading.probability.mean() > probability
