"""What moves a step's fingerprint, and what does not."""

import ast
import os
from pathlib import Path

import pytest

from captionlab import files
from captionlab.errors import CaptionlabError, DamagedFileError
from captionlab.provenance import fingerprint as fp
from captionlab.provenance.accepted import record_accepted
from captionlab.provenance.syntax import Syntax, read_syntax

LOSSES = '''"""Losses."""

import math
from toy.training import numbers


def loss(value: float) -> float:
    """A loss."""
    # why
    return math.fabs(value) * numbers.SCALE
'''


@pytest.fixture
def package(tmp_path: Path) -> Path:
    root = tmp_path / "workflow" / "toy"
    sources = {
        "__init__.py": "",
        "steps/__init__.py": "",
        "steps/train.py": "from toy.training import losses\n\n"
        "def run():\n    from ..training.loop import go\n    go()\n",
        "steps/render.py": "import toy.tables.frames\n",
        "steps/export.py": "SOURCE = 'rotary/model.py'\n",
        "training/__init__.py": "",
        "training/losses.py": LOSSES,
        "training/numbers.py": "SCALE = 1.0\n",
        "training/loop.py": "from . import order as o\n\ndef go():\n    return o.first\n",
        "training/order.py": "first = 0\n",
        "tables/__init__.py": "",
        "tables/frames.py": "COLUMNS = ('a', 'b')\n",
        "tables/published/card.csv": "suite,score\nx,1\n",
        "rotary/__init__.py": "",
        "rotary/model.py": "WIDTH = 4\n",
    }
    for name, text in sources.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def edit(package: Path, name: str, old: str, new: str) -> None:
    path = package / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_closure_follows_every_kind_of_import(package: Path) -> None:
    assert fp.closure("toy.steps.train", package) == (
        "toy",
        "toy.steps",
        "toy.steps.train",
        "toy.training",
        "toy.training.loop",
        "toy.training.losses",
        "toy.training.numbers",
        "toy.training.order",
    )
    assert fp.closure("toy.steps.render", package) == (
        "toy",
        "toy.steps",
        "toy.steps.render",
        "toy.tables",
        "toy.tables.frames",
    )
    assert "toy.rotary.model" in fp.closure("toy.steps.export", package)


def test_star_import_reaches_all_modules_of_the_package(package: Path) -> None:
    (package / "steps/all.py").write_text("from toy.training import *\n")
    assert {"toy.training.loop", "toy.training.order"} <= set(fp.closure("toy.steps.all", package))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    # why\n", "    # another reason\n\n"),
        ('    """A loss."""\n', ""),
        ('"""Losses."""\n', '"""Losses, told at length."""\n'),
        (
            "import math\nfrom toy.training import numbers\n",
            "from toy.training import numbers\nimport math\n",
        ),
        ("math.fabs(value) * numbers.SCALE", "(\n        math.fabs( value )\n        * numbers.SCALE\n    )"),
    ],
    ids=["comment", "docstring", "module docstring", "import order", "formatting"],
)
def test_layout_leaves_the_fingerprint(package: Path, old: str, new: str) -> None:
    before = fp.fingerprint("train", package)
    edit(package, "training/losses.py", old, new)
    assert fp.fingerprint("train", package) == before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("training/losses.py", "math.fabs", "math.sin"),
        ("training/numbers.py", "1.0", "1"),
        ("training/numbers.py", "1.0", "True"),
        ("training/order.py", "first = 0", "first = None"),
        ("training/loop.py", "return", "yield"),
        ("training/loop.py", "import order as o", "import numbers as o"),
    ],
)
def test_meaning_moves_the_fingerprint_of_the_steps_that_reach_it(
    package: Path, name: str, old: str, new: str
) -> None:
    before = fp.fingerprints(["train", "render"], package)
    edit(package, name, old, new)
    after = fp.fingerprints(["train", "render"], package)
    assert after["train"] != before["train"]
    assert after["render"] == before["render"]


def test_data_files_beside_a_module_count_and_only_there(package: Path) -> None:
    before = fp.fingerprints(["train", "render"], package)
    edit(package, "tables/published/card.csv", "x,1", "x,2")
    after = fp.fingerprints(["train", "render"], package)
    assert after["train"] == before["train"]
    assert after["render"] != before["render"]
    (package / "tables/__pycache__").mkdir()
    (package / "tables/__pycache__/frames.pyc").write_bytes(b"0")
    (package / "tables/.frames.py.swp").write_bytes(b"0")
    assert fp.fingerprints(["train", "render"], package) == after


def test_explains_which_module_changed(package: Path) -> None:
    before = fp.module_digests("train", package)
    edit(package, "training/losses.py", "math.fabs", "math.sin")
    edit(package, "training/loop.py", "from . import order as o", "from . import numbers as o")
    (package / "training/loop.py").write_text("import toy.tables\n\ndef go():\n    return 0\n")
    assert fp.explain_change(before, fp.module_digests("train", package)) == [
        "toy.tables is newly reached",
        "toy.training.loop changed",
        "toy.training.losses changed",
        "toy.training.order is no longer reached",
        "toy/tables/published/card.csv is newly reached",
    ]


def test_cache_agrees_survives_damage_and_is_keyed_by_content(package: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache.json"
    cold = fp.fingerprints(["train", "render"], package, cache)
    assert fp.fingerprints(["train", "render"], package, cache) == cold
    path = package / "training/losses.py"
    stamp = path.stat()
    edit(package, "training/losses.py", "math.fabs", "math.sqrt")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    changed = fp.fingerprints(["train"], package, cache)["train"]
    assert changed == fp.fingerprint("train", package) != cold["train"]
    assert fp.recorded_digests(cold["train"], cache) is not None
    whole = cache.read_bytes()
    for damaged in (b"", b"{}", whole[:-9], whole.replace(b'"files"', b'"filez"'), b"\xff" + whole):
        cache.write_bytes(damaged)
        assert fp.fingerprints(["train"], package, cache)["train"] == changed


def test_accepted_changes_give_the_fingerprint_they_were_accepted_from(package: Path) -> None:
    accepted = fp.accepted_file(package)
    stages = [fp.fingerprint("train", package)]
    for scale in ("2.0", "3.0"):
        (package / "training/numbers.py").write_text(f"SCALE = {scale}\n")
        now = fp.current_fingerprints(["train"], package)["train"]
        record_accepted(
            accepted,
            {
                "step": "train",
                "from": stages[-1],
                "to": now,
                "reason": "same numbers",
                "who": "a",
                "date": "2026-01-01",
            },
        )
        stages.append(now)
        assert fp.fingerprint("train", package) == stages[0] != now
    (package / "training/numbers.py").write_text("SCALE = 4.0\n")
    assert fp.fingerprint("train", package) not in stages


@pytest.mark.parametrize("text", ["[]", '{"accepted": [1]}', '{"accepted": [{"step": "train"}]}', "{"])
def test_damaged_acceptances_are_refused(package: Path, text: str) -> None:
    path = fp.accepted_file(package)
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(DamagedFileError, match=r"accepted\.json"):
        fp.fingerprint("train", package)


def test_bad_source_and_bad_root_are_named(package: Path, tmp_path: Path) -> None:
    with pytest.raises(CaptionlabError, match="not a package"):
        fp.fingerprint("train", tmp_path)
    with pytest.raises(CaptionlabError, match=r"toy\.steps\.absent"):
        fp.fingerprint("absent", package)
    (package / "training/losses.py").write_text("def (:\n")
    with pytest.raises(DamagedFileError, match=r"losses\.py is not Python"):
        fp.fingerprint("train", package)


def test_a_module_is_read_once_for_all_steps_and_never_again(tmp_path: Path, monkeypatch) -> None:
    """What keeps a call that has nothing to do short; the benchmark stage has its time."""
    read = []

    def count(source: bytes, path: Path) -> Syntax:
        read.append(path)
        return read_syntax(source, path)

    monkeypatch.setattr(fp, "read_syntax", count)
    cache = tmp_path / "cache.json"
    cold = fp.fingerprints(fp.all_steps(), cache=cache)
    assert len(read) == len(set(read)) > 100
    read.clear()
    assert fp.fingerprints(fp.all_steps(), cache=cache) == cold
    assert read == []


def test_only_the_command_imports_by_name() -> None:
    """A dynamic import would escape the closure; `__main__` needs one and is in no step's closure."""
    users = set()
    for path in fp.PACKAGE_ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
            if name in {"import_module", "__import__", "spec_from_file_location", "run_path", "run_module"}:
                users.add(path.relative_to(fp.PACKAGE_ROOT).as_posix())
    assert users <= {"__main__.py"}
    assert Path(files.__file__).parent == fp.PACKAGE_ROOT


@pytest.mark.parametrize("step", ["train_run", "evaluate_run", "resample_suites", "render_final"])
def test_where_a_suite_came_from_is_no_code_of_the_steps_that_read_it(step):
    reached = fp.closure(f"captionlab.steps.{step}")
    assert not [name for name in reached if ".scenes" in name or name == "captionlab.sources.suites"]
