"""The native side of a parity check: the final training state, restored without the export."""

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from captionlab.chunks.store import pad_rows
from captionlab.chunks.tokenizer import load_tokenizer, tokenize
from captionlab.errors import DamagedFileError, MissingFileError
from captionlab.evaluation.encode import cut_row
from captionlab.rotary.build import config_from_spec
from captionlab.rotary.encoder import CaptionEncoder
from captionlab.rotary.lookup import lookup_loss
from captionlab.serving.cases import Case
from captionlab.serving.recorded import check_recorded
from captionlab.training.tensors import load_into, read_tensors

STATE_FILE = "training-state.safetensors"
_MODEL = "model."
_TEXT_CEILING = 16


def restore_state(state: Path, record: Mapping[str, Any], device: torch.device) -> CaptionEncoder:
    """The encoder of a run's spec with the weights of its final training state, in evaluation mode.

    record: the run's run.json. Raises MissingFileError where no state was kept and DamagedFileError when the
    file is not the recorded one or holds another encoder.
    """
    if not state.is_file():
        raise MissingFileError(
            f"{state} is missing: parity needs the final training state; name the option under the recipe's "
            "keep_state and train the run again"
        )
    check_recorded(state, record)
    found = read_tensors(state)
    weights = {name.removeprefix(_MODEL): found[name] for name in found if name.startswith(_MODEL)}
    if not weights:
        raise DamagedFileError(f"{state} holds no tensor named {_MODEL}...: train the run again")
    encoder = CaptionEncoder(config_from_spec(record["spec"]))
    load_into(dict(encoder.state_dict()), weights, state)
    return encoder.to(device).eval().requires_grad_(False)


def native_outputs(
    encoder: CaptionEncoder, cases: tuple[Case, ...], inputs: Mapping[str, Tensor], device: torch.device
) -> dict[str, Tensor]:
    """The encoder's outputs for every case, under the names that the exported side gives them."""
    outputs: dict[str, Tensor] = {}
    for case in cases:
        half = None if case.precision == "float32" else getattr(torch, case.precision)
        context = nullcontext() if half is None else torch.autocast(device.type, dtype=half)
        with torch.inference_mode(), context:
            output = encoder(
                inputs[f"{case.name}.ids"].to(device),
                inputs[f"{case.name}.mask"].to(device),
                want_hidden=case.diagnostics,
                want_attentions=case.diagnostics,
                want_lookup=case.diagnostics,
            )
            named = {"sentence": output.sentence, "tokens": output.tokens}
            if case.diagnostics:
                named |= {f"hidden.{place}": tensor for place, tensor in enumerate(output.hidden)}
                named |= {f"attentions.{place}": tensor for place, tensor in enumerate(output.attentions)}
                named["pointer"] = lookup_loss(output.lookup)
        outputs |= {f"{case.name}.{key}": tensor.cpu().clone().contiguous() for key, tensor in named.items()}
    return outputs


def native_texts(tokenizer: Path, sha256: str, texts: tuple[str, ...]) -> dict[str, Any]:
    """What the campaign's tokenizer makes of texts, in the form of the exported side's answer.

    Padding is on the right, as in training.
    """
    rows = tokenize(load_tokenizer(tokenizer / "vocab.txt", sha256), texts)
    ids, mask = pad_rows([cut_row(row, _TEXT_CEILING) for row in rows])
    return {
        "ids": [row.tolist() for row in rows],
        "padded_ids": ids.tolist(),
        "padded_mask": mask.astype(int).tolist(),
        "padding_side": "right",
        "file_ids": [row.tolist() for row in rows],
        "file_truncation": None,
        "file_padding": None,
    }
