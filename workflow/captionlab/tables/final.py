"""final.md: the campaign's summary and all its tables as one document, the same for Markdown and HTML."""

from captionlab.tables import comparison, frames, screen, uncertainty
from captionlab.tables.artifacts import SCREEN_SELECTION_FILE, SELECTION_FILE, Artifacts
from captionlab.tables.cells import Frame, Section
from captionlab.tables.hygiene import hygiene
from captionlab.tables.plan import Plan, Recipe
from captionlab.tables.prose import note
from captionlab.tables.render import markdown


def document(plan: Plan, artifacts: Artifacts) -> tuple[Section, ...]:
    """Every section of final.md, in order; what is missing stays in its place as `missing`."""
    return (
        Section(f"Campaign `{plan.campaign}`", 1, summary(plan, artifacts)),
        Section("Final sentence benchmarks", 2, (), (frames.benchmarks(plan, artifacts),)),
        Section("Suites", 3, (), (frames.suite_sizes(plan, artifacts),)),
        Section("Caption chunks", 3, (), (frames.chunks(plan, artifacts),)),
        Section("Pair test means", 2, (), (frames.pair_means(plan, artifacts),)),
        Section("Development", 2, (), (frames.development(plan, artifacts),)),
        Section("Caption geometry", 2, (), (frames.geometry(plan, artifacts),)),
        *screen_sections(plan, artifacts),
        Section("Uncertainty", 2, (), uncertainty.uncertainty(plan, artifacts)),
        Section("Beside the published numbers", 2, (comparison.remark(plan),), _beside(plan, artifacts)),
        *_hygiene(plan, artifacts),
        Section("How each number is made", 2, methods(plan, artifacts)),
    )


def screen_sections(plan: Plan, artifacts: Artifacts) -> tuple[Section, ...]:
    """The screen's own sections: development numbers of all options, and the lookup reading of every run."""
    screened: tuple[Frame, ...] = (screen.screen(plan, artifacts), screen.screen_means(plan, artifacts))
    if plan.screen_suites:
        screened = (*screened, screen.screen_suites(plan, artifacts))
    read: tuple[Frame, ...] = (screen.lookup(plan, artifacts),)
    on_suites = screen.lookup_suites(plan, artifacts)
    if on_suites.rows:
        read = (*read, on_suites)
    return (
        Section("Screen", 2, (_screen_sentence(artifacts),), screened),
        Section("Lookup reading", 2, (), read),
    )


def final_markdown(sections: tuple[Section, ...]) -> str:
    """The document as Markdown; a section with several tables titles each."""
    parts = []
    for section in sections:
        parts.append("#" * section.level + " " + section.title)
        parts.extend(section.paragraphs)
        for frame in section.frames:
            if len(section.frames) > 1:
                parts.append("#" * (section.level + 1) + " " + frame.title)
            parts.append(markdown(frame).rstrip("\n"))
    return "\n\n".join(parts) + "\n"


def all_frames(sections: tuple[Section, ...]) -> tuple[Frame, ...]:
    """The tables of a document, in order."""
    return tuple(frame for section in sections for frame in section.frames)


def summary(plan: Plan, artifacts: Artifacts) -> tuple[str, ...]:
    """What was trained on what, at which size, and whether that is the published campaign."""
    stages = dict.fromkeys(run.stage for run in plan.runs)
    runs = ", ".join(f"{len(plan.stage(stage))} {stage}" for stage in stages)
    data = [f"{key}: {value}" for key, value in sorted(plan.sources.items()) if isinstance(value, str | int)]
    sources = f" Data: {'; '.join(data)}." if data else ""
    counts = (
        f"{len(plan.runs)} trained runs ({runs}), {len(plan.references)} reference models, "
        f"{len(plan.suites)} test suites. Encoder: {_size(plan)}.{sources}"
    )
    recipes = "; ".join(_recipe(recipe) for recipe in plan.recipes.values())
    scale = note("published-scale" if plan.published_size else "other-scale")
    return (counts, f"Recipes: {recipes}.", scale, selection_sentence(artifacts))


def selection_sentence(artifacts: Artifacts) -> str:
    """Which run development numbers selected, and what decided it."""
    place = frames.selected_place(artifacts)
    selection = artifacts.document(SELECTION_FILE)
    if place is None or selection is None:
        return "Selected default: missing."
    return note("selected", place=place, decided_by=selection["decided_by"])


def _screen_sentence(artifacts: Artifacts) -> str:
    selection = artifacts.document(SCREEN_SELECTION_FILE)
    if selection is None:
        return "First in the screen: missing."
    return note("screened", option=selection["selected"]["option"], decided_by=selection["decided_by"])


def methods(plan: Plan, artifacts: Artifacts) -> tuple[str, ...]:
    """How the numbers of each table come about."""
    return (
        note("method-benchmarks", ceiling=plan.ceiling),
        note("method-references"),
        note("method-development", suite=plan.development_suite.label),
        note("method-geometry", caption_ceiling=plan.caption_ceiling),
        note("method-uncertainty", resamples=uncertainty.resamples(artifacts)),
        note("method-gaps"),
    )


def _beside(plan: Plan, artifacts: Artifacts) -> tuple[Frame, ...]:
    return (comparison.beside_published(plan, artifacts),) if comparison.has_twins(plan) else ()


def _hygiene(plan: Plan, artifacts: Artifacts) -> tuple[Section, ...]:
    return (Section("Data hygiene", 2, (), hygiene(plan, artifacts)),) if plan.hygiene else ()


def _size(plan: Plan) -> str:
    model = plan.model
    if not model:
        return "size not given"
    vectors = f"sentence vectors of {model['target_width']}"
    return f"{model['layers']} layers, width {model['width']}, FFN {model['ffn']}, {vectors}"


def _recipe(recipe: Recipe) -> str:
    if recipe.steps is None or recipe.presentations is None:
        return f"`{recipe.name}` {recipe.label}"
    return f"`{recipe.name}` {recipe.label}: {recipe.steps:,} steps, {recipe.presentations:,} presentations"
