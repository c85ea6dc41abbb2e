"""What an evaluation leaves for others: scores as JSON, the cosine of every pair as float64 tensors."""

from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from captionlab.errors import DamagedFileError, MissingFileError
from captionlab.evaluation.spearman import FloatArray
from captionlab.files import atomic_path

COSINES_FILE = "cosines.safetensors"


def write_cosines(folder: Path, cosines: Mapping[str, FloatArray]) -> None:
    """Write one float64 [pairs] tensor a suite, in the order of its pairs, to `folder`; atomic."""
    with atomic_path(folder / COSINES_FILE) as temporary:
        save_file(dict(cosines), temporary)


def read_cosines(folder: Path) -> dict[str, FloatArray]:
    """The tensors that `write_cosines` left in `folder`.

    Raises MissingFileError or DamagedFileError with the path and what to do.
    """
    path = folder / COSINES_FILE
    try:
        return dict(load_file(path))
    except FileNotFoundError:
        raise MissingFileError(f"{path} is missing: evaluate its model") from None
    except SafetensorError as error:
        raise DamagedFileError(f"{path} is no safetensors file ({error}): evaluate its model again") from None
