"""Freed memory stays with the process."""

import platform
import subprocess
import sys

import pytest

# Blocks of 64 MiB, written and freed again and again: pages that go back to the system fault anew every time. The
# first ones may each take new pages, until there is room enough between small blocks.
PROGRAM = """
import resource, sys
import torch
from captionlab.training.memory import keep_freed_memory

if sys.argv[1] == "keep":
    keep_freed_memory()
for _ in range(20):
    torch.ones(1 << 24)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    torch.ones(1 << 24)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(word, repository):
    environment = {"PYTHONPATH": str(repository / "workflow"), "PATH": ""}
    command = [sys.executable, "-c", PROGRAM, word]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")
def test_a_freed_block_is_used_again(repository):
    assert faults("keep", repository) < faults("return", repository) / 4
