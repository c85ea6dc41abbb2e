"""One writer a run directory: a lock that the kernel frees when its holder dies, and who holds it."""

import contextlib
import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from captionlab.errors import CaptionlabError
from captionlab.files import write_json

LOCK_FILE = "lock"
OWNER_FILE = "owner.json"
_POLL_SECONDS = 0.2
# A new holder needs a moment to replace what a dead one said of itself.
_SETTLED_SECONDS = 1.0
_REMIND_SECONDS = 60.0


class LockTimeoutError(CaptionlabError):
    """Another process kept the run locked for longer than the caller was willing to wait."""

    exit_code = 23


@contextmanager
def run_lock(folder: Path, *, identity: str, timeout: float, say: Callable[[str], None]) -> Iterator[None]:
    """Hold `folder`/lock; owner.json beside it says who does (pid, host, start, identity).

    A living holder of the same identity is waited for, up to `timeout` seconds, with a line that names it:
    after a killed workflow its jobs live on, and two trainers must never write one run. A holder of another
    identity is not waited for. Raises LockTimeoutError in both cases.
    """
    handle = _wait(folder, identity, timeout, say)
    try:
        owner = {"pid": os.getpid(), "host": socket.gethostname(), "started": _now(), "identity": identity}
        write_json(folder / OWNER_FILE, owner)
        yield
    finally:
        handle.close()


def try_lock(path: Path) -> IO[str] | None:
    """An exclusive lock on `path`, made if missing; None while another process holds it.

    Close the handle to free it. A lock file that was deleted or replaced while we waited locks nothing, so
    the path must still name the file that we locked.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = path.open("a", encoding="utf-8")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle.fileno()), path.stat()):
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass
    handle.close()
    return None


def _wait(folder: Path, identity: str, timeout: float, say: Callable[[str], None]) -> IO[str]:
    started = time.monotonic()
    reminded = -_REMIND_SECONDS
    while True:
        with contextlib.suppress(FileNotFoundError):
            if (handle := try_lock(folder / LOCK_FILE)) is not None:
                return handle
        waited = time.monotonic() - started
        owner = _owner(folder)
        who = f"process {owner.get('pid', '?')} on {owner.get('host', '?')} since {owner.get('started', '?')}"
        if owner.get("identity", identity) != identity and waited > _SETTLED_SECONDS:
            raise LockTimeoutError(
                f"{folder} is being trained under another identity by {who}: wait for it or stop it first"
            )
        if waited >= timeout:
            raise LockTimeoutError(
                f"{folder} is still being trained by {who} after {waited:.0f} s: wait longer "
                f"(--lock-timeout) or stop that process"
            )
        if waited - reminded >= _REMIND_SECONDS:
            say(f"waiting for {who}, which trains this run already")
            reminded = waited
        time.sleep(min(_POLL_SECONDS, max(timeout - waited, 0.01)))


def _owner(folder: Path) -> dict[str, Any]:
    """The holder's own words; a holder that has not written them yet, or a damaged file, says nothing."""
    try:
        owner = json.loads((folder / OWNER_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return owner if isinstance(owner, dict) else {}


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")
