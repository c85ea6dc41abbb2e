"""What sort of artifact a path below the results root is."""

from pathlib import PurePosixPath

_BY_NAME = {
    "run.json": "run",
    "development.json": "development",
    "final.safetensors": "weights",
    "best.safetensors": "best",
    "midpoint.safetensors": "midpoint",
    "training-state.safetensors": "state",
    "rng.json": "rng",
    "history.jsonl": "history",
    "tokens.npy": "tokens",
    "offsets.npy": "tokens",
    "targets.npy": "targets",
    "captions.parquet": "captions",
    "captions.json": "captions",
    "manifest.json": "manifest",
    "lookup-queries.jsonl": "queries",
}
_BY_FOLDER = {
    "chunks": "manifest",
    "teachers": "teacher",
    "suites": "suite",
    "tokenizer": "tokenizer",
    "runs": "run",
    "state": "state",
    "evaluation": "evaluation",
    "release": "release",
    "selection": "selection",
    "statistics": "statistics",
    "export": "export",
    "serving": "serving",
    "tables": "table",
    "figures": "figure",
    "hygiene": "hygiene",
    "logs": "log",
    "benchmarks": "log",
    "provenance": "provenance",
}


_STEP_BY_FOLDER = {
    "runs": "train_run",
    "evaluation": "evaluate_run",
    "release": "evaluate_release",
    "selection": "select_run",
}


def recording_step(path: str) -> str | None:
    """The step whose code fingerprint an artifact's JSON records; None for documents that record none."""
    if path.startswith("evaluation/reference/"):
        return "evaluate_reference"
    return _STEP_BY_FOLDER.get(path.split("/")[0])


def kind(path: str) -> str:
    """The kind of an artifact by its path below the root; "other" where no rule of the layout covers it."""
    parts = PurePosixPath(path).parts
    if parts[0] in ("runs", "chunks", "evaluation"):
        if "events" in parts[:-1]:
            return "events"
        if parts[-1] in _BY_NAME:
            return _BY_NAME[parts[-1]]
    return _BY_FOLDER.get(parts[0], "other")
