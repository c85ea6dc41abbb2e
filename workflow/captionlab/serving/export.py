"""A run's final weights as a folder that Transformers and sentence-transformers load without this project."""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from captionlab import rotary
from captionlab.chunks.tokenizer import SPECIALS, build_tokenizer, load_tokenizer, vocabulary, vocabulary_text
from captionlab.errors import DamagedFileError
from captionlab.files import digest_entry, versions, write_bytes, write_json, write_text
from captionlab.rotary.build import config_from_spec
from captionlab.rotary.configuration_captionbert import CaptionBertConfig
from captionlab.rotary.encoder import EncoderConfig
from captionlab.serving.recorded import check_recorded
from captionlab.training.tensors import read_tensors

WEIGHTS = "final.safetensors"
MODEL_FILE = "model.safetensors"
SOURCES = ("encoder.py", "lookup.py", "configuration_captionbert.py", "modeling_captionbert.py")
_PREFIX = "encoder."
_SENTENCE_MODULE = "sentence_transformers.base.modules.transformer.Transformer"
_RECORD = "export.json"
_ALIGNMENT = 64


def export_run(run_folder: Path, record: Mapping[str, Any], tokenizer: Path, output: Path, code: str) -> None:
    """Write the export of a finished run.

    record: the run's run.json. The folder holds model.safetensors (float32, metadata `format: pt`),
    config.json, the four source files, a clean tokenizer, the sentence-transformers layout and, written last,
    export.json with the digest of every file. Raises DamagedFileError when weights or tokenizer are not those
    that the run recorded.
    """
    spec = record["spec"]
    pieces = vocabulary(load_tokenizer(tokenizer / "vocab.txt", record["inputs"]["tokenizer_sha256"]))
    weights = run_folder / WEIGHTS
    check_recorded(weights, record)
    tensors = model_tensors(read_tensors(weights), weights)
    write_model(output, tensors, config_from_spec(spec), pieces, spec["training"]["ceiling"])
    names = sorted(
        path.name for path in output.iterdir() if path.is_file() and path.name not in (_RECORD, "README.md")
    )
    write_json(
        output / _RECORD,
        {
            "run": record["run"],
            "identity": record["identity"],
            "final_sha256": record["outputs"][WEIGHTS]["sha256"],
            "code": code,
            "files": {name: digest_entry(output / name) for name in names},
            "versions": versions("captionlab", "torch", "transformers", "tokenizers", "safetensors"),
        },
    )


def write_model(
    output: Path, tensors: Mapping[str, Tensor], encoder: EncoderConfig, pieces: list[str], ceiling: int
) -> None:
    """Write all that a loader reads: weights (under the names of the exported model), config, code, tokenizer and
    the sentence-transformers layout, which cuts texts at `ceiling` tokens."""
    write_bytes(output / MODEL_FILE, aligned(tensors))
    config = CaptionBertConfig.from_encoder_config(encoder)
    write_text(output / "config.json", config.to_json_string(use_diff=False))
    sources = Path(rotary.__path__[0])
    for name in SOURCES:
        write_bytes(output / name, (sources / name).read_bytes())
    write_tokenizer(output, pieces, config.max_tokens)
    write_sentence_layout(output, ceiling)


def model_tensors(tensors: Mapping[str, Tensor], path: Path) -> dict[str, Tensor]:
    """The encoder's tensors under the names of the exported model.

    Raises DamagedFileError for a tensor that is neither float32 nor bool.
    """
    for name, tensor in tensors.items():
        if tensor.dtype not in (torch.float32, torch.bool):
            raise DamagedFileError(f"{path}: {name} is {tensor.dtype}; an export holds float32 and bool only")
    return {_PREFIX + name: tensor.contiguous() for name, tensor in tensors.items()}


def aligned(tensors: Mapping[str, Tensor]) -> bytes:
    """A safetensors file whose data starts at a multiple of 64 bytes, by spaces after its header.

    Loaders hand out views into the mapped file, and matrix-vector products round by the alignment of their
    operands: an unaligned copy of the same weights gives sentence vectors that differ in the last bit. With
    float32 tensors of whole multiples of 16 numbers every one of them is aligned; the bools come last.
    """
    data: bytes = save(dict(tensors), metadata={"format": "pt"})
    length: int = struct.unpack_from("<Q", data)[0]
    start = 8 + length
    padding = -start % _ALIGNMENT
    return struct.pack("<Q", length + padding) + data[8:start] + b" " * padding + data[start:]


def write_tokenizer(output: Path, pieces: list[str], max_tokens: int) -> None:
    """Write the tokenizer as Transformers reads it: right padding, nothing truncated unless asked for."""
    specials = {f"{special[1:-1].lower()}_token": special for special in SPECIALS}
    write_text(output / "vocab.txt", vocabulary_text(pieces))
    write_text(output / "tokenizer.json", build_tokenizer(pieces).to_str(pretty=True) + "\n")
    write_json(output / "special_tokens_map.json", specials)
    write_json(
        output / "tokenizer_config.json",
        {
            **specials,
            # The class that takes tokenizer.json as it is, on Transformers 4 and 5 alike.
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_input_names": ["input_ids", "attention_mask"],
            "model_max_length": max_tokens,
            "padding_side": "right",
            "truncation_side": "right",
            "clean_up_tokenization_spaces": False,
        },
    )


def write_sentence_layout(output: Path, ceiling: int) -> None:
    """Write what sentence-transformers reads: one module whose vector is the model's `pooler_output`.

    ceiling: tokens at which `encode` cuts a text, the one of training.
    """
    write_json(output / "modules.json", [{"idx": 0, "name": "0", "path": "", "type": _SENTENCE_MODULE}])
    write_json(
        output / "sentence_bert_config.json",
        {
            "transformer_task": "feature-extraction",
            "modality_config": {"text": {"method": "forward", "method_output_name": "pooler_output"}},
            "module_output_name": "sentence_embedding",
            "processing_kwargs": {"text": {"max_length": ceiling, "truncation": True}},
        },
    )
    write_json(
        output / "config_sentence_transformers.json",
        {"similarity_fn_name": "cosine", "prompts": {}, "default_prompt_name": None},
    )
