"""The list from which the census starts is what the rules make, neither more nor less."""

import re
from dataclasses import replace

import pytest
import yaml

from captionlab.config import load_campaign
from captionlab.expected import expected_artifacts


@pytest.mark.parametrize("name", ["tiny", "published"])
def test_expected_artifacts_are_the_rules_outputs(fresh, name):
    fresh = replace(fresh, campaign=f"workflow/campaigns/{name}.yaml", root=f"results/{name}")
    config = yaml.safe_load((fresh.folder / fresh.campaign).read_text())
    # A published model is read on demand only, so the census does not ask for it.
    targets = ["provenance/census.json", *(["tables/release.md"] if "release" in config else [])]
    text = fresh.engine("-n", "--forceall", *(f"{fresh.root}/{target}" for target in targets))
    made: dict[str, str] = {}
    for rule, outputs in re.findall(r"rule (\w+):\n(?:\s+input: .*\n)?\s+output: (.*)\n", text):
        made |= {path.strip().removeprefix(f"{fresh.root}/"): rule for path in outputs.split(",")}
    # Fetched vectors are temporary: the engine removes them once the targets are written.
    pinned = {
        path: rule
        for path, rule in made.items()
        if not path.startswith("provenance/") and not path.endswith("/published.safetensors")
    }

    rows = expected_artifacts(load_campaign(config))
    assert {path: row["rule"] for row in rows for path in row["paths"]} == pinned
    for row in rows:
        assert set(row["parents"]) <= set(pinned), row["rule"]
        assert row.get("optional", False) == (row["rule"] in ("evaluate_release", "render_release"))


@pytest.mark.parametrize("readings", [["suites"], ["serving", "geometry"]])
def test_a_release_is_expected_as_far_as_it_is_read(repository, readings):
    config = yaml.safe_load((repository / "workflow/campaigns/published.yaml").read_text())
    config["release"]["readings"] = readings
    rows = {row["rule"]: row for row in expected_artifacts(load_campaign(config)) if row.get("optional")}
    made, table = rows["evaluate_release"], rows["render_release"]
    names = {"suites": ["suites.json", "cosines.safetensors"], "serving": ["geometry.json", "serving.json"]}
    assert made["paths"] == [f"release/{name}" for name in names[readings[0]]]
    assert table["parents"] == [path for path in made["paths"] if path.endswith(".json")]
    folders = {path.split("/")[0] for path in made["parents"]}
    assert folders == ({"suites"} if readings == ["suites"] else {"chunks", "tokenizer"})
    del config["release"]
    rules = {row["rule"] for row in expected_artifacts(load_campaign(config))}
    assert not {"evaluate_release", "render_release"} & rules
