"""The learning rate: linear warmup to the peak, then half a cosine down to the floor."""

import math

from captionlab.errors import ConfigError


def learning_rate(step: int, *, steps: int, warmup: int, peak: float, floor: float) -> float:
    """The rate of `step` (1 .. steps).

    peak * step / warmup up to `warmup`; then floor + (peak - floor) * (1 + cos(pi * t)) / 2 with
    t = (step - warmup) / (steps - warmup), so that step `warmup` has the peak and the last step the floor.
    Raises ConfigError when the warmup does not end before the run.
    """
    if not 0 <= warmup < steps:
        raise ConfigError(f"training.warmup is {warmup}; a run of {steps} steps allows 0 to {steps - 1}")
    if step <= warmup:
        return peak * step / warmup
    done = (step - warmup) / (steps - warmup)
    return floor + (peak - floor) * (1.0 + math.cos(math.pi * done)) / 2.0
