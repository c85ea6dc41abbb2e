"""Tensors in files: safetensors only, atomic, the same bytes for the same tensors."""

import errno
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from captionlab.errors import DamagedFileError
from captionlab.files import atomic_path

Tensors = Mapping[str, Tensor]
_FORMAT = {"format": "pt"}


def write_tensors(path: Path, tensors: Tensors) -> None:
    """Write tensors by name, atomically; raises OSError (ENOSPC) when the disk is full."""
    with atomic_path(path) as temporary:
        write_unsynced(temporary, tensors)


def write_unsynced(path: Path, tensors: Tensors) -> None:
    """Write tensors by name straight to `path`, for a caller who syncs and renames; errors as write_tensors."""
    held = {name: tensor.detach().cpu().contiguous() for name, tensor in sorted(tensors.items())}
    try:
        save_file(held, path, metadata=_FORMAT)
    except SafetensorError as error:
        if f"os error {errno.ENOSPC}" in str(error):
            raise OSError(errno.ENOSPC, "no space left on the disk", str(path)) from None
        raise


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Tensors of a file, on the CPU; raises DamagedFileError when it is not a safetensors file."""
    try:
        return dict(load_file(path))
    except (SafetensorError, OSError) as error:
        raise DamagedFileError(f"{path} is not a safetensors file ({error})") from None


def load_into(targets: Tensors, found: Tensors, path: Path | str) -> None:
    """Copy `found` into the tensors of the same names, in place.

    Raises DamagedFileError unless names, shapes and dtypes agree exactly.
    """
    names = sorted(targets.keys() ^ found.keys())
    if names:
        raise DamagedFileError(f"{path}: tensors {', '.join(names[:3])} are missing or unknown")
    with torch.no_grad():
        for name, tensor in targets.items():
            other = found[name]
            if tensor.shape != other.shape or tensor.dtype != other.dtype:
                raise DamagedFileError(f"{path}: {name} is {other.dtype} {tuple(other.shape)}")
            tensor.copy_(other)
