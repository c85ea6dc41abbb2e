"""What an option costs a training step at the published width and depth, measured beside the reference."""

import time

import pytest
import torch
import torch.nn.functional as F

from captionlab.rotary.build import build_encoder, config_from_spec
from captionlab.rotary.lookup import lookup_loss

LIMIT = 1.35


def step(encoder, ids, mask, target, weight):
    """One forward and backward pass; returns processor seconds."""
    started = time.process_time()
    encoder.zero_grad()
    output = encoder(ids, mask, want_lookup=weight > 0)
    loss = F.cross_entropy(output.sentence @ target.T / 0.07, torch.arange(len(ids)))
    if weight:
        loss = loss + weight * lookup_loss(output.lookup)
    loss.backward()
    return time.process_time() - started


@pytest.mark.slow
def test_no_option_costs_more_than_a_third_above_the_reference(make_spec, options, published_size):
    pieces = [str(i) for i in range(30522)]
    draw = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 30522, (4, 64), generator=draw)
    ids[:, 20:30] = ids[:, 5:15]
    mask = torch.ones_like(ids)
    mask[0, 60:] = 0
    target = F.normalize(torch.randn(4, 768, generator=draw), dim=-1)

    def encoder_of(name):
        return build_encoder(config_from_spec(make_spec(name, published_size)), pieces, seed=1)

    reference = encoder_of("relative-16")
    ratios = {}
    for name in options:
        encoder, weight = encoder_of(name), options[name].get("lookup_loss", 0.0)
        ours, theirs = [], []
        for _ in range(3):
            theirs.append(step(reference, ids, mask, target, 0.0))
            ours.append(step(encoder, ids, mask, target, weight))
        ratios[name] = min(ours) / min(theirs)
    print({name: round(ratio, 3) for name, ratio in ratios.items()})
    assert max(ratios.values()) < LIMIT, ratios
