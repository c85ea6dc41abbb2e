"""The training loop: one step after another until the run is done, saved so that it can be killed anywhere."""

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from captionlab.errors import CaptionlabError
from captionlab.packed_linear import packed_linears
from captionlab.training import adam, checkpoint, gradients, history, randomness
from captionlab.training.adam import Moments
from captionlab.training.order import rows_of_step
from captionlab.training.plan import Plan
from captionlab.training.task import Task
from captionlab.training.tensors import Tensors, load_into


class NonFiniteError(CaptionlabError):
    """A loss or gradient is not a finite number; the last saved state is still good."""

    exit_code = 20


class PreemptedError(CaptionlabError):
    """The run was told to stop (SIGTERM or SIGINT); its state is saved and the same command resumes it."""

    exit_code = 143


@dataclass
class Run:
    """A run in progress. `step` steps are done; `saved` of them are in the resume state in `folder`."""

    task: Task
    plan: Plan
    folder: Path
    key: Mapping[str, Any]
    moments: Moments
    step: int = 0
    saved: int = 0
    lines: list[str] = field(default_factory=list)
    weights: dict[str, dict[str, Any]] = field(default_factory=dict)


def begin(task: Task, plan: Plan, folder: Path, key: Mapping[str, Any], say: Callable[[str], None]) -> Run:
    """A run at its first step, or where its resume state in `folder` left it.

    Raises what checkpoint.restore raises.
    """
    parameters = list(task.model.parameters())
    run = Run(task, plan, folder, key, adam.zero_moments(parameters))
    randomness.seed_all(plan.seed)
    snapshot = checkpoint.restore(folder, key, say)
    if snapshot is not None:
        load_into(_state_tensors(run), snapshot.tensors, checkpoint.generation(folder, snapshot.step))
        randomness.restore(snapshot.random, run.moments.count.device)
        run.step = run.saved = snapshot.step
        run.lines, run.weights = list(snapshot.history), dict(snapshot.weights)
        say(f"resuming after step {run.step} of {plan.steps}")
    return run


def train(run: Run, on_line: Callable[[str], None], on_step: Callable[[int, dict[str, Any]], None]) -> None:
    """Take all steps that are left and save the last state.

    Each new history line goes to `on_line`, each step's values to `on_step`. Raises NonFiniteError at a loss
    or gradient norm that is not finite, and PreemptedError, with the state saved, after SIGTERM or SIGINT.
    """
    with _stop_requests() as requested:
        while run.step < run.plan.steps:
            values = take_step(run)
            run.step += 1
            _record(run, history.step_line(values), on_line)
            on_step(run.step, values)
            _after_step(run, on_line)
            if requested and run.step < run.plan.steps:
                save(run)
                raise PreemptedError(
                    f"stopped by {requested[0]} after step {run.step} of {run.plan.steps}; "
                    f"the state is saved, the same command resumes"
                )
    save(run)


def take_step(run: Run) -> dict[str, Any]:
    """One step of the model and its moments; returns the values of its history line."""
    step, plan, task = run.step + 1, run.plan, run.task
    place, rows = rows_of_step(plan.seed, step, plan.rows_per_chunk, plan.batch)
    batch = task.load(place.chunk, rows)
    task.model.train()
    for parameter in task.model.parameters():
        parameter.grad = None
    with packed_linears(task.model, gradients=True):
        losses = gradients.cached(task, batch) if task.cached else gradients.direct(task, batch)
    parameters = list(task.model.parameters())
    slopes = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    norm = float(adam.global_norm(slopes))
    _check_finite(run, step, {**losses, "gradient norm": norm})
    rate = plan.rate(step)
    adam.update(
        [parameter.data for parameter in parameters],
        slopes,
        run.moments,
        rate=rate,
        betas=plan.betas,
        eps=plan.eps,
        scale=adam.clip_scale(norm, plan.clip),
    )
    named = {name: losses.get(name) for name in ("loss", *task.weights)}
    return {
        "step": step,
        "epoch": place.epoch + 1,
        "chunk": task.chunks[place.chunk],
        **named,
        "learning_rate": rate,
        "gradient_norm": norm,
        "tokens": batch.tokens,
    }


def save(run: Run) -> None:
    """Save the state of the run as it is now, unless that is saved already."""
    if run.saved == run.step:
        return
    tensors = {name: tensor.detach() for name, tensor in _state_tensors(run).items()}
    snapshot = checkpoint.Snapshot(
        run.step, tensors, randomness.capture(run.moments.count.device), run.lines, run.weights
    )
    checkpoint.save(run.folder, snapshot, run.key)
    run.saved = run.step


def model_tensors(task: Task) -> Tensors:
    """The model's parameters and persistent buffers by name."""
    return dict(task.model.state_dict())


def _after_step(run: Run, on_line: Callable[[str], None]) -> None:
    """Evaluation, best and midpoint weights and the regular save, in the order a resumed run repeats them."""
    step, plan, task = run.step, run.plan, run.task
    if step in plan.evaluate_at:
        task.model.eval()
        reading = task.evaluate()
        _check_finite(run, step, reading)
        _record(run, history.development_line(step, reading), on_line)
        best = history.best(run.lines, task.score)
        if best is not None and best["step"] == step:
            _keep(run, "best")
    if step == plan.midpoint:
        _keep(run, "midpoint")
    if step % plan.state_every == 0:
        save(run)


def _keep(run: Run, name: str) -> None:
    run.weights[name] = checkpoint.save_weights(run.folder, run.step, model_tensors(run.task))


def _record(run: Run, line: str, on_line: Callable[[str], None]) -> None:
    run.lines.append(line)
    on_line(line)


def _state_tensors(run: Run) -> Tensors:
    names = [name for name, _ in run.task.model.named_parameters()]
    return {
        **{f"model.{name}": tensor for name, tensor in run.task.model.state_dict().items()},
        **{f"adam.first.{name}": tensor for name, tensor in zip(names, run.moments.first, strict=True)},
        **{f"adam.second.{name}": tensor for name, tensor in zip(names, run.moments.second, strict=True)},
        "adam.count": run.moments.count,
    }


def _check_finite(run: Run, step: int, values: Mapping[str, float]) -> None:
    for name, value in values.items():
        if not torch.isfinite(torch.tensor(value)):
            raise NonFiniteError(
                f"{name} is {value} at step {step} of {run.plan.steps}: lower the learning rate or the clip; "
                f"the state after step {run.saved} in {run.folder} is untouched"
            )


@contextmanager
def _stop_requests() -> Iterator[list[str]]:
    """A list that SIGTERM and SIGINT put their name into; a second signal acts as it did before."""
    requests: list[str] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def remember(number: int, frame: FrameType | None) -> None:
        requests.append(signal.Signals(number).name)
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, remember)
    try:
        yield requests
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
