"""A finished campaign's results, made up from the card, for tests of tables."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def _module() -> ModuleType:
    place = Path(__file__).with_name("results_tree.py")
    specification = importlib.util.spec_from_file_location("results_tree", place)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def tree() -> ModuleType:
    """The generator of results: `spec`, `write_tree`, `place`, `card`."""
    return _module()


@pytest.fixture(scope="session")
def plan_spec(tree: ModuleType) -> dict[str, Any]:
    """The spec of a campaign of the published size."""
    return tree.spec()


@pytest.fixture(scope="session")
def results(tree: ModuleType, plan_spec: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of that campaign; tests that take files away copy it first."""
    root = tmp_path_factory.mktemp("results")
    tree.write_tree(root, json.loads(json.dumps(plan_spec)))
    return root
