"""Rows settled so far: a bar on a terminal, a plain line now and then in a log."""

import sys
import time
from types import TracebackType
from typing import Self

from tqdm import tqdm

LINE_EVERY = 10.0


class RowProgress:
    """Counts rows towards `total` on stderr, with rate and time left; use it as a context.

    `done` rows were settled by an earlier process: they count, but not towards the rate.
    """

    def __init__(self, total: int, what: str, *, done: int = 0) -> None:
        self.total, self.what, self.done, self._earlier = total, what, done, done
        self._begin = self._last = time.monotonic()
        self._bar = tqdm(total=total, initial=done, desc=what, unit=" rows") if sys.stderr.isatty() else None

    def __call__(self, rows: int) -> None:
        """Count `rows` more."""
        self.done += rows
        if self._bar is not None:
            self._bar.update(rows)
        elif time.monotonic() - self._last >= LINE_EVERY:
            self._last = time.monotonic()
            left = (self.total - self.done) / max(self._rate(), 1e-9)
            self._line(f"{self._rate():,.0f}/s, {left:,.0f} s left")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
        else:
            self._line(f"{self._rate():,.0f}/s, {time.monotonic() - self._begin:.1f} s spent")

    def _rate(self) -> float:
        return (self.done - self._earlier) / max(time.monotonic() - self._begin, 1e-9)

    def _line(self, rest: str) -> None:
        print(f"{self.what}: {self.done:,} of {self.total:,} rows, {rest}", file=sys.stderr, flush=True)
