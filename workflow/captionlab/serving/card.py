"""The model card of an export: README.md and the scores in `.eval_results`, rendered from the campaign's JSON files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import (
    EvalResult,
    EvalResultEntry,
    ModelCard,
    ModelCardData,
    eval_result_entries_to_yaml,
)

from captionlab.errors import CaptionlabError, MissingFileError
from captionlab.files import write_text
from captionlab.serving.card_text import TEMPLATE
from captionlab.serving.table import serving
from captionlab.tables import frames
from captionlab.tables.artifacts import Artifacts, development_file, run_record, suites_file
from captionlab.tables.cells import Frame
from captionlab.tables.plan import Plan, PlannedRun
from captionlab.tables.prose import note
from captionlab.tables.render import markdown

RESULTS_FILE = ".eval_results/sentence-suites.yaml"
_TASK = "sentence-similarity"
_TAGS = ("sentence-similarity", "feature-extraction", "captions", "custom_code")


@dataclass(frozen=True)
class Score:
    """A test suite's Spearman correlation, and the data it was read on."""

    suite: str
    label: str
    dataset: str
    revision: str
    value: float
    ceiling: int


def write_card(plan: Plan, artifacts: Artifacts, spec: Mapping[str, Any], output: Path) -> None:
    """Write README.md and .eval_results/sentence-suites.yaml into the export `output`.

    spec: `place` of the run, `loaders` of its parity reports, `repository` the snippet loads from, `command`
    that makes it all again. Raises CaptionlabError for a run the campaign does not have and MissingFileError
    where the run or its evaluation is missing.
    """
    run = next((run for run in plan.runs if run.place == spec["place"]), None)
    if run is None:
        raise CaptionlabError(f"the campaign has no run {spec['place']!r}: name one as in runs/")
    scores = read_scores(plan, artifacts, run)
    card = model_card(plan, artifacts, run, spec, scores)
    write_text(output / "README.md", str(card))
    entries = eval_result_entries_to_yaml([entry(score) for score in scores])
    write_text(output / RESULTS_FILE, yaml.safe_dump(entries, sort_keys=False))


def read_scores(plan: Plan, artifacts: Artifacts, run: PlannedRun) -> list[Score]:
    """The run's scores on the test suites it was read on, in campaign order."""
    evaluation = _document(artifacts, suites_file(run))
    scores = []
    for suite in plan.suites:
        found = evaluation["suites"].get(suite.name)
        if found is None:
            continue
        source = _document(artifacts, f"suites/{suite.name}.json")["source"]
        scores.append(
            Score(
                suite.name,
                suite.label,
                str(source.get("repo") or suite.name),
                str(source.get("revision") or found["sha256"]),
                found["spearman"],
                evaluation["ceiling"],
            )
        )
    return scores


def model_card(
    plan: Plan, artifacts: Artifacts, run: PlannedRun, spec: Mapping[str, Any], scores: Sequence[Score]
) -> ModelCard:
    """The card: metadata with a `model-index`, and the text of the template."""
    record = _document(artifacts, run_record(run))
    model = record["spec"]["model"]
    data = ModelCardData(
        language="en",
        license="mit",
        library_name="transformers",
        pipeline_tag=_TASK,
        tags=list(_TAGS),
        model_name=f"{plan.campaign}/{run.place}",
        eval_results=[result(score) for score in scores] or None,
    )
    card: ModelCard = ModelCard.from_template(
        data,
        template_str=TEMPLATE,
        title=f"{plan.campaign}: {plan.full_label(run)}, seed {run.seed_label}",
        parameters=f"{_document(artifacts, development_file(run))['parameters']:,}",
        standing=_standing(artifacts, run),
        scale=note("published-scale" if plan.published_size else "other-scale"),
        repository=spec["repository"],
        command=spec["command"],
        tables=_tables(plan, artifacts, run, spec["loaders"]),
        heads=record["spec"]["option"]["heads"],
        **{key: model[key] for key in ("layers", "width", "ffn", "target_width", "max_tokens", "vocabulary")},
        caption_ceiling=record["spec"]["training"]["ceiling"],
        ceiling=plan.ceiling,
        seeds=len({other.seed for other in plan.runs if _twins(run, other)}),
        identity=record["identity"],
        weights_sha256=record["outputs"]["final.safetensors"]["sha256"],
        tokenizer_sha256=record["inputs"]["tokenizer_sha256"],
    )
    return card


def result(score: Score) -> EvalResult:
    """A score as the `model-index` holds it."""
    return EvalResult(
        task_type=_TASK,
        task_name="Sentence similarity",
        dataset_type=score.dataset,
        dataset_name=score.label,
        dataset_split="test",
        dataset_revision=score.revision,
        metric_type="cosine_spearman",
        metric_name=f"Spearman correlation of cosine, {score.ceiling} tokens",
        metric_value=score.value,
    )


def entry(score: Score) -> EvalResultEntry:
    """A score as `.eval_results` holds it."""
    return EvalResultEntry(
        dataset_id=score.dataset,
        task_id=score.suite,
        value=score.value,
        dataset_revision=score.revision,
        notes=f"Spearman correlation of FP64 cosine, {score.ceiling} tokens",
    )


def _tables(plan: Plan, artifacts: Artifacts, run: PlannedRun, loaders: Sequence[str]) -> str:
    shown: tuple[Frame, ...] = (
        frames.benchmarks(plan, artifacts),
        frames.pair_means(plan, artifacts),
        frames.development(plan, artifacts),
        frames.geometry(plan, artifacts),
        serving(plan, artifacts, [run.place], loaders),
    )
    return "\n\n".join(f"## {frame.title}\n\n{markdown(frame).rstrip()}" for frame in shown)


def _standing(artifacts: Artifacts, run: PlannedRun) -> str:
    chosen = frames.selected_place(artifacts)
    if chosen == run.place:
        return "It is the default that development numbers selected, before any test score was read."
    return (
        f"It is **not** the selected default, which is `{chosen}`."
        if chosen
        else "No default is selected yet."
    )


def _twins(run: PlannedRun, other: PlannedRun) -> bool:
    return (run.stage, run.recipe, run.option) == (other.stage, other.recipe, other.option)


def _document(artifacts: Artifacts, file: str) -> Mapping[str, Any]:
    found = artifacts.document(file)
    if found is None:
        raise MissingFileError(f"{artifacts.root / file} is missing: run the stage that makes it")
    return found
