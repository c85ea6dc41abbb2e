"""Progress of long work: a bar on a terminal, plain lines in a log."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")
LINE_EVERY = 10.0


def counted(items: Iterable[T], total: int, what: str, unit: str) -> Iterator[T]:
    """Pass `items` through and show how many of `total` have gone by: on stderr, rate and time left included.

    On a terminal a bar; elsewhere a line each ten seconds and one at the end.
    """
    if sys.stderr.isatty():
        yield from tqdm(items, total=total, desc=what, unit=f" {unit}", dynamic_ncols=True)
        return
    begin = last = time.monotonic()
    done = 0
    for item in items:
        yield item
        done += 1
        now = time.monotonic()
        if now - last >= LINE_EVERY:
            last = now
            rate = done / (now - begin)
            left = (total - done) / rate
            print(f"{what}: {done:,} of {total:,} {unit}, {rate:,.0f}/s, {left:,.0f} s left", file=sys.stderr)
    spent = max(time.monotonic() - begin, 1e-9)
    print(f"{what}: {done:,} {unit} in {spent:.1f} s, {done / spent:,.0f}/s", file=sys.stderr)
