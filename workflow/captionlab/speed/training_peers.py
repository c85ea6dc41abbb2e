"""Training steps that a user would write or install instead of ours."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from torch import Tensor, nn
from transformers import BertConfig as PeerConfig
from transformers import BertModel

from captionlab.chunks.store import pad_rows
from captionlab.speed.peers import require, sentence_bert
from captionlab.targets.bert import BertConfig
from captionlab.training.losses import info_nce, mean_squared_error

_POSITIONS = 512


def bert(model: Mapping[str, Any], heads: int) -> Any:
    """A transformers BertModel of a campaign's size with random weights, its attention by torch's fused kernel."""
    config = PeerConfig(
        vocab_size=model["vocabulary"],
        hidden_size=model["width"],
        num_hidden_layers=model["layers"],
        num_attention_heads=heads,
        intermediate_size=model["ffn"],
        max_position_embeddings=_POSITIONS,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    config._attn_implementation = "sdpa"
    return BertModel(config, add_pooling_layer=False)


def padded_bert_step(
    spec: Mapping[str, Any],
    ids: Sequence[Sequence[int]],
    targets: Tensor,
    *,
    padded_to: int | None,
    slice_rows: int,
) -> Callable[..., float]:
    """A training step of BERT with our head and losses: rows in the order they come, padded to a length or (None)
    to the longest of their slice, gradients added up over slices; then clipping and torch's fused Adam.

    The step takes the number of rows to use, all of them unless told, and gives the sum of its losses.
    """
    model, training = spec["model"], spec["training"]
    encoder = bert(model, spec["option"]["heads"])
    head = nn.Sequential(
        nn.Linear(model["width"], model["width"]),
        nn.GELU(),
        nn.LayerNorm(model["width"]),
        nn.Linear(model["width"], model["target_width"]),
    )
    parameters = [*encoder.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-5, fused=True)

    def step(rows: int | None = None) -> float:
        optimizer.zero_grad()
        total = 0.0
        for start in range(0, rows or len(ids), slice_rows):
            places = slice(start, min(start + slice_rows, rows or len(ids)))
            inputs, mask = _padded(ids[places], padded_to)
            hidden = encoder(input_ids=inputs, attention_mask=mask).last_hidden_state
            weight = mask[..., None].float()
            vectors = head((hidden * weight).sum(1) / weight.sum(1))
            vectors = nn.functional.normalize(vectors, dim=-1)
            loss = info_nce(vectors, targets[places], training["temperature"])
            loss = loss + mean_squared_error(vectors, targets[places], "sum")
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        nn.utils.clip_grad_norm_(parameters, training["clip"])
        optimizer.step()
        return total

    return step


def cached_contrast_trainer(
    spec: Mapping[str, Any], captions: Sequence[str], vocabulary_file: Path, folder: Path, *, slice_rows: int
) -> Callable[..., None]:
    """One step of sentence-transformers' trainer with its cached InfoNCE loss, on pairs of captions: the first
    half of them against the second, so that each caption is encoded once.

    The step takes the number of captions to use; all of them unless told.
    """
    require("sentence_transformers", "accelerate")
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.sentence_transformer.losses import CachedMultipleNegativesRankingLoss

    model = _sentence_model(spec, vocabulary_file, folder / "bert")
    loss = CachedMultipleNegativesRankingLoss(model, mini_batch_size=slice_rows)

    def trainer(rows: int) -> Any:
        half = rows // 2
        arguments = SentenceTransformerTrainingArguments(
            output_dir=str(folder / "trainer"),
            per_device_train_batch_size=half,
            max_steps=1,
            use_cpu=True,
            optim="adamw_torch_fused",
            max_grad_norm=spec["training"]["clip"],
            learning_rate=1e-5,
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        pairs = Dataset.from_dict({"anchor": captions[:half], "positive": captions[half : 2 * half]})
        return SentenceTransformerTrainer(model=model, args=arguments, train_dataset=pairs, loss=loss)

    whole = trainer(len(captions))

    def step(rows: int | None = None) -> None:
        (whole if rows is None else trainer(rows)).train()

    return step


def _sentence_model(spec: Mapping[str, Any], vocabulary_file: Path, folder: Path) -> Any:
    model, heads = spec["model"], spec["option"]["heads"]
    shape = BertConfig(
        layers=model["layers"],
        width=model["width"],
        heads=heads,
        ffn=model["ffn"],
        vocabulary=model["vocabulary"],
        positions=_POSITIONS,
        types=2,
    )
    ceiling = spec["training"]["ceiling"]
    return sentence_bert(folder, shape, bert(model, heads).state_dict(), vocabulary_file, ceiling)


def _padded(rows: Sequence[Sequence[int]], length: int | None) -> tuple[Tensor, Tensor]:
    """Ids and mask int64 [rows, length] of rows padded on the right."""
    ids, mask = map(torch.from_numpy, pad_rows([np.asarray(row) for row in rows]))
    missing = max(0, (length or 0) - ids.shape[1])
    return nn.functional.pad(ids, (0, missing)), nn.functional.pad(mask.long(), (0, missing))
