"""The campaign: its chunks, suites, runs, and the only place where a path of an artifact is built."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Run:
    """One training: a recipe, an option and a seed; repeat 0 is the run itself."""

    stage: str
    recipe: str
    option: str
    seed: int
    repeat: int = 0

    @property
    def seed_name(self) -> str:
        """The wildcard `{seed}` of this run: `1`, or `1.repeat-1`."""
        return f"{self.seed}.repeat-{self.repeat}" if self.repeat else str(self.seed)

    @property
    def key(self) -> str:
        """The run in one word, as it stands in paths: `screen/relative-16/seed-1`."""
        return f"{self.recipe}/{self.option}/seed-{self.seed_name}"

    def as_json(self) -> dict[str, Any]:
        """The run as it stands in every JSON file."""
        return {
            "stage": self.stage,
            "recipe": self.recipe,
            "option": self.option,
            "seed": self.seed,
            "repeat": self.repeat,
        }


@dataclass(frozen=True)
class Paths:
    """Paths of artifacts below the results root; wildcards stay in braces."""

    root: str

    def tokenizer(self, name: str) -> str:
        """A file of the tokenizer folder."""
        return f"{self.root}/tokenizer/{name}"

    def chunk(self, name: str, chunk: str = "{chunk}") -> str:
        """A file of a chunk."""
        return f"{self.root}/chunks/{chunk}/{name}"

    def suite(self, suffix: str, suite: str = "{suite}") -> str:
        """A suite's pairs (`tsv`) or what is known of them (`json`)."""
        return f"{self.root}/suites/{suite}.{suffix}"

    def teacher(self, suffix: str, teacher: str = "{teacher}", chunk: str = "{chunk}") -> str:
        """A teacher's vectors of a chunk (`npy`) or what is known of them (`json`)."""
        return f"{self.root}/teachers/{teacher}/{chunk}.{suffix}"

    def run(self, name: str, run: Run | None = None) -> str:
        """A file of a run."""
        return f"{self.root}/runs/{_run_folder(run)}/{name}"

    def state(self, run: Run | None = None) -> str:
        """Where a run keeps its resume state; no rule declares it, so the engine never deletes it."""
        return f"{self.root}/state/{_run_folder(run)}"

    def evaluation(self, name: str, run: Run | None = None) -> str:
        """An evaluation file of a run."""
        return f"{self.root}/evaluation/{_run_folder(run)}/{name}"

    def reference(self, name: str, reference: str = "{reference}") -> str:
        """An evaluation file of a reference row."""
        return f"{self.root}/evaluation/reference/{reference}/{name}"

    def export(self, name: str, run: Run | None = None) -> str:
        """A file of an exported model."""
        return f"{self.root}/export/{_run_folder(run)}/{name}"

    def under(self, name: str) -> str:
        """Any other path below the root, such as `tables/final.md`."""
        return f"{self.root}/{name}"

    def log(self, name: str) -> str:
        """A rule's log file."""
        return f"{self.root}/logs/{name}.log"

    def benchmark(self, name: str) -> str:
        """A rule's benchmark file."""
        return f"{self.root}/benchmarks/{name}.tsv"


@dataclass(frozen=True)
class Reference:
    """A row the students are held against: a teacher, an untrained initialisation or a bag of words."""

    name: str
    label: str
    spec: Mapping[str, Any]


@dataclass(frozen=True)
class Campaign:
    """A checked config with everything that follows from it.

    `config` is the effective config after all merges; `digests` holds the SHA-256 of every source file that
    a directory source reads, by the name used in the config.
    """

    config: Mapping[str, Any]
    runs: tuple[Run, ...]
    references: tuple[Reference, ...]
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The campaign's name."""
        return str(self.config["campaign"])

    @property
    def paths(self) -> Paths:
        """Where its artifacts are."""
        return Paths(str(self.config["results"]).rstrip("/"))

    @property
    def chunks(self) -> tuple[str, ...]:
        """All chunks, in declared order."""
        return tuple(self.config["chunks"])

    @property
    def teachers(self) -> tuple[str, ...]:
        """Teachers in declared order; none where the targets are published."""
        return tuple(self.config["targets"].get("teachers", {}))

    @property
    def development_suite(self) -> str:
        """The one suite that may choose anything."""
        return str(next(iter(self.config["suites"]["development"])))

    @property
    def test_suites(self) -> tuple[str, ...]:
        """Suites in table order."""
        return tuple(self.config["suites"]["test"])

    def stage_runs(self, stage: str) -> tuple[Run, ...]:
        """The runs of `screen` or `larger`."""
        return tuple(run for run in self.runs if run.stage == stage)

    def run(self, recipe: str, option: str, seed: str) -> Run:
        """The run behind the wildcards of a path.

        Raises KeyError when the campaign has no such run.
        """
        return self._runs_by_key[f"{recipe}/{option}/seed-{seed}"]

    def reference(self, name: str) -> Reference:
        """The reference row of a name.

        Raises KeyError when the campaign has no such row.
        """
        return self._references_by_name[name]

    # Rules look a run up for every job and param: a campaign of thousands must not search its list each time.
    @cached_property
    def _runs_by_key(self) -> dict[str, Run]:
        return {run.key: run for run in self.runs}

    @cached_property
    def _references_by_name(self) -> dict[str, Reference]:
        return {row.name: row for row in self.references}

    def recipe(self, name: str) -> dict[str, Any]:
        """A recipe with the shared training keys filled in."""
        return {**self.config["training"], **self.config["recipes"][name]}

    def evaluated_suites(self, stage: str) -> tuple[str, ...]:
        """The suites on which a stage's runs are read."""
        if stage == "larger":
            return self.test_suites
        return tuple(self.config["evaluation"]["screen_suites"])

    def data_path(self, *parts: str) -> Path:
        """A path of a directory source: relative ones start from the config's `data` folder."""
        return Path(self.config.get("data", "."), *parts)


def campaign_runs(config: Mapping[str, Any]) -> tuple[Run, ...]:
    """All runs a config asks for: the screen with its repeats, then the larger stage."""
    screen = config["screen"]
    runs = [
        Run("screen", screen["recipe"], option, seed, repeat)
        for option in screen["options"]
        for seed in screen["seeds"]
        for repeat in range(screen["repeats"].get(option, 0) + 1)
    ]
    runs += [
        Run("larger", row["recipe"], option, seed)
        for row in config["larger"]
        for option in row["options"]
        for seed in row["seeds"]
    ]
    return tuple(runs)


def _run_folder(run: Run | None) -> str:
    return "{recipe}/{option}/seed-{seed}" if run is None else run.key
