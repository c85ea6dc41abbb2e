"""final.md: the campaign's summary and all its tables as one document, the same for Markdown and HTML."""

from captionlab.tables import frames, screen
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.cells import Frame, Section
from captionlab.tables.plan import Plan
from captionlab.tables.render import markdown


def document(plan: Plan, artifacts: Artifacts) -> tuple[Section, ...]:
    """Every section of final.md, in order; what is missing stays in its place as `missing`."""
    return (
        Section(f"Campaign `{plan.campaign}`", 1, summary(plan, artifacts)),
        Section("Final sentence benchmarks", 2, (), (frames.benchmarks(plan, artifacts),)),
        Section("Suites", 3, (), (frames.suite_sizes(plan, artifacts),)),
        Section("Pair test means", 2, (), (frames.pair_means(plan, artifacts),)),
        Section("Development", 2, (), (frames.development(plan, artifacts),)),
        Section("Caption geometry", 2, (), (frames.geometry(plan, artifacts),)),
        Section("Screen", 2, (), (screen.screen(plan, artifacts), screen.screen_means(plan, artifacts))),
        Section("Lookup reading", 2, (), (screen.lookup(plan, artifacts),)),
        Section("How each number is made", 2, methods(plan)),
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
    model = plan.model
    size = (
        f"{model['layers']} layers, width {model['width']}, FFN {model['ffn']}, sentence vectors of {model['target_width']}"
        if model
        else "model size not given"
    )
    stages = ", ".join(
        f"{len(plan.stage(stage))} {stage}" for stage in dict.fromkeys(r.stage for r in plan.runs)
    )
    scale = (
        "This is the published campaign's size and data: differences from the published numbers are differences of the same experiment."
        if plan.published_size
        else "This is **not** the published campaign: another size or other data. It tests the same questions by the same code; its numbers "
        "are not a reproduction of the published ones, and are compared with them nowhere as if they were."
    )
    data = [f"{key}: {value}" for key, value in sorted(plan.sources.items()) if isinstance(value, str | int)]
    recipes = [
        f"`{recipe.name}` {recipe.label}"
        + (f": {recipe.steps:,} steps, {recipe.presentations:,} presentations" if recipe.steps else "")
        for recipe in plan.recipes.values()
    ]
    sources = f" Data: {'; '.join(data)}." if data else ""
    return (
        f"{len(plan.runs)} trained runs ({stages}), {len(plan.references)} reference models, {len(plan.suites)} test suites. "
        f"Encoder: {size}.{sources}",
        "Recipes: " + "; ".join(recipes) + ".",
        scale,
        selection_sentence(artifacts),
    )


def selection_sentence(artifacts: Artifacts) -> str:
    """Which run development numbers selected, and what decided it."""
    place = frames.selected_place(artifacts)
    selection = artifacts.document(frames.SELECTION_FILE)
    if place is None or selection is None:
        return "Selected default: missing."
    return f"Selected default: `{place}`, decided by {selection['decided_by']} on development numbers alone; no test score was read for it."


def methods(plan: Plan) -> tuple[str, ...]:
    """How the numbers of each table come about."""
    return (
        f"**Sentence benchmarks.** Each unique sentence is cut at {plan.ceiling} tokens and encoded once by the *final* weights; the score is the Pearson "
        "correlation of average ranks (Spearman) between FP64 cosines and gold over all pairs of a suite. The mean weights suites equally.",
        "**Reference rows.** Teachers at their own ceiling and at the campaign's; untrained initialisations are the same seeds before step 1; the bag "
        "is the mean of a teacher's word embeddings, without a position or a context.",
        f"**Development.** Spearman on {plan.development_suite.label}, teacher cosine and participation rank on development captions, of the final weights. "
        "Selection reads these numbers and nothing else.",
        f"**Caption geometry.** Deterministic samples of captions cut at {plan.caption_ceiling} tokens.",
        "**Gaps.** A result that failed or was never made is printed as `missing`; a mean over fewer values than planned says how many it had.",
    )
