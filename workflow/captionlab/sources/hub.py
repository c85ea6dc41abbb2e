"""Files of pinned hub repositories, through the hub's own client: the only place that touches a network.

The client reads HF_ENDPOINT, HF_TOKEN, HF_HOME and HF_HUB_OFFLINE by itself, keeps what it fetched in its cache and
resumes a connection that was cut. What it does not do is done here: a large file is continued where a killed process
stopped, the bytes are held against the digest that the hub states and the one the config pins, failures that pass are
tried again, and every failure ends in one line.
"""

import hashlib
import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from huggingface_hub import HfApi, constants
from huggingface_hub.file_download import repo_folder_name

from captionlab.errors import ConfigError, DamagedFileError
from captionlab.sources.fields import field, optional
from captionlab.sources.hub_errors import Place, explained, passing
from captionlab.sources.hub_progress import line_bar
from captionlab.sources.hub_resume import download

PINNED = re.compile(r"[0-9a-f]{40}")
ATTEMPTS = 4
LONGEST_WAIT = 120.0
_BLOCK = 1 << 20

T = TypeVar("T")


@dataclass(frozen=True)
class HubFile:
    """A file in the client's cache, its bytes verified; `revision` is the commit it belongs to (40 hex digits)."""

    path: Path
    repo: str
    file: str
    revision: str
    sha256: str
    requested: str

    def record(self) -> dict[str, Any]:
        """What a manifest says of the origin; the name that was asked for only where it was not the commit."""
        known = {"kind": "hub", "repo": self.repo, "revision": self.revision}
        known |= {"file": self.file, "sha256": self.sha256}
        return known if self.requested == self.revision else {**known, "requested": self.requested}


def hub_file(
    repo: str,
    revision: str,
    file: str,
    *,
    repo_type: str,
    sha256: str | None = None,
    allow_floating: bool = False,
) -> HubFile:
    """Fetch `file` of a `repo_type` ("model" or "dataset") repository at `revision`, or find it in the cache.

    `revision` is a commit of 40 hex digits; a branch or tag only with `allow_floating`, and then the commit it stood
    for is in the result. The bytes must have the digest the hub states (sha256 of large files, git's sha1 of small
    ones) and `sha256` where it is given; bytes that have not are dropped from the cache and fetched once more.
    Raises ConfigError, MissingFileError, DamagedFileError or CaptionlabError naming repository, file and revision.
    """
    place = Place(repo, revision, file, repo_type)
    check_revision(revision, allow_floating, f"{repo_type} {repo}")
    found = _fetch(place)
    commit = found.parts[found.parts.index("snapshots") + 1]
    if PINNED.fullmatch(revision) and commit != revision:
        raise DamagedFileError(
            f"{place}: the hub answers with commit {commit}: set `revision` to a commit, not to a branch named like one"
        )
    digest, intact = _digest(found)
    if not intact:
        _drop(found)
        found = _fetch(place)
        digest, intact = _digest(found)
    if not intact:
        _drop(found)
        raise DamagedFileError(
            f"{place}: the bytes that arrive (sha256 {digest}) are not those the hub states for this file, twice: "
            "try later, or ask who runs the endpoint"
        )
    if sha256 is not None and digest != sha256.lower():
        raise DamagedFileError(
            f"{place} has sha256 {digest}, pinned is {sha256}: check `revision`, or pin the right digest"
        )
    return HubFile(found, repo, file, commit, digest, revision)


def hub_listing(repo: str, revision: str, *, repo_type: str, allow_floating: bool = False) -> list[str]:
    """Names of all files of a repository at `revision`, sorted; offline those in the client's cache.

    Raises like `hub_file`.
    """
    place = Place(repo, revision, "its list of files", repo_type)
    check_revision(revision, allow_floating, f"{repo_type} {repo}")
    if constants.is_offline_mode():
        return sorted(_cached_names(repo, revision, repo_type))
    return sorted(
        _retried(place, lambda: HfApi().list_repo_files(repo, revision=revision, repo_type=repo_type))
    )


def hub_source(source: Mapping[str, Any], where: str, file: str, *, repo_type: str) -> HubFile:
    """`hub_file` with repo, revision, allow_floating and sha256 from a spec's mapping."""
    return hub_file(
        field(source, "repo", str, where),
        field(source, "revision", str, where),
        file,
        repo_type=repo_type,
        sha256=optional(source, "sha256", str, where),
        allow_floating=field(source, "allow_floating", bool, where, False),
    )


def check_revision(revision: str, allow_floating: bool, where: str) -> None:
    """Raise ConfigError for a revision that may stand for another commit tomorrow."""
    if not allow_floating and not PINNED.fullmatch(revision):
        raise ConfigError(
            f"{where}: revision {revision!r} is no commit of 40 hex digits and may move: "
            "pin the commit, or set allow_floating"
        )


def _fetch(place: Place) -> Path:
    bar = None if sys.stderr.isatty() else line_bar(place.file)
    return _retried(place, lambda: download(place, bar))


def _retried(place: Place, ask: Callable[[], T]) -> T:
    """Ask again where the failure may pass and the client itself has not tried again already."""
    for attempt in range(ATTEMPTS):
        try:
            return ask()
        except Exception as error:  # the client raises many unrelated kinds; `explained` sorts them
            wait = passing(error, attempt)
            if wait is None or wait > LONGEST_WAIT or attempt == ATTEMPTS - 1:
                raise explained(error, place, attempt + 1) from None
            print(f"{place}: {type(error).__name__}, trying again in {wait:g} s", file=sys.stderr, flush=True)
            time.sleep(wait)
    raise AssertionError("the last attempt returns or raises")


def _digest(path: Path) -> tuple[str, bool]:
    """SHA-256 of a cached file, and whether its bytes have the digest that the cache, by the hub's word, calls it."""
    blob = path.resolve()
    stated = blob.name if blob.parent.name == "blobs" else ""
    sha256 = hashlib.sha256()
    # Git's own digest of a small file; it guards against accidents here, not against an adversary.
    git = hashlib.sha1(b"blob %d\0" % blob.stat().st_size, usedforsecurity=False)
    with blob.open("rb") as handle:
        while block := handle.read(_BLOCK):
            sha256.update(block)
            if PINNED.fullmatch(stated):
                git.update(block)
    if re.fullmatch(r"[0-9a-f]{64}", stated):
        return sha256.hexdigest(), stated == sha256.hexdigest()
    return sha256.hexdigest(), not PINNED.fullmatch(stated) or stated == git.hexdigest()


def _drop(path: Path) -> None:
    blob = path.resolve()
    path.unlink(missing_ok=True)
    blob.unlink(missing_ok=True)


def _cached_names(repo: str, revision: str, repo_type: str) -> list[str]:
    folder = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=repo, repo_type=repo_type)
    named = folder / "refs" / revision
    commit = named.read_text(encoding="utf-8") if named.is_file() else revision
    snapshot = folder / "snapshots" / commit
    return [str(path.relative_to(snapshot).as_posix()) for path in snapshot.rglob("*") if path.is_file()]
