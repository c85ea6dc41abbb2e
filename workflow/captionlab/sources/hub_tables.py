"""Caption chunks and sentence suites of hub datasets: Parquet, and for suites also JSON lines."""

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from captionlab.errors import CaptionlabError, ConfigError, DamagedFileError, MissingFileError
from captionlab.sources.directory import Caption
from captionlab.sources.fields import count, field, optional
from captionlab.sources.hub import HubFile, hub_listing, hub_source
from captionlab.sources.pairs import Pair

COLUMNS = ("sentence1", "sentence2", "score")
FORMATS = (".parquet", ".jsonl.gz", ".jsonl")
_BATCH = 4096
_SHARD = re.compile(r"-(\d{5})-of-(\d{5})\b")
_BREAKS = re.compile(r"[\t\r\n]")


def open_chunk_file(source: Mapping[str, Any]) -> tuple[int, Iterator[Caption], dict[str, Any]]:
    """Rows, captions (streamed, row group by row group) and origin of a chunk that is one Parquet file of a dataset.

    The source has repo, revision, file, rows and, each optional, column (`caption`), image_column, sha256 and
    allow_floating. Raises like `hub_file`, and DamagedFileError when the rows are not as many as the chunk declares,
    a column is not there, or a row holds no text.
    """
    rows = count(source, "rows", "source", least=1)
    column = field(source, "column", str, "source", "caption")
    image = optional(source, "image_column", str, "source")
    found = hub_source(source, "source", field(source, "file", str, "source"), repo_type="dataset")
    where = _where(found)
    with _parquet(found.path, where) as file:
        _check_columns(file, [column, *filter(None, [image])], where)
        if file.metadata.num_rows != rows:
            raise DamagedFileError(
                f"{where} has {file.metadata.num_rows} rows, the config's chunk {rows}: "
                "set `rows` to the file's, or name the right file"
            )
    record = {**found.record(), "column": column, "image_column": image}
    return rows, _captions(found.path, column, image, where), record


def load_suite_files(source: Mapping[str, Any]) -> tuple[list[Pair], dict[str, Any]]:
    """All pairs of one split of a dataset, and the record of their origin.

    The source has repo, revision and either `file` or `split`: then the split's files are found in the repository's
    list (`test.jsonl.gz`, `data/test-00000-of-00002-….parquet`, `test/0000.parquet`), Parquet before JSON lines where a
    repository has both, every shard or none. `sha256` pins a suite that is one file. A tab or line break inside a
    sentence becomes a space, which no tokenizer of ours tells apart; the record counts such sentences.
    Raises like `hub_file`, MissingFileError naming the files there are, DamagedFileError naming file and row.
    """
    names = _suite_names(source)
    if len(names) > 1 and source.get("sha256") is not None:
        raise ConfigError(
            f"source.sha256 pins one file, but the split has {len(names)}: name one with `file`"
        )
    first = hub_source(source, "source", names[0], repo_type="dataset")
    # All shards are of one commit, whatever a branch does meanwhile.
    same = {**source, "revision": first.revision}
    found = [first, *(hub_source(same, "source", name, repo_type="dataset") for name in names[1:])]
    rows = [row for file in found for row in _suite_rows(file)]
    pairs = [_pair(row, where) for row, where in rows]
    record = first.record()
    del record["file"], record["sha256"]
    record |= {
        "split": source.get("split"),
        "files": {file.file: file.sha256 for file in found},
        "sentences_with_breaks": sum(
            bool(_BREAKS.search(row[name])) for row, _ in rows for name in COLUMNS[:2]
        ),
    }
    return pairs, record


def split_files(names: Sequence[str], split: str, where: str) -> list[str]:
    """The files of a split among a repository's, in order of their shards; empty where there are none.

    Raises MissingFileError naming `where` when a shard is absent.
    """
    pattern = re.compile(rf"(^|/){re.escape(split)}(/[^/]+|-[^/]*)?({'|'.join(map(re.escape, FORMATS))})$")
    mine = sorted(name for name in names if pattern.search(name))
    for suffix in FORMATS:
        chosen = [name for name in mine if name.endswith(suffix)]
        if not chosen:
            continue
        said = {int(shard.group(2)) for name in chosen if (shard := _SHARD.search(name))}
        if said and said != {len(chosen)}:
            raise MissingFileError(
                f"{where}: split {split!r} has {len(chosen)} files ({', '.join(chosen[:3])}), "
                f"their names speak of {max(said)}: name one with `file`, or pin a whole revision"
            )
        return chosen
    return []


def _suite_names(source: Mapping[str, Any]) -> list[str]:
    file = optional(source, "file", str, "source")
    if file is not None:
        return [file]
    split, repo = field(source, "split", str, "source"), field(source, "repo", str, "source")
    revision = field(source, "revision", str, "source")
    floating = field(source, "allow_floating", bool, "source", False)
    names = hub_listing(repo, revision, repo_type="dataset", allow_floating=floating)
    where = f"hub dataset {repo} at revision {revision}"
    found = split_files(names, split, where)
    if not found:
        held = ", ".join(name for name in names if name.endswith(FORMATS)) or "none that can be read"
        raise MissingFileError(
            f"{where} has no file of split {split!r} (its tables: {held}): "
            "correct `split`, or name the file with `file`"
        )
    return found


def _captions(path: Path, column: str, image: str | None, where: str) -> Iterator[Caption]:
    row = 0
    with _parquet(path, where) as file:
        for batch in _batches(file, [column, *filter(None, [image])], where):
            texts = batch.column(column).to_pylist()
            images = batch.column(image).to_pylist() if image is not None else [None] * len(texts)
            for text, key in zip(texts, images, strict=True):
                if not isinstance(text, str) or not text.strip():
                    raise DamagedFileError(f"{where}: row {row} of column {column!r} holds no text")
                yield Caption(text, None if key is None else str(key))
                row += 1


def _suite_rows(file: HubFile) -> list[tuple[dict[str, Any], str]]:
    where = _where(file)
    if file.file.endswith(".parquet"):
        with _parquet(file.path, where) as table:
            _check_columns(table, COLUMNS, where)
            rows = [row for batch in _batches(table, list(COLUMNS), where) for row in batch.to_pylist()]
    elif file.file.endswith(FORMATS):
        rows = _json_rows(file, where)
    else:
        raise ConfigError(f"{where}: suites come as {', '.join(FORMATS)}")
    return [
        (_checked(row, f"{where} row {number}"), f"{where} row {number}") for number, row in enumerate(rows)
    ]


def _json_rows(file: HubFile, where: str) -> list[Any]:
    reader: Callable[..., Any] = gzip.open if file.file.endswith(".gz") else open
    try:
        with reader(file.path, "rb") as handle:
            return [json.loads(line) for line in handle if line.strip()]
    except (gzip.BadGzipFile, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise DamagedFileError(f"{where} is not readable as JSON lines ({error}): check `revision`") from None


def _checked(row: Any, where: str) -> dict[str, Any]:
    missing = [name for name in COLUMNS if not isinstance(row, dict) or name not in row]
    if missing:
        raise DamagedFileError(f"{where} has no field {missing[0]!r}: a suite has {', '.join(COLUMNS)}")
    if not isinstance(row["sentence1"], str) or not isinstance(row["sentence2"], str):
        raise DamagedFileError(f"{where}: a sentence is not a text")
    found: dict[str, Any] = row
    return found


def _pair(row: Mapping[str, Any], where: str) -> Pair:
    try:
        score = float(row["score"])
    except (TypeError, ValueError):
        raise DamagedFileError(f"{where}: score {row['score']!r} is no number") from None
    first, second = (_BREAKS.sub(" ", row[name]) for name in COLUMNS[:2])
    return Pair("all", score, first, second)


def _where(found: HubFile) -> str:
    return f"hub dataset {found.repo}: {found.file} at revision {found.revision}"


def _parquet(path: Path, where: str) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error).splitlines()[0]
        raise DamagedFileError(f"{where} is not a Parquet file ({reason}): name another file") from None


def _batches(file: pq.ParquetFile, columns: list[str], where: str) -> Iterator[Any]:
    try:
        yield from file.iter_batches(batch_size=_BATCH, columns=columns)
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error).splitlines()[0]
        raise CaptionlabError(f"{where} cannot be read ({reason}): check `revision`") from None


def _check_columns(file: pq.ParquetFile, wanted: Sequence[str], where: str) -> None:
    held = file.schema_arrow.names
    missing = [name for name in wanted if name not in held]
    if missing:
        raise DamagedFileError(
            f"{where} has no column {missing[0]!r}; it has {', '.join(held)}: correct the config or name another file"
        )
