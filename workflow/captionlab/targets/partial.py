"""Rows that a long job has finished, kept block by block in a folder, so that a kill loses one block.

A block's bytes are synced before the journal's line that vouches for them; a torn line or a block that does
not match its digest is computed again. Blocks are the same whether or not a job was resumed.
"""

import json
import os
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from captionlab.errors import CaptionlabError
from captionlab.files import read_json, sha256_bytes, write_json
from captionlab.targets.rows import write_header


class PartialRows:
    """The state of one float32 matrix [rows, width] in the making; use it as a context (it holds a lock).

    `identity` is everything that decides the bytes. Opening raises CaptionlabError when the folder was begun
    under another identity (the line names the keys that differ) or another process is at work in it.
    """

    def __init__(
        self, folder: Path, identity: Mapping[str, Any], *, rows: int, width: int, block_rows: int
    ) -> None:
        self.folder, self.rows, self.width, self.block_rows = folder, rows, width, block_rows
        self._row_bytes = 4 * width
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(folder / "lock")
        self._own()
        try:
            self._check(dict(identity))
            self._vectors = (folder / "rows.bin").open("r+b" if (folder / "rows.bin").exists() else "w+b")
            self._facts = self._read_journal()
        except BaseException:
            self._lock.release()
            raise

    @property
    def blocks(self) -> int:
        """How many blocks the matrix has; the last may be shorter."""
        return -(-self.rows // self.block_rows)

    @property
    def done(self) -> set[int]:
        """Blocks that need not be computed again."""
        return set(self._facts)

    @property
    def rows_done(self) -> int:
        """Rows in those blocks."""
        return sum(self._size(block) for block in self._facts)

    def facts(self) -> list[dict[str, Any]]:
        """What was noted with each block, in order."""
        return [self._facts[block]["facts"] for block in sorted(self._facts)]

    def write(self, block: int, vectors: NDArray[np.float32], facts: Mapping[str, Any]) -> None:
        """Keep a block float32 [its rows, width] with facts (JSON) about it."""
        data = np.ascontiguousarray(vectors, dtype="<f4").tobytes()
        if len(data) != self._size(block) * self._row_bytes:
            raise ValueError(f"block {block} has {vectors.shape}, {self._size(block)} rows were expected")
        self._vectors.seek(self._start(block))
        self._vectors.write(data)
        self._vectors.flush()
        os.fsync(self._vectors.fileno())
        line = {"block": block, "sha256": sha256_bytes(data), "facts": dict(facts)}
        with (self.folder / "journal.jsonl").open("a", encoding="utf-8") as journal:
            journal.write(json.dumps(line) + "\n")
            journal.flush()
            os.fsync(journal.fileno())
        self._facts[block] = line

    def assemble(self, path: Path) -> None:
        """Write the finished matrix as .npy."""
        if len(self._facts) != self.blocks:
            raise ValueError(f"{self.blocks - len(self._facts)} blocks are not done")
        with path.open("wb") as handle:
            write_header(handle, self.rows, self.width)
            self._vectors.seek(0)
            shutil.copyfileobj(self._vectors, handle, 1 << 20)

    def discard(self) -> None:
        """Remove the folder: the result stands elsewhere."""
        self.__exit__(None, None, None)
        shutil.rmtree(self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._vectors.close()
        self._lock.release()

    def _own(self) -> None:
        owner = self.folder / "owner.json"
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            held = read_json(owner) if owner.exists() else {}
            by = f"process {held.get('process', '?')} on {held.get('host', '?')}"
            raise CaptionlabError(
                f"{self.folder} is in use by {by}: wait for it, or end it and run again"
            ) from None
        write_json(owner, {"process": os.getpid(), "host": socket.gethostname()})

    def _check(self, identity: dict[str, Any]) -> None:
        path = self.folder / "identity.json"
        if not path.exists():
            write_json(path, identity)
            return
        begun = read_json(path)
        other = sorted(key for key in begun.keys() | identity.keys() if begun.get(key) != identity.get(key))
        if other:
            raise CaptionlabError(
                f"{self.folder} was begun with another {', '.join(other)}: "
                "delete it to start anew, or restore what differs"
            )

    def _read_journal(self) -> dict[int, dict[str, Any]]:
        path = self.folder / "journal.jsonl"
        if not path.exists():
            return {}
        text = path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) != len(text):
            with path.open("r+b") as handle:
                handle.truncate(len(whole))
        lines = {}
        for row in whole.splitlines():
            line = _parsed(row)
            if line is not None and 0 <= line["block"] < self.blocks:
                lines[line["block"]] = line
        return {block: line for block, line in lines.items() if self._digest(block) == line["sha256"]}

    def _digest(self, block: int) -> str:
        self._vectors.seek(self._start(block))
        return sha256_bytes(self._vectors.read(self._size(block) * self._row_bytes))

    def _start(self, block: int) -> int:
        return block * self.block_rows * self._row_bytes

    def _size(self, block: int) -> int:
        return min(self.block_rows, self.rows - block * self.block_rows)


def _parsed(row: bytes) -> dict[str, Any] | None:
    try:
        line = json.loads(row)
        return line if isinstance(line["block"], int) and isinstance(line["facts"], dict) else None
    except (ValueError, KeyError, TypeError):
        return None
