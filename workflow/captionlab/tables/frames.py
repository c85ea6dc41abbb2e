"""The card's four tables as frames: sentence benchmarks, pair means, development, caption geometry."""

from dataclasses import replace

from captionlab.tables.artifacts import (
    SELECTION_FILE,
    Artifacts,
    development_file,
    geometry_file,
    manifest_file,
    reference_file,
    suites_file,
)
from captionlab.tables.cells import NOT_APPLICABLE, Cell, Column, Frame, Row, Source, derived, mean, text
from captionlab.tables.plan import Plan, PlannedRun
from captionlab.tables.prose import note

LARGER = "larger"
SAMPLES = {
    "test:all": "Test chunk, all sampled rows",
    "test:long": "Test chunk, >128-token rows",
    "development:all": "Development chunk, all sampled rows",
}
_KEY_COLUMNS = (
    Column("recipe", "Recipe", machine_only=True),
    Column("option", "Option", machine_only=True),
    Column("selected", "Selected", machine_only=True),
    Column("model", "Recipe / option"),
    Column("seed", "Seed"),
)


def selected_place(artifacts: Artifacts) -> str | None:
    """`<recipe>/<option>/seed-<n>` of the selected default, or None before selection."""
    document = artifacts.document(SELECTION_FILE)
    chosen = document.get("selected") if document else None
    return f"{chosen['recipe']}/{chosen['option']}/seed-{chosen['seed']}" if chosen else None


def harmonics_cell(artifacts: Artifacts, run: PlannedRun) -> Cell:
    """Harmonics a digit of a run's address; a dash for options without one."""
    return artifacts.cell(development_file(run), "harmonics")


def suite_cells(plan: Plan, artifacts: Artifacts, file: str) -> tuple[Cell, ...]:
    """Spearman of every test suite in one evaluation file, in campaign order."""
    return tuple(artifacts.cell(file, "suites", suite.name, "spearman") for suite in plan.suites)


def suite_mean(plan: Plan, artifacts: Artifacts, file: str) -> Cell:
    """Unweighted mean over the test suites, suites weighted equally; its source is the set of scores."""
    average = mean(suite_cells(plan, artifacts, file))
    return (
        Cell(average.value, Source(file, "/suites"), average.note) if average.value is not None else average
    )


def benchmarks(plan: Plan, artifacts: Artifacts) -> Frame:
    """Every larger run and every reference model on every test suite."""
    columns = (
        *_KEY_COLUMNS,
        Column("ceiling", "Ceiling"),
        Column("harmonics", "K"),
        Column("pairs", "n"),
        *(Column(suite.name, suite.label, 4) for suite in plan.suites),
        Column("mean", "Mean", 4),
    )
    chosen = selected_place(artifacts)
    rows = [_benchmark_row(plan, artifacts, run, run.place == chosen) for run in plan.stage(LARGER)]
    rows += [
        _reference_row(plan, artifacts, reference.name, reference.label) for reference in plan.references
    ]
    title = "Final sentence benchmarks"
    return Frame("benchmarks", title, columns, tuple(rows), (note("benchmarks"),))


def suite_sizes(plan: Plan, artifacts: Artifacts) -> Frame:
    """What each suite holds: pairs, sentences, gold range and the digest of its file."""
    columns = (
        Column("suite", "Suite"),
        Column("role", "Role"),
        Column("rows", "Pairs"),
        Column("unique_pairs", "Unique pairs"),
        Column("unique_sentences", "Unique sentences"),
        Column("score_min", "Gold min", 2),
        Column("score_mean", "Gold mean", 4),
        Column("score_max", "Gold max", 2),
        Column("sha256", "SHA-256", machine_only=True),
    )
    rows = []
    for suite in (*plan.suites, plan.development_suite):
        file = f"suites/{suite.name}.json"
        counts = [artifacts.cell(file, key) for key in ("rows", "unique_pairs", "unique_sentences")]
        gold = [artifacts.cell(file, "score", key) for key in ("min", "mean", "max")]
        cells = (text(suite.label), text(suite.role), *counts, *gold, artifacts.cell(file, "sha256"))
        rows.append(Row(cells))
    return Frame("suites", "Sentence suites", columns, tuple(rows))


def chunks(plan: Plan, artifacts: Artifacts) -> Frame:
    """What each chunk holds: rows, token counts with both special tokens, and the digest of its captions."""
    columns = (
        Column("chunk", "Chunk"),
        Column("rows", "Rows"),
        Column("tokens_total", "Tokens"),
        Column("tokens_mean", "Mean", 1),
        Column("tokens_median", "Median", 1),
        Column("tokens_p95", "95%", 1),
        Column("tokens_max", "Longest"),
        Column("over_128", ">128 tokens"),
        Column("captions_sha256", "Captions SHA-256", machine_only=True),
        Column("manifest_sha256", "Manifest SHA-256", machine_only=True),
    )
    rows = []
    for chunk in plan.chunks:
        file = manifest_file(chunk)
        keys = ("total", "mean", "median", "p95", "max", "over_128")
        cells = [artifacts.cell(file, "rows"), *(artifacts.cell(file, "tokens", key) for key in keys)]
        digest = artifacts.cell(file, "files", "captions.parquet", "sha256")
        rows.append(Row((text(chunk), *cells, digest, text(artifacts.digest(file)))))
    return Frame("chunks", "Caption chunks", columns, tuple(rows), (note("chunks"),))


def pair_means(plan: Plan, artifacts: Artifacts) -> Frame:
    """Mean over seeds of the suite mean, for each recipe and option of the larger stage."""
    columns = (
        *_KEY_COLUMNS[:2],
        Column("model", "Recipe / option"),
        Column("mean", "Mean over seeds", 5),
        Column("seeds", "Seeds"),
        Column("lowest", "Lowest seed", 5),
        Column("highest", "Highest seed", 5),
        Column("spread", "Spread", 5),
    )
    rows = []
    for group in grouped(plan.stage(LARGER)):
        means = tuple(suite_mean(plan, artifacts, suites_file(run)) for run in group)
        numbers = [cell.number for cell in means if cell.number is not None]
        average = mean(means)
        counted = f"{len(numbers)} of {len(group)}" if len(numbers) < len(group) else len(group)
        spread, extremes = Cell(None), [Cell(None), Cell(None)]
        if numbers:
            extremes = [derived(bound(numbers), means) for bound in (min, max)]
            spread = seed_spread(means)
        first = group[0]
        labels = (text(first.recipe), text(first.option), text(plan.full_label(first)))
        rows.append(Row((*labels, replace(average, note=""), text(counted), *extremes, spread)))
    return Frame("pair-means", "Pair test means", columns, tuple(rows))


def development(plan: Plan, artifacts: Artifacts) -> Frame:
    """Development numbers of every larger run: these alone decide the selection."""
    columns = (
        *_KEY_COLUMNS,
        Column("harmonics", "K"),
        Column("additions", "Additions"),
        Column("spearman", f"Dev {plan.development_suite.label}", 5),
        Column("pairs", "Pairs"),
        Column("teacher_cosine", "Dev teacher cosine", 5),
        Column("participation_rank", "Dev participation rank", 2),
        Column("rows", "Rows"),
        Column("best_step", "Best step"),
    )
    chosen = selected_place(artifacts)
    rows = []
    for run in plan.stage(LARGER):
        file = development_file(run)
        marked = run.place == chosen
        keys = ("additions", "spearman", "pairs", "teacher_cosine", "participation_rank", "rows", "best_step")
        cells = (harmonics_cell(artifacts, run), *(artifacts.cell(file, key) for key in keys))
        rows.append(Row((*_keys(plan, run, marked), *cells), marked))
    return Frame("development", "Development", columns, tuple(rows), (note("development"),))


def geometry(plan: Plan, artifacts: Artifacts) -> Frame:
    """Caption geometry of every larger run on each sample it was asked for."""
    columns = (
        *_KEY_COLUMNS,
        Column("sample", "Caption sample"),
        Column("rows", "n"),
        Column("asked", "Asked", machine_only=True),
        Column("teacher_cosine", "Teacher cosine", 6),
        Column("participation_rank", "Participation rank", 3),
        Column("self_cosine", "Self cosine", 6),
    )
    chosen = selected_place(artifacts)
    rows = []
    for run in plan.stage(LARGER):
        file = geometry_file(run)
        marked = run.place == chosen
        for sample in _samples(artifacts, file):
            cells = (text(SAMPLES.get(sample, sample)), *_geometry_cells(artifacts, file, sample))
            rows.append(Row((*_keys(plan, run, marked), *cells), marked))
    return Frame("geometry", "Caption geometry", columns, tuple(rows), (note("geometry"),))


def grouped(runs: tuple[PlannedRun, ...]) -> list[tuple[PlannedRun, ...]]:
    """Runs of one recipe and option together (repeats left out), in campaign order."""
    groups: dict[tuple[str, str], list[PlannedRun]] = {}
    for run in runs:
        if not run.repeat:
            groups.setdefault((run.recipe, run.option), []).append(run)
    return [tuple(group) for group in groups.values()]


def seed_spread(cells: tuple[Cell, ...]) -> Cell:
    """Highest minus lowest of the cells with a number; a dash where there is only one."""
    numbers = [cell.number for cell in cells if cell.number is not None]
    if len(numbers) < 2:
        return text(NOT_APPLICABLE) if numbers else Cell(None)
    return derived(max(numbers) - min(numbers), cells)


def pairs_cell(plan: Plan, artifacts: Artifacts, file: str) -> Cell:
    """Sentence pairs over the suites that were evaluated, noting when some were not."""
    counts = [artifacts.cell(file, "suites", suite.name, "pairs") for suite in plan.suites]
    numbers = [int(cell.number) for cell in counts if cell.number is not None]
    if not numbers:
        return Cell(None)
    note = "" if len(numbers) == len(counts) else f"{len(numbers)} of {len(counts)} suites"
    return Cell(sum(numbers), Source(file, "/suites"), note)


def ceiling_cell(artifacts: Artifacts, file: str) -> Cell:
    """The token ceiling of an evaluation; "own" where a teacher used its own."""
    document = artifacts.document(file)
    if document is not None and document.get("ceiling") is None:
        return text("own")
    return artifacts.cell(file, "ceiling")


def _keys(plan: Plan, run: PlannedRun, marked: bool) -> tuple[Cell, ...]:
    label = plan.full_label(run) + (" (default)" if marked else "")
    return (text(run.recipe), text(run.option), text(marked), text(label), text(run.seed_label))


def _benchmark_row(plan: Plan, artifacts: Artifacts, run: PlannedRun, marked: bool) -> Row:
    file = suites_file(run)
    head = (
        ceiling_cell(artifacts, file),
        harmonics_cell(artifacts, run),
        pairs_cell(plan, artifacts, file),
    )
    scores = suite_cells(plan, artifacts, file)
    cells = (*_keys(plan, run, marked), *head, *scores, suite_mean(plan, artifacts, file))
    return Row(cells, marked)


def _reference_row(plan: Plan, artifacts: Artifacts, name: str, label: str) -> Row:
    file = reference_file(name)
    keys = (text("reference"), text(name), text(False), text(f"Reference / {label}"), text(NOT_APPLICABLE))
    head = (ceiling_cell(artifacts, file), text(NOT_APPLICABLE), pairs_cell(plan, artifacts, file))
    return Row((*keys, *head, *suite_cells(plan, artifacts, file), suite_mean(plan, artifacts, file)))


def _samples(artifacts: Artifacts, file: str) -> list[str]:
    document = artifacts.document(file)
    present = list(document["samples"]) if document else []
    return [*SAMPLES, *(name for name in sorted(present) if name not in SAMPLES)]


def _geometry_cells(artifacts: Artifacts, file: str, sample: str) -> tuple[Cell, ...]:
    rows, asked = (artifacts.cell(file, "samples", sample, key) for key in ("rows", "asked"))
    if rows.number is not None and asked.number is not None and rows.number < asked.number:
        rows = Cell(rows.value, rows.source, f"of {asked.value} asked")
    keys = ("teacher_cosine", "participation_rank", "self_cosine")
    return (rows, asked, *(artifacts.cell(file, "samples", sample, key) for key in keys))
