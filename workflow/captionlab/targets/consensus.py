"""Targets of a chunk: one unit vector a caption, row i of one is row i of the other."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.chunks.manifest import with_targets
from captionlab.errors import DamagedFileError
from captionlab.files import atomic_path, digest_entry, sha256_file, versions, write_json
from captionlab.targets.alignment import Agreement, Alignment
from captionlab.targets.embeddings import Embeddings
from captionlab.targets.procrustes import Matrix
from captionlab.targets.rows import NormStatistics, block_ranges, unit_rows, write_rows


def write_consensus(
    folder: Path,
    captions: Mapping[str, Any],
    embeddings: Mapping[str, Embeddings],
    alignment: Alignment,
    alignment_sha256: str,
) -> dict[str, Any]:
    """Write targets.npy (float32 unit rows [rows, width]) and manifest.json; returns the latter's content.

    Raises DamagedFileError, naming both, when the embeddings are of other captions than the chunk's.
    """
    for teacher in embeddings.values():
        _check_pairing(folder, captions, teacher)
    agreement = Agreement()

    def blocks() -> Iterator[Matrix]:
        for start, stop in block_ranges(captions["rows"]):
            raw = {name: teacher.file.read(start, stop) for name, teacher in embeddings.items()}
            consensus, aligned = alignment.consensus(raw, start, f"targets of {folder}")
            agreement.add(raw, aligned, consensus)
            yield consensus

    return _write(
        folder,
        captions,
        blocks(),
        len(alignment.origin),
        lambda: {"teachers": agreement.as_json(), "alignment_sha256": alignment_sha256},
    )


def write_published(
    folder: Path,
    captions: Mapping[str, Any],
    file: Path,
    blocks: Iterator[Matrix],
    width: int,
    origin: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Write published vectors, scaled to unit length, as the chunk's targets.npy and manifest.json.

    The manifest's `source` states the file's digest, the norms that the vectors had in it, and `origin` where known
    (repository, commit, the file's name there). Raises DamagedFileError when their number or width is not what the
    chunk and the campaign say, or a vector is zero.
    """
    stated = NormStatistics()

    def scaled() -> Iterator[Matrix]:
        for block in blocks:
            if block.shape[1] != width:
                raise DamagedFileError(
                    f"{file} has vectors {block.shape[1]} wide, targets.width is {width}: set that, or use another file"
                )
            first = stated.rows
            stated.add(block)
            yield unit_rows(block, first, str(file))
        if stated.rows != captions["rows"]:
            raise DamagedFileError(
                f"{file} has {stated.rows} rows, {folder / 'captions.json'} has {captions['rows']}: "
                "row i of one must be row i of the other; use the file that belongs to this chunk"
            )

    source = {"file": file.name, "sha256": sha256_file(file), **(origin or {})}
    return _write(
        folder,
        captions,
        scaled(),
        width,
        lambda: {"teachers": {}, "alignment_sha256": None, "source": {**source, "norm": stated.as_json()}},
    )


def _write(
    folder: Path, captions: Mapping[str, Any], blocks: Iterator[Matrix], width: int, rest: Any
) -> dict[str, Any]:
    with atomic_path(folder / "targets.npy") as path:
        norms = write_rows(path, captions["rows"], width, blocks)
        entry = digest_entry(path)
        # While the array gets its name, no older manifest may vouch for it.
        (folder / "manifest.json").unlink(missing_ok=True)
    manifest = with_targets(
        captions,
        {
            "dtype": "float32",
            "shape": [captions["rows"], width],
            "norm": norms.as_json(),
            "file": entry,
            "versions": versions("numpy"),
            **rest(),
        },
    )
    write_json(folder / "manifest.json", manifest)
    return manifest


def _check_pairing(folder: Path, captions: Mapping[str, Any], teacher: Embeddings) -> None:
    said = captions["files"]["captions.parquet"]["sha256"]
    if teacher.file.rows != captions["rows"] or teacher.captions_sha256 != said:
        raise DamagedFileError(
            f"{teacher.file.path} has {teacher.file.rows} rows of captions {teacher.captions_sha256[:12]}, "
            f"{folder / 'captions.json'} {captions['rows']} of {said[:12]}: encode this chunk again"
        )
