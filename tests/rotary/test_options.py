import subprocess
import sys

import pytest

from captionlab.errors import ConfigError
from captionlab.rotary.options import (
    Option,
    additions,
    check_option,
    harmonics,
    option_from_mapping,
    parameter_count,
)

LOOKUP = {"layer": 1, "heads": [0]}
MODEL = {"width": 256, "layers": 2}


def test_an_option_is_read_from_its_row():
    row = {
        "heads": 16,
        "position": "hierarchical",
        "value_path": True,
        "key_phase": "word",
        "record_norm": 2.18,
    }
    assert option_from_mapping("key-norm", row) == Option(16, "hierarchical", True, "word", 2.18, 0.0)
    assert option_from_mapping("plain", {"heads": 8}) == Option(8, "relative", False, "none", None, 0.0)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"heads": 16, "valuepath": True}, ["odd", "valuepath", "value_path"]),
        ({"position": "relative"}, ["odd", "heads"]),
        ({"heads": "16"}, ["odd", "heads", "'16'"]),
        ({"heads": True}, ["odd", "heads", "True"]),
        ({"heads": 0}, ["odd", "heads", "0"]),
        ({"heads": 16, "position": "absolute"}, ["odd", "position", "absolute", "hierarchical"]),
        ({"heads": 16, "value_path": "yes"}, ["odd", "value_path", "yes"]),
        ({"heads": 16, "key_phase": None}, ["odd", "key_phase", "None", "word"]),
        ({"heads": 16, "record_norm": 0}, ["odd", "record_norm", "0", "above 0"]),
        ({"heads": 16, "record_norm": "2.18"}, ["odd", "record_norm", "'2.18'"]),
        ({"heads": 16, "lookup_loss": -0.1}, ["odd", "lookup_loss", "-0.1"]),
        ({"heads": 16, "lookup_loss": float("nan")}, ["odd", "lookup_loss", "nan"]),
        (["heads"], ["odd", "mapping"]),
    ],
)
def test_a_wrong_row_is_refused_by_name(row, words):
    with pytest.raises(ConfigError) as error:
        option_from_mapping("odd", row)
    assert all(word in str(error.value) for word in words)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("option", "model", "lookup", "words"),
    [
        (Option(16, record_norm=2.18), MODEL, LOOKUP, ["record_norm", "key phase"]),
        (Option(16, lookup_loss=0.1), MODEL, {"layer": 1, "heads": []}, ["lookup_loss", "lookup head"]),
        (Option(16, key_phase="word"), MODEL, {}, ["key_phase", "lookup head"]),
        (Option(16, lookup_loss=0.1), MODEL, {"layer": 2, "heads": [0]}, ["layer 2", "0 to 1"]),
        (Option(16), MODEL, {"layer": 0, "heads": [0, 16]}, ["[16]", "0 to 15"]),
        (Option(16), MODEL, {"layer": 0, "heads": [3, 3]}, ["[3, 3]", "twice"]),
        (Option(12), MODEL, LOOKUP, ["heads 12", "256"]),
        (Option(128), MODEL, LOOKUP, ["head dim 2"]),
        (Option(16), {"width": 240, "layers": 2}, LOOKUP, ["head dim 15"]),
        (Option(64, "hierarchical"), MODEL, LOOKUP, ["2 rotary pairs", "three digits"]),
        (Option(32, "hierarchical"), {"width": 192, "layers": 2}, LOOKUP, ["3 rotary pairs"]),
    ],
)
def test_contradictions_are_refused_by_name(option, model, lookup, words):
    with pytest.raises(ConfigError) as error:
        check_option("odd", option, model, lookup)
    assert all(word in str(error.value) for word in ["option odd", *words])


def test_every_option_of_the_study_is_sound(options, published_size):
    for name, row in options.items():
        check_option(name, option_from_mapping(name, row), published_size, LOOKUP)


def test_an_option_that_uses_no_lookup_head_needs_none():
    check_option("plain", Option(16), MODEL, {"layer": None, "heads": []})
    check_option("plain", Option(16), MODEL)


def test_additions_count_the_switches(options):
    counted = {name: additions(option_from_mapping(name, row)) for name, row in options.items()}
    assert counted == {
        "relative-8": 0,
        "relative-16": 0,
        "hierarchical": 2,
        "hierarchical-no-value": 1,
        "key": 3,
        "key-norm": 4,
        "binding-piece": 5,
        "binding-whole": 5,
        "pointer-only": 1,
    }


@pytest.mark.parametrize(("width", "heads", "count"), [(512, 16, 4), (512, 8, 4), (256, 16, 2), (128, 16, 1)])
def test_harmonics_by_hand(width, heads, count):
    # Pairs 16, 32, 8, 4: (pairs - 1) // 3 = 5, 10, 2, 1, at most 4.
    assert harmonics(Option(heads, "hierarchical"), width) == count
    assert harmonics(Option(heads), width) is None


def test_published_parameter_counts(options, published_size):
    # 15,628,288 embedding + 12 x 3,152,384 layers + 657,664 head; value path 12 x (24 + 1) x 512 = 153,600.
    counts = {
        name: parameter_count(published_size, option_from_mapping(name, row)) for name, row in options.items()
    }
    plain, with_value_path = 54_114_560, 54_268_160
    assert counts == {
        "relative-8": plain,
        "relative-16": plain,
        "hierarchical": with_value_path,
        "hierarchical-no-value": plain,
        "key": with_value_path,
        "key-norm": with_value_path,
        "binding-piece": with_value_path,
        "binding-whole": with_value_path,
        "pointer-only": plain,
    }
    assert parameter_count(published_size | {"norm": "pre"}, Option(16)) == plain + 1024


def test_options_need_no_torch(repository):
    code = "import captionlab.rotary.options, sys; sys.exit('torch' in sys.modules)"
    environment = {"PYTHONPATH": str(repository / "workflow")}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == 0
