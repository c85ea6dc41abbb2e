"""What this machine's processor is, by the system's own listing; no torch."""

import platform
from pathlib import Path


def processor() -> str:
    """The processor's name, or where the system lists none its architecture."""
    for line in cpuinfo():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def cpuinfo() -> list[str]:
    """The lines of /proc/cpuinfo; none off Linux."""
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
