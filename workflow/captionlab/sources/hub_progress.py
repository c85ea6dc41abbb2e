"""Downloads shown in a log: the client's progress bar, written as a plain line now and then."""

import sys
from typing import Any

from tqdm import tqdm

LINE_EVERY = 10.0
_FORMAT = "{desc}: {n_fmt} of {total_fmt}, {rate_fmt}, {remaining} left"


class LineBar(tqdm):  # type: ignore[type-arg]
    """A progress bar that writes a line at the start, each ten seconds and at the end, and redraws none."""

    file_name = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        ours = {"file": _Lines(), "mininterval": LINE_EVERY, "bar_format": _FORMAT, "desc": self.file_name}
        super().__init__(*args, **{**kwargs, **ours})


def line_bar(file: str) -> type[LineBar]:
    """The bar for one file: the client makes it itself and names it by an address that says little."""
    return type("LineBar", (LineBar,), {"file_name": file})


class _Lines:
    """A stream on stderr that drops what moves a terminal's cursor."""

    def write(self, text: str) -> None:
        line = text.strip()
        if line:
            print(line, file=sys.stderr, flush=True)

    def flush(self) -> None:
        sys.stderr.flush()
