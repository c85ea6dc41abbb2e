"""Files that an installed package ships, read as data: the package is found, never imported."""

import importlib.metadata
from pathlib import Path

from captionlab.errors import CaptionlabError, DamagedFileError, MissingFileError
from captionlab.files import sha256_file

_verified: dict[tuple[str, int, int, int], str] = {}


def package_file(distribution: str, file: str, sha256: str | None) -> Path:
    """Path of `file` (as the distribution's own file list spells it, with `/`) inside an installed
    distribution.

    With `sha256` (64 hex digits) the bytes are verified; the digest is kept for this process under path, size
    and times, so that several readers of a large file hash it once. None skips the verification.
    Raises MissingFileError when the package or the file is absent, DamagedFileError when the bytes differ.
    """
    try:
        found = importlib.metadata.distribution(distribution)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        raise MissingFileError(
            f"package {distribution!r} is not installed and {file} is read from it: "
            f"run `pip install {distribution}`"
        ) from None
    listed = {str(entry) for entry in found.files or []}
    path = Path(str(found.locate_file(file)))
    if file not in listed or not path.is_file():
        raise MissingFileError(
            f"package {distribution} {found.version} has no file {file}: check the name, "
            f"or run `pip install --force-reinstall {distribution}`"
        )
    if sha256 is not None:
        verify_digest(path, sha256)
    return path


def verify_digest(path: Path, sha256: str) -> None:
    """Check a file against its pinned SHA-256, at most once a process while its size and times stay the same.

    Raises MissingFileError, or DamagedFileError with both digests.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        raise MissingFileError(f"{path} is missing: put it there or correct the path") from None
    except OSError as error:
        raise CaptionlabError(f"{path} cannot be read ({error.strerror})") from None
    key = (str(path.resolve()), status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    found = _verified.get(key)
    if found is None:
        found = _verified[key] = sha256_file(path)
    if found != sha256.lower():
        raise DamagedFileError(
            f"{path} has sha256 {found}, pinned is {sha256}: restore the file, or pin the right digest"
        )
