"""What a campaign meant to make: the tables are laid out from it, so that a gap shows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from captionlab.errors import CaptionlabError


@dataclass(frozen=True)
class Recipe:
    """Rows x epochs; steps and presentations are counts of the whole run."""

    name: str
    label: str
    rows: int | None
    epochs: int | None
    steps: int | None
    presentations: int | None


@dataclass(frozen=True)
class PlannedRun:
    """One run of the campaign; `label` names its option for readers."""

    stage: str
    recipe: str
    option: str
    seed: int
    repeat: int
    label: str

    @property
    def place(self) -> str:
        """`<recipe>/<option>/seed-<n>`, with `.repeat-<m>` for a repeat (below runs/ and evaluation/)."""
        repeat = f".repeat-{self.repeat}" if self.repeat else ""
        return f"{self.recipe}/{self.option}/seed-{self.seed}{repeat}"

    @property
    def seed_label(self) -> str:
        """The seed as tables print it."""
        return f"{self.seed} (repeat {self.repeat})" if self.repeat else str(self.seed)


@dataclass(frozen=True)
class Reference:
    """A model that was not trained here: a teacher, an untrained initialisation, a bag of word embeddings."""

    name: str
    label: str


@dataclass(frozen=True)
class Suite:
    """A sentence benchmark; `role` is `test` or `development`."""

    name: str
    label: str
    role: str


@dataclass(frozen=True)
class Plan:
    """The campaign as the tables see it.

    `model` holds the encoder's sizes as configured; `hygiene` says whether duplicates are counted for final.md.
    """

    campaign: str
    published_size: bool
    model: Mapping[str, Any]
    recipes: Mapping[str, Recipe]
    runs: tuple[PlannedRun, ...]
    references: tuple[Reference, ...]
    suites: tuple[Suite, ...]
    development_suite: Suite
    ceiling: int
    caption_ceiling: int
    sources: Mapping[str, Any]
    chunks: tuple[str, ...] = ()
    teachers: tuple[str, ...] = ()
    screen_suites: tuple[str, ...] = ()
    hygiene: bool = False

    def stage(self, name: str) -> tuple[PlannedRun, ...]:
        """The runs of one stage, in campaign order."""
        return tuple(run for run in self.runs if run.stage == name)

    def suite_label(self, name: str) -> str:
        """A suite as readers know it."""
        return next((suite.label for suite in self.suites if suite.name == name), name)

    def recipe_label(self, run: PlannedRun) -> str:
        """The recipe of a run as readers know it."""
        recipe = self.recipes.get(run.recipe)
        return recipe.label if recipe else run.recipe

    def full_label(self, run: PlannedRun) -> str:
        """`4M × 4 epochs / Hierarchical`."""
        return f"{self.recipe_label(run)} / {run.label}"


def plan_from_spec(spec: Mapping[str, Any]) -> Plan:
    """The plan in a table step's spec.

    Raises CaptionlabError naming the key that is missing.
    """
    try:
        scale = spec["scale"]
        development = spec["development_suite"]
        return Plan(
            campaign=spec["campaign"],
            published_size=bool(scale["published"]),
            model=scale.get("model", {}),
            recipes={name: _recipe(name, value) for name, value in scale["recipes"].items()},
            runs=tuple(_run(value) for value in spec["runs"]),
            references=tuple(
                Reference(value["name"], value.get("label", value["name"])) for value in spec["references"]
            ),
            suites=tuple(
                _suite(value, "test") for value in spec["suites"] if value.get("role") != "development"
            ),
            development_suite=_suite(development, "development"),
            ceiling=int(spec["ceiling"]),
            caption_ceiling=int(spec["caption_ceiling"]),
            sources=spec.get("sources", {}),
            chunks=tuple(spec.get("chunks", ())),
            teachers=tuple(spec.get("teachers", ())),
            screen_suites=tuple(spec.get("screen_suites", ())),
            hygiene=bool(spec.get("hygiene", False)),
        )
    except KeyError as error:
        raise CaptionlabError(
            f"--spec lacks the key {error}: pass the spec that the campaign writes"
        ) from None


def _recipe(name: str, value: Mapping[str, Any]) -> Recipe:
    return Recipe(
        name,
        value.get("label", name),
        value.get("rows"),
        value.get("epochs"),
        value.get("steps"),
        value.get("presentations"),
    )


def _run(value: Mapping[str, Any]) -> PlannedRun:
    return PlannedRun(
        value["stage"],
        value["recipe"],
        value["option"],
        int(value["seed"]),
        int(value.get("repeat", 0)),
        value.get("label", value["option"]),
    )


def _suite(value: Mapping[str, Any], role: str) -> Suite:
    return Suite(value["name"], value.get("label", value["name"]), value.get("role", role))
