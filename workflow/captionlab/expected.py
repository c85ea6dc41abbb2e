"""Every artifact that a campaign's rules make, with its rule and its parents: the census starts from this list.

Paths are below the results root. A test holds the list against the rules' own outputs.
"""

from collections.abc import Sequence
from typing import Any

from captionlab.campaign import Campaign, Paths, Run
from captionlab.release_specs import RELEASE_FILES, RELEASE_TABLES, release_readings
from captionlab.tables.figure_names import FIGURES, FORMS

Row = dict[str, Any]
RUN_FILES = ("run.json", "development.json", "final.safetensors", "best.safetensors", "midpoint.safetensors")
EVALUATION_FILES = (
    "suites.json",
    "cosines.safetensors",
    "geometry.json",
    "lookup.json",
    "lookup-queries.jsonl",
)
CHUNK_FILES = ("captions.parquet", "tokens.npy", "offsets.npy", "captions.json")
TOKENIZER_FILES = ("vocab.txt", "tokenizer.json", "manifest.json")
_HERE = Paths(".")


def expected_artifacts(campaign: Campaign) -> list[Row]:
    """Rows {"paths", "rule", "parents", "identity_from"?, "optional"?} of everything that the census pins.

    Files of an optional row are made on demand only; the census pins those that are there.
    """
    rows = [_row([_HERE.under("config.json")], "keep_config", [])]
    rows += _data(campaign)
    for run in campaign.runs:
        rows += _run(campaign, run)
    rows += _references(campaign)
    for stage in ("screen", "larger"):
        numbers = [_HERE.run("development.json", run) for run in campaign.stage_runs(stage)]
        rows.append(_row([_HERE.under(f"selection/{stage}.json")], "select_run", numbers))
    compared = [_HERE.evaluation("suites.json", run) for run in campaign.stage_runs("larger")]
    compared += [_HERE.reference("suites.json", row.name) for row in campaign.references]
    rows.append(_row([_HERE.under("statistics/suites.json")], "resample_suites", compared))
    rows.append(_row([_HERE.under("mteb/index.json")], "write_mteb", compared))
    return rows + _rendered(campaign, rows) + _release(campaign)


def _rendered(campaign: Campaign, made: Sequence[Row]) -> list[Row]:
    captions = [_HERE.chunk("captions.json", chunk) for chunk in campaign.chunks]
    captions += [_HERE.suite("json", suite) for suite in (campaign.development_suite, *campaign.test_suites)]
    counted = [_HERE.under("hygiene/duplicates.json"), _HERE.under("tables/duplicates.md")]
    read = [path for row in made for path in row["paths"] if path.endswith((".json", ".jsonl"))]
    drawn = [f"figures/{name}.{form}" for name in FIGURES for form in FORMS]
    rows = [
        _row(counted, "count_duplicates", captions),
        _row([_HERE.under(name) for name in drawn], "draw_figure", read),
    ]
    tables = {
        "render_final": ("final.md", "benchmarks.csv"),
        "render_screen": ("screen.md",),
        "render_runs": ("runs.md",),
        "render_claims": ("claims.md",),
        "render_html": ("final.html",),
    }
    for rule, names in tables.items():
        rows.append(_row([_HERE.under(f"tables/{name}") for name in names], rule, read))
    return rows


def _data(campaign: Campaign) -> list[Row]:
    tokenizer = [_HERE.tokenizer(name) for name in TOKENIZER_FILES]
    rows = [_row(tokenizer, "prepare_tokenizer", [])]
    for suite in (campaign.development_suite, *campaign.test_suites):
        rows.append(_row([_HERE.suite("tsv", suite), _HERE.suite("json", suite)], "prepare_suite", []))
    fit = campaign.config["targets"].get("fit", {}).get("chunks", [])
    if campaign.teachers:
        read = [_HERE.teacher("json", name, chunk) for name in campaign.teachers for chunk in fit]
        alignment = [_HERE.under(f"teachers/alignment.{suffix}") for suffix in ("safetensors", "json")]
        rows.append(_row(alignment, "fit_alignment", read))
    for chunk in campaign.chunks:
        rows += _chunk(campaign, chunk)
    return rows


def _chunk(campaign: Campaign, chunk: str) -> list[Row]:
    facts = _HERE.chunk("captions.json", chunk)
    files = [_HERE.chunk(name, chunk) for name in CHUNK_FILES]
    rows = [_row(files, "tokenize_chunk", [_HERE.tokenizer("manifest.json")])]
    vectors = []
    for name in campaign.teachers:
        made = [_HERE.teacher(suffix, name, chunk) for suffix in ("npy", "json")]
        rows.append(_row(made, "encode_teacher", [facts, _HERE.chunk("captions.parquet", chunk)]))
        vectors.append(_HERE.teacher("json", name, chunk))
    if vectors:
        vectors.append(_HERE.under("teachers/alignment.json"))
    if campaign.config["targets"]["kind"] == "published":
        vectors.append(_HERE.chunk("published.json", chunk))
        rows.append(_row(vectors[-1:], "fetch_targets", []))
    made = [_HERE.chunk(name, chunk) for name in ("targets.npy", "manifest.json")]
    rows.append(_row(made, "build_targets", [facts, *vectors]))
    return rows


def _run(campaign: Campaign, run: Run) -> list[Row]:
    chunks = campaign.recipe(run.recipe)["chunks"]
    development = campaign.config["evaluation"]["development"]["chunk"]
    test = campaign.config["evaluation"]["test"]["chunk"]
    manifests = [_HERE.chunk("manifest.json", chunk) for chunk in (*chunks, development)]
    suite = _HERE.suite("json", campaign.development_suite)
    identity = _HERE.run("run.json", run)
    trained = [_HERE.run(name, run) for name in (*RUN_FILES, "history.jsonl")]
    read = [_HERE.evaluation(name, run) for name in EVALUATION_FILES]
    suites = [_HERE.suite("json", suite) for suite in campaign.evaluated_suites(run.stage)]
    held = [_HERE.chunk("manifest.json", chunk) for chunk in (development, test)]
    parents = [identity, _HERE.run("final.safetensors", run), *suites, *held]
    return [
        _row(trained, "train_run", [_HERE.tokenizer("manifest.json"), suite, *manifests], identity),
        _row(read, "evaluate_run", parents, identity),
    ]


def _references(campaign: Campaign) -> list[Row]:
    suites = [_HERE.suite("json", suite) for suite in campaign.test_suites]
    parents = [_HERE.tokenizer("manifest.json"), *suites]
    files = ("suites.json", "cosines.safetensors")
    return [
        _row([_HERE.reference(name, row.name) for name in files], "evaluate_reference", parents)
        for row in campaign.references
    ]


def _release(campaign: Campaign) -> list[Row]:
    """The published model: optional, because an audit of one's own runs must not run the code that it may bring."""
    needed = {
        "suites": [
            _HERE.suite("json", suite) for suite in (campaign.development_suite, *campaign.test_suites)
        ],
        "geometry": [
            _HERE.chunk("manifest.json", campaign.config["evaluation"][part]["chunk"])
            for part in ("development", "test")
        ],
        "serving": [_HERE.tokenizer("manifest.json")],
    }
    readings = release_readings(campaign)
    if not readings:
        return []
    parents = [path for name in readings for path in needed[name]]
    read = [_HERE.under(file) for name in readings for file in RELEASE_FILES[name]]
    documents = [path for path in read if path.endswith(".json")]
    tables = [_HERE.under(file) for file in RELEASE_TABLES]
    rows = [_row(read, "evaluate_release", parents), _row(tables, "render_release", documents)]
    return [{**row, "optional": True} for row in rows]


def _row(paths: Sequence[str], rule: str, parents: Sequence[str], identity_from: str | None = None) -> Row:
    row: Row = {
        "paths": [_below(path) for path in paths],
        "rule": rule,
        "parents": [_below(path) for path in parents],
    }
    if identity_from is not None:
        row["identity_from"] = _below(identity_from)
    return row


def _below(path: str) -> str:
    return path.removeprefix("./")
