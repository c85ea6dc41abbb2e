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
    text = fresh.engine("-n", "--forceall", f"{fresh.root}/provenance/census.json")
    made: dict[str, str] = {}
    for rule, outputs in re.findall(r"rule (\w+):\n(?:\s+input: .*\n)?\s+output: (.*)\n", text):
        made |= {path.strip().removeprefix(f"{fresh.root}/"): rule for path in outputs.split(",")}
    # Fetched vectors are temporary: the engine removes them once the targets are written.
    pinned = {
        path: rule
        for path, rule in made.items()
        if not path.startswith("provenance/") and not path.endswith("/published.safetensors")
    }

    campaign = load_campaign(yaml.safe_load((fresh.folder / fresh.campaign).read_text()))
    rows = expected_artifacts(campaign)
    assert {path: row["rule"] for row in rows for path in row["paths"]} == pinned
    for row in rows:
        assert set(row["parents"]) <= set(pinned), row["rule"]
