"""Sentence vectors of token rows and of texts: length-sorted sub-batches, original order restored."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from captionlab.chunks.store import pad_rows
from captionlab.chunks.tokenizer import distinct_rows, tokenize
from captionlab.packed_linear import packed_linears
from captionlab.packing import sub_batches
from captionlab.rotary.encoder import CaptionEncoder

# Padded tokens of one forward pass, in every reading, by the kind of device. On a CPU the activations of a layer
# then stay in cache: 4,096 tokens at 256 x 1,024 take a fifth more time.
SUB_BATCH_TOKENS = {"cpu": 1024, "cuda": 4096}


def encode_rows(
    encoder: CaptionEncoder,
    rows: Sequence[NDArray[Any]],
    *,
    sub_batch_tokens: int,
    autocast: str | None = None,
    binding_path: bool = True,
) -> NDArray[np.float32]:
    """Sentence vectors [n, target_width] float32 of `rows` (n arrays of token ids with their specials).

    The encoder runs in evaluation mode on the device it is on, `sub_batch_tokens` padded tokens at a time,
    and is put back into the mode it was in. `autocast` names a torch dtype ("bfloat16") or is None for FP32;
    `binding_path=False` switches the key phase and its norm off without touching a weight.

    Equal rows are encoded once and have the same bits: their cosines tie.
    """
    device = next(encoder.parameters()).device
    distinct, places = distinct_rows(rows)
    vectors = np.zeros((len(distinct), encoder.config.target_width), dtype=np.float32)
    was_training = encoder.training
    encoder.eval()
    dtype = getattr(torch, autocast) if autocast else torch.bfloat16
    with (
        torch.inference_mode(),
        torch.autocast(device.type, dtype=dtype, enabled=autocast is not None),
        packed_linears(encoder),
    ):
        for groups in sub_batches([len(row) for row in distinct], sub_batch_tokens, device.type):
            inputs = [padded_tensors([distinct[index] for index in group], device) for group in groups]
            outputs = encoder.forward_together(inputs, binding_path=binding_path)
            for group, output in zip(groups, outputs, strict=True):
                vectors[group] = output.sentence.float().cpu().numpy()
    encoder.train(was_training)
    return vectors[places]


def padded_tensors(rows: Sequence[NDArray[Any]], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids int64 [rows, longest] on `device`, and bool of the same shape, true at real tokens."""
    ids, mask = pad_rows(rows)
    return torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device)


def encode_sentences(
    encoder: CaptionEncoder,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    *,
    ceiling: int,
    sub_batch_tokens: int,
    binding_path: bool = True,
) -> tuple[NDArray[np.float32], int]:
    """FP32 sentence vectors [texts, target_width] of texts cut to `ceiling` tokens, and how many were cut."""
    rows = tokenize(tokenizer, texts)
    vectors = encode_rows(
        encoder,
        [cut_row(row, ceiling) for row in rows],
        sub_batch_tokens=sub_batch_tokens,
        binding_path=binding_path,
    )
    return vectors, sum(len(row) > ceiling for row in rows)


def tokenize_cut(tokenizer: Tokenizer, texts: Sequence[str], ceiling: int) -> list[NDArray[np.uint16]]:
    """Token ids of each text with its specials, cut to `ceiling`."""
    return [cut_row(row, ceiling) for row in tokenize(tokenizer, texts)]


def cut_row(row: NDArray[Any], ceiling: int) -> NDArray[Any]:
    """A row of token ids cut to `ceiling`: its first ids, then its own last one, [SEP]."""
    return row if len(row) <= ceiling else np.append(row[: ceiling - 1], row[-1:])
