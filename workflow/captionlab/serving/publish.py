"""An export on the hub: uploaded, read back at the revision it got, and checked byte for byte."""

from pathlib import Path

import httpx2
from huggingface_hub import HfApi

from captionlab.errors import CaptionlabError
from captionlab.files import sha256_file

_FAILURES = (httpx2.HTTPError, OSError, ValueError)


class PublishError(CaptionlabError):
    """An upload or download failed, or what came back is not what was sent."""

    exit_code = 31


def upload(export: Path, repository: str, *, private: bool) -> str:
    """Upload a folder to a model repository, made where it is missing; returns the new commit's hash.

    The endpoint and token are huggingface_hub's own (HF_ENDPOINT, HF_TOKEN). Raises PublishError when the hub
    refuses.
    """
    api = HfApi()
    try:
        api.create_repo(repository, private=private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=repository, folder_path=export, commit_message=f"Export {export.name}"
        )
    except _FAILURES as error:
        raise PublishError(f"{repository} at {api.endpoint} took no upload ({_line(error)})") from None
    return str(commit.oid)


def download(repository: str, revision: str, folder: Path) -> None:
    """Fetch a revision into `folder`, past every cache.

    Raises PublishError when the hub does not give it.
    """
    api = HfApi()
    try:
        api.snapshot_download(repository, revision=revision, local_dir=folder)
    except _FAILURES as error:
        raise PublishError(
            f"{repository}@{revision} at {api.endpoint} gave nothing ({_line(error)})"
        ) from None


def file_digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file of a folder by its path below it; the downloader's own files are left out."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    return {name: sha256_file(path) for name, path in names.items() if not name.startswith(".cache/")}


def require_same(sent: dict[str, str], received: dict[str, str], place: str) -> None:
    """Raise PublishError naming files that did not come back as they were sent; other files may be there."""
    wrong = [name for name, digest in sent.items() if received.get(name) != digest]
    if wrong:
        raise PublishError(f"{place} holds other bytes than were uploaded: {', '.join(wrong[:3])}")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
