import pytest

from captionlab.errors import ConfigError
from captionlab.rotary.build import build_encoder, config_from_spec


def test_a_spec_becomes_a_config(make_spec, published_size):
    config = config_from_spec(make_spec("binding-whole", published_size, layer=3, heads=[1, 2]))
    assert (config.width, config.heads, config.harmonics) == (512, 16, 4)
    assert (config.key_phase, config.record_norm, config.value_path) == ("word", 2.18, True)
    assert (config.lookup_layer, config.lookup_heads, config.lookup_birth) == (3, (1, 2), "tied")
    assert config_from_spec(make_spec("relative-16", published_size)).harmonics is None


@pytest.mark.parametrize(
    ("size", "lookup", "words"),
    [
        ({"norm": "rms"}, {}, ["model.norm", "rms", "post"]),
        ({"activation": "relu"}, {}, ["model.activation", "relu", "gelu_tanh"]),
        ({"pooling": "cls"}, {}, ["model.pooling", "cls", "mean-then-head"]),
        ({}, {"birth": "equal"}, ["lookup.birth", "equal", "tied"]),
        ({"width": 100}, {}, ["binding-whole", "100"]),
        ({}, {"layer": 7}, ["binding-whole", "layer 7"]),
    ],
)
def test_a_spec_that_cannot_be_is_refused(make_spec, small_size, size, lookup, words):
    with pytest.raises(ConfigError) as error:
        config_from_spec(make_spec("binding-whole", small_size | size, **lookup))
    assert all(word in str(error.value) for word in words)


def test_a_vocabulary_of_another_size_is_refused(make_spec):
    config = config_from_spec(make_spec("relative-16"))
    with pytest.raises(ConfigError, match=r"64.*3 pieces"):
        build_encoder(config, ["[PAD]", "a", "##b"], seed=1)
