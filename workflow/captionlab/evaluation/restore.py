"""An encoder from the weights of a run, checked against what the run wrote about them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from captionlab.errors import DamagedFileError
from captionlab.files import sha256_file
from captionlab.rotary.build import config_from_spec
from captionlab.rotary.encoder import CaptionEncoder


def restore_encoder(
    spec: Mapping[str, Any], weights: Path, record: Mapping[str, Any], device: torch.device
) -> CaptionEncoder:
    """The encoder of a spec (`run`, `model`, `option`, `lookup`) with the weights of a run, in evaluation mode.

    `record` is the run's run.json. Raises DamagedFileError when the file's digest is not the recorded one or
    its tensors are not those of the spec's encoder.
    """
    recorded = record["outputs"][weights.name]["sha256"]
    found = sha256_file(weights)
    if found != recorded:
        raise DamagedFileError(
            f"{weights} has sha256 {found}, its run.json says {recorded}: train the run again"
        )
    # Not on the meta device: torch draws an embedding there by way of its compiler, a second of imports.
    with torch.random.fork_rng(devices=[]):
        encoder = CaptionEncoder(config_from_spec(spec))
    try:
        # Clones, because views into a mapped file keep its alignment, and alignment moves last bits of products.
        encoder.load_state_dict({k: v.clone() for k, v in load_file(weights).items()}, assign=True)
    except (SafetensorError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise DamagedFileError(f"{weights} does not hold the encoder of its spec: {reason}") from None
    return encoder.to(device).eval().requires_grad_(False)
