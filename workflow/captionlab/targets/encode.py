"""Sentence vectors of a teacher: the masked mean of its last hidden states."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from captionlab.chunks.tokenizer import distinct_rows
from captionlab.packed_linear import packed_linears
from captionlab.targets.teachers import Teacher

Rows = list[NDArray[np.int64]]


def encode_texts(
    teacher: Teacher,
    texts: Sequence[str],
    *,
    ceiling: int | None = None,
    sub_batch_tokens: int = 1024,
    progress: Callable[[int], None] | None = None,
) -> tuple[NDArray[np.float32], int]:
    """Vectors [len(texts), width] float32, unnormalised, and how many texts were cut.

    A text is cut to `ceiling` tokens (None: the teacher's own), specials included and kept. Texts of the same
    tokens are encoded once. They are sorted by length and run in sub-batches of at most `sub_batch_tokens` tokens,
    each padded to its own longest; 1,024 keeps a layer's activations in cache (on an AMD core 8,192 is 30% slower).
    `progress` is called with the number of texts that each sub-batch settles.
    """
    every, cut = tokenize_rows(teacher.tokenizer, texts, ceiling or teacher.ceiling)
    rows, places = distinct_rows(every)
    copies = np.bincount(places)
    found = np.zeros((len(rows), teacher.width), dtype=np.float32)
    with torch.inference_mode(), packed_linears(teacher.model):
        for batch in sub_batches([len(row) for row in rows], sub_batch_tokens):
            found[batch] = _masked_means(teacher, [rows[index] for index in batch])
            if progress is not None:
                progress(int(copies[batch].sum()))
    return found[places], int(cut.sum())


def tokenize_rows(tokenizer: Tokenizer, texts: Sequence[str], ceiling: int) -> tuple[Rows, NDArray[np.bool_]]:
    """Token ids of each text with its specials, at most `ceiling` of them, and which texts were cut.

    A cut keeps the specials at the end: `[CLS] body... [SEP]`.
    """
    probe = tokenizer.encode("a").special_tokens_mask
    tail = len(probe) - len("".join(map(str, probe)).rstrip("1"))
    rows, cut = [], np.zeros(len(texts), dtype=np.bool_)
    for index, encoding in enumerate(tokenizer.encode_batch_fast(list(texts))):
        ids = encoding.ids
        if len(ids) > ceiling:
            ids = ids[: ceiling - tail] + ids[len(ids) - tail :]
            cut[index] = True
        rows.append(np.array(ids, dtype=np.int64))
    return rows, cut


def sub_batches(lengths: Sequence[int], tokens: int) -> Iterator[NDArray[np.int64]]:
    """Row indices by falling length, each group holding at most `tokens` padded tokens (one row at the least).

    Longest first, so that memory is at its peak at once and a rate over the first groups is no promise broken.
    """
    order = np.argsort(-np.asarray(lengths), kind="stable")
    start = 0
    while start < len(order):
        size = max(1, tokens // max(1, lengths[order[start]]))
        yield order[start : start + size]
        start += size


def _masked_means(teacher: Teacher, rows: Rows) -> NDArray[np.float32]:
    """Mean hidden state over each row's own tokens: float32 [B, width]; a row without tokens gives zeros."""
    lengths = np.array([len(row) for row in rows])
    longest = max(1, int(lengths.max()))
    ids = np.full((len(rows), longest), teacher.pad_id, dtype=np.int64)
    mask = np.arange(longest) < lengths[:, None]
    ids[mask] = np.concatenate(rows)
    padded = None if mask.all() else torch.from_numpy(mask)
    hidden = teacher.model(torch.from_numpy(ids), padded)
    if padded is not None:
        hidden = hidden * padded[:, :, None]
    means = hidden.sum(dim=1) / torch.from_numpy(np.maximum(lengths, 1)[:, None]).to(hidden.dtype)
    return np.asarray(means.float().numpy())
