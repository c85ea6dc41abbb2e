"""The cost formula against torch's own counter."""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

from captionlab.rotary.build import build_encoder, config_from_spec
from captionlab.rotary.cost import (
    FUSED_STEP,
    Shape,
    attention_flops,
    graph_bytes,
    linear_flops,
    state_bytes,
    step_flops,
)
from captionlab.rotary.lookup import lookup_sum
from captionlab.rotary.options import option_from_mapping
from captionlab.rotary.task import activation_bytes
from captionlab.training.losses import info_nce

MODEL = {
    "vocabulary": 40, "width": 64, "layers": 3, "ffn": 192, "target_width": 48, "max_tokens": 512, "norm": "post",
    "activation": "gelu", "init_std": 0.02, "layer_norm_eps": 1e-12, "rope_base": 10000.0, "ntk_scale": 4.0,
    "pooling": "mean-then-head",
}  # fmt: skip
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{n}" for n in range(35))]
OPTIONS = {
    "relative": {"heads": 4, "position": "relative"},
    "complete": {"heads": 2, "position": "hierarchical", "value_path": True, "key_phase": "word", "record_norm": 2.18,
                 "lookup_loss": 0.1},
}  # fmt: skip


@pytest.mark.parametrize("pooling", ["mean-then-head", "head-then-mean"])
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize(("rows", "length"), [(24, 12), (6, 96)])
def test_a_step_costs_what_torch_counts_to_2_percent(name, rows, length, pooling):
    model = {**MODEL, "pooling": pooling}
    lookup = {"layer": 2, "heads": [0]}
    option = option_from_mapping(name, OPTIONS[name])
    spec = {"model": model, "option": vars(option), "lookup": lookup, "run": {"option": name}}
    encoder = build_encoder(config_from_spec(spec), PIECES, 1)
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 40, (rows, length), generator=generator)
    targets = torch.nn.functional.normalize(torch.randn(rows, 48, generator=generator), dim=1)
    # The counter knows no fused CPU kernel; the plain form shows it every product.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        output = encoder(ids, torch.ones_like(ids), want_lookup=option.lookup_loss > 0)
    shape = Shape(rows, rows * length, rows * length**2)
    forward = linear_flops(model, option, shape, 1) + attention_flops(model, shape)
    assert counter.get_total_flops() == pytest.approx(forward, rel=0.02)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        output = encoder(ids, torch.ones_like(ids), want_lookup=option.lookup_loss > 0)
        loss = info_nce(output.sentence, targets, 0.07)
        if option.lookup_loss > 0:
            loss = loss + lookup_sum(output.lookup)[0]
        loss.backward()
    expected = step_flops(model, option, shape, lookup_heads=1, fused=False)
    assert counter.get_total_flops() == pytest.approx(expected, rel=0.02)


def test_fused_attention_costs_a_step_what_torch_says_of_its_kernels():
    shape = (2, 4, 50, 16)
    forward, backward = (
        sdpa_flop_count(shape, shape, shape),
        sdpa_backward_flop_count(shape, shape, shape, shape),
    )
    assert (forward + backward) / forward == FUSED_STEP
    model = {**MODEL, "width": 64, "layers": 1}
    assert attention_flops(model, Shape(2, 100, 2 * 50**2)) == forward


@pytest.mark.parametrize("half", [True, False])
def test_the_graph_is_estimated_as_the_run_itself_estimates_it(half):
    assert graph_bytes(MODEL, 1000, 0, half=half) == 1000 * activation_bytes(MODEL, half)


def test_state_is_four_float32_copies_of_the_published_encoder():
    model = {**MODEL, "vocabulary": 30522, "width": 512, "layers": 12, "ffn": 2048, "target_width": 768}
    option = option_from_mapping("relative-16", {"heads": 16})
    # 54,114,560 parameters by the arithmetic of the published sizes.
    assert state_bytes(model, option) == 16 * 54_114_560
