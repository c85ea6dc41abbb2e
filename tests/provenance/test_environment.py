"""The environment as a value, and the kinds of artifacts."""

import importlib.metadata
import platform

import pytest

from captionlab.files import canonical_json, sha256_bytes
from captionlab.provenance.environment import NUMERIC_PACKAGES, environment, environment_digest
from captionlab.provenance.kinds import kind, recording_step


def test_environment_names_python_and_every_numeric_package() -> None:
    found = environment()
    assert set(found) == {"python", *NUMERIC_PACKAGES}
    assert found["python"] == platform.python_version()
    assert found["numpy"] == importlib.metadata.version("numpy")
    assert environment_digest() == sha256_bytes(canonical_json(found).encode())


@pytest.mark.parametrize(
    ("path", "name", "step"),
    [
        ("runs/screen/a/seed-1/final.safetensors", "weights", "train_run"),
        ("runs/screen/a/seed-1/events/events.out.tfevents.0", "events", "train_run"),
        ("runs/screen/a/seed-1/rng.json", "rng", "train_run"),
        ("state/screen/a/seed-1/training-state.safetensors", "state", None),
        ("chunks/train-0/tokens.npy", "tokens", None),
        ("chunks/train-0/manifest.json", "manifest", None),
        ("evaluation/screen/a/seed-1/lookup-queries.jsonl", "queries", "evaluate_run"),
        ("evaluation/reference/bag/suites.json", "evaluation", "evaluate_reference"),
        ("selection/screen.json", "selection", "select_run"),
        ("tables/final.md", "table", None),
        ("figures/a.svg", "figure", None),
        ("config.json", "other", None),
    ],
)
def test_every_artifact_has_a_kind_and_the_step_it_records(path: str, name: str, step: str | None) -> None:
    assert kind(path) == name
    assert recording_step(path) == step
