"""The teachers' alignment: whitened generalised Procrustes on the declared fit set."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captionlab.errors import DamagedFileError
from captionlab.files import atomic_path, digest_entry, parse_spec, versions, write_json
from captionlab.targets.alignment import Fit, describe_fit, fit_alignment, save_alignment
from captionlab.targets.embeddings import Embeddings, fit_reader, open_chunk_embeddings
from captionlab.targets.threads import blas_threads


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The spec (teachers, fit, target_width, iterations, tolerance, ridge, threads) and the paths."""
    parser.add_argument("--spec", required=True, help="canonical JSON of everything that decides the result")
    parser.add_argument("--code", default="", help="fingerprint of the step's code, recorded")
    parser.add_argument("--embeddings", required=True, type=Path, help="folder with <teacher>/<chunk>.npy")
    parser.add_argument("--output", required=True, type=Path, help="alignment.safetensors")
    parser.add_argument("--output-json", required=True, type=Path)


def run(args: argparse.Namespace) -> None:
    """Fit and write the alignment, with what it was fitted on and how well the teachers agree."""
    spec = parse_spec(args.spec)
    names, chunks = spec["teachers"], spec["fit"]["chunks"]
    opened = {chunk: open_chunk_embeddings(args.embeddings, names, chunk) for chunk in chunks}
    _check_origins(opened)
    read, rows = fit_reader(opened, spec["fit"]["rows"])
    with blas_threads(spec.get("threads", 1)):
        fit = fit_alignment(
            names,
            read,
            target_width=spec["target_width"],
            iterations=spec["iterations"],
            tolerance=spec["tolerance"],
            ridge=spec["ridge"],
        )
    _warn_of_few_rows(fit, spec["ridge"])
    with atomic_path(args.output) as path:
        save_alignment(path, fit)
    write_json(args.output_json, _record(args, spec, fit, rows, opened))


def _check_origins(opened: Mapping[str, Mapping[str, Embeddings]]) -> None:
    """One teacher is the same in all chunks: a branch may have moved between two of them."""
    first = next(iter(opened.values()))
    for chunk in opened.values():
        for name, teacher in chunk.items():
            if teacher.origin != first[name].origin:
                raise DamagedFileError(
                    f"{first[name].file.path} and {teacher.file.path} come from other weights, another tokenizer or "
                    f"another commit of {name}: encode both again, and pin its revision"
                )


def _warn_of_few_rows(fit: Fit, ridge: float) -> None:
    widest = max(len(by.mean) for by in fit.whitenings.values())
    if fit.rows <= widest:
        print(
            f"fit_alignment: {fit.rows} rows for width {widest}, so covariances are rank-deficient and the ridge "
            f"{ridge} decides the rest: fit on more rows, or raise targets.ridge",
            file=sys.stderr,
        )


def _record(
    args: argparse.Namespace,
    spec: Mapping[str, Any],
    fit: Fit,
    rows: Mapping[str, int],
    opened: Mapping[str, Mapping[str, Embeddings]],
) -> dict[str, Any]:
    described: dict[str, Any] = describe_fit(fit)
    for name in spec["teachers"]:
        described["teachers"][name] |= next(iter(opened.values()))[name].origin
    inputs = {
        f"{name}/{chunk}.npy": teachers[name].facts["files"][f"{chunk}.npy"]["sha256"]
        for chunk, teachers in opened.items()
        for name in spec["teachers"]
    }
    return {
        **described,
        "fit": {"rows": fit.rows, "chunks": dict(rows)},
        "target_width": spec["target_width"],
        "ridge": spec["ridge"],
        "tolerance": spec["tolerance"],
        "inputs": inputs,
        "files": {args.output.name: digest_entry(args.output)},
        "code": args.code,
        "versions": versions("numpy", "safetensors"),
    }
