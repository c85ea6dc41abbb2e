"""The state of every random generator a run may use, as JSON."""

import random
from typing import Any

import numpy as np
import torch

from captionlab.errors import DamagedFileError


def seed_all(seed: int) -> None:
    """Seed Python's, NumPy's and torch's generators (all devices)."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def capture(device: torch.device) -> dict[str, Any]:
    """The states of the generators a run on `device` may use; "cuda" is null on a CPU. Other devices are left
    out, so that a run can resume on a machine with more or fewer of them."""
    version, words, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    return {
        "python": [version, list(words), gauss],
        "numpy": [name, np.asarray(keys).tolist(), position, has_gauss, cached],
        "torch": _hex(torch.get_rng_state()),
        "cuda": _hex(torch.cuda.get_rng_state(device)) if device.type == "cuda" else None,
    }


def restore(states: dict[str, Any], device: torch.device) -> None:
    """Put the generators back; raises DamagedFileError when the states are not what `capture` gave."""
    try:
        version, words, gauss = states["python"]
        random.setstate((version, tuple(words), gauss))
        name, keys, *rest = states["numpy"]
        np.random.set_state((name, np.array(keys, dtype=np.uint32), *rest))
        torch.set_rng_state(_tensor(states["torch"]))
        if device.type == "cuda":
            torch.cuda.set_rng_state(_tensor(states["cuda"]), device)
    except (KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise DamagedFileError(f"the saved random states cannot be restored ({error})") from None


def _hex(state: torch.Tensor) -> str:
    return state.numpy().tobytes().hex()


def _tensor(text: str) -> torch.Tensor:
    return torch.frombuffer(bytearray.fromhex(text), dtype=torch.uint8)
