"""What this machine's processor is, by the system's own listing; no torch."""

import platform
from functools import cache
from pathlib import Path


def processor() -> str:
    """The processor's name, or where the system lists none its architecture."""
    return _first("model name") or platform.machine()


@cache
def vendor() -> str:
    """The processor's vendor (`GenuineIntel`, `AuthenticAMD`, ..); empty where the system lists none."""
    return _first("vendor_id")


def cpuinfo() -> list[str]:
    """The lines of /proc/cpuinfo; none off Linux."""
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _first(field: str) -> str:
    lines = (line for line in cpuinfo() if line.startswith(field))
    return next(lines, "").partition(":")[2].strip()
