"""Rows to cores: one to one, the declared mix, and what the pair lists allow."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from captionlab.sources.scenes import choices
from captionlab.sources.scenes.choices import ROWS, Choices, key, permuted
from captionlab.sources.scenes.drawing import FAMILIES, MIX, core, draw, length_class
from captionlab.sources.scenes.scene import Absence, Event, Look, Standing, things


def told(scene):
    return scene.place, scene.moment, scene.fact


def undone(seed, code):
    """The row of a code: the rounds of the network backwards."""
    left, right = code >> 12, code & 0xFFF
    for table in reversed(choices._round_tables(seed)):
        left, right = right ^ table[left], left
    return left << 12 | right


@given(st.integers(0, 1 << 40), st.integers(0, ROWS - 1))
def test_the_permutation_can_be_undone(seed, row):
    assert undone(seed, permuted(seed, row)) == row


def test_seeds_permute_differently():
    assert sum(permuted(1, row) == permuted(2, row) for row in range(10_000)) < 10


def test_shares_add_up_to_all_slots():
    assert sum(share for families in MIX.values() for share in families.values()) == 256


@pytest.mark.parametrize("name", FAMILIES)
def test_numbers_of_a_family_give_different_cores(name):
    family = FAMILIES[name]
    numbers = range(0, family.capacity, max(1, family.capacity // 30_000))
    assert len({told(family.core(number)) for number in numbers}) == len(numbers)


@pytest.mark.parametrize("name", FAMILIES)
def test_digits_of_a_family_give_different_cores(name):
    """All digits within a corner of the space: neighbours are where an offset could make two picks meet."""
    family = FAMILIES[name]
    corner = [range(min(radix, 4)) for radix in family.radices]
    far = [range(radix - min(radix, 2), radix) for radix in family.radices]
    digits = {*product(*corner), *product(*far)}
    assert len({told(family.build(some)) for some in digits}) == len(digits)


def test_every_noun_modifier_and_place_is_drawn():
    nouns, places = set(), set()
    for row in range(40_000):
        scene = core(1, row)
        nouns |= {thing.noun.key for thing in things(scene.fact)}
        places.add(scene.place)
    assert len(nouns) > 400
    assert len(places) == 101  # 25 domains of four places each, and none


def test_streams_and_rows_have_their_own_choices():
    numbers = {
        Choices(key(seed, stream, row)).below(1 << 40) for seed, stream, row in product(range(3), repeat=3)
    }
    assert len(numbers) == 27


def test_texts_do_not_contradict_themselves():
    for row in range(20_000):
        if length_class(2, row) != "long":
            continue
        scene = draw(2, row)
        absent = {remark.noun for remark in scene.remarks if isinstance(remark, Absence)}
        facts = [scene.fact, *(remark for remark in scene.remarks if isinstance(remark, Standing | Event))]
        present = {thing.noun for fact in facts for thing in things(fact)}
        assert not absent & present
        looks = [remark for remark in scene.remarks if isinstance(remark, Look)]
        assert len({look.thing.noun for look in looks}) == len(looks)
        for look in looks:
            said = [look.thing.primary, look.thing.secondary, *look.modifiers]
            dimensions = [modifier.dimension for modifier in said if modifier is not None]
            assert len(set(dimensions)) == len(dimensions)
