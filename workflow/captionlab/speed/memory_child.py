"""One stage on synthetic rows, in a process of its own: `python -m captionlab.speed.memory_child STAGE ROWS FOLDER`.

Stages share the folder and each leaves there what later ones read. The last line printed is a JSON object: the
process's peak in bytes, its peak before the stage (the imports), and the seconds the stage took. Libraries are
imported inside the stages, so that a stage's peak is not that of another one's imports.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from captionlab.speed.children import peak_bytes
from captionlab.speed.synthetic import TEACHERS, vector_blocks, write_teachers
from captionlab.targets.rows import block_ranges

WIDTH = 64
LONGEST_CAPTION = 120
MEDIAN_WORDS = 12
STEPS = 5
BATCH = 64
RESAMPLES = 32
MODELS = 2

Work = Callable[[], None]
_WORDS = """
a the one two three some with on in near behind under over beside and of red blue green old young
small large wooden bright dark quiet busy dog cat horse bird child woman man crowd street table
window river bridge tower garden kitchen market beach mountain forest train bicycle boat umbrella
basket lantern guitar standing sitting running looking holding carrying resting leaning afternoon
morning shadow sunlight
"""


def caption_texts(rows: int) -> Iterator[str]:
    """Seeded captions of one to 120 words, log-normal around twelve, made one after another."""
    words = np.array(_WORDS.split())
    random = np.random.default_rng(rows)
    for start, stop in block_ranges(rows):
        count = stop - start
        lengths = np.clip(random.lognormal(np.log(MEDIAN_WORDS), 0.6, count), 1, LONGEST_CAPTION).astype(int)
        for row in np.split(random.integers(0, len(words), lengths.sum()), np.cumsum(lengths)[:-1]):
            yield " ".join(words[row])


def write_captions(rows: int, folder: Path) -> Work:
    """Captions, tokens and offsets of a chunk."""
    from captionlab.chunks.tokenizer import load_tokenizer
    from captionlab.chunks.write import write_chunk
    from captionlab.sources.captions import CaptionSource
    from captionlab.sources.directory import Caption

    def work() -> None:
        captions = (Caption(text) for text in caption_texts(rows))
        source = CaptionSource(rows, captions, {"kind": "synthetic"}, None)
        write_chunk(folder / "chunk", "chunk", source, load_tokenizer(folder / "vocab.txt"))

    return work


def count_duplicates(rows: int, folder: Path) -> Work:
    """Equal captions of the chunk, as they stand and normalised."""
    from captionlab.chunks.duplicates import count_chunks

    return lambda: _check(count_chunks({"chunk": folder / "chunk"})["chunks"]["chunk"]["rows"], rows)


def write_vectors(rows: int, folder: Path) -> Work:
    """Two teachers' vectors of the chunk; not a stage of a campaign."""
    from captionlab.files import read_json

    def work() -> None:
        captions = read_json(folder / "chunk" / "captions.json")["files"]["captions.parquet"]["sha256"]
        write_teachers(folder / "teachers", rows, WIDTH, captions_sha256=captions)

    return work


def fit_alignment(rows: int, folder: Path) -> Work:
    """The two teachers' alignment."""
    from captionlab.targets import alignment
    from captionlab.targets.embeddings import fit_reader, open_chunk_embeddings

    def work() -> None:
        opened = {"chunk": open_chunk_embeddings(folder / "teachers", TEACHERS, "chunk")}
        read, _ = fit_reader(opened, None)
        fit = alignment.fit_alignment(
            TEACHERS, read, target_width=WIDTH, iterations=20, tolerance=1e-7, ridge=1e-4
        )
        _check(fit.rows, rows)
        alignment.save_alignment(folder / "alignment.safetensors", fit)

    return work


def build_targets(rows: int, folder: Path) -> Work:
    """The consensus vector of each caption."""
    from captionlab.chunks.manifest import read_manifest
    from captionlab.files import sha256_file
    from captionlab.targets.alignment import load_alignment
    from captionlab.targets.consensus import write_consensus
    from captionlab.targets.embeddings import open_chunk_embeddings

    def work() -> None:
        path = folder / "alignment.safetensors"
        fitted, digest = load_alignment(path, TEACHERS), sha256_file(path)
        embeddings = open_chunk_embeddings(folder / "teachers", TEACHERS, "chunk")
        captions = read_manifest(folder / "chunk" / "captions.json")
        manifest = write_consensus(folder / "chunk", captions, embeddings, fitted, digest)
        _check(manifest["targets"]["shape"][0], rows)

    return work


def train(rows: int, folder: Path) -> Work:
    """Five steps of a small encoder from the chunk, its digests checked first."""
    from captionlab.chunks.store import open_chunk
    from captionlab.chunks.tokenizer import load_tokenizer, vocabulary
    from captionlab.rotary.build import build_encoder, config_from_spec
    from captionlab.rotary.task import encoder_task
    from captionlab.training.loop import begin, take_step
    from captionlab.training.plan import plan_run

    def work() -> None:
        pieces = vocabulary(load_tokenizer(folder / "vocab.txt"))
        spec = _training_spec(len(pieces), min(BATCH, rows))
        store = open_chunk(folder / "chunk", verify=True)
        encoder = build_encoder(config_from_spec(spec), pieces, 1)
        task = encoder_task(spec, encoder, [store], [rows], dict)
        run = begin(task, plan_run(spec["training"], 1, [rows]), folder / "state", {}, lambda line: None)
        for _ in range(min(STEPS, run.plan.steps)):
            take_step(run)
            run.step += 1

    return work


def resample(rows: int, folder: Path) -> Work:
    """The paired bootstrap of one suite of so many pairs."""
    from captionlab.evaluation.bootstrap import bootstrap_spearman

    def work() -> None:
        random = np.random.default_rng(0)
        gold = random.integers(0, 6, rows).astype(np.float64)
        scores = gold + random.standard_normal((MODELS, rows))
        bootstrap_spearman(gold, scores, np.arange(rows) // 2, RESAMPLES, random)

    return work


def score(rows: int, folder: Path) -> Work:
    """A suite of so many pairs, read from its file and scored from the vectors of its sentences."""
    from captionlab.evaluation.suites import evaluate
    from captionlab.files import write_text
    from captionlab.sources.pairs import HEADER, read_pairs

    path = folder / "suite.tsv"
    write_text(path, HEADER + "\n")
    with path.open("a", encoding="utf-8") as file:
        for number, text in enumerate(caption_texts(rows)):
            file.write(f"all\t{number % 6}\t{text} {number}\t{text} {rows + number}\n")

    def work() -> None:
        vectors = np.empty((2 * rows, WIDTH), np.float32)
        blocks = vector_blocks(len(vectors), WIDTH, 1)
        for (start, stop), block in zip(block_ranges(len(vectors)), blocks, strict=True):
            vectors[start:stop] = block
        evaluate(lambda texts, ceiling: (vectors, 0), read_pairs(path), 64)
        path.unlink()

    return work


STAGES: dict[str, Callable[[int, Path], Work]] = {
    "chunk": write_captions,
    "duplicates": count_duplicates,
    "vectors": write_vectors,
    "alignment": fit_alignment,
    "targets": build_targets,
    "training": train,
    "bootstrap": resample,
    "scoring": score,
}


def main(stage: str, rows: int, folder: Path) -> None:
    """Do a stage and print its figures."""
    work = STAGES[stage](rows, folder)
    before, begin = peak_bytes(), time.perf_counter()
    work()
    figures = {"peak": peak_bytes(), "before": before, "seconds": time.perf_counter() - begin}
    print(json.dumps(figures))


def _check(found: int, rows: int) -> None:
    if found != rows:
        raise ValueError(f"the stage worked on {found} rows instead of {rows}")


def _training_spec(vocabulary: int, batch: int) -> dict[str, Any]:
    return {
        "run": {"option": "relative", "seed": 1},
        "model": {
            **{"vocabulary": vocabulary, "width": 64, "layers": 2, "ffn": 128, "target_width": WIDTH},
            **{"max_tokens": 8192, "norm": "post", "activation": "gelu", "init_std": 0.02},
            **{"layer_norm_eps": 1e-12, "rope_base": 10000.0, "ntk_scale": 4.0, "pooling": "mean-then-head"},
        },
        "option": {
            **{"heads": 4, "position": "relative", "value_path": False, "key_phase": "none"},
            **{"record_norm": None, "lookup_loss": 0.0},
        },
        "lookup": {"layer": 0, "heads": [0], "birth": "tied"},
        "training": {
            **{"epochs": 1, "batch": batch, "warmup": 0, "learning_rate": 1e-3, "floor": 1e-6, "clip": 1.0},
            **{"betas": [0.9, 0.999], "eps": 1e-8, "temperature": 0.07, "mse_weight": 1.0},
            **{"mse_reduction": "mean", "ceiling": 256, "micro_batch_tokens": "auto", "state_every": 1000},
            **{"sub_batch_tokens": 4096, "evaluate_at": [1.0], "mask_duplicates": False},
        },
        "compute": {"autocast": None},
    }


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
