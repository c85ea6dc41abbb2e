"""Which packages a step's start loads: facts about imports, whatever they take."""

import pytest

from captionlab.__main__ import step_names
from captionlab.errors import CaptionlabError
from captionlab.speed import startup
from captionlab.speed.startup import (
    APART,
    WITH_TORCH,
    WITH_TRANSFORMERS,
    loaded_packages,
    python,
    reachable_packages,
    start,
)

LIGHT = sorted(set(step_names()) - {*WITH_TORCH, *WITH_TRANSFORMERS, *APART})
_LOADED_AFTER = """
import importlib, sys
for step in sys.argv[1].split(","):
    importlib.import_module("captionlab.steps." + step)
print(",".join(name for name in ("torch", "transformers", "sklearn", "torch._dynamo") if name in sys.modules))
"""


def _loaded(steps):
    return python("-c", _LOADED_AFTER, ",".join(steps)).strip()


def test_steps_without_weights_load_no_torch():
    assert _loaded(LIGHT) == ""


def test_steps_with_weights_load_torch_and_neither_its_compiler_nor_transformers():
    assert _loaded(WITH_TORCH) == "torch"


def test_every_list_names_steps_that_there_are():
    assert {*WITH_TORCH, *WITH_TRANSFORMERS, *APART} <= set(step_names())


def test_torch_inside_a_function_is_seen():
    assert "torch" in reachable_packages("build_targets")
    assert "torch" not in loaded_packages("build_targets")


@pytest.mark.parametrize("step", sorted({*LIGHT} - {"build_targets"}))
def test_no_function_of_a_light_step_imports_torch_either(step):
    assert "torch" not in reachable_packages(step)


def test_help_comes_after_the_imports_of_a_step():
    code = (
        "import sys; from captionlab.__main__ import main\n"
        "try: main(['audit_campaign', '--help'])\n"
        "except SystemExit: print('jsonschema' in sys.modules)"
    )
    assert python("-c", code).splitlines()[-1] == "True"
    assert start("audit_campaign").startswith("usage: python -m captionlab audit_campaign")


def test_a_python_that_fails_says_why_in_one_line():
    with pytest.raises(CaptionlabError, match="ValueError: no"):
        python("-c", "raise ValueError('no')")


@pytest.mark.slow
def test_the_part_compares_steps_with_bare_imports(monkeypatch):
    steps = ["train_run", "export_run", "render_final"]
    monkeypatch.setattr(startup, "step_names", lambda: steps)
    monkeypatch.setattr(startup, "WITH_TORCH", ("train_run",))
    monkeypatch.setattr(startup, "WITH_TRANSFORMERS", ("export_run",))
    part = startup.measure({"speed": {"warmup": 0, "repeats": 1}}, None, 1)
    assert [row.peer_name for row in part.rows[:4]] == [startup._TORCH] * 2 + [startup._TRANSFORMERS] * 2
    assert part.rows[-1].ours.median == 0
    table = part.texts["Start-up of every step"].splitlines()
    assert sorted(line.split("|")[1].strip() for line in table[2:5]) == sorted(steps)
