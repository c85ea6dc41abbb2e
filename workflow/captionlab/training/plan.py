"""A run's plan: everything about its steps that follows from the recipe and the sizes of its chunks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from captionlab.errors import ConfigError
from captionlab.training.order import steps
from captionlab.training.schedule import learning_rate


@dataclass(frozen=True)
class Plan:
    """The steps of a run: `evaluate_at` and `midpoint` are steps, counted from 1; `rate` gives a step's
    learning rate; `presentations` counts rows shown over the whole run."""

    seed: int
    rows_per_chunk: tuple[int, ...]
    batch: int
    steps: int
    warmup: int
    peak: float
    floor: float
    clip: float
    betas: tuple[float, float]
    eps: float
    evaluate_at: frozenset[int]
    midpoint: int
    state_every: int

    def rate(self, step: int) -> float:
        """The learning rate of a step."""
        return learning_rate(step, steps=self.steps, warmup=self.warmup, peak=self.peak, floor=self.floor)

    @property
    def presentations(self) -> int:
        """Rows shown over the whole run, repeats counted."""
        return self.steps * self.batch


RUN_KEYS = {
    "run": ("stage", "recipe", "option", "seed", "repeat"),
    "training": (
        *("chunks", "rows", "epochs", "batch", "warmup", "learning_rate", "floor", "clip", "betas", "eps"),
        *("state_every", "evaluate_at", "keep_state"),
    ),
    "development": ("chunk", "suite"),
    "compute": ("device", "threads"),
}


def check_spec(spec: Mapping[str, Any], study_keys: Mapping[str, Sequence[str]]) -> None:
    """Refuse a spec in which a run, or the study it belongs to, will miss a key; raises ConfigError."""
    for keys in (RUN_KEYS, study_keys):
        for part, names in keys.items():
            values = spec.get(part)
            if not isinstance(values, Mapping):
                raise ConfigError(f"--spec has no {part}: an object with {', '.join(names)} is needed")
            missing = [name for name in names if name not in values]
            if missing:
                raise ConfigError(f"--spec has no {part}.{missing[0]}: give it a value")


def plan_run(training: Mapping[str, Any], seed: int, rows_per_chunk: Sequence[int]) -> Plan:
    """The plan of a recipe (the spec's `training`) on chunks of so many rows.

    Fractions of `evaluate_at` are rounded to steps; the last step is always evaluated, because the final
    weights are what the run stands for. Raises ConfigError for values that no run can have.
    """
    total = steps(rows_per_chunk, training["batch"], training["epochs"])
    if training["state_every"] < 1:
        raise ConfigError(f"training.state_every is {training['state_every']}; at least 1 is allowed")
    for fraction in training["evaluate_at"]:
        if not 0 < fraction <= 1:
            raise ConfigError(f"training.evaluate_at holds {fraction}; fractions above 0 up to 1 are allowed")
    plan = Plan(
        seed=seed,
        rows_per_chunk=tuple(rows_per_chunk),
        batch=training["batch"],
        steps=total,
        warmup=training["warmup"],
        peak=training["learning_rate"],
        floor=training["floor"],
        clip=training["clip"],
        betas=(training["betas"][0], training["betas"][1]),
        eps=training["eps"],
        evaluate_at=frozenset(max(1, round(f * total)) for f in training["evaluate_at"]) | {total},
        midpoint=max(1, total // 2),
        state_every=training["state_every"],
    )
    plan.rate(1)
    return plan
