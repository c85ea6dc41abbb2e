"""What students are held against: a teacher, a bag of its word embeddings, an untrained encoder."""

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from captionlab.errors import ConfigError
from captionlab.evaluation.suites import Encode
from captionlab.targets.bert import BertEncoder
from captionlab.targets.encode import encode_texts, tokenize_rows
from captionlab.targets.teachers import HiddenStates, Teacher


def teacher_sentences(teacher: Teacher, progress: Callable[[int], None] | None = None) -> Encode:
    """A teacher's masked-mean vectors; a ceiling above the teacher's own is refused with ConfigError."""

    def encode(texts: Sequence[str], ceiling: int) -> tuple[NDArray[np.float32], int]:
        if ceiling > teacher.ceiling:
            raise ConfigError(
                f"teacher {teacher.name}: ceiling {ceiling} is over its own {teacher.ceiling} tokens"
            )
        return encode_texts(teacher, texts, ceiling=ceiling, progress=progress)

    return encode


def bag_sentences(teacher: Teacher) -> Encode:
    """The mean of a text's word embeddings: no position, no context; specials take no part.

    A text that is all specials gets the zero vector.
    """
    words = word_embeddings(teacher.model).numpy()
    specials = np.array(sorted(_special_ids(teacher)), dtype=np.int64)

    def encode(texts: Sequence[str], ceiling: int) -> tuple[NDArray[np.float32], int]:
        rows, cut = tokenize_rows(teacher.tokenizer, texts, ceiling)
        vectors = np.zeros((len(texts), words.shape[1]), dtype=np.float32)
        for vector, row in zip(vectors, rows, strict=True):
            kept = row[~np.isin(row, specials)]
            if len(kept):
                vector[:] = words[kept].mean(axis=0, dtype=np.float64)
        return vectors, int(cut.sum())

    return encode


def word_embeddings(model: nn.Module) -> Tensor:
    """The table of input word embeddings of a teacher's model, float32 [vocabulary, width]."""
    if isinstance(model, BertEncoder):
        return model.words.detach()
    if isinstance(model, HiddenStates):
        table = cast(Callable[[], nn.Embedding], model.model.get_input_embeddings)()
        return table.weight.detach().to(torch.float32)
    raise ConfigError(
        f"a bag of words needs a table of word embeddings, which {type(model).__name__} does not show"
    )


def _special_ids(teacher: Teacher) -> set[int]:
    probe = teacher.tokenizer.encode("a")
    specials = zip(probe.ids, probe.special_tokens_mask, strict=True)
    return {teacher.pad_id} | {identity for identity, special in specials if special}
