"""One run from start to finished files: lock, skip or resume, train, publish, clean up."""

import errno
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from captionlab.errors import CaptionlabError
from captionlab.files import atomic_path, digest_entry, versions, write_bytes, write_json
from captionlab.provenance.identity import identity, mismatches, run_key, tensors_sha256
from captionlab.training import checkpoint, history
from captionlab.training.events import EVENTS_FILE, EventFile
from captionlab.training.locks import run_lock
from captionlab.training.loop import Run, begin, model_tensors, train
from captionlab.training.plan import Plan
from captionlab.training.progress import Progress, say
from captionlab.training.task import Task
from captionlab.training.tensors import write_tensors

_PACKAGES = ("captionlab", "torch", "numpy", "safetensors", "tokenizers", "tensorboard")


class DiskFullError(CaptionlabError):
    """The disk is full; what was saved before is whole and the same command goes on from it."""

    exit_code = 21


@dataclass(frozen=True)
class Job:
    """What a run is (`spec`, `code`, `inputs`: its identity) and where its files (`output`) and its resume
    state (`state`) are."""

    spec: Mapping[str, Any]
    code: str
    inputs: Mapping[str, Any]
    output: Path
    state: Path

    @property
    def key(self) -> dict[str, Any]:
        """The values behind the identity."""
        return run_key(self.spec, self.code, self.inputs)

    @property
    def identity(self) -> str:
        """The run's identity, hex."""
        return identity(self.spec, self.code, self.inputs)


@dataclass(frozen=True)
class Study:
    """What a study adds to a run: its task and plan, the facts for run.json and development.json (parameter
    counts and the like) and what the machine is."""

    task: Task
    plan: Plan
    facts: Mapping[str, Any]
    development: Mapping[str, Any]
    device: Mapping[str, Any]


def execute(job: Job, prepare: Callable[[], AbstractContextManager[Study]], lock_timeout: float) -> None:
    """Train the run unless its files are there already, whole and of the same identity.

    `prepare` is only entered when there is something to train, and left when all is written. Waits for
    another trainer of the same run; see run_lock, checkpoint.restore and train for the errors. A full disk
    raises DiskFullError.
    """
    with (
        _full_disk_in_one_line(job),
        run_lock(job.state, identity=job.identity, timeout=lock_timeout, say=say),
    ):
        wrong = mismatches(job.output / "run.json", job.identity)
        if wrong == []:
            say(f"{job.output} is complete and matches run.json: nothing to train")
        else:
            for line in wrong or []:
                say(f"{line}: training")
            with prepare() as study:
                _train_and_publish(job, study)
        checkpoint.discard(job.state)


def _train_and_publish(job: Job, study: Study) -> None:
    checkpoint.sweep(job.state)
    if job.output.is_dir():
        checkpoint.sweep(job.output)
    run = begin(study.task, study.plan, job.state, job.key, say)
    with _events(job, run) as add, Progress(study.plan.steps, run.step) as progress:
        train(
            run,
            add,
            lambda step, values: progress.step(
                step, values["loss"], values["learning_rate"], values["tokens"]
            ),
        )
    publish(job, study, run)


def publish(job: Job, study: Study, run: Run) -> None:
    """Write the finished run's files, run.json last: it vouches for the others."""
    output = job.output
    for name in ("run.json", checkpoint.STATE_FILE, checkpoint.RANDOM_FILE):
        (output / name).unlink(missing_ok=True)
    write_tensors(output / "final.safetensors", model_tensors(run.task))
    for name, entry in sorted(run.weights.items()):
        _copy(job.state / entry["file"], output / f"{name}.safetensors")
    write_bytes(output / "history.jsonl", history.file_bytes(run.lines))
    if job.spec["training"]["keep_state"]:
        for name in (checkpoint.STATE_FILE, checkpoint.RANDOM_FILE):
            _copy(checkpoint.generation(job.state, run.step) / name, output / name)
    final_sha256 = digest_entry(output / "final.safetensors")["sha256"]
    write_json(output / "development.json", _development(job, study, run, final_sha256))
    write_json(output / "run.json", _record(job, study, run))


def _record(job: Job, study: Study, run: Run) -> dict[str, Any]:
    best = history.best(run.lines, study.task.score)
    assert best is not None
    names = [
        "final.safetensors",
        "best.safetensors",
        "midpoint.safetensors",
        "history.jsonl",
        "development.json",
    ]
    if job.spec["training"]["keep_state"]:
        names += [checkpoint.STATE_FILE, checkpoint.RANDOM_FILE]
    if _wants_events(job):
        names.append(f"events/{EVENTS_FILE}")
    return {
        "run": job.spec["run"],
        **job.key,
        "identity": job.identity,
        "steps": study.plan.steps,
        "presentations": study.plan.presentations,
        "tokens": history.total_tokens(run.lines),
        **study.facts,
        "gradient_cache": study.task.cached,
        "device": dict(study.device),
        "outputs": {name: _output(job.output / name) for name in names},
        "best": {"step": best["step"], study.task.score: best[study.task.score]},
        "midpoint_step": study.plan.midpoint,
        "versions": versions(*_PACKAGES),
    }


def _development(job: Job, study: Study, run: Run, final_sha256: str) -> dict[str, Any]:
    """development.json: the readings of the final weights, and all that led there."""
    evaluations = history.evaluations(run.lines)
    final = {name: value for name, value in evaluations[-1].items() if name != "step"}
    best = history.best(run.lines, study.task.score)
    assert best is not None
    return {
        "run": job.spec["run"],
        **final,
        **study.development,
        **study.facts,
        "final_sha256": final_sha256,
        "identity": job.identity,
        "best_step": best["step"],
        "evaluations": evaluations,
        "versions": versions(*_PACKAGES),
    }


def _output(path: Path) -> dict[str, Any]:
    entry = digest_entry(path)
    if path.suffix == ".safetensors":
        entry["tensors_sha256"] = tensors_sha256(path)
    return entry


def _copy(source: Path, target: Path) -> None:
    with atomic_path(target) as temporary:
        shutil.copyfile(source, temporary)


def _wants_events(job: Job) -> bool:
    return bool(job.spec["training"].get("events", True))


@contextmanager
def _events(job: Job, run: Run) -> Iterator[Callable[[str], None]]:
    """Where each new history line goes: the event file, made anew from the lines there are."""
    folder = job.output / "events"
    shutil.rmtree(folder, ignore_errors=True)
    if not _wants_events(job):
        yield lambda line: None
        return
    with EventFile(folder / EVENTS_FILE, run.lines, _hyperparameters(job.spec)) as events:
        yield events.add


def _hyperparameters(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The plain values of a spec by dotted name, for TensorBoard's comparison of runs."""
    return {
        f"{part}.{name}": value
        for part, values in spec.items()
        if isinstance(values, Mapping)
        for name, value in values.items()
        if isinstance(value, bool | int | float | str)
    }


@contextmanager
def _full_disk_in_one_line(job: Job) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DiskFullError(
            f"the disk is full ({error.filename or job.state}): make room and run the same command again; "
            f"the last saved state in {job.state} is whole"
        ) from None
