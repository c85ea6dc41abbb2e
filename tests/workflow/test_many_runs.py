"""A campaign of thousands of runs is planned in seconds."""

import resource

import pytest
import yaml


@pytest.mark.slow
def test_a_campaign_of_2000_runs_is_planned_in_under_30_s(fresh):
    config = yaml.safe_load((fresh.folder / fresh.campaign).read_text())
    config["screen"] |= {"seeds": list(range(1, 751)), "repeats": {}}
    assert len(config["screen"]["options"]) == 2
    recipe, option = config["larger"][0]["recipe"], config["larger"][0]["options"][0]
    config["larger"] = [{"recipe": recipe, "options": [option], "seeds": list(range(1, 501))}]
    (fresh.folder / "many.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    made = type(fresh)(fresh.folder, "many.yaml", fresh.root)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    planned = made.planned()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert planned["train_run"] == planned["evaluate_run"] == 2000
    # Processor time, which other work on the machine does not change.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 30
