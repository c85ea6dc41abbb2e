import multiprocessing
import time
from contextlib import ExitStack

import pytest
import torch

from captionlab.errors import ConfigError
from captionlab.training import devices
from captionlab.training.locks import LockTimeoutError, try_lock

NAMES = ["GPU-a", "GPU-b"]


def _hold(folder, seconds, queue):
    with devices.claim(NAMES, folder, timeout=20, say=lambda text: None) as chosen:
        queue.put((chosen, time.monotonic()))
        time.sleep(seconds)
        queue.put((chosen, time.monotonic()))


def test_processes_never_share_a_device(tmp_path):
    """Five processes on two devices: holdings of one device do not overlap, and both are used."""
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    processes = [context.Process(target=_hold, args=(tmp_path, 0.05, queue)) for _ in range(5)]
    for process in processes:
        process.start()
    moments = [queue.get(timeout=30) for _ in range(10)]
    for process in processes:
        process.join(timeout=30)
    for device in (0, 1):
        times = sorted(moment for chosen, moment in moments if chosen == device)
        held = [end - start for start, end in zip(times[::2], times[1::2], strict=True)]
        assert all(length >= 0.05 for length in held)
    assert {chosen for chosen, _ in moments} == {0, 1}


def test_all_taken_is_one_line_and_a_freed_one_is_taken_again(tmp_path):
    said = []
    with ExitStack() as stack:
        for expected in (0, 1):
            chosen = stack.enter_context(devices.claim(NAMES, tmp_path, timeout=0, say=said.append))
            assert chosen == expected
        with (
            pytest.raises(LockTimeoutError, match="all 2 devices are taken"),
            devices.claim(NAMES, tmp_path, timeout=0.05, say=said.append),
        ):
            pass
    assert said == ["waiting for one of 2 devices, all taken by other runs"]
    with devices.claim(NAMES, tmp_path, timeout=0, say=said.append) as chosen:
        assert chosen == 0


def test_the_same_device_under_another_number_is_the_same_lock(tmp_path):
    """CUDA_VISIBLE_DEVICES renumbers devices, so locks go by what the device is called, not by its number."""
    with (
        devices.claim(["GPU-b"], tmp_path, timeout=0, say=print),
        devices.claim(NAMES, tmp_path, timeout=0, say=print) as chosen,
    ):
        assert chosen == 0


def test_a_lock_on_a_deleted_file_locks_nothing(tmp_path):
    first = try_lock(tmp_path / "lock")
    assert try_lock(tmp_path / "lock") is None
    (tmp_path / "lock").unlink()
    second = try_lock(tmp_path / "lock")
    assert second is not None
    first.close()
    assert try_lock(tmp_path / "lock") is None
    second.close()


@pytest.mark.parametrize(
    ("compute", "line"),
    [
        ({"device": "gpu", "threads": 1}, "compute.device is 'gpu'"),
        ({"device": "cpu", "threads": 1, "autocast": "float16"}, "compute.autocast is 'float16'"),
        ({"device": "cpu", "threads": 1, "autocast": "bfloat16"}, "bfloat16 on a CPU: it has"),
    ],
)
def test_what_is_refused(compute, line):
    with pytest.raises(ConfigError, match=line):
        devices.check_compute(compute)


def test_the_description_says_what_decides_bits():
    compute = {"device": "cpu", "threads": torch.get_num_threads(), "autocast": None, "tf32": False}
    before = torch.are_deterministic_algorithms_enabled()
    try:
        devices.make_deterministic(compute)
        described = devices.describe(compute, torch.device("cpu"))
    finally:
        torch._C._set_deterministic_algorithms(before, warn_only=False)
    assert described["deterministic"] is True
    assert described["tf32"] is False
    assert described["threads"] == compute["threads"]
    assert described["device"] == "cpu"
