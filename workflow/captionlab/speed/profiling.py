"""Which operators of torch a call spends its time in."""

from collections.abc import Callable
from typing import Any

import torch


def profile_table(call: Callable[[], Any], most: int = 14) -> str:
    """The operators of one call by their own processor time, as text with their shares and what they are of."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        call()
    events = sorted(profile.key_averages(), key=lambda event: -event.self_cpu_time_total)
    total = sum(event.self_cpu_time_total for event in events)
    lines = [f"{'operator':46} {'share':>6} {'ms':>9} {'calls':>6}"]
    lines += [
        f"{event.key[:46]:46} {event.self_cpu_time_total / total:6.1%} "
        f"{event.self_cpu_time_total / 1000:9.1f} {event.count:6d}"
        for event in events[:most]
    ]
    return "\n".join(lines)
