"""What the hub's client raised, as one line that says what happened and what to do."""

import errno
import json
from dataclasses import dataclass

import httpx2
from huggingface_hub import constants
from huggingface_hub.errors import (
    EntryNotFoundError,
    FileMetadataError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from captionlab.errors import CaptionlabError, ConfigError, DamagedFileError, MissingFileError

_UNAUTHORIZED, _FORBIDDEN, _TOO_MANY, _SERVER = 401, 403, 429, 500
_MESSAGE_LIMIT = 160


@dataclass(frozen=True)
class Place:
    """Which file of which repository, at which revision."""

    repo: str
    revision: str
    file: str
    repo_type: str

    def __str__(self) -> str:
        return f"hub {self.repo_type} {self.repo}: {self.file} at revision {self.revision}"


def passing(error: Exception, attempt: int) -> float | None:
    """Seconds to wait before a failure may have passed; None where waiting is of no use, or the client has waited.

    The client tries metadata again by itself (with Retry-After), and a body on 408 and 429; it does not on a 5xx
    answer to the request for a body, on a reset connection, or on a body of the wrong length.
    """
    pause = float(2**attempt)
    if isinstance(error, LocalEntryNotFoundError | EntryNotFoundError):
        return None
    if isinstance(error, HfHubHTTPError):
        if error.response.status_code < _SERVER:
            return None
        asked = error.response.headers.get("retry-after", "").strip()
        return float(asked) if asked.isdigit() else pause
    if isinstance(error, httpx2.TransportError) or _truncated(error):
        return pause
    return None


def explained(error: Exception, place: Place, attempts: int) -> CaptionlabError:
    """The error to raise instead of the client's own."""
    chain = _chain(error)
    if any(isinstance(cause, OfflineModeIsEnabled) for cause in chain) or (
        isinstance(error, LocalEntryNotFoundError) and constants.is_offline_mode()
    ):
        return MissingFileError(
            f"{place} is not in the local cache and offline mode is on: "
            "unset HF_HUB_OFFLINE once to fetch it, or copy the cache (HF_HOME)"
        )
    for cause in chain:
        if isinstance(cause, HfHubHTTPError):
            return _answered(cause, place, attempts)
    for cause in chain:
        if isinstance(cause, FileMetadataError | json.JSONDecodeError):
            return CaptionlabError(
                f"{place}: {constants.ENDPOINT} does not answer like a hub (a login page or proxy?): "
                "check HF_ENDPOINT and the network"
            )
        if isinstance(cause, httpx2.TransportError):
            return CaptionlabError(
                f"{place}: the connection to {constants.ENDPOINT} failed ({_short(cause)}): "
                "check HF_ENDPOINT and the network, then run again; what arrived whole is kept"
            )
    if isinstance(error, HFValidationError | ValueError):
        return ConfigError(f"{place}: the client refuses the request ({_short(error)}): check the names")
    if _truncated(error):
        return DamagedFileError(
            f"{place}: the file came with another length than the hub states, {attempts} times: run again later"
        )
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return CaptionlabError(
            f"{place}: no space left in the cache: free some, or set HF_HOME to a larger disk"
        )
    return CaptionlabError(f"{place}: {type(error).__name__}: {_short(error)}")


def _answered(error: HfHubHTTPError, place: Place, attempts: int) -> CaptionlabError:
    status = error.response.status_code
    if isinstance(error, RevisionNotFoundError):
        return MissingFileError(f"{place}: the repository has no such revision: correct `revision`")
    if isinstance(error, EntryNotFoundError):
        return MissingFileError(f"{place}: there is no such file at this revision: correct its name")
    if isinstance(error, GatedRepoError):
        return CaptionlabError(
            f"{place}: the repository is gated ({status}): accept its terms on the hub and set HF_TOKEN"
        )
    if isinstance(error, RepositoryNotFoundError):
        return MissingFileError(
            f"{place}: there is no such repository, or the token may not see it ({status}): "
            "correct `repo`, or set HF_TOKEN"
        )
    if status in (_UNAUTHORIZED, _FORBIDDEN):
        return CaptionlabError(
            f"{place}: access was refused ({status}): set HF_TOKEN to a token that may read it"
        )
    if status == _TOO_MANY:
        return CaptionlabError(
            f"{place}: the hub limits requests ({status}) and kept doing so: run again later"
        )
    if status >= _SERVER:
        return CaptionlabError(f"{place}: the hub is unavailable ({status}) and stayed so: run again later")
    return CaptionlabError(f"{place}: the hub answered {status}: {_short(error)}")


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in found:
        found.append(current)
        current = current.__cause__ or current.__context__
    return found


def _truncated(error: Exception) -> bool:
    # The client raises a plain OSError without number for it.
    return type(error) is OSError and "Consistency check failed" in str(error)


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _MESSAGE_LIMIT else f"{text[:_MESSAGE_LIMIT]} ..."
