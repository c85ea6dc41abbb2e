"""`python -m captionlab <step> ...`: every step of the workflow as a command."""

import argparse
import gc
import importlib
import pkgutil
import sys
from types import ModuleType

from captionlab import steps
from captionlab.errors import CaptionlabError


def step_names() -> list[str]:
    """All steps, by the modules in `captionlab.steps`; none of them is imported."""
    return sorted(module.name for module in pkgutil.iter_modules(steps.__path__))


def imported_step(step: str) -> ModuleType:
    """The module of a step. The first time, the garbage collector waits until it is there with all it imports.

    torch alone makes hundreds of thousands of objects that live as long as the process; looking through them
    again and again, while they are made and after, finds no garbage and takes a quarter of a start.
    """
    name = f"captionlab.steps.{step}"
    if name in sys.modules or not gc.isenabled():
        return importlib.import_module(name)
    gc.disable()
    try:
        module = importlib.import_module(name)
        gc.freeze()
    finally:
        gc.enable()
    return module


def main(arguments: list[str] | None = None) -> int:
    """Run one step; returns the exit code (0, or the error's own after printing its one line)."""
    words = sys.argv[1:] if arguments is None else arguments
    names = step_names()
    if not words or words[0] in ("-h", "--help"):
        print("usage: python -m captionlab <step> ...   (<step> --help tells more)\n\nsteps:")
        print("\n".join(f"  {name}" for name in names))
        return 0 if words else 2
    step = words[0]
    if step not in names:
        print(f"captionlab: no step named {step!r}; steps are {', '.join(names)}", file=sys.stderr)
        return 2
    module = imported_step(step)
    parser = argparse.ArgumentParser(prog=f"python -m captionlab {step}", description=module.__doc__)
    module.add_arguments(parser)
    try:
        module.run(parser.parse_args(words[1:]))
    except CaptionlabError as error:
        print(f"captionlab {step}: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
