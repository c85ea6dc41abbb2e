"""The encoder as a whole: sizes, birth, gradients, padding, paths through attention, limits."""

import ast

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from captionlab.rotary.build import config_from_spec
from captionlab.rotary.encoder import CaptionEncoder
from captionlab.rotary.lookup import lookup_loss
from captionlab.rotary.options import option_from_mapping, parameter_count

OPTION_NAMES = (
    "relative-8",
    "relative-16",
    "hierarchical",
    "hierarchical-no-value",
    "key",
    "key-norm",
    "binding-piece",
    "binding-whole",
    "pointer-only",
)
LEXICAL = ("key", "key-norm", "binding-piece", "binding-whole")


def batch(rows=3, length=20, seed=0):
    """Ids with [CLS], [SEP] and repeated words, all real."""
    draw = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, 64, (rows, length), generator=draw)
    ids[:, 0], ids[:, -1] = 2, 3
    ids[:, 11:15] = ids[:, 3:7]
    return ids


def padded(ids, before, after):
    return F.pad(ids, (before, after)), F.pad(torch.ones_like(ids), (before, after)).bool()


def numbers(encoder):
    return sum(parameter.numel() for parameter in encoder.parameters())


# -- size and birth ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPTION_NAMES)
def test_torch_counts_what_the_formula_counts(name, make_spec, published_size, small_size):
    for size in (published_size, small_size, published_size | {"norm": "pre"}):
        spec = make_spec(name, size)
        with torch.device("meta"):
            encoder = CaptionEncoder(config_from_spec(spec))
        assert numbers(encoder) == parameter_count(size, option_from_mapping(name, spec["option"]))
    with torch.device("meta"):
        published = CaptionEncoder(config_from_spec(make_spec(name, published_size)))
    plain = name in ("relative-8", "relative-16", "hierarchical-no-value", "pointer-only")
    assert numbers(published) == (54_114_560 if plain else 54_268_160)


def test_the_value_path_changes_no_bit_at_birth(build, options):
    ids, mask = padded(batch(), 0, 3)
    for name in ("hierarchical", "key", "key-norm", "binding-piece", "binding-whole"):
        with_path = build(name)
        without = build({**options[name], "value_path": False})
        ours = with_path(ids, mask, want_hidden=True)
        theirs = without(ids, mask, want_hidden=True)
        assert torch.equal(ours.sentence, theirs.sentence)
        assert all(torch.equal(a, b) for a, b in zip(ours.hidden, theirs.hidden, strict=True))


def test_the_value_path_acts_once_it_has_weights(build):
    ids = batch(length=40)
    encoder = build("hierarchical")
    before = encoder(ids).sentence
    with torch.no_grad():
        encoder.layers[0].attention.value_path.weight[:, 16:].normal_(0, 1)
    assert (encoder(ids).sentence - before).abs().max() > 1e-3


def test_options_share_their_weights_at_birth(build):
    # Tied birth copies one head's rows, and heads have other rows in relative-8.
    for birth, names in (("tied", OPTION_NAMES[1:]), ("free", OPTION_NAMES)):
        reference = build("relative-16", lookup={"birth": birth}).state_dict()
        for name in names:
            _check_shared(reference, build(name, lookup={"birth": birth}).state_dict())


def _check_shared(reference, state):
    assert all(torch.equal(state[key], value) for key, value in reference.items())
    added = set(state) - set(reference)
    assert all(state[key].count_nonzero() == 0 and "value_path" in key for key in added)


def test_birth_depends_on_the_seed_alone(build):
    torch.manual_seed(0)
    state = torch.get_rng_state()
    first = build("binding-whole", seed=3)
    torch.manual_seed(1)
    second = build("binding-whole", seed=3)
    assert all(map(torch.equal, first.state_dict().values(), second.state_dict().values()))
    other = build("binding-whole", seed=4)
    assert not torch.equal(first.embedding.weight, other.embedding.weight)
    torch.manual_seed(0)
    build("binding-whole", seed=5)
    assert torch.equal(torch.get_rng_state(), state)


def test_values_at_birth(build):
    encoder = build("hierarchical", width=256, init_std=0.02)
    for name, parameter in encoder.named_parameters():
        if "value_path" in name or name.endswith("bias"):
            assert parameter.count_nonzero() == 0, name
        elif "norm" in name:
            assert torch.all(parameter == 1), name
        else:
            assert parameter.std().item() == pytest.approx(0.02, rel=0.03), name


def test_tied_birth_copies_the_queries_of_the_lookup_heads_only(build):
    tied = build("relative-16", lookup={"layer": 1, "heads": [0, 3]})
    free = build("relative-16", lookup={"layer": 1, "heads": [0, 3], "birth": "free"})
    query, key, value = tied.layers[1].attention.qkv.weight.view(3, 16, 8, 128)
    same = [torch.equal(query[head], key[head]) for head in range(16)]
    assert [head for head in range(16) if same[head]] == [0, 3]
    free_query, free_key, free_value = free.layers[1].attention.qkv.weight.view(3, 16, 8, 128)
    assert torch.equal(query, free_query) and torch.equal(value, free_value)
    assert not any(torch.equal(free_query[head], free_key[head]) for head in range(16))
    assert torch.equal(tied.layers[0].attention.qkv.weight, free.layers[0].attention.qkv.weight)


def test_vocabulary_buffers(build):
    encoder = build("relative-16")
    assert encoder.special.nonzero()[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert encoder.continuation.nonzero()[:, 0].tolist() == list(range(8, 64, 4))
    assert {"continuation", "special"} <= set(encoder.state_dict())
    assert not [name for name, _ in encoder.named_buffers() if name not in encoder.state_dict()]


# -- gradients -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPTION_NAMES)
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_gradients_reach_every_parameter(name, norm, build):
    encoder = build(name, norm=norm).train()
    ids = batch(rows=8, length=40)
    ids[torch.arange(8), 20:28] = torch.arange(5, 61).view(7, 8)[torch.arange(8) % 7]
    target = F.normalize(torch.randn(8, 24, generator=torch.Generator().manual_seed(1)), dim=-1)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
    born = {key: value.clone() for key, value in encoder.named_parameters()}
    for _ in range(2):
        output = encoder(ids, want_lookup=True)
        loss = F.cross_entropy(output.sentence @ target.T / 0.07, torch.arange(8)) + lookup_loss(
            output.lookup
        )
        optimizer.zero_grad()
        loss.backward()
        assert all(parameter.grad is not None for parameter in encoder.parameters())
        optimizer.step()
    for key, parameter in encoder.named_parameters():
        assert parameter.grad.abs().max() > 0, key
        assert not torch.equal(parameter, born[key]), key


# -- padding -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPTION_NAMES)
def test_left_and_right_padding_agree(name, build):
    encoder, ids = build(name), batch()
    bare = encoder(ids, want_lookup=True)
    for before, after in ((0, 7), (7, 0), (3, 4)):
        moved = encoder(*padded(ids, before, after), want_lookup=True)
        inside = slice(before, before + ids.shape[1])
        assert (moved.sentence - bare.sentence).abs().max() < 1e-5
        assert (moved.tokens[:, inside] - bare.tokens).abs().max() < 2e-5
        assert lookup_loss(moved.lookup).item() == pytest.approx(lookup_loss(bare.lookup).item(), rel=1e-4)


@pytest.mark.parametrize("name", OPTION_NAMES)
@pytest.mark.parametrize("pooling", ["mean-then-head", "head-then-mean"])
def test_a_row_of_padding_is_the_zero_vector(name, pooling, build):
    encoder = build(name, pooling=pooling)
    with torch.no_grad():  # with zero biases the head maps nothing to nothing by itself
        encoder.head.out.bias.fill_(0.5)
    ids, mask = padded(batch(), 0, 2)
    mask[1] = False
    with torch.no_grad():
        output = encoder(ids, mask, want_attentions=True, want_lookup=True)
        fused = encoder(ids, mask)
    for sentence in (output.sentence, fused.sentence):
        assert torch.all(sentence[1] == 0)
        assert torch.allclose(sentence[[0, 2]].norm(dim=-1), torch.ones(2))
    assert fused.tokens.isfinite().all() and all(each.isfinite().all() for each in output.attentions)
    nothing = encoder(torch.zeros(2, 5, dtype=torch.int64))
    assert torch.all(nothing.sentence == 0) and nothing.tokens.isfinite().all()


def test_without_a_mask_padding_ids_are_padding(build):
    encoder = build("binding-whole")
    ids, mask = padded(batch(), 0, 4)
    assert torch.equal(encoder(ids).sentence, encoder(ids, mask).sentence)
    assert torch.equal(encoder(ids, mask.long()).sentence, encoder(ids, mask.float()).sentence)


@settings(max_examples=25)
@given(rows=st.integers(1, 5), extra=st.integers(0, 5), name=st.sampled_from(OPTION_NAMES))
def test_a_row_does_not_see_its_neighbours(build, rows, extra, name):
    encoder = build(name)
    ids = batch(rows=6)
    alone = encoder(*padded(ids[:1], 0, extra))
    together = encoder(*padded(ids[:rows], 0, extra))
    assert (together.sentence[0] - alone.sentence[0]).abs().max() < 1e-5


@pytest.mark.parametrize("pooling", ["mean-then-head", "head-then-mean"])
@pytest.mark.parametrize("name", OPTION_NAMES)
@pytest.mark.parametrize("binding_path", [True, False])
def test_groups_of_several_lengths_give_what_each_gives_alone(name, pooling, binding_path, build):
    """Left padding, right padding, none, and a row without a real token among them."""
    encoder = build(name, pooling=pooling)
    batches = [
        padded(batch(rows=2, length=20, seed=1), 3, 2),
        padded(batch(rows=1, length=24, seed=2), 0, 0),
        padded(batch(rows=4, length=17, seed=3), 0, 4),
    ]
    batches[2][1][1] = False
    together = encoder.forward_together(batches, want_lookup=True, binding_path=binding_path)
    assert len(together) == 3
    for output, (ids, mask) in zip(together, batches, strict=True):
        alone = encoder(ids, mask, want_lookup=True, binding_path=binding_path)
        torch.testing.assert_close(output.tokens[mask], alone.tokens[mask], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(output.sentence, alone.sentence, rtol=1e-5, atol=2e-6)
        torch.testing.assert_close(output.lookup.scores, alone.lookup.scores, rtol=1e-4, atol=1e-5)
        assert torch.equal(output.lookup.words.identity, alone.lookup.words.identity)


def test_bad_input_among_groups_is_refused(build):
    encoder = build("relative-16")
    good = padded(batch(rows=1), 0, 0)
    with pytest.raises(ValueError, match="mask"):
        encoder.forward_together([good, (good[0], good[1][:, 1:])])


@pytest.mark.parametrize("name", ["binding-piece", "binding-whole"])
def test_ids_may_be_of_any_width(name, build):
    encoder, ids = build(name), batch()
    assert torch.equal(encoder(ids.int()).sentence, encoder(ids).sentence)


def test_the_same_input_gives_the_same_bits(build):
    encoder = build("binding-whole")
    ids, mask = padded(batch(), 0, 4)
    first, second = (encoder(ids, mask, want_lookup=True) for _ in range(2))
    assert torch.equal(first.tokens, second.tokens) and torch.equal(first.sentence, second.sentence)
    assert torch.equal(first.lookup.scores, second.lookup.scores)


# -- attention -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPTION_NAMES)
def test_explicit_attention_equals_the_fused_kernel(name, build):
    encoder = build(name)
    heads = 8 if name == "relative-8" else 16
    ids, mask = padded(batch(), 0, 3)
    explicit = encoder(ids, mask, want_attentions=True, want_hidden=True)
    fused = encoder(ids, mask, want_hidden=True)
    assert (explicit.tokens - fused.tokens).abs().max() < 1e-5
    assert (explicit.sentence - fused.sentence).abs().max() < 1e-6
    assert [tuple(each.shape) for each in explicit.attentions] == [(3, heads, 23, 23)] * 2
    for each in explicit.attentions:
        assert torch.allclose(each.sum(-1), torch.ones(3, heads, 23))
        assert torch.all(each[..., 20:] == 0)
    assert fused.attentions is None and fused.lookup is None
    assert len(fused.hidden) == 3
    assert torch.equal(fused.hidden[-1], fused.tokens)
    assert torch.equal(fused.hidden[0], encoder.embedding_norm(encoder.embedding(ids)))


@pytest.mark.parametrize("name", OPTION_NAMES)
def test_lookup_scores_are_those_that_attention_uses(name, build):
    encoder = build(name, lookup={"layer": 1, "heads": [5, 2]})
    output = encoder(batch(), want_lookup=True, want_attentions=True)
    assert output.lookup.scores.shape == (3, 2, 20, 20)
    assert torch.allclose(output.lookup.scores.softmax(-1), output.attentions[1][:, [5, 2]], atol=1e-6)


@pytest.mark.parametrize("name", OPTION_NAMES)
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("binding_path", [True, False])
def test_the_lookup_alone_is_bit_equal_to_that_of_a_whole_pass(name, norm, layer, binding_path, build):
    encoder = build(name, norm=norm, lookup={"layer": layer, "heads": [5, 2]})
    ids, mask = padded(batch(), 0, 3)
    whole = encoder(ids, mask, want_lookup=True, binding_path=binding_path).lookup
    alone = encoder.lookup(ids, mask, binding_path=binding_path)
    assert torch.equal(alone.scores, whole.scores)
    for field in ("identity", "starts", "text"):
        assert torch.equal(getattr(alone.words, field), getattr(whole.words, field))


@pytest.mark.parametrize("name", ["key", "key-norm", "binding-whole"])
def test_without_its_path_a_binding_option_is_the_hierarchical_one(name, build):
    ids, mask = padded(batch(), 0, 3)
    removed = build(name)(ids, mask, binding_path=False)
    assert torch.equal(removed.tokens, build("hierarchical")(ids, mask).tokens)
    kept = build(name)(ids, mask)
    assert (removed.tokens - kept.tokens).abs().max() > 1e-3


def test_word_phases_turn_the_lookup_heads_only(build):
    ids = batch()
    lexical, plain = build("binding-whole"), build("hierarchical")
    ours = lexical(ids, want_attentions=True).attentions
    theirs = plain(ids, want_attentions=True).attentions
    assert torch.allclose(ours[0], theirs[0], atol=1e-7)
    assert torch.allclose(ours[1][:, 1:], theirs[1][:, 1:], atol=1e-6)
    assert (ours[1][:, 0] - theirs[1][:, 0]).abs().max() > 0.01


@pytest.mark.parametrize("name", ["key", "binding-piece"])
def test_special_tokens_keep_position_phases(name, build, options):
    lookup = {"layer": 0}
    plain = build({**options[name], "key_phase": "none", "record_norm": None}, layers=1, lookup=lookup)
    lexical = build({**options[name], "record_norm": None}, layers=1, lookup=lookup)
    ids = batch(length=40)
    ids[:, 21] = 4
    ours, theirs = (encoder(ids, want_lookup=True).lookup.scores for encoder in (lexical, plain))
    specials = [0, 21, 39]
    assert torch.equal(ours[:, :, specials][..., specials], theirs[:, :, specials][..., specials])
    words = [1, 2, 3, 20, 22, 38]
    assert (ours[:, :, words][..., words] - theirs[:, :, words][..., words]).abs().max() > 0.1


def test_the_record_norm_bounds_the_score(build):
    # Both vectors have norm 2.18 sqrt(d), the score is divided by sqrt(d): at most 2.18^2 sqrt(8) = 13.44.
    output = build("key-norm")(batch(rows=8), want_lookup=True)
    assert output.lookup.scores.abs().max() <= 2.18**2 * 8**0.5 + 1e-4
    assert output.lookup.scores.diagonal(dim1=-2, dim2=-1).mean() > 0.9 * 2.18**2 * 8**0.5
    # Published head dim 32: the peak is 26.9.
    wide = build("key-norm", width=512, layers=2)(batch(), want_lookup=True)
    assert wide.lookup.scores.max().item() == pytest.approx(26.88, abs=0.01)


def test_a_word_meets_its_record_in_phase(build):
    # Two words of pieces (5, 8) with the same first piece as (5, 12): only the whole words' phases tell.
    ids = torch.tensor([[2, 5, 8, 6, 5, 12, 7, 5, 8, 3]])
    whole = build("binding-whole", layers=1, lookup={"layer": 0})(ids, want_lookup=True).lookup.scores[0, 0]
    piece = build("binding-piece", layers=1, lookup={"layer": 0})(ids, want_lookup=True).lookup.scores[0, 0]
    peak = 2.18**2 * 8**0.5
    assert whole[7, 1].item() == pytest.approx(peak, rel=1e-4)
    assert whole[7, 4].item() < 0.9 * peak
    assert piece[7, 1].item() == pytest.approx(peak, rel=1e-4)
    assert piece[7, 4].item() == pytest.approx(peak, rel=1e-4)


# -- precision, limits and refusals --------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPTION_NAMES)
def test_autocast_keeps_phases_and_vectors_in_float32(name, build):
    encoder = build(name)
    ids, mask = padded(batch(), 0, 3)
    mask[1] = False
    exact = encoder(ids, mask, want_lookup=True)
    with torch.autocast("cpu", torch.bfloat16):
        rough = encoder(ids, mask, want_lookup=True)
    assert rough.sentence.dtype == torch.float32 and rough.lookup.scores.dtype == torch.float32
    assert torch.allclose(rough.sentence.norm(dim=-1), torch.tensor([1.0, 0.0, 1.0]), atol=1e-6)
    cosine = (rough.sentence * exact.sentence).sum(-1)
    assert cosine[0] > 0.99 and cosine[2] > 0.99


def test_half_precision_weights_run(build):
    encoder = build("binding-whole").to(torch.bfloat16)
    output = encoder(batch(), want_lookup=True)
    assert output.tokens.dtype == torch.bfloat16 and output.sentence.dtype == torch.float32
    assert torch.allclose(output.sentence.norm(dim=-1), torch.ones(3), atol=1e-5)


@pytest.mark.parametrize("name", ["relative-16", "binding-whole"])
def test_execution_capacity(name, build, options):
    encoder = build({**options[name], "heads": 2}, width=32, layers=1, lookup={"layer": 0})
    ids = batch(rows=1, length=8192)
    with torch.no_grad():
        output = encoder(ids)
    assert output.tokens.isfinite().all() and output.sentence.norm().item() == pytest.approx(1.0, abs=1e-5)
    with pytest.raises(ValueError, match=r"8193 tokens .* takes 8192"):
        encoder(F.pad(ids, (0, 1), value=3))


@pytest.mark.parametrize(
    ("ids", "mask", "message"),
    [
        (torch.tensor([[2, 64, 3]]), None, "vocabulary of 64"),
        (torch.tensor([[2, -1, 3]]), None, "vocabulary of 64"),
        (torch.tensor([2, 5, 3]), None, "shape"),
        (torch.zeros(0, 4, dtype=torch.int64), None, "shape"),
        (torch.zeros(4, 0, dtype=torch.int64), None, "shape"),
        (torch.tensor([[2, 5, 3]]), torch.ones(1, 4), "mask of shape"),
        (torch.tensor([[2, 5, 3]]), torch.tensor([[1.0, float("nan"), 1.0]]), "other than 0 and 1"),
        (None, None, "either"),
    ],
)
def test_bad_input_is_refused(ids, mask, message, build):
    with pytest.raises(ValueError, match=message):
        build("relative-16")(ids, mask)


def test_embeddings_replace_ids_where_no_word_is_needed(build):
    ids = batch()
    encoder = build("hierarchical")
    embeds = encoder.embedding(ids)
    assert torch.equal(encoder(None, inputs_embeds=embeds).sentence, encoder(ids).sentence)
    with pytest.raises(ValueError, match="ids"):
        encoder(None, inputs_embeds=embeds, want_lookup=True)
    with pytest.raises(ValueError, match="not both"):
        encoder(ids, inputs_embeds=embeds)
    lexical = build("key")
    with pytest.raises(ValueError, match="ids"):
        lexical(None, inputs_embeds=embeds)
    assert lexical(None, inputs_embeds=embeds, binding_path=False).sentence.shape == (3, 24)


def test_switches_of_the_stack_act(build):
    ids = batch()
    plain = build("relative-16")(ids).sentence
    for size in (
        {"norm": "pre"},
        {"activation": "gelu_tanh"},
        {"pooling": "head-then-mean"},
        {"ntk_scale": 1.0},
    ):
        other = build("relative-16", **size)(ids).sentence
        assert torch.allclose(other.norm(dim=-1), torch.ones(3), atol=1e-5)
        assert (other - plain).abs().max() > 1e-6, size


def test_the_stack_agrees_with_a_plain_reading(build):
    """One layer of `relative-16` against a forward pass written out with torch's elementary operations."""
    encoder = build("relative-16", layers=1, lookup={"layer": 0})
    ids = batch(rows=1)[:, :6]
    state = {key: value.double() for key, value in encoder.state_dict().items()}

    def linear(x, name):
        return x @ state[f"{name}.weight"].T + state[f"{name}.bias"]

    def norm(x, name):
        centred = x - x.mean(-1, keepdim=True)
        scaled = centred / (centred.square().mean(-1, keepdim=True) + 1e-12).sqrt()
        return scaled * state[f"{name}.weight"] + state[f"{name}.bias"]

    def gelu(x):
        return x * 0.5 * (1 + torch.erf(x / 2**0.5))

    x = norm(state["embedding.weight"][ids[0]], "embedding_norm")
    query, key, value = linear(x, "layers.0.attention.qkv").split(128, -1)
    frequencies = (10000 * 4 ** (8 / 6)) ** (-torch.arange(4).double() / 4)
    turn = torch.polar(torch.ones(6, 4).double(), torch.arange(6).double()[:, None] * frequencies)
    mixed = []
    for head in range(16):
        part = slice(8 * head, 8 * head + 8)
        q, k = (torch.complex(y[:, part][:, :4], y[:, part][:, 4:]) * turn for y in (query, key))
        weights = ((q @ k.conj().T).real / 8**0.5).softmax(-1)
        mixed.append(weights @ value[:, part])
    x = norm(x + linear(torch.cat(mixed, -1), "layers.0.attention.out"), "layers.0.attention_norm")
    x = norm(x + linear(gelu(linear(x, "layers.0.widen")), "layers.0.narrow"), "layers.0.ffn_norm")
    vector = linear(norm(gelu(linear(x.mean(0), "head.dense")), "head.norm"), "head.out")
    output = encoder(ids)
    assert torch.allclose(output.tokens[0].double(), x, atol=2e-5)
    assert torch.allclose(output.sentence[0].double(), vector / vector.norm(), atol=2e-6)


def test_the_arithmetic_stands_alone(repository):
    folder = repository / "workflow" / "captionlab" / "rotary"
    for name, allowed in (
        ("encoder", {"collections", "dataclasses", "math", "torch", "typing"}),
        ("lookup", {"dataclasses", "math", "torch"}),
    ):
        tree = ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))
        imported = {
            alias.name.split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        imported |= {
            node.module.split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module
        }
        assert imported <= allowed
