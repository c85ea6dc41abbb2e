"""The device of a run: checked, made deterministic, described, and on a shared machine claimed."""

import contextlib
import importlib.util
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import torch

from captionlab.errors import CaptionlabError, ConfigError
from captionlab.machine import cpuinfo, processor
from captionlab.training.locks import LockTimeoutError, try_lock

_POLL_SECONDS = 0.5
_BF16_FLAGS = ("avx512_bf16", "amx_bf16")


class DeviceError(CaptionlabError):
    """The device that the spec asks for is not there."""

    exit_code = 24


def check_compute(compute: Mapping[str, Any]) -> None:
    """Refuse what the spec's `compute` must not or cannot ask of this machine; nothing is replaced by
    something else. Raises ConfigError or DeviceError.
    """
    kind = str(compute["device"]).partition(":")[0]
    if kind not in ("cpu", "cuda"):
        raise ConfigError(f"compute.device is {compute['device']!r}; cpu and cuda (or cuda:N) are allowed")
    if compute.get("autocast") not in (None, "bfloat16"):
        raise ConfigError(f"compute.autocast is {compute['autocast']!r}; null and bfloat16 are allowed")
    if kind == "cpu" and compute.get("autocast") == "bfloat16":
        units = (
            "it has bf16 units, but"
            if _has_bf16_units()
            else "it has no bf16 units and is tens of times slower;"
        )
        raise ConfigError(
            f"compute.autocast is bfloat16 on a CPU: {units} a run on a CPU is FP32: set compute.autocast to null"
        )
    if kind == "cuda" and not torch.cuda.is_available():
        raise DeviceError(
            f"compute.device is {compute['device']} but torch {torch.__version__} sees no CUDA device here: "
            f"run on a machine with one, or set compute.device to cpu (another run with other bits)"
        )


def check_compiler(device: torch.device) -> None:
    """Refuse compute.compile where nothing could compile; raises DeviceError."""
    needed = "triton" if device.type == "cuda" else os.environ.get("CXX", "g++")
    found = importlib.util.find_spec(needed) if device.type == "cuda" else shutil.which(needed)
    if found is None:
        raise DeviceError(
            f"compute.compile is true but {needed} is not installed here: torch.compile needs it; install it "
            f"or set compute.compile to false"
        )


def make_deterministic(compute: Mapping[str, Any]) -> None:
    """Threads from the spec, strict deterministic algorithms, TF32 off unless the spec says otherwise; attention
    on CUDA by the flash kernel or, under a mask, by plain matrix products: the others' gradients vary.

    Call it before anything runs on a CUDA device: cuBLAS reads its workspace setting once.
    """
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    torch.set_num_threads(int(compute["threads"]))
    # torch.use_deterministic_algorithms does the same after importing the compiler stack for a second.
    torch._C._set_deterministic_algorithms(True, warn_only=False)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.backends.cuda.matmul.allow_tf32 = bool(compute.get("tf32", False))
    torch.backends.cudnn.allow_tf32 = bool(compute.get("tf32", False))
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_cudnn_sdp(False)


@contextmanager
def claimed_device(
    compute: Mapping[str, Any], *, timeout: float, say: Callable[[str], None]
) -> Iterator[torch.device]:
    """The device of a run while it lasts.

    Several runs on one machine each get a CUDA device of their own, among those CUDA_VISIBLE_DEVICES leaves
    visible, by a lock file a device; compute.share_device lets runs share instead. Raises LockTimeoutError
    when every device stays taken.
    """
    device = torch.device(str(compute["device"]))
    if device.type == "cpu" or compute.get("share_device", False):
        yield device
        return
    indices = range(torch.cuda.device_count()) if device.index is None else [device.index]
    names = [str(torch.cuda.get_device_properties(index).uuid) for index in indices]
    with claim(names, lock_folder(), timeout=timeout, say=say) as chosen:
        say(f"training on cuda:{indices[chosen]} ({names[chosen]})")
        yield torch.device("cuda", indices[chosen])


@contextmanager
def claim(names: Sequence[str], folder: Path, *, timeout: float, say: Callable[[str], None]) -> Iterator[int]:
    """Hold one of several devices, by name; gives its position in `names`. The kernel frees it with the
    process. Raises LockTimeoutError after `timeout` seconds without a free one.
    """
    handle, chosen = _wait_for_one(names, folder, timeout, say)
    try:
        yield chosen
    finally:
        handle.close()


def lock_folder() -> Path:
    """Where the machine's device locks are: CAPTIONLAB_DEVICE_LOCKS, or a folder all users share."""
    default = Path(tempfile.gettempdir()) / "captionlab-devices"
    folder = Path(os.environ.get("CAPTIONLAB_DEVICE_LOCKS", default))
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(PermissionError):
        folder.chmod(0o1777)
    return folder


def describe(compute: Mapping[str, Any], device: torch.device) -> dict[str, Any]:
    """What of the machine decides a run's bits, for run.json; which of several equal devices it was does not."""
    cuda = device.type == "cuda"
    return {
        "device": device.type,
        "name": torch.cuda.get_device_name(device) if cuda else processor(),
        "capability": ".".join(map(str, torch.cuda.get_device_capability(device)))
        if cuda
        else torch.backends.cpu.get_cpu_capability(),
        "cuda": torch.version.cuda if cuda else None,
        "threads": torch.get_num_threads(),
        "autocast": compute.get("autocast"),
        "tf32": torch.backends.cuda.matmul.allow_tf32,
        "compiled": bool(compute.get("compile", False)),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "attention": "flash, math" if cuda else "torch's choice on a CPU",
        "cublas_workspace": os.environ.get("CUBLAS_WORKSPACE_CONFIG") if cuda else None,
    }


def _wait_for_one(
    names: Sequence[str], folder: Path, timeout: float, say: Callable[[str], None]
) -> tuple[IO[str], int]:
    started, told = time.monotonic(), False
    while True:
        for position, name in enumerate(names):
            handle = try_lock(folder / f"{name}.lock")
            if handle is not None:
                with contextlib.suppress(PermissionError):
                    (folder / f"{name}.lock").chmod(0o666)
                return handle, position
        if time.monotonic() - started >= timeout:
            raise LockTimeoutError(
                f"all {len(names)} devices are taken by other runs (locks in {folder}): start fewer runs at once, "
                f"wait longer (--lock-timeout) or set compute.share_device"
            )
        if not told:
            say(f"waiting for one of {len(names)} devices, all taken by other runs")
            told = True
        time.sleep(min(_POLL_SECONDS, max(timeout, 0.01)))


def _has_bf16_units() -> bool:
    return any(
        line.startswith("flags") and any(flag in line.split() for flag in _BF16_FLAGS) for line in cpuinfo()
    )
