"""Write a chunk: captions, tokens and offsets, streamed, then the JSON that vouches for them."""

from array import array
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tokenizers import Tokenizer

from captionlab.chunks.growing import GrowingArray
from captionlab.chunks.manifest import CAPTIONS_JSON, caption_record, token_statistics
from captionlab.chunks.progress import counted
from captionlab.chunks.tokenizer import tokenize_flat, vocabulary, vocabulary_digest
from captionlab.errors import CaptionlabError
from captionlab.files import atomic_path, digest_entry, sha256_bytes, write_json
from captionlab.sources.captions import CaptionSource, text_key
from captionlab.sources.directory import Caption

BLOCK = 4096
ROW_GROUP = 10_000
SCHEMA = pa.schema([("caption", pa.string()), ("image", pa.string())])
FILES = ("captions.parquet", "tokens.npy", "offsets.npy")


def write_chunk(directory: Path, chunk: str, source: CaptionSource, tokenizer: Tokenizer) -> dict[str, Any]:
    """Write captions.parquet, tokens.npy, offsets.npy and captions.json; returns the content of the last.

    Memory holds one block of captions and 16 bytes a row. No file gets its name before all are complete.
    Raises CaptionlabError when the source yields other than the rows it promised.
    """
    pieces = vocabulary(tokenizer)
    with ExitStack() as stack:
        paths = {name: stack.enter_context(atomic_path(directory / name)) for name in FILES}
        captions = counted(source.captions, source.rows, f"chunk {chunk}", "captions")
        written = _write_arrays(paths, captions, tokenizer)
        if written["rows"] != source.rows:
            raise CaptionlabError(
                f"chunk {chunk}: its source gave {written['rows']} captions, not {source.rows}"
            )
        files = {name: digest_entry(path) for name, path in paths.items()}
        # While the arrays get their names, no older record may vouch for them.
        (directory / CAPTIONS_JSON).unlink(missing_ok=True)
    record = caption_record(
        chunk=chunk,
        tokenizer_sha256=vocabulary_digest(pieces),
        vocabulary=len(pieces),
        files=files,
        source=source.record,
        duplicates={"inside": written.pop("duplicates"), "earlier": source.earlier},
        **written,
    )
    write_json(directory / CAPTIONS_JSON, record)
    return record


def _write_arrays(
    paths: dict[str, Path], captions: Iterator[Caption], tokenizer: Tokenizer
) -> dict[str, Any]:
    offsets, keys = array("q", [0]), array("Q")
    first = last = ""
    with (
        _CaptionTable(paths["captions.parquet"]) as table,
        GrowingArray(paths["tokens.npy"], "<u2") as tokens,
    ):
        while block := list(islice(captions, BLOCK)):
            texts = [caption.text for caption in block]
            flat, ends = tokenize_flat(tokenizer, texts)
            offsets.extend((ends[1:] + tokens.length).tolist())
            tokens.append(flat)
            table.append(block)
            keys.extend(map(text_key, texts))
            first, last = first or texts[0], texts[-1]
    if not keys:
        raise CaptionlabError("the source gave no captions at all: check the chunk's source")
    starts = np.asarray(offsets, "<i8")
    with GrowingArray(paths["offsets.npy"], "<i8") as file:
        file.append(starts)
    return {
        "rows": len(keys),
        "tokens": token_statistics(np.diff(starts)),
        "first_row_sha256": sha256_bytes(first.encode("utf-8")),
        "last_row_sha256": sha256_bytes(last.encode("utf-8")),
        "duplicates": len(keys) - len(np.unique(np.asarray(keys, np.uint64))),
    }


class _CaptionTable:
    """A Parquet file in row groups of a fixed number of rows, whatever blocks arrive."""

    def __init__(self, path: Path) -> None:
        self._writer = pq.ParquetWriter(path, SCHEMA, compression="zstd")
        self._waiting: list[Caption] = []

    def append(self, captions: list[Caption]) -> None:
        self._waiting += captions
        while len(self._waiting) >= ROW_GROUP:
            self._write(self._waiting[:ROW_GROUP])
            del self._waiting[:ROW_GROUP]

    def __enter__(self) -> "_CaptionTable":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._writer:
            if kind is None and self._waiting:
                self._write(self._waiting)

    def _write(self, captions: list[Caption]) -> None:
        columns = {"caption": [c.text for c in captions], "image": [c.image for c in captions]}
        self._writer.write_table(pa.table(columns, schema=SCHEMA), row_group_size=ROW_GROUP)
