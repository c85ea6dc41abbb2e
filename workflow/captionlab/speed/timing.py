"""Time several ways to do the same work, in turn, so that a slow minute of the machine hits all of them."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]


@dataclass(frozen=True)
class Sample:
    """One measured call: seconds on the wall, and processor seconds of this process and its threads."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Reading:
    """A measured figure: the median of its repeats, the least and the greatest, and the share of `threads`
    processors that the process had in the median call (1.0: all of them, all the time; None: not measured)."""

    median: float
    low: float
    high: float
    repeats: int
    cpu_share: float | None = None


def in_turn(ways: Mapping[str, Callable[[], Any]], *, warmup: int, repeats: int) -> dict[str, list[Sample]]:
    """Call each way `warmup` times unmeasured, then all ways one after another, `repeats` times.

    Raises ValueError for less than one repeat.
    """
    if repeats < 1:
        raise ValueError(f"{repeats} repeats: at least one call must be measured")
    for way in ways.values():
        for _ in range(warmup):
            way()
    samples: dict[str, list[Sample]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            samples[name].append(timed(way))
    return samples


def timed(way: Callable[[], Any]) -> Sample:
    """One call."""
    wall, cpu = time.perf_counter(), time.process_time()
    way()
    return Sample(time.perf_counter() - wall, time.process_time() - cpu)


def rate(samples: list[Sample], amount: float, threads: int) -> Reading:
    """Amount a second; `amount` is what one call works through."""
    return _reading([amount / sample.wall for sample in samples], samples, threads)


def seconds(samples: list[Sample], threads: int) -> Reading:
    """Wall seconds of a call."""
    return _reading([sample.wall for sample in samples], samples, threads)


def measured(values: list[float]) -> Reading:
    """Figures that come from elsewhere, a child process for example."""
    return Reading(median(values), min(values), max(values), len(values))


def pin_threads(threads: int) -> None:
    """Let every BLAS and OpenMP pool of this process use so many threads from now on.

    Pools of libraries that are loaded later are not reached: import them first.
    """
    threadpool_limits(limits=threads)


def _reading(values: list[float], samples: list[Sample], threads: int) -> Reading:
    share = median(sample.cpu / sample.wall for sample in samples) / threads
    return Reading(median(values), min(values), max(values), len(values), share)
