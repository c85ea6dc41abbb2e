"""What each step's command takes before it does anything, against a bare import of torch."""

import ast
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any

import captionlab
from captionlab.__main__ import step_names
from captionlab.errors import CaptionlabError
from captionlab.speed.rows import Goal, Limit, Part, Row
from captionlab.speed.timing import Reading, Sample, in_turn, measured

# Steps that compute with weights. All steps in neither list must do without torch.
WITH_TORCH = (
    *("train_run", "evaluate_run", "evaluate_reference", "encode_teacher", "recompute_sample"),
    *("check_parity", "publish_export"),
)
# They write a Transformers config or load a model through AutoModel.
WITH_TRANSFORMERS = ("export_run", "evaluate_release")
# Its start-up is that of the work it times.
APART = ("measure_speed",)
MOST_OF_BARE = 1.2
HEAVY = (
    *("torch", "torch._dynamo", "transformers", "sklearn", "scipy", "pandas", "pyarrow", "matplotlib"),
    *("onnx", "tokenizers", "tensorboard", "jsonschema", "huggingface_hub"),
)
_ROOT = Path(captionlab.__file__).parent
_PYTHON = "python"
_TORCH = "import torch"
_TRANSFORMERS = "import torch; from transformers import AutoModel"
_LOADED = """
import importlib, sys
importlib.import_module("captionlab.steps." + sys.argv[1])
print(*(name for name in sys.argv[2:] if name in sys.modules))
"""

Samples = Mapping[str, list[Sample]]


def measure(spec: Mapping[str, Any], root: Path, threads: int) -> Part:
    """Seconds of `python -m captionlab <step> --help` for every step.

    It imports what stands at the top of the step's modules, as every call of the step does. What a function may
    import besides is named in the table of all steps.
    """
    speed = spec["speed"]
    steps = [step for step in step_names() if step not in APART]
    ways: dict[str, Callable[[], Any]] = {step: partial(start, step) for step in steps}
    ways |= {code: partial(python, "-c", code) for code in (_TORCH, _TRANSFORMERS)}
    ways[_PYTHON] = partial(python, "-c", "pass")
    samples = in_turn(ways, warmup=speed["warmup"], repeats=speed["repeats"])
    light = [step for step in steps if step not in (*WITH_TORCH, *WITH_TRANSFORMERS)]
    loaded = {step: loaded_packages(step) for step in steps}
    rows = [
        *_heavy_rows("Start-up with torch", WITH_TORCH, samples, _TORCH),
        *_heavy_rows("Start-up with torch and Transformers", WITH_TRANSFORMERS, samples, _TRANSFORMERS),
        *_light_rows(light, samples),
        _strays(light, loaded),
    ]
    return Part("startup", rows, {"Start-up of every step": _table(steps, samples, loaded)})


def start(step: str) -> str:
    """Start a step's command and let it print its usage, which it does after its imports."""
    return python("-m", "captionlab", step, "--help")


def python(*arguments: str) -> str:
    """What a fresh Python of this environment prints. Raises CaptionlabError with its last line where it fails."""
    search = os.pathsep.join(filter(None, [str(_ROOT.parent), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": search}
    command = [sys.executable, *arguments]
    result = subprocess.run(command, env=environment, text=True, capture_output=True, check=False)
    if result.returncode:
        line = (result.stderr.strip().splitlines() or ["no message"])[-1]
        raise CaptionlabError(f"python {' '.join(arguments)} failed with {result.returncode}: {line}")
    return result.stdout


def loaded_packages(step: str) -> tuple[str, ...]:
    """Which of HEAVY a fresh Python has loaded after importing a step's module."""
    return tuple(python("-c", _LOADED, step, *HEAVY).split())


def reachable_packages(step: str) -> tuple[str, ...]:
    """Which of HEAVY a step's modules import anywhere, inside functions too, whether a call gets there or not."""
    seen: set[str] = set()
    waiting = [f"captionlab.steps.{step}"]
    found: set[str] = set()
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        for name in _imports(module):
            found.update(heavy for heavy in HEAVY if name == heavy or name.startswith(f"{heavy}."))
            if name.partition(".")[0] == "captionlab":
                waiting.append(name)
    return tuple(name for name in HEAVY if name in found)


@cache
def _imports(module: str) -> frozenset[str]:
    """Modules that a project module imports; `from a import b` gives a and a.b. Empty for what is no module."""
    path = _ROOT.joinpath(*module.split(".")[1:]).with_suffix(".py")
    if not path.is_file():
        return frozenset()
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            relative = "." * node.level + (node.module or "")
            origin = importlib.util.resolve_name(relative, module.rpartition(".")[0])
            names.update([origin, *(f"{origin}.{alias.name}" for alias in node.names)])
    return frozenset(names)


def _heavy_rows(what: str, steps: Sequence[str], samples: Samples, bare: str) -> list[Row]:
    """Rows beside the import that none of the steps can do without."""
    goal = Goal("ratio", 1 / MOST_OF_BARE)
    note = f"At most {MOST_OF_BARE} times the bare import; a step holds the garbage collector back as it imports."
    return _ranked_rows(what, steps, samples, bare, goal=goal, note=note)


def _light_rows(steps: Sequence[str], samples: Samples) -> list[Row]:
    limit = Limit("Python alone", _wall(samples[_PYTHON]).median)
    return _ranked_rows("Start-up without torch", steps, samples, _TORCH, limit=limit)


def _ranked_rows(
    what: str,
    steps: Sequence[str],
    samples: Samples,
    bare: str,
    *,
    limit: Limit | None = None,
    goal: Goal | None = None,
    note: str = "",
) -> list[Row]:
    """The slowest and the median step."""
    ordered = _by_time(steps, samples)
    return [
        Row(
            what=f"{what}: {rank} of {len(ordered)} steps",
            size=step,
            unit="s",
            ours=_wall(samples[step]),
            peer_name=bare,
            peer=_wall(samples[bare]),
            less_is_better=True,
            limit=limit,
            goal=goal,
            note=note,
        )
        for rank, step in (("slowest", ordered[-1]), ("median", ordered[len(ordered) // 2]))
    ]


def _strays(light: Sequence[str], loaded: Mapping[str, Sequence[str]]) -> Row:
    wrong = [step for step in light if "torch" in loaded[step]]
    later = [step for step in light if step not in wrong and "torch" in reachable_packages(step)]
    note = f"They load torch: {', '.join(wrong)}. " if wrong else ""
    if later:
        note += f"Some inputs make a function of {', '.join(later)} import it: published targets in torch's files."
    return Row(
        what="Steps that load torch without need",
        size=f"{len(light)} steps",
        unit="steps",
        ours=measured([float(len(wrong))]),
        less_is_better=True,
        goal=Goal("value", 0),
        note=note,
    )


def _table(steps: Sequence[str], samples: Samples, loaded: Mapping[str, Sequence[str]]) -> str:
    lines = [
        "| Step | Seconds | Loaded | Imported by a function where asked for |",
        "|:---|---:|:---|:---|",
    ]
    for step in _by_time(steps, samples)[::-1]:
        later = [name for name in reachable_packages(step) if name not in loaded[step]]
        seconds = _wall(samples[step]).median
        lines.append(f"| {step} | {seconds:.2f} | {_words(loaded[step])} | {_words(later)} |")
    for name in (_TRANSFORMERS, _TORCH, _PYTHON):
        lines.append(f"| *{name}* | {_wall(samples[name]).median:.2f} | | |")
    return "\n".join(lines)


def _by_time(steps: Iterable[str], samples: Samples) -> list[str]:
    return sorted(steps, key=lambda step: median(sample.wall for sample in samples[step]))


def _words(names: Iterable[str]) -> str:
    return ", ".join(names) or "–"


def _wall(samples: list[Sample]) -> Reading:
    """Wall seconds; a child's processor time is not in the samples."""
    return measured([sample.wall for sample in samples])
