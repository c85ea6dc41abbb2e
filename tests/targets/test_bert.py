"""The pure-torch BERT against transformers' BertModel, and its refusals."""

import pytest
import torch
from tests.targets.conftest import TINY, WORDS, tiny_config, tiny_state

from captionlab.errors import ConfigError, DamagedFileError
from captionlab.targets.bert import bert_config, build_bert


def test_equals_transformers_bert_model():
    from transformers import BertConfig, BertModel

    theirs = BertModel(
        BertConfig(vocab_size=len(WORDS), max_position_embeddings=32, **TINY), add_pooling_layer=False
    ).eval()
    theirs.load_state_dict(tiny_state(), strict=False)
    ours = build_bert(tiny_config(), tiny_state(), "tiny")
    lengths = torch.tensor([7, 1, 5])
    mask = torch.arange(7) < lengths[:, None]
    ids = torch.randint(5, len(WORDS), (3, 7), generator=torch.Generator().manual_seed(0)) * mask
    with torch.inference_mode():
        expected = theirs(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        found = ours(ids, mask)
        unpadded = ours(ids[:1])
    assert torch.allclose(found[mask], expected[mask], atol=1e-5, rtol=0)
    assert torch.allclose(unpadded[0], expected[0], atol=1e-5, rtol=0)


def test_padding_does_not_reach_a_row():
    model = build_bert(tiny_config(), tiny_state(), "tiny")
    ids = torch.tensor([[2, 9, 10, 3]])
    with torch.inference_mode():
        alone = model(ids)
        padded = model(
            torch.tensor([[2, 9, 10, 3, 17, 0], [2, 9, 9, 9, 9, 3]]),
            torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]], dtype=torch.bool),
        )
    assert torch.allclose(alone[0], padded[0, :4], atol=1e-6, rtol=0)


def test_reads_old_names_and_a_prefix():
    old = {
        "bert."
        + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): value
        for name, value in tiny_state().items()
    }
    old |= {"bert.pooler.dense.weight": torch.ones(16, 16), "cls.predictions.bias": torch.ones(4)}
    old["bert.embeddings.position_ids"] = torch.arange(32)[None]
    ids = torch.tensor([[2, 9, 10, 3]])
    with torch.inference_mode():
        assert torch.equal(
            build_bert(tiny_config(), old, "old")(ids), build_bert(tiny_config(), tiny_state(), "new")(ids)
        )


@pytest.mark.parametrize(
    "name", ["encoder.layer.1.output.dense.bias", "encoder.layer.0.attention.self.key.weight"]
)
def test_refuses_a_missing_tensor(name):
    state = tiny_state()
    del state[name]
    with pytest.raises(DamagedFileError, match=name):
        build_bert(tiny_config(), state, "tiny")


def test_refuses_a_tensor_without_a_place():
    state = tiny_state() | {"encoder.layer.2.output.dense.bias": torch.zeros(16)}
    with pytest.raises(DamagedFileError, match=r"encoder\.layer\.2\.output\.dense\.bias"):
        build_bert(tiny_config(), state, "tiny")


def test_refuses_another_shape():
    state = tiny_state() | {"encoder.layer.0.intermediate.dense.weight": torch.zeros(16, 24)}
    with pytest.raises(DamagedFileError, match="intermediate"):
        build_bert(tiny_config(), state, "tiny")


def test_config_reads_table_sizes_off_the_weights():
    found = bert_config({"layers": 2, "width": 16, "heads": 4, "ffn": 24}, tiny_state(), "inline")
    assert (found.vocabulary, found.positions, found.types) == (len(WORDS), 32, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_act": "relu"}, "hidden_act"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type"),
        ({"heads": 5}, "divisible"),
        ({"ffn": None}, "ffn"),
    ],
)
def test_config_refuses_another_arithmetic(change, message):
    with pytest.raises(ConfigError, match=message):
        bert_config({"layers": 2, "width": 16, "heads": 4, "ffn": 24} | change, tiny_state(), "inline")
