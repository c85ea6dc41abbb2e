import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from captionlab.errors import ConfigError
from captionlab.training.order import chunk_order, place, row_order, rows_of_step, steps, steps_per_epoch

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
SIZES = st.lists(st.integers(5, 40), min_size=1, max_size=4)


def test_steps_and_presentations_of_the_published_recipes():
    """The card's own figures: 1,952 and 7,808 steps, 15,990,784 presentations."""
    assert steps([500_000] * 2, 2048, 4) == 1_952
    assert steps([500_000] * 8, 2048, 4) == 7_808
    assert steps([500_000] * 2, 2048, 16) == 7_808
    assert steps([500_000] * 8, 2048, 4) * 2048 == 15_990_784


def test_dropping_over_all_rows_would_be_another_count():
    assert 4_000_000 // 2048 * 4 == 7_812


def test_a_chunk_smaller_than_a_batch_is_refused():
    with pytest.raises(ConfigError, match="batch is 8 but chunk 1 has 7 rows"):
        steps_per_epoch([9, 7], 8)


@UNHURRIED
@given(SIZES, st.integers(1, 5), st.integers(0, 2**31))
def test_an_epoch_shows_each_kept_row_once_and_never_mixes_chunks(sizes, batch, seed):
    whole = steps_per_epoch(sizes, batch)
    for epoch in range(2):
        seen = {chunk: [] for chunk in range(len(sizes))}
        for step in range(1 + epoch * whole, 1 + (epoch + 1) * whole):
            where, rows = rows_of_step(seed, step, sizes, batch)
            assert where.epoch == epoch
            assert len(rows) == batch
            seen[where.chunk].extend(rows.tolist())
        for chunk, rows in seen.items():
            assert len(rows) == sizes[chunk] // batch * batch
            assert len({*rows}) == len(rows)
            assert {*rows} <= {*range(sizes[chunk])}


@UNHURRIED
@given(SIZES, st.integers(1, 5), st.integers(0, 2**31), st.integers(1, 60))
def test_a_step_depends_on_nothing_asked_before(sizes, batch, seed, step):
    row_order.cache_clear()
    where, rows = rows_of_step(seed, step, sizes, batch)
    for other in range(1, step):
        rows_of_step(seed, other, sizes, batch)
    again, same = rows_of_step(seed, step, sizes, batch)
    assert (where, rows.tolist()) == (again, same.tolist())
    assert where == place(seed, step, sizes, batch)


def test_order_is_pinned():
    """A change of these numbers retrains every run there is: they follow from the raw words of Philox
    with key (7, 1 << 32 | 2)."""
    words = np.random.Philox(key=np.array([7, (1 << 32) | 2], dtype=np.uint64)).random_raw(6)
    assert row_order(7, 1, 1, 6).tolist() == sorted(range(6), key=lambda index: int(words[index]))
    assert row_order(7, 1, 1, 6).tolist() == [0, 5, 4, 3, 1, 2]
    assert chunk_order(7, 1, 4) == [3, 1, 0, 2]
    where, rows = rows_of_step(3, 5, [50, 35], 8)
    assert (where.epoch, where.chunk, where.batch) == (0, 0, 0)
    assert rows.tolist() == [47, 9, 31, 27, 30, 7, 32, 8]


def test_seed_epoch_and_chunk_each_change_the_order():
    base = row_order(1, 0, 0, 200).tolist()
    for other in (row_order(2, 0, 0, 200), row_order(1, 1, 0, 200), row_order(1, 0, 1, 200)):
        assert other.tolist() != base
    assert len({tuple(chunk_order(1, epoch, 6)) for epoch in range(8)}) > 4


def test_a_cached_order_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        row_order(1, 0, 0, 10)[0] = 3
