"""Captions and sentence pairs in a folder of the user's own: `.jsonl[.gz]` and `.txt[.gz]`, `.tsv`."""

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from captionlab.errors import CaptionlabError, DamagedFileError, MissingFileError

FORMATS = (".jsonl", ".jsonl.gz", ".txt", ".txt.gz")


@dataclass(frozen=True)
class Caption:
    """One caption and the key of its image; None where the source knows no image."""

    text: str
    image: str | None = None


def find_file(folder: str, file: str) -> Path:
    """Path of `file` in the user's folder.

    Raises MissingFileError when the folder or the file is not there.
    """
    directory = Path(folder)
    if not directory.is_dir():
        raise MissingFileError(
            f"folder {directory} is missing, it should hold {file}: correct `path` in the config"
        )
    path = directory / file
    if not path.is_file():
        raise MissingFileError(f"{path} is missing: put it there or correct the name in the config")
    return path


def read_captions(path: Path) -> Iterator[Caption]:
    """Every caption of a file, in order; one open file and one line are held at a time.

    `.jsonl`: an object a line with `caption` and, where known, `image` (text or whole number); other fields
    are ignored. `.txt`: a caption a line. Either may be gzipped. Text is kept as it stands.
    Raises DamagedFileError naming file and line, CaptionlabError for another format.
    """
    if not path.name.endswith(FORMATS):
        raise CaptionlabError(f"{path} is in no known format: captions come as {', '.join(FORMATS)}")
    parse = _text_caption if path.name.endswith((".txt", ".txt.gz")) else _json_caption
    for number, line in enumerate(_lines(path), start=1):
        where = f"{path} line {number}"
        caption = parse(line, where)
        if not caption.text.strip():
            raise DamagedFileError(f"{where} holds an empty caption: remove the line")
        yield caption


def _lines(path: Path) -> Iterator[str]:
    number = 1
    try:
        with _open(path) as handle:
            for number, line in enumerate(handle, start=1):  # noqa: B007 - named by the errors below
                yield line.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise DamagedFileError(
            f"{path} line {number} is not UTF-8 ({error.reason}): convert the file"
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DamagedFileError(
            f"{path} is damaged gzip near line {number} ({error}): fetch it again"
        ) from None
    except OSError as error:
        raise CaptionlabError(f"{path} cannot be read ({error.strerror or error})") from None


def _open(path: Path) -> gzip.GzipFile | BufferedReader:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def _text_caption(line: str, where: str) -> Caption:
    return Caption(line)


def _json_caption(line: str, where: str) -> Caption:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"{where} is not JSON ({error}): give one object a line") from None
    if not isinstance(record, dict) or "caption" not in record:
        raise DamagedFileError(f"{where} has no field `caption`: give one object with `caption` a line")
    text, image = record["caption"], record.get("image")
    if not isinstance(text, str):
        raise DamagedFileError(f"{where}: `caption` is a {type(text).__name__}, not a text")
    if image is not None and (isinstance(image, bool) or not isinstance(image, str | int)):
        raise DamagedFileError(
            f"{where}: `image` is a {type(image).__name__}, neither a text nor a whole number"
        )
    key = None if image is None else str(image)
    for name, value in (("caption", text), ("image", key or "")):
        if not _encodable(value):
            raise DamagedFileError(f"{where}: `{name}` holds half of a surrogate pair, which is no character")
    return Caption(text, key)


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
