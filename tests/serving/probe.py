"""Run by a test in a process of its own: load an export as a user does and print what it does, as JSON."""

import importlib.util
import json
import sys

import torch
import transformers
from transformers import AutoModel, AutoTokenizer


def outcome(call):
    try:
        return call()
    except Exception as error:  # the test asserts which one it was
        return f"{type(error).__name__}: {error}"


def unit(vectors):
    return {"shape": list(vectors.shape), "norms": vectors.norm(dim=1).tolist(), "values": vectors.tolist()}


repo = sys.argv[1]
tokenizer = AutoTokenizer.from_pretrained(repo)
model, loading = AutoModel.from_pretrained(
    repo, trust_remote_code=True, use_safetensors=True, output_loading_info=True
)
model.eval()
texts = ["A cat sees the cat.", "A dog and a dog near the red house sees the dog, and a house."]
batch = tokenizer(texts, padding=True, truncation=True, max_length=256, return_tensors="pt")


def encode(texts, **options):
    found = tokenizer(texts, padding=True, return_tensors="pt", **options)
    return unit(model(**found).pooler_output)


with torch.inference_mode():
    plain = model(**batch)
    full = model(**batch, output_attentions=True, output_hidden_states=True, output_pointer_loss=True)
    as_tuple = model(**batch, return_dict=False)
    ids, mask = batch["input_ids"], batch["attention_mask"]
    padding = torch.zeros_like(ids)
    embeds = model.get_input_embeddings()(ids)
    long_ids = torch.full((1, 8192), 7)
    found = {
        "versions": {"transformers": transformers.__version__, "torch": torch.__version__},
        "visible": [
            name for name in ("captionlab", "sentence_transformers") if importlib.util.find_spec(name)
        ],
        "loading": {name: sorted(map(str, keys)) for name, keys in loading.items()},
        "sentence": unit(plain.pooler_output),
        "tokens": list(plain.last_hidden_state.shape),
        "unasked": [
            name for name in ("hidden_states", "attentions", "pointer_loss") if plain[name] is not None
        ]
        if len(plain) > 2
        else [],
        "hidden": [list(tensor.shape) for tensor in full.hidden_states],
        "last_is_tokens": torch.equal(full.hidden_states[-1], full.last_hidden_state),
        "attentions": [list(tensor.shape) for tensor in full.attentions],
        "attention_sums": max(float((a.sum(-1) - 1).abs().max()) for a in full.attentions),
        "attention_to_padding": max(float(a[0, :, :, mask[0] == 0].max()) for a in full.attentions),
        "pointer": full.pointer_loss.item(),
        "tuple": len(as_tuple),
        "tuple_equal": torch.equal(as_tuple[1], plain.pooler_output),
        "all_padding": model(padding, torch.zeros_like(mask)).pooler_output.abs().max().item(),
        "padding_by_id": model(padding).pooler_output.abs().max().item(),
        "embeds": outcome(lambda: unit(model(inputs_embeds=embeds, attention_mask=mask).pooler_output)),
        "capacity": bool(model(long_ids).last_hidden_state.isfinite().all()),
        "too_long": outcome(lambda: model(torch.full((1, 8193), 7))),
        "empty_list": outcome(lambda: encode([])),
        "no_rows": outcome(lambda: model(torch.zeros((0, 4), dtype=torch.long))),
        "empty_string": outcome(lambda: encode([""])),
        "emoji": outcome(lambda: encode(["\U0001f408 \U0001f415", "\U0001f34e \U0001f697"])),
        "long_text": outcome(lambda: encode(["the cat " * 12_500])),
        "long_text_cut": outcome(lambda: encode(["the cat " * 12_500], truncation=True, max_length=256)),
        "long_word": tokenizer("a" * 100_000)["input_ids"],
        "nan_mask": outcome(lambda: model(ids, torch.where(mask == 1, 1.0, torch.nan))),
        "fraction_mask": outcome(lambda: model(ids, mask * 0.5)),
        "beyond": outcome(lambda: model(ids + model.config.vocab_size)),
        "negative": outcome(lambda: model(ids - 100)),
    }
print("\n" + json.dumps(found))
