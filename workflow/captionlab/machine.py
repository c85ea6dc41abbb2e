"""What this machine's processor is, by the system's own listing; no torch."""

import platform
from functools import cache
from pathlib import Path


def processor() -> str:
    """The processor's name, or where the system lists none its architecture."""
    for line in cpuinfo():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


@cache
def vendor() -> str:
    """The processor's vendor (`GenuineIntel`, `AuthenticAMD`, ..); empty where the system lists none."""
    named = [line.partition(":")[2].strip() for line in cpuinfo() if line.startswith("vendor_id")]
    return named[0] if named else ""


def cpuinfo() -> list[str]:
    """The lines of /proc/cpuinfo; none off Linux."""
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
