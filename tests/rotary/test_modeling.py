"""The Transformers wrapper: the same values as the encoder, whatever memory held before loading."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from captionlab.rotary.configuration_captionbert import CaptionBertConfig
from captionlab.rotary.encoder import EncoderConfig
from captionlab.rotary.lookup import lookup_loss
from captionlab.rotary.modeling_captionbert import CaptionBertModel

EXPORTED = ("encoder.py", "lookup.py", "configuration_captionbert.py", "modeling_captionbert.py")
LOADER = """
import sys, torch

def poisoned(make):
    def empty(*args, **kwargs):
        made = make(*args, **kwargs)
        if made.device.type != "meta":
            made.fill_(float("nan") if made.is_floating_point() else 1)
        return made
    return empty

torch.empty, torch.empty_like = poisoned(torch.empty), poisoned(torch.empty_like)
from safetensors.torch import load_file, save_file
from transformers import AutoModel

folder = sys.argv[1]
model = AutoModel.from_pretrained(folder, trust_remote_code=True, use_safetensors=True).eval()
batch = load_file(folder + "/batch.safetensors")
with torch.no_grad():
    output = model(batch["ids"], batch["mask"], output_pointer_loss=True)
found = {"state." + name: value.clone() for name, value in model.encoder.state_dict().items()}
found |= {"tokens": output.last_hidden_state, "sentence": output.pooler_output, "loss": output.pointer_loss}
save_file({name: value.contiguous() for name, value in found.items()}, folder + "/found.safetensors")
print("captionlab" in sys.modules, model.__class__.__module__.split(".")[0])
"""


def wrapped(encoder):
    model = CaptionBertModel(CaptionBertConfig.from_encoder_config(encoder.config)).eval()
    model.encoder.load_state_dict(encoder.state_dict())
    return model


def batch():
    ids = torch.randint(5, 64, (4, 18), generator=torch.Generator().manual_seed(0))
    ids[:, 0], ids[:, -1] = 2, 3
    ids[:, 9:13] = ids[:, 2:6]
    mask = torch.ones_like(ids)
    mask[1, 12:], mask[2], mask[3, :5] = 0, 0, 0
    return ids, mask


@pytest.mark.parametrize("name", ["relative-16", "hierarchical", "binding-piece", "binding-whole"])
def test_the_wrapper_adds_nothing(name, build):
    encoder = build(name)
    model, (ids, mask) = wrapped(encoder), batch()
    with torch.no_grad():
        plain = encoder(ids, mask, want_hidden=True, want_lookup=True)
        output = model(ids, mask, output_hidden_states=True, output_pointer_loss=True)
        shown = model(ids, mask, output_attentions=True)
        expected = encoder(ids, mask, want_attentions=True)
    assert torch.equal(output.last_hidden_state, plain.tokens)
    assert torch.equal(output.pooler_output, plain.sentence)
    assert torch.equal(output.pointer_loss, lookup_loss(plain.lookup)) and output.pointer_loss.ndim == 0
    assert len(output.hidden_states) == 3
    assert all(map(torch.equal, output.hidden_states, plain.hidden))
    assert output.attentions is None
    assert [tuple(each.shape) for each in shown.attentions] == [(4, 16, 18, 18)] * 2
    assert all(map(torch.equal, shown.attentions, expected.attentions))
    assert torch.all(output.pooler_output[2] == 0)


def test_tuples_and_dicts(build):
    model, (ids, mask) = wrapped(build("binding-whole")), batch()
    with torch.no_grad():
        output = model(input_ids=ids, attention_mask=mask, token_type_ids=torch.zeros_like(ids))
        as_tuple = model(ids, mask, return_dict=False)
        full = model(
            ids,
            mask,
            output_hidden_states=True,
            output_attentions=True,
            output_pointer_loss=True,
            return_dict=False,
        )
    assert list(output) == ["last_hidden_state", "pooler_output"]
    assert type(as_tuple) is tuple and len(as_tuple) == 2
    assert torch.equal(as_tuple[1], output["pooler_output"])
    assert [type(each) for each in full] == [torch.Tensor, torch.Tensor, tuple, tuple, torch.Tensor]


def test_eager_attention_is_what_eager_means(build):
    encoder, (ids, mask) = build("binding-whole"), batch()
    model = wrapped(encoder)
    model.config._attn_implementation = "eager"
    with torch.no_grad():
        assert torch.equal(
            model(ids, mask).last_hidden_state, encoder(ids, mask, want_attentions=True).tokens
        )
        model.config.output_attentions = True
        assert len(model(ids, mask).attentions) == 2


def test_bad_input_is_refused(build):
    model, (ids, mask) = wrapped(build("binding-whole")), batch()
    with pytest.raises(ValueError, match="ids instead of inputs_embeds"):
        model(inputs_embeds=torch.zeros(1, 4, 128))
    with pytest.raises(ValueError, match="takes 8192"):
        model(torch.full((1, 8193), 5))
    with pytest.raises(ValueError, match="vocabulary of 64"):
        model(torch.tensor([[2, 64]]))
    with pytest.raises(ValueError, match="other than 0 and 1"):
        model(ids, mask * float("nan"))
    plain = wrapped(build("hierarchical"))
    with torch.no_grad():
        embedded = plain(inputs_embeds=plain.get_input_embeddings()(ids), attention_mask=mask)
        assert torch.equal(embedded.pooler_output, plain(ids, mask).pooler_output)


def test_config_goes_to_json_and_back(tmp_path):
    config = EncoderConfig(
        64, 128, 2, 16, 96, 24, norm="pre", position="hierarchical", harmonics=1, lookup_heads=(2, 5)
    )
    CaptionBertConfig.from_encoder_config(config).save_pretrained(tmp_path)
    restored = CaptionBertConfig.from_pretrained(tmp_path)
    assert restored.encoder_config() == config
    assert (restored.hidden_size, restored.num_hidden_layers, restored.num_attention_heads) == (128, 2, 16)
    assert (restored.vocab_size, restored.pad_token_id, restored.max_position_embeddings) == (64, 0, 8192)
    written = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert written["auto_map"]["AutoModel"] == "modeling_captionbert.CaptionBertModel"
    assert written["dtype"] == "float32"


def test_without_arguments_it_is_the_published_reference():
    with torch.device("meta"):
        model = CaptionBertModel(CaptionBertConfig())
    assert sum(parameter.numel() for parameter in model.parameters()) == 54_114_560
    assert not [name for name, _ in model.named_buffers() if name not in model.state_dict()]


def test_loading_overwrites_nothing_that_was_loaded(build, tmp_path):
    encoder = build("binding-whole")
    wrapped(encoder).save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    missing = (
        "encoder.head.out.bias",
        "encoder.layers.0.attention.value_path.weight",
        "encoder.head.norm.weight",
    )
    for name in missing:
        del tensors[name]
    with torch.no_grad():
        tensors["encoder.head.norm.bias"].fill_(0.25)
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    model, info = CaptionBertModel.from_pretrained(tmp_path, output_loading_info=True)
    assert set(info["missing_keys"]) == set(missing)
    state = model.state_dict()
    assert all(torch.equal(state[name], value) for name, value in tensors.items())
    assert torch.all(state[missing[0]] == 0) and torch.all(state[missing[1]] == 0)
    assert torch.all(state[missing[2]] == 1)


@pytest.mark.parametrize("name", ["relative-16", "binding-whole"])
def test_values_survive_poisoned_memory(name, build, repository, tmp_path):
    """Loaded by AutoModel in a fresh process with a fresh code cache, every new tensor filled with NaN."""
    encoder, (ids, mask) = build(name), batch()
    folder = tmp_path / "export"
    wrapped(encoder).save_pretrained(folder)
    for file in EXPORTED:
        shutil.copy(repository / "workflow" / "captionlab" / "rotary" / file, folder)
    save_file({"ids": ids, "mask": mask}, folder / "batch.safetensors")
    environment = {"HF_MODULES_CACHE": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", LOADER, str(folder)],
        env=environment | {"PATH": str(Path(sys.executable).parent), "HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["False", "transformers_modules"]
    found = load_file(folder / "found.safetensors")
    with torch.no_grad():
        plain = encoder(ids, mask, want_lookup=True)
    state = {key.removeprefix("state."): value for key, value in found.items() if key.startswith("state.")}
    assert state.keys() == encoder.state_dict().keys()
    assert all(torch.equal(state[key], value) for key, value in encoder.state_dict().items())
    threads = torch.get_num_threads()
    assert (found["tokens"] - plain.tokens).abs().max() <= (0 if threads == 1 else 1e-5)
    assert (found["sentence"] - plain.sentence).abs().max() <= (0 if threads == 1 else 1e-6)
    assert found["loss"].item() == pytest.approx(lookup_loss(plain.lookup).item(), rel=1e-6)
