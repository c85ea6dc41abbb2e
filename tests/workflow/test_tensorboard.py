"""TensorBoard given the folder of runs: every run is there, with its curves and hyperparameters."""

import json

import pytest
from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from captionlab.files import read_json

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def logdir(finished):
    """All event files below one folder, as `tensorboard --logdir` reads them."""
    runs = EventMultiplexer().AddRunsFromDirectory(str(finished.path("runs")))
    runs.Reload()
    return runs


def started(runs, name):
    """The hyperparameters by which TensorBoard groups and compares runs."""
    (content,) = runs.GetAccumulator(name).PluginTagToContent("hparams").values()
    start = HParamsPluginData.FromString(content).session_start_info
    return {key: getattr(value, value.WhichOneof("kind")) for key, value in start.hparams.items()}


def test_all_runs_of_the_campaign_are_in_one_logdir(logdir):
    assert set(logdir.Runs()) == {
        "exposure/hierarchical/seed-1/events",
        "larger/hierarchical/seed-1/events",
        "larger/hierarchical/seed-2/events",
        "larger/relative/seed-1/events",
        "larger/relative/seed-2/events",
        "screen/binding-whole/seed-1/events",
        "screen/relative/seed-1.repeat-1/events",
        "screen/relative/seed-1/events",
    }


def test_each_run_carries_the_hyperparameters_it_was_made_with(logdir, finished):
    for name in logdir.Runs():
        spec = read_json(finished.path("runs") / name.removesuffix("events") / "run.json")["spec"]
        plain = {
            f"{part}.{key}": value
            for part, values in spec.items()
            for key, value in (values.items() if isinstance(values, dict) else ())
            if isinstance(value, bool | int | float | str)
        }
        found = started(logdir, name)
        assert found == plain, name
        recipe, option, seed, _ = name.split("/")
        assert (found["run.recipe"], found["run.option"]) == (recipe, option)
        assert seed.startswith(f"seed-{found['run.seed']:g}")
        assert {"training.learning_rate", "option.position", "option.heads", "model.width"} <= set(found)


def test_curves_are_the_history_without_gap_or_overlap(logdir, finished):
    for name in logdir.Runs():
        history = finished.path("runs") / name.removesuffix("events") / "history.jsonl"
        entries = [json.loads(line) for line in history.read_text().splitlines()]
        losses = [(row["step"], row["loss"]) for row in entries if "loss" in row]
        readings = [row for row in entries if "development" in row]
        drawn = logdir.Scalars(name, "training/loss")
        assert [event.step for event in drawn] == [step for step, _ in losses]
        assert [event.value for event in drawn] == pytest.approx([loss for _, loss in losses], rel=1e-6)
        spearman = logdir.Scalars(name, "development/spearman")
        assert [event.step for event in spearman] == [row["step"] for row in readings]
        assert readings
