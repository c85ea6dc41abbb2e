"""Whole images, exact quotas, the same rows for ever."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from captionlab.errors import ConfigError
from captionlab.sources.assignment import assign

IMAGES = st.lists(st.one_of(st.none(), st.sampled_from("abcdefghijklmnop")), max_size=60)
ROWS = st.lists(st.integers(0, 25), max_size=4)


def quotas_of(rows: list[int]) -> list[tuple[str, int]]:
    return [(f"chunk-{number}", count) for number, count in enumerate(rows)]


def sums(sizes: list[int]) -> set[int]:
    """All sums of subsets, by plain enumeration of reachable values."""
    reached = {0}
    for size in sizes:
        reached |= {value + size for value in reached}
    return reached


@given(IMAGES, ROWS, st.integers(0, 5))
def test_every_quota_is_filled_exactly_with_whole_images_or_refused(images, rows, seed):
    try:
        owner = assign("file", seed, images, quotas_of(rows))
    except ConfigError as error:
        assert "\n" not in str(error)
        return
    assert len(owner) == len(images)
    assert [int((owner == chunk).sum()) for chunk in range(len(rows))] == rows
    for image in set(images) - {None}:
        assert len({int(owner[row]) for row, name in enumerate(images) if name == image}) == 1
    assert np.array_equal(owner, assign("file", seed, images, quotas_of(rows)))


@given(IMAGES, st.integers(0, 60), st.integers(0, 5))
def test_one_quota_is_refused_only_when_no_set_of_images_makes_it(images, rows, seed):
    groups = Counter(image for image in images if image is not None)
    possible = rows in sums([*groups.values(), *[1] * images.count(None)])
    if possible:
        assert int((assign("file", seed, images, [("chunk", rows)]) == 0).sum()) == rows
    else:
        with pytest.raises(ConfigError):
            assign("file", seed, images, [("chunk", rows)])


@given(IMAGES, ROWS, st.integers(0, 25), st.integers(0, 5))
def test_a_chunk_declared_later_changes_none_of_the_earlier(images, rows, more, seed):
    try:
        longer = assign("file", seed, images, quotas_of([*rows, more]))
    except ConfigError:
        return
    shorter = assign("file", seed, images, quotas_of(rows))
    for chunk in range(len(rows)):
        assert np.array_equal(longer == chunk, shorter == chunk)


def test_seed_and_file_name_key_the_order():
    images = [str(number) for number in range(200)]
    rows = [assign(file, seed, images, [("chunk", 100)]) for file, seed in (("a", 0), ("a", 1), ("b", 0))]
    assert not np.array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2])


def test_order_is_pinned():
    """From SHA-256 and the raw Philox stream of numpy 2.4; another order would move captions between chunks."""
    owner = assign("captions.jsonl", 0, [str(number) for number in range(12)], [("a", 4), ("b", 4)])
    assert owner.tolist() == [1, 0, -1, -1, 0, 0, 1, 0, 1, -1, 1, -1]


def test_groups_of_five_and_six_fill_a_quota_that_greedy_taking_misses():
    images = [str(number // 5) for number in range(500)] + [
        "0",
        "1",
        "2",
        "3",
    ]  # four images have six captions
    for seed in range(20):
        owner = assign("file", seed, images, [("a", 100), ("b", 204), ("c", 200)])
        assert [int((owner == chunk).sum()) for chunk in range(3)] == [100, 204, 200]


def test_too_few_rows_names_file_asked_and_available():
    with pytest.raises(
        ConfigError, match=r"^coco\.jsonl: 9 captions are asked for, 3 available: ask for fewer$"
    ):
        assign("coco.jsonl", 0, ["x", None, None], [("a", 4), ("b", 5)])


def test_an_impossible_quota_says_what_is_possible():
    images = [str(number // 5) for number in range(50)]
    with pytest.raises(ConfigError, match=r"12 captions for chunk a cannot .* whole images .* ask for 10"):
        assign("coco.jsonl", 0, images, [("a", 12)])
