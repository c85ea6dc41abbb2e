"""Progress of a run: a bar on a terminal, a plain line every half minute elsewhere."""

import sys
import time
from types import TracebackType
from typing import Self

from tqdm import tqdm

_LINE_SECONDS = 30.0


def say(text: str) -> None:
    """One line of the log, visible at once."""
    tqdm.write(text, file=sys.stderr)
    sys.stderr.flush()


class Progress:
    """Loss, rate and time left of a run that has `done` of `steps` steps behind it; a context manager."""

    def __init__(self, steps: int, done: int) -> None:
        self._steps = steps
        self._first = done
        self._started = self._printed = time.monotonic()
        self._tokens = 0
        terminal = sys.stderr.isatty()
        self._bar = tqdm(total=steps, initial=done, unit="step", file=sys.stderr) if terminal else None

    def step(self, step: int, loss: float, rate: float, tokens: int) -> None:
        """Tell of a finished step: its loss, learning rate and real tokens."""
        self._tokens += tokens
        now = time.monotonic()
        if self._bar is not None:
            self._bar.set_postfix(
                loss=f"{loss:.4f}", rate=f"{rate:.1e}", tokens=self._speed(now), refresh=False
            )
            self._bar.update(1)
        elif now - self._printed >= _LINE_SECONDS or step == self._steps:
            self._printed = now
            left = (self._steps - step) * (now - self._started) / max(step - self._first, 1)
            say(
                f"step {step}/{self._steps}  loss {loss:.4f}  learning rate {rate:.2e}  "
                f"{self._speed(now)}  {left:.0f} s left"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def _speed(self, now: float) -> str:
        return f"{self._tokens / max(now - self._started, 1e-9):,.0f} tok/s"
