"""Downloads that a restarted process continues: the unfinished file keeps one name in the hub client's cache.

The client names its unfinished file anew in every call and removes it when the call fails, so it resumes a cut
connection and nothing else. Here the same bytes are gathered first, by the client's own request, under a name that the
next process finds; the client then takes up a finished blob as one that is cached already.
"""

import re
from pathlib import Path

from huggingface_hub import constants, get_hf_file_metadata, hf_hub_download, hf_hub_url
from huggingface_hub.file_download import http_get, repo_folder_name
from huggingface_hub.utils import WeakFileLock, build_hf_headers  # type: ignore[attr-defined]
from tqdm import tqdm

from captionlab.sources.hub_errors import Place

_SHA256 = re.compile(r"[0-9a-f]{64}")


def download(place: Place, bar: type[tqdm] | None) -> Path:  # type: ignore[type-arg]
    """The file's path in the client's cache, fetched where it is not there; `bar` shows the progress.

    Files of one piece (10 MiB) or less have nothing to continue, and files over the client's limit for plain HTTP
    (50 GB) go by its other protocol: both are left to the client. What a continued file holds is not checked here.
    Raises what the client raises.
    """
    # Asked first without a body: the client then tries again, and raises, as it does for small files.
    asked = hf_hub_download(
        place.repo, place.file, repo_type=place.repo_type, revision=place.revision, dry_run=True
    )
    size = asked.file_size or 0
    if asked.will_download and constants.DOWNLOAD_CHUNK_SIZE < size <= constants.MAX_HTTP_DOWNLOAD_SIZE:
        url = hf_hub_url(place.repo, place.file, repo_type=place.repo_type, revision=asked.commit_hash)
        digest = get_hf_file_metadata(url, retry_on_errors=True).etag
        if digest is not None and _SHA256.fullmatch(digest):
            _bring(place, url, digest, size, bar)
    found = hf_hub_download(
        place.repo, place.file, repo_type=place.repo_type, revision=place.revision, tqdm_class=bar
    )
    return Path(found)


def _bring(place: Place, url: str, digest: str, size: int, bar: type[tqdm] | None) -> None:  # type: ignore[type-arg]
    cache = Path(constants.HF_HUB_CACHE)
    repository = repo_folder_name(repo_id=place.repo, repo_type=place.repo_type)
    blob = cache / repository / "blobs" / digest
    lock = cache / ".locks" / repository / f"{digest}.lock"
    for folder in (blob.parent, lock.parent):
        folder.mkdir(parents=True, exist_ok=True)
    # The client's own lock of this blob: whoever waits for it finds the file there.
    with WeakFileLock(lock):
        if not blob.exists():
            partial = blob.with_name(f"{digest}.incomplete")
            _gather(partial, url, size, bar)
            try:
                partial.replace(blob)
            except FileNotFoundError:
                if not blob.exists():
                    raise


def _gather(partial: Path, url: str, size: int, bar: type[tqdm] | None) -> None:  # type: ignore[type-arg]
    if partial.exists() and partial.stat().st_size > size:
        partial.unlink()
    partial.touch()
    try:
        # Not in append mode: where a file system ignores locks, two processes write the same bytes at the same places.
        with partial.open("r+b") as handle:
            held = handle.seek(0, 2)
            headers = {**build_hf_headers(), "Accept-Encoding": "identity"}
            http_get(url, handle, resume_size=held, headers=headers, expected_size=size, tqdm_class=bar)
    except OSError as error:
        # Without a number it is the client's: a body of another length, of which no byte can be trusted.
        if error.errno is None:
            partial.unlink(missing_ok=True)
        raise
    finally:
        if partial.exists() and not partial.stat().st_size:
            partial.unlink()
