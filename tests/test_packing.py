import itertools

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from captionlab.packing import joined, pack, sub_batches

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def cost(batches, lengths, overhead):
    return sum(len(batch) * max(lengths[row] for row in batch) + overhead for batch in batches)


@UNHURRIED
@given(st.lists(st.integers(1, 30), min_size=1, max_size=60), st.integers(10, 200), st.integers(0, 80))
def test_every_row_once_within_the_budget(lengths, budget, overhead):
    batches = pack(lengths, budget, overhead)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= budget
    ordered = [lengths[row] for batch in batches for row in batch]
    assert ordered == sorted(lengths)


@UNHURRIED
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=8, unique=True), st.integers(9, 40), st.integers(0, 12)
)
def test_no_other_cut_of_different_lengths_costs_less(lengths, budget, overhead):
    ordered = sorted(range(len(lengths)), key=lambda row: lengths[row])
    costs = []
    for cuts in itertools.product([False, True], repeat=len(lengths) - 1):
        edges = [0, *(index + 1 for index, cut in enumerate(cuts) if cut), len(lengths)]
        batches = [ordered[start:stop] for start, stop in itertools.pairwise(edges)]
        if all(len(batch) * lengths[batch[-1]] <= budget for batch in batches):
            costs.append(cost(batches, lengths, overhead))
    assert cost(pack(lengths, budget, overhead), lengths, overhead) == min(costs)


def test_one_long_row_does_not_pad_the_others():
    """10 rows of 5 and one of 100: together 1,100 padded tokens, apart 150 and one more sub-batch."""
    batches = pack([5] * 10 + [100], 4096, 64)
    assert [len(batch) for batch in batches] == [10, 1]
    assert [len(batch) for batch in pack([5] * 10 + [6], 4096, 64)] == [11]


def test_two_thousand_captions_are_nearly_unpadded():
    generator = np.random.default_rng(0)
    lengths = np.clip(generator.lognormal(4.2, 0.5, 2048), 5, 256).astype(int)
    batches = pack(lengths, 4096, 64)
    padded = cost(batches, lengths, 0)
    assert padded < 1.04 * lengths.sum()


@UNHURRIED
@given(st.lists(st.integers(1, 30), min_size=1, max_size=60), st.integers(10, 200), st.integers(0, 80))
def test_joined_groups_keep_their_order_and_fill_the_budget(lengths, budget, overhead):
    groups = pack(lengths, budget, overhead)
    lists = joined(groups, lengths, budget)
    flat = [group for together in lists for group in together]
    assert len(flat) == len(groups)
    assert all(mine is group for mine, group in zip(flat, groups, strict=True))
    padded = [[len(group) * max(lengths[row] for row in group) for group in together] for together in lists]
    assert all(len(sizes) == 1 or sum(sizes) <= budget for sizes in padded)
    for before, after in itertools.pairwise(padded):
        assert sum(before) + after[0] > budget


@UNHURRIED
@given(st.lists(st.integers(1, 30), max_size=60), st.integers(10, 200), st.booleans())
def test_sub_batches_hold_every_row_once_within_the_budget(lengths, budget, joins):
    lists = sub_batches(lengths, budget, "cpu", joins=joins)
    groups = [group for together in lists for group in together]
    assert sorted(row for group in groups for row in group) == list(range(len(lengths)))
    assert joins or all(len(together) == 1 for together in lists)
    for together in lists:
        padded = cost(together, lengths, 0)
        assert padded <= budget or sum(map(len, together)) == 1


def test_sub_batches_by_hand():
    """On a CPU a group is worth 8 padded tokens: 12 rows of 10 and of 11 together hold 12 more, apart one group more;
    2 of each would hold 2 more. On a CUDA device a group is worth thousands."""
    lengths = [10] * 12 + [11] * 12

    def sizes(lengths, device, **options):
        return [
            [len(group) for group in together] for together in sub_batches(lengths, 300, device, **options)
        ]

    assert sizes(lengths, "cpu") == [[12, 12]]
    assert sizes(lengths, "cpu", joins=False) == [[12], [12]]
    assert sizes([10] * 2 + [11] * 2, "cpu") == [[4]]
    assert sizes(lengths, "cuda") == [[24]]
