import math

import pytest

from captionlab.errors import ConfigError
from captionlab.training.schedule import learning_rate

PUBLISHED = {"steps": 7_808, "warmup": 400, "peak": 6e-4, "floor": 1e-6}


def test_rates_by_hand():
    """10 steps, 4 of warmup, 1.0 to 0.2: quarters up to 1, then 0.2 + 0.4 (1 + cos(pi k / 6))."""
    rates = [learning_rate(step, steps=10, warmup=4, peak=1.0, floor=0.2) for step in range(1, 11)]
    falling = [0.2 + 0.4 * (1 + c) for c in (math.sqrt(3) / 2, 0.5, 0.0, -0.5, -math.sqrt(3) / 2, -1.0)]
    assert rates == pytest.approx([0.25, 0.5, 0.75, 1.0, *falling], rel=1e-12)


def test_the_published_recipe_starts_peaks_and_ends_where_it_says():
    assert learning_rate(1, **PUBLISHED) == pytest.approx(6e-4 / 400)
    assert learning_rate(400, **PUBLISHED) == 6e-4
    assert learning_rate(7_808, **PUBLISHED) == pytest.approx(1e-6, rel=1e-12)
    assert learning_rate(400 + 7_408 // 2, **PUBLISHED) == pytest.approx((6e-4 + 1e-6) / 2, rel=1e-12)


def test_no_warmup_starts_below_the_peak():
    assert learning_rate(1, steps=2, warmup=0, peak=1.0, floor=0.0) == pytest.approx(0.5)


@pytest.mark.parametrize("warmup", [10, 11, -1])
def test_a_warmup_beyond_the_run_is_refused(warmup):
    with pytest.raises(ConfigError, match="a run of 10 steps allows 0 to 9"):
        learning_rate(1, steps=10, warmup=warmup, peak=1.0, floor=0.0)
