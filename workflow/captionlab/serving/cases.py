"""What a parity check asks of both sides: precision x shape cases, padding, diagnostics and texts."""

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

CAPACITY = 8192
_CPU_SHAPES = (
    *((1, 1), (2, 1), (64, 1), (1, 17), (7, 17), (64, 17)),
    *((2, 64), (7, 64), (1, 256), (7, 256), (64, 256), (1, CAPACITY)),
)
_CUDA_SHAPES = {
    "float32": ((1, 1), (2, 17), (7, 64), (64, 256), (1, CAPACITY)),
    "float16": ((1, 17), (2, 64), (7, 256), (64, 1)),
    "bfloat16": ((1, 256), (7, 17), (64, 64)),
}
_PADDED_LENGTHS = (64, 17, 33, 1, 50, 9, 64)
_POOL = 48
_SEED = 20
TEXTS = (
    "A cat watches from a windowsill.",
    "",
    "Two dogs, one red ball -- and a man's 3rd café visit!",
    "ÀÉÎÕÜ naïve Ångström ﬁne",
    "猫が好き 🐈🐕 \U0001f468‍\U0001f469‍\U0001f467",
    "unbelievablyantidisestablishmentarianistically",
    "tab\tnew\nline\u00a0space\u200bzero\x00control",
    "the red house near a tree and " * 200,
)


@dataclass(frozen=True)
class Case:
    """One comparison: batch rows of `length` tokens at a precision.

    kind: `shape` (no padding), `padding` (rows of unlike lengths on one `side`) or `diagnostics` (attentions,
    hidden states and pointer loss too, and one row of padding alone).
    """

    name: str
    kind: str
    precision: str
    batch: int
    length: int
    side: str = "right"

    @property
    def diagnostics(self) -> bool:
        """Whether attentions, hidden states and the pointer loss are compared too."""
        return self.kind == "diagnostics"

    def as_json(self) -> dict[str, Any]:
        """The case as the exported side reads it."""
        return {**asdict(self), "diagnostics": self.diagnostics}


def cases_for(device: str) -> tuple[Case, ...]:
    """Twelve shape cases, two padding cases and one with diagnostics.

    A CPU without half-precision units has twelve float32 shapes; CUDA has float32, and float16 and bfloat16
    autocast over float32 weights.
    """
    shapes = {"float32": _CPU_SHAPES} if device.partition(":")[0] == "cpu" else _CUDA_SHAPES
    cases = [
        Case(f"{precision}-{batch}x{length}", "shape", precision, batch, length)
        for precision, pairs in shapes.items()
        for batch, length in pairs
    ]
    rows, length = len(_PADDED_LENGTHS), max(_PADDED_LENGTHS)
    cases += [Case(f"padding-{side}", "padding", "float32", rows, length, side) for side in ("right", "left")]
    return (*cases, Case("diagnostics", "diagnostics", "float32", 3, 33))


def case_inputs(cases: tuple[Case, ...], vocabulary: int, pad_id: int) -> dict[str, Tensor]:
    """`<case>.ids` and `<case>.mask`, int64 [batch, length], the same on every machine.

    Ids come from a small pool, so that words repeat and the pointer loss has queries.
    """
    generator = torch.Generator().manual_seed(_SEED)
    pool = (pad_id + 1 + torch.randint(vocabulary - 1, (_POOL,), generator=generator)) % vocabulary
    inputs: dict[str, Tensor] = {}
    for case in cases:
        # Rows of padding tests are the same on both sides, only moved.
        if case.kind == "padding":
            generator = torch.Generator().manual_seed(_SEED + 1)
        ids = pool[torch.randint(len(pool), (case.batch, case.length), generator=generator)]
        mask = torch.ones_like(ids)
        if case.kind == "padding":
            mask = (torch.arange(case.length) < torch.tensor(_PADDED_LENGTHS)[:, None]).long()
        if case.kind == "diagnostics":
            mask[0], mask[1, case.length // 2 :] = 0, 0
        ids = torch.where(mask == 1, ids, pad_id)
        if case.side == "left":
            ids, mask = _moved(ids, mask), _moved(mask, mask)
        inputs[f"{case.name}.ids"], inputs[f"{case.name}.mask"] = ids, mask
    return inputs


def _moved(values: Tensor, mask: Tensor) -> Tensor:
    """Rows with their real tokens at the right end instead of the left."""
    rows = zip(values, mask.sum(1).tolist(), strict=True)
    return torch.stack([row.roll(len(row) - count) for row, count in rows])
