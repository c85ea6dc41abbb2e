"""Work measured in a process of its own: what it printed, and the most memory it held."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from captionlab.errors import CaptionlabError

_LIBRARY = Path(__file__).resolve().parents[2]
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
MEGABYTE = 1e6


def run_child(module: str, *arguments: str, threads: int) -> dict[str, Any]:
    """The JSON object on the last line that `python -m module arguments` prints.

    All pools of the child have `threads` threads. Raises CaptionlabError with the last line of its errors.
    """
    search = os.pathsep.join(filter(None, [str(_LIBRARY), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, **dict.fromkeys(_THREAD_VARIABLES, str(threads)), "PYTHONPATH": search}
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise CaptionlabError(f"{module} {' '.join(arguments)} ended with {done.returncode}: {last}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def peak_bytes() -> int:
    """The most memory this process has held since its program started.

    `ru_maxrss` would count the process that it was forked from too. Raises CaptionlabError off Linux.
    """
    return _kernel_bytes(Path("/proc/self/status"), "VmHWM")


def available_bytes() -> int:
    """The memory that a new process could take without swapping; raises CaptionlabError off Linux."""
    return _kernel_bytes(Path("/proc/meminfo"), "MemAvailable")


def _kernel_bytes(file: Path, name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", file.read_text()) if file.exists() else None
    if found is None:
        raise CaptionlabError(f"memory is read from {name} in {file}: run the benchmark on Linux")
    return int(found[1]) * 1024
