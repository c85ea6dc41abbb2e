"""Keyed choices: a permutation of the rows and a stream of picks, each a pure function of its integers."""

import hashlib
import random
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

_HALF_BITS = 12
_HALF = (1 << _HALF_BITS) - 1
_ROUNDS = 4
ROWS = 1 << (2 * _HALF_BITS)  # rows of one seed: the domain of `permuted`

T = TypeVar("T")


class Choices:
    """A stream of picks for one key.

    It stands on the two promises that `random` makes about old seeds: an int seeds the same state, and `random()`
    then gives the same floats, on every platform and in every Python 3. The global generator is not touched.
    """

    __slots__ = ("_next",)

    def __init__(self, key: int) -> None:
        self._next = random.Random(key).random

    def below(self, bound: int) -> int:
        """An integer 0 <= i < bound."""
        return int(self._next() * bound)

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, each as likely."""
        return options[int(self._next() * len(options))]

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._next() < probability


def key(seed: int, stream: int, row: int) -> int:
    """The key of one stream of one row: an integer that no other (seed, stream < 256, row < 2**40) has."""
    return (seed << 48) | (stream << 40) | row


@lru_cache(maxsize=8)
def _round_tables(seed: int) -> tuple[tuple[int, ...], ...]:
    tables = []
    for number in range(_ROUNDS):
        stream = hashlib.shake_128(f"rows of seed {seed}, round {number}".encode()).digest(2 << _HALF_BITS)
        words = (stream[at] << 8 | stream[at + 1] for at in range(0, len(stream), 2))
        tables.append(tuple(word & _HALF for word in words))
    return tuple(tables)


def permuted(seed: int, row: int) -> int:
    """The place of `row` in the seed's permutation of 0 <= row < ROWS.

    A Feistel network of four rounds over two halves of 12 bits: each round is undone by the same exclusive or,
    so the map is one to one whatever the tables hold.
    """
    left, right = row >> _HALF_BITS, row & _HALF
    for table in _round_tables(seed):
        left, right = right, left ^ table[right]
    return left << _HALF_BITS | right
