"""The consensus of teachers: encoding captions, and aligning two teachers' vectors, with the memory it takes."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from captionlab.speed.children import MEGABYTE, available_bytes, run_child
from captionlab.speed.peers import packaged_teacher, teacher_peer
from captionlab.speed.rows import Part, Row
from captionlab.speed.synthetic import write_teachers
from captionlab.speed.timing import Sample, in_turn, measured, pin_threads, rate, seconds
from captionlab.speed.tokenising import read_captions
from captionlab.targets.encode import encode_texts
from captionlab.targets.rows import BLOCK_ROWS
from captionlab.targets.teachers import Teacher, load_teacher

CAPTIONS = 1000
PEER = "np.cov, eigh, scipy.linalg.orthogonal_procrustes on whole arrays"
# What the peer was seen to hold for each of rows x width values, and a quarter more.
PEER_BYTES = 50

Runs = Mapping[str, Sequence[Mapping[str, Any]]]


def measure(spec: Mapping[str, Any], root: Path, threads: int) -> Part:
    """Captions a second of the campaign's first packaged BERT teacher; seconds and MB of the alignment.

    Without such a teacher (`spec["targets"]` null or of another kind) the first row is left out.
    """
    pin_threads(threads)
    teacher = packaged_teacher(spec["targets"])
    rows = [_encoding_row(teacher, spec, root, threads)] if teacher else []
    return Part("consensus", [*rows, *_alignment_rows(spec["speed"], threads)])


def _encoding_row(entry: dict[str, Any], spec: Mapping[str, Any], root: Path, threads: int) -> Row:
    captions = read_captions(root, spec["chunk"], min(CAPTIONS, spec["speed"]["captions"]))
    teacher = load_teacher(entry, threads=threads)
    with tempfile.TemporaryDirectory() as folder:
        peer = teacher_peer(entry, teacher, Path(folder), teacher.ceiling)
        ours, theirs = _our_vectors(teacher, captions), _peer_vectors(peer, captions)
        samples = in_turn(
            {"ours": lambda: _our_vectors(teacher, captions), "peer": lambda: _peer_vectors(peer, captions)},
            warmup=spec["speed"]["warmup"],
            repeats=spec["speed"]["repeats"],
        )
    return Row(
        what="teacher's encoding of captions",
        size=f"{teacher.name}, {len(captions):,} captions ({len(set(captions)):,} different)",
        unit="captions/s",
        ours=rate(samples["ours"], len(captions), threads),
        peer_name="SentenceTransformer.encode of the same weights, batches of 32",
        peer=rate(samples["peer"], len(captions), threads),
        agreement=float(np.abs(ours - theirs).max()),
        note=f"FP32, mean pooling, at most {teacher.ceiling} tokens, not normalised",
    )


def _our_vectors(teacher: Teacher, captions: list[str]) -> NDArray[np.float32]:
    return encode_texts(teacher, captions)[0]


def _peer_vectors(peer: Any, captions: list[str]) -> NDArray[np.float32]:
    return np.asarray(peer.encode(captions, show_progress_bar=False))


def _alignment_rows(speed: Mapping[str, Any], threads: int) -> list[Row]:
    rows, width = speed["consensus"]["rows"], speed["consensus"]["width"]
    ways = ["ours", "peer"] if rows * width * PEER_BYTES < available_bytes() else ["ours"]
    runs: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
    difference = None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_teachers(folder / "teachers", rows, width, captions_sha256="synthetic")
        for _ in range(speed["repeats"]):
            for way, done in runs.items():
                done.append(_align(way, folder, threads))
        if "peer" in runs:
            difference = _difference(folder / "ours.npz", folder / "peer.npz")
    return [_time_row(runs, (rows, width), difference, threads), _memory_row(runs, (rows, width))]


def _time_row(runs: Runs, shape: tuple[int, int], difference: float | None, threads: int) -> Row:
    taken = {way: [Sample(run["wall"], run["cpu"]) for run in done] for way, done in runs.items()}
    return Row(
        what="whitened Procrustes alignment",
        size=_size(shape),
        unit="s",
        ours=seconds(taken["ours"], threads),
        peer_name=PEER,
        peer=seconds(taken["peer"], threads) if "peer" in taken else None,
        less_is_better=True,
        agreement=difference,
        note="both FP64 from float32 files; agreement of both maps and of the cosines to the consensus; a new "
        f"process each time, imports not counted, no warm-up{_absent(runs)}",
    )


def _memory_row(runs: Runs, shape: tuple[int, int]) -> Row:
    held = {way: [run["peak"] / MEGABYTE for run in done] for way, done in runs.items()}
    return Row(
        what="memory of the alignment",
        size=_size(shape),
        unit="MB",
        ours=measured(held["ours"]),
        peer_name=PEER,
        peer=measured(held["peer"]) if "peer" in held else None,
        less_is_better=True,
        note=f"peak of the process (VmHWM), imports included; ours holds blocks of {BLOCK_ROWS:,} rows and d x d "
        f"moments{_absent(runs)}",
    )


def _size(shape: tuple[int, int]) -> str:
    return f"two teachers, {shape[0]:,} x {shape[1]}"


def _absent(runs: Runs) -> str:
    return "" if "peer" in runs else "; too little memory was free for the peer"


def _difference(ours: Path, peer: Path) -> float:
    with np.load(ours) as mine, np.load(peer) as theirs:
        return max(float(np.abs(mine[key] - theirs[key]).max()) for key in mine.files)


def _align(way: str, folder: Path, threads: int) -> dict[str, Any]:
    return run_child("captionlab.speed.alignment_child", way, str(folder), str(threads), threads=threads)
