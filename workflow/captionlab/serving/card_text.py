# ruff: noqa: E501 - rows of Markdown tables cannot be broken
"""The words of a model card, as the Jinja template that huggingface_hub fills in.

A module and not a data file, so that another wording makes cards again and no export.
"""

TEMPLATE = """\
---
{{ card_data }}
---

# {{ title }}

A caption sentence encoder of {{ parameters }} parameters, distilled from the consensus of the campaign's teachers.
Inference needs this folder alone and gives L2-normalised sentence vectors of {{ target_width }}.

{{ standing }}

{{ layers }} layers · width {{ width }} · {{ heads }} heads · FFN {{ ffn }} · trained on captions of at most {{ caption_ceiling }} tokens.
{{ max_tokens }} tokens is the checked execution capacity; what vectors of such long texts are worth was not measured.

{{ scale }}

## Load the model

```python
import torch
from transformers import AutoModel, AutoTokenizer

repo = "{{ repository }}"
tokenizer = AutoTokenizer.from_pretrained(repo, trust_remote_code=True)
model = AutoModel.from_pretrained(repo, trust_remote_code=True, use_safetensors=True).eval()

batch = tokenizer(
    ["A cat watches from a windowsill.", "A feline looks out the window."],
    padding=True,
    truncation=True,
    max_length={{caption_ceiling}},
    return_tensors="pt",
)
with torch.inference_mode():
    output = model(**batch)

embeddings = output.pooler_output  # [2, {{ target_width }}], L2-normalised
tokens = output.last_hidden_state  # [2, sequence length, {{ width }}]
similarity = (embeddings[0] @ embeddings[1]).item()
```

Or with sentence-transformers, which gives the same vectors and cuts texts at {{ caption_ceiling }} tokens:

```python
from sentence_transformers import SentenceTransformer

vectors = SentenceTransformer("{{ repository }}", trust_remote_code=True).encode(["A cat watches."])
```

Transformers 4.57 and 5 are supported. From the hub, pin the revision of the serving report (`revision=...`).

{{ tables }}

## Output convention

| Field | Shape | Meaning |
|:---|:---|:---|
| `last_hidden_state` | [B, L, {{ width }}] | token states; not promised to be zero at padding |
| `pooler_output` | [B, {{ target_width }}] | L2-normalised sentence vector; zero for a row of padding |
| `hidden_states`, when asked for | {{ layers + 1 }} tensors [B, L, {{ width }}] | input and {{ layers }} layers |
| `attentions`, when asked for | {{ layers }} tensors [B, {{ heads }}, L, L] | through an explicit softmax |
| `pointer_loss`, with `output_pointer_loss=True` | scalar | lookup loss of the designated head |

Tuples come with `return_dict=False`. `inputs_embeds` is refused where word phases or the pointer loss need ids.

## Input that is unlike a caption

| Input | What happens |
|:---|:---|
| empty list of texts | Transformers' tokenizer raises `IndexError`, the model `ValueError` (no rows); sentence-transformers returns an empty array |
| empty string | the vector of `[CLS] [SEP]`, of unit length |
| only emoji | each word the vocabulary lacks is `[UNK]`: a unit vector, the same for all such emoji of equal count |
| very long text | cut where `truncation=True`; above {{ max_tokens }} tokens the model raises `ValueError` |
| one word of more than 100 characters | `[UNK]` |
| mask with NaN, or with fractions | `ValueError` |
| ids outside the vocabulary of {{ vocabulary }} | `ValueError` |

## Reproduce

```
{{ command }}
```

Run identity `{{ identity }}`; final weights SHA-256 `{{ weights_sha256 }}`; tokenizer SHA-256 `{{ tokenizer_sha256 }}`.

## Limits

- Captions are cut at {{ caption_ceiling }} tokens in training, sentences of the suites at {{ ceiling }}; English, uncased WordPiece.
- {{ seeds }} weight seeds an option give no population significance test.
- The encoder is bidirectional and reads its whole input: a word-record read establishes no causal memory, no
  coreference resolution and no general binding-sensitive sentence quality.
- Teacher cosine measures how well the consensus is reproduced, not capability.
- Equal outputs were checked on one machine at one precision at a time, never between different devices.

## Licence

MIT, for this code and these weights; the teachers and captions have licences of their own.
"""
