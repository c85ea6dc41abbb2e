"""The captions of one chunk, wherever they come from: one function a kind of source."""

import hashlib
import heapq
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from captionlab.errors import CaptionlabError, ConfigError
from captionlab.files import digest_entry
from captionlab.sources.assignment import Ints, assign
from captionlab.sources.directory import Caption, find_file, read_captions
from captionlab.sources.fields import by_kind, count, field
from captionlab.sources.packages import verify_digest


@dataclass(frozen=True)
class CaptionSource:
    """The captions of one chunk, to be read once.

    `captions` yields `rows` captions. `record` is what the manifest says of the origin; it names no folder,
    so that moving the data changes no manifest. `earlier` counts the rows whose text also stands, character
    by character, in a chunk declared before this one; None where the source cannot know.
    """

    rows: int
    captions: Iterator[Caption]
    record: dict[str, Any]
    earlier: int | None


def open_captions(chunk: str, source: Any) -> CaptionSource:
    """The captions that `source` (a mapping with `kind`) holds for `chunk`.

    Raises ConfigError for an unknown kind or a wrong field, MissingFileError and DamagedFileError for files.
    """
    return by_kind(source, KINDS, "source")(chunk, source)


def text_key(text: str) -> int:
    """64-bit digest of a caption's UTF-8, for counting equal captions (10^6 rows: false match p = 3e-8)."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest(), "little")


def _scenes(chunk: str, source: Mapping[str, Any]) -> CaptionSource:
    from captionlab.sources.scenes.captions import captions as scene_captions

    seed, first = count(source, "seed", "source"), count(source, "first", "source")
    rows = count(source, "rows", "source", least=1)
    texts = (Caption(text) for text in scene_captions(seed, first, rows))
    return CaptionSource(rows, texts, {"kind": "scenes", "seed": seed, "first": first, "rows": rows}, None)


def _directory(chunk: str, source: Mapping[str, Any]) -> CaptionSource:
    folder, seed = field(source, "path", str, "source"), count(source, "seed", "source")
    chunks = _declared_chunks(chunk, source)
    wanted = chunks[-1][1]
    digests = field(source, "digests", dict, "source", {})
    streams, record, rows_before = [], {}, array("Q")
    rows_here = array("Q")
    for file in dict.fromkeys(name for _, quotas in chunks for name in quotas):
        path = find_file(folder, file)
        if file in digests:
            verify_digest(path, field(digests, file, str, "source.digests"))
        owner, texts = _read_owners(path, file, seed, chunks)
        rows_before.extend(texts[(owner >= 0) & (owner < len(chunks) - 1)].tolist())
        rows_here.extend(texts[owner == len(chunks) - 1].tolist())
        if wanted.get(file):
            streams.append((wanted[file], _rows_of(path, owner == len(chunks) - 1)))
            record[file] = {**digest_entry(path), "rows": wanted[file]}
    here, before = np.asarray(rows_here, np.uint64), np.asarray(rows_before, np.uint64)
    return CaptionSource(
        rows=len(here),
        captions=_interleaved(streams),
        record={"kind": "directory", "seed": seed, "files": record},
        earlier=int(np.isin(here, before).sum()),
    )


def _hub(chunk: str, source: Mapping[str, Any]) -> CaptionSource:
    # The hub's client is imported only where a source asks for it.
    from captionlab.sources.hub_tables import open_chunk_file

    rows, captions, record = open_chunk_file(source)
    return CaptionSource(rows, captions, record, None)


def _declared_chunks(chunk: str, source: Mapping[str, Any]) -> list[tuple[str, dict[str, int]]]:
    """The declared chunks up to and with `chunk`, each with its rows by file; later ones cannot matter."""
    found: list[tuple[str, dict[str, int]]] = []
    for entry in field(source, "chunks", list, "source"):
        if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[1], dict)):
            raise ConfigError(f"source.chunks holds {entry!r}: give pairs [name, {{file: rows}}]")
        name, quotas = str(entry[0]), entry[1]
        found.append((name, {file: count(quotas, file, f"source.chunks.{name}") for file in quotas}))
        if name == chunk:
            break
    else:
        raise ConfigError(f"source.chunks does not name chunk {chunk!r}: only {[name for name, _ in found]}")
    files = field(source, "files", dict, "source")
    if files != found[-1][1]:
        raise ConfigError(
            f"source.files is {files}, but source.chunks gives {chunk} {found[-1][1]}: make them equal"
        )
    if not sum(found[-1][1].values()):
        raise ConfigError(f"source.files asks for no captions for chunk {chunk}: give at least one row")
    return found


def _read_owners(
    path: Path, file: str, seed: int, chunks: list[tuple[str, dict[str, int]]]
) -> tuple[Ints, np.ndarray[Any, np.dtype[np.uint64]]]:
    """The chunk index of each row of a file (-1: none) and the digest of each row's text."""
    images: list[str | None] = []
    texts = array("Q")
    seen: dict[str, str] = {}
    for caption in read_captions(path):
        # One object an image, not one a row.
        images.append(None if caption.image is None else seen.setdefault(caption.image, caption.image))
        texts.append(text_key(caption.text))
    quotas = [(name, rows.get(file, 0)) for name, rows in chunks]
    return assign(file, seed, images, quotas), np.asarray(texts, np.uint64)


def _rows_of(path: Path, mine: np.ndarray[Any, np.dtype[np.bool_]]) -> Iterator[Caption]:
    for row, caption in enumerate(read_captions(path)):
        if row >= len(mine):
            raise CaptionlabError(f"{path} grew while it was read: run again when nothing writes to it")
        if mine[row]:
            yield caption


def _interleaved(streams: list[tuple[int, Iterator[Caption]]]) -> Iterator[Caption]:
    """Rows of several files, each in its file's order, spread evenly: any stretch of a chunk has one mix."""
    waiting = [(0.5 / rows, number, 0) for number, (rows, _) in enumerate(streams)]
    heapq.heapify(waiting)
    while waiting:
        _, number, taken = heapq.heappop(waiting)
        rows, stream = streams[number]
        caption = next(stream, None)
        if caption is None:
            raise CaptionlabError(
                "a caption file shrank while it was read: run again when nothing writes to it"
            )
        yield caption
        if taken + 1 < rows:
            heapq.heappush(waiting, ((taken + 1.5) / rows, number, taken + 1))


KINDS: dict[str, Callable[[str, Mapping[str, Any]], CaptionSource]] = {
    "scenes": _scenes,
    "directory": _directory,
    "hub": _hub,
}
