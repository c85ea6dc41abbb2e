"""The exported side of a parity check: a script that needs torch and Transformers and nothing else.

    python -I automodel_side.py EXPORT WORK

WORK holds requests.json and inputs.safetensors; outputs.safetensors and report.json are written beside them.
Nothing of this project is imported, so that the script runs where the project is not installed.
"""

import hashlib
import json
import platform
import resource
import sys
from contextlib import nullcontext
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

AUTOCAST = {"float16": torch.float16, "bfloat16": torch.bfloat16}
PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "huggingface_hub")
_PROJECT = "captionlab"
_MODEL = "model.safetensors"
_STATUS = Path("/proc/self/status")


def main(export: Path, work: Path) -> None:
    """Load the export as its card says and answer every request."""
    # The native side shares this module's functions and has no use for Transformers.
    from transformers import AutoModel, AutoTokenizer

    requests = json.loads((work / "requests.json").read_text(encoding="utf-8"))
    torch.set_num_threads(requests["threads"])
    device = torch.device(requests["device"])
    trusted = requests["remote_code"]
    tokenizer = AutoTokenizer.from_pretrained(str(export), trust_remote_code=trusted)
    model, loading = AutoModel.from_pretrained(
        str(export), trust_remote_code=trusted, use_safetensors=True, output_loading_info=True
    )
    model = model.to(device).eval()
    inputs = load_file(work / "inputs.safetensors")
    outputs: dict[str, torch.Tensor] = {}
    for case in requests["cases"]:
        outputs |= answer(model, case, inputs, device)
    save_file(outputs, work / "outputs.safetensors", metadata={"format": "pt"})
    report = {
        "loading": {name: sorted(map(str, keys)) for name, keys in loading.items()},
        "config_dtype": str(model.config.dtype).removeprefix("torch."),
        "state": {name: describe(tensor) for name, tensor in model.state_dict().items()},
        "tokenizer": read_texts(tokenizer, requests["texts"])
        | read_file(export / "tokenizer.json", requests["texts"]),
        "weights_format": weights_format(export / _MODEL),
        "weights_sha256": hashlib.sha256((export / _MODEL).read_bytes()).hexdigest(),
        "project_imported": any(name.partition(".")[0] == _PROJECT for name in sys.modules),
        "device": device_name(device),
        "peak_memory_bytes": peak_memory(device),
        "versions": {"python": platform.python_version(), **{name: found(name) for name in PACKAGES}},
    }
    (work / "report.json").write_text(json.dumps(report), encoding="utf-8")


def answer(
    model: Any, case: dict[str, Any], inputs: dict[str, torch.Tensor], device: torch.device
) -> dict[str, torch.Tensor]:
    """The model's outputs for one case, as contiguous CPU tensors named `<case>.<output>`."""
    name, half = case["name"], AUTOCAST.get(case["precision"])
    context = nullcontext() if half is None else torch.autocast(device.type, dtype=half)
    asked = ("output_attentions", "output_hidden_states", "output_pointer_loss")
    with torch.inference_mode(), context:
        output = model(
            input_ids=inputs[f"{name}.ids"].to(device),
            attention_mask=inputs[f"{name}.mask"].to(device),
            # A published model need not know them; without diagnostics none is wanted.
            **(dict.fromkeys(asked, True) if case["diagnostics"] else {}),
        )
    named = {"sentence": output.pooler_output, "tokens": output.last_hidden_state}
    if case["diagnostics"]:
        named |= {f"hidden.{place}": tensor for place, tensor in enumerate(output.hidden_states)}
        named |= {f"attentions.{place}": tensor for place, tensor in enumerate(output.attentions)}
        named["pointer"] = output.pointer_loss
    return {f"{name}.{key}": tensor.cpu().clone().contiguous() for key, tensor in named.items()}


def read_texts(tokenizer: Any, texts: list[str]) -> dict[str, Any]:
    """Ids of each text by itself, and of all of them padded together and cut at 16."""
    padded = tokenizer(texts, padding=True, truncation=True, max_length=16)
    return {
        "ids": [tokenizer(text)["input_ids"] for text in texts],
        "padded_ids": padded["input_ids"],
        "padded_mask": padded["attention_mask"],
        "padding_side": tokenizer.padding_side,
    }


def read_file(path: Path, texts: list[str]) -> dict[str, Any]:
    """What tokenizer.json does by itself: Transformers hides a truncation or padding left in it, others do not."""
    tokenizer = Tokenizer.from_file(str(path))
    return {
        "file_ids": [tokenizer.encode(text).ids for text in texts],
        "file_truncation": tokenizer.truncation,
        "file_padding": tokenizer.padding,
    }


def describe(tensor: torch.Tensor) -> dict[str, Any]:
    """Type, shape and digest of a tensor's bytes."""
    held = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
    return {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
        "sha256": hashlib.sha256(held.numpy().tobytes()).hexdigest(),
    }


def weights_format(path: Path) -> str | None:
    """What the header of a safetensors file says of its format."""
    with safe_open(path, framework="pt") as handle:
        return (handle.metadata() or {}).get("format")


def device_name(device: torch.device) -> str:
    """The device as a person would name it."""
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    return f"cpu ({torch.backends.cpu.get_cpu_capability()}, {torch.get_num_threads()} threads)"


def peak_memory(device: torch.device) -> int:
    """Peak bytes so far: allocated on a CUDA device, or resident in the process."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    # On Linux ru_maxrss also counts the process that this one was forked from.
    if _STATUS.is_file():
        lines = dict(line.partition(":")[::2] for line in _STATUS.read_text(encoding="utf-8").splitlines())
        if "VmHWM" in lines:
            return int(lines["VmHWM"].split()[0]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def found(package: str) -> str:
    """The installed version of a package, or "absent"."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
