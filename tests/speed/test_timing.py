"""Calls in turn, and what is made of their samples."""

import time

import pytest

from captionlab.speed.timing import Sample, in_turn, measured, rate, seconds, timed


def test_ways_are_called_in_turn_after_their_warm_up():
    calls = []
    ways = {name: lambda name=name: calls.append(name) for name in "ab"}
    samples = in_turn(ways, warmup=2, repeats=3)
    assert "".join(calls) == "aabb" + "ababab"
    assert {name: len(taken) for name, taken in samples.items()} == {"a": 3, "b": 3}


def test_no_repeat_is_refused():
    with pytest.raises(ValueError, match="0 repeats"):
        in_turn({"a": int}, warmup=1, repeats=0)


def test_a_sleeping_call_has_wall_time_and_hardly_any_of_the_processor():
    sample = timed(lambda: time.sleep(0.2))
    assert sample.wall >= 0.2
    assert sample.cpu < 0.1


def test_rates_and_seconds_are_medians_with_their_extremes():
    # 100 tokens in 1, 2 and 4 s of two threads that were busy for 2, 2 and 6 s: shares 1, 1/2 and 3/4.
    samples = [Sample(1.0, 2.0), Sample(2.0, 2.0), Sample(4.0, 6.0)]
    reading = rate(samples, 100, threads=2)
    assert (reading.median, reading.low, reading.high, reading.repeats) == (50.0, 25.0, 100.0, 3)
    assert reading.cpu_share == 0.75
    assert seconds(samples, threads=2).median == 2.0
    assert measured([3.0, 1.0, 2.0]).median == 2.0
    assert measured([3.0]).cpu_share is None
