"""Train one run: a recipe, an option and a seed, resumed where an earlier attempt left it."""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from captionlab.errors import ConfigError
from captionlab.files import parse_spec, read_json, sha256_file
from captionlab.rotary.task import SPEC_KEYS, Sources, prepare_study
from captionlab.training.devices import check_compute, claimed_device, describe, make_deterministic
from captionlab.training.memory import keep_freed_memory
from captionlab.training.plan import check_spec
from captionlab.training.progress import say
from captionlab.training.run import Job, Study, execute

_TIMEOUT_VARIABLE = "CAPTIONLAB_LOCK_TIMEOUT"
_DAY = "86400"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the step."""
    parser.add_argument("--spec", required=True, help="JSON: all that decides the result")
    parser.add_argument(
        "--code", default="", help="fingerprint of the code, recorded and part of the identity"
    )
    parser.add_argument("--tokenizer", required=True, type=Path, help="folder of the tokenizer")
    parser.add_argument(
        "--chunks", required=True, type=Path, nargs="+", help="chunk folders, in the spec's order"
    )
    parser.add_argument(
        "--development-chunk", required=True, type=Path, help="folder of the development chunk"
    )
    parser.add_argument("--development-suite", required=True, type=Path, help="TSV of the development suite")
    parser.add_argument("--output", required=True, type=Path, help="folder of the run's files")
    parser.add_argument(
        "--state", required=True, type=Path, help="folder of the resume state, deleted at the end"
    )
    parser.add_argument(
        "--lock-timeout",
        type=float,
        default=os.environ.get(_TIMEOUT_VARIABLE, _DAY),
        help=f"seconds to wait for another trainer of this run (default: {_TIMEOUT_VARIABLE}, or a day)",
    )


def run(args: argparse.Namespace) -> None:
    """Train, or resume, or find the run complete; writes run.json and the files it vouches for."""
    spec = parse_spec(args.spec)
    check_spec(spec, SPEC_KEYS)
    sources = Sources(args.chunks, args.development_chunk, args.development_suite, args.tokenizer)
    job = Job(spec, args.code, _inputs(spec, sources), args.output, args.state)
    check_compute(spec["compute"])
    make_deterministic(spec["compute"])
    keep_freed_memory()

    @contextmanager
    def prepare() -> Iterator[Study]:
        with claimed_device(spec["compute"], timeout=args.lock_timeout, say=say) as device:
            yield prepare_study(spec, sources, device, describe(spec["compute"], device))

    execute(job, prepare, args.lock_timeout)


def _inputs(spec: dict[str, Any], sources: Sources) -> dict[str, Any]:
    """Digests of what the run reads; a chunk's manifest vouches for its arrays."""
    names = [*spec["training"]["chunks"], spec["development"]["chunk"]]
    folders = [*sources.chunks, sources.development_chunk]
    if len(names) != len(folders):
        raise ConfigError(
            f"--chunks gives {len(sources.chunks)} folders but training.chunks names "
            f"{len(spec['training']['chunks'])}: give one folder a chunk, in order"
        )
    manifests = {name: sha256_file(path / "manifest.json") for name, path in zip(names, folders, strict=True)}
    return {
        "manifests": manifests,
        "tokenizer_sha256": read_json(sources.tokenizer / "manifest.json")["tokenizer_sha256"],
        "development_suite_sha256": sha256_file(sources.development_suite),
    }
