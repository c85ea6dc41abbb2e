"""Exports on the hub: laid out, uploaded, read back at the revision they got, and checked byte for byte.

The selected default lies at the repository's root, every other export below runs/, as in the results.
"""

from collections.abc import Mapping
from pathlib import Path

import httpx2
from huggingface_hub import HfApi

from captionlab.errors import CaptionlabError, ConfigError
from captionlab.files import sha256_file, write_text

CARD = "README.md"
_FAILURES = (httpx2.HTTPError, OSError, ValueError)


class PublishError(CaptionlabError):
    """An upload or download failed, or what came back is not what was sent."""

    exit_code = 31


def export_folder(place: str, default: str) -> str:
    """Where the export of a run lies in the repository: `.` for the default, else `runs/<place>`."""
    return "." if place == default else f"runs/{place}"


def lay_out(exports: Mapping[str, Path], default: str, repository: str, folder: Path) -> None:
    """Make the repository's tree in an empty `folder`: links to the exports' files, and their cards.

    exports: folders by place (`<recipe>/<option>/seed-<n>`). The root's card names every other export and its
    path; the others' cards say how to load from theirs. Raises ConfigError when the default is not among them.
    """
    if default not in exports:
        raise ConfigError(
            f"the selected default {default} has no export: name its option under its recipe's keep_state"
        )
    for place, export in exports.items():
        target = folder / export_folder(place, default)
        for name in file_digests(export):
            link = target / name
            link.parent.mkdir(parents=True, exist_ok=True)
            if name != CARD:
                link.symlink_to((export / name).resolve())
        card = (export / CARD).read_text(encoding="utf-8")
        others = [other for other in exports if other != default]
        if place == default:
            write_text(target / CARD, card + _others(others, default, repository))
        else:
            write_text(target / CARD, _moved(card, export_folder(place, default), repository))


def _others(places: list[str], default: str, repository: str) -> str:
    if not places:
        return ""
    rows = "".join(
        f"| `{place}` | [`{export_folder(place, default)}`]({export_folder(place, default)}) |\n"
        for place in places
    )
    example = _load_line(export_folder(places[0], default), repository)
    return (
        f"\n## Other runs of the campaign\n\nThis folder holds the selected default, `{default}`. Each other run "
        f"has a folder of its own:\n\n| Run | Folder |\n|:---|:---|\n{rows}\nTransformers loads code only from "
        f"the top of a repository, so fetch a folder and load that:\n\n```python\n"
        f"from huggingface_hub import snapshot_download\n\n{example}\n```\n"
    )


def _moved(card: str, folder: str, repository: str) -> str:
    """A card whose snippets load from a folder of the repository instead of its root."""
    line = f'repo = "{repository}"'
    fetched = f"from huggingface_hub import snapshot_download\n\n{_load_line(folder, repository)}"
    return card.replace(line, fetched).replace(
        f'SentenceTransformer("{repository}"', "SentenceTransformer(repo"
    )


def _load_line(folder: str, repository: str) -> str:
    return f'repo = snapshot_download("{repository}", allow_patterns="{folder}/**") + "/{folder}"'


def upload(folder: Path, repository: str, *, private: bool) -> str:
    """Upload a folder to a model repository, made where it is missing, in one commit; returns its hash.

    The endpoint and token are huggingface_hub's own (HF_ENDPOINT, HF_TOKEN). Raises PublishError when the hub
    refuses.
    """
    api = HfApi()
    try:
        api.create_repo(repository, private=private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=repository, folder_path=folder, commit_message="Publish the campaign's exports"
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
