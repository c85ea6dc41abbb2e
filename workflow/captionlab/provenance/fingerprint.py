"""Code fingerprints: a hash over everything in this project that a step reaches by import.

`python -m captionlab` itself and packages from elsewhere are not in it; package versions are recorded apart.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from captionlab.errors import CaptionlabError, MissingFileError
from captionlab.files import canonical_json, sha256_bytes, write_text
from captionlab.provenance.accepted import accepted_file, original_fingerprints
from captionlab.provenance.syntax import Syntax, read_syntax

PACKAGE_ROOT = Path(__file__).resolve().parents[1]
SYNTAX_CACHE = Path(".snakemake") / "captionlab" / "syntax.json"
_FORMAT = 1
_KEPT_FINGERPRINTS = 400


@dataclass
class _Project:
    """The modules of one package, read once: module name -> path, and what each says."""

    root: Path
    paths: dict[str, Path]
    syntax: dict[str, Syntax]
    known: dict[str, Syntax]
    data: dict[Path, str] = field(default_factory=dict)
    fresh: bool = False

    def read(self, module: str) -> Syntax:
        if module not in self.syntax:
            source = self.paths[module].read_bytes()
            key = sha256_bytes(source)
            if key not in self.known:
                self.known[key] = read_syntax(source, self.paths[module])
                self.fresh = True
            self.syntax[module] = self.known[key]
        return self.syntax[module]

    def data_digest(self, path: Path) -> str:
        if path not in self.data:
            self.data[path] = sha256_bytes(path.read_bytes())
        return self.data[path]


def closure(module: str, package_root: Path = PACKAGE_ROOT) -> tuple[str, ...]:
    """All project modules that `module` reaches by static import, itself and parent packages too, sorted.

    Imports count wherever they stand (function level, relative, under `if TYPE_CHECKING`). So does a string
    that names a project module ("captionlab.tables") or its file ("encoder.py"), because modules are also
    opened as data. Raises MissingFileError when there is no such module.
    """
    return _closure(module, _open(package_root, None))


def module_digests(step: str, package_root: Path = PACKAGE_ROOT, cache: Path | None = None) -> dict[str, str]:
    """What a step's fingerprint covers: module name -> syntax digest, data file (with "/") -> digest."""
    return step_digests([step], package_root, cache)[step]


def step_digests(
    steps: Iterable[str], package_root: Path = PACKAGE_ROOT, cache: Path | None = None
) -> dict[str, dict[str, str]]:
    """`module_digests` of several steps, reading each module once."""
    project = _open(package_root, cache)
    return {step: _covered(step, project) for step in steps}


def fingerprint(step: str, package_root: Path = PACKAGE_ROOT, cache: Path | None = None) -> str:
    """Hex SHA-256 of a step's code as it is passed to its jobs; see `fingerprints`."""
    return fingerprints([step], package_root, cache)[step]


def fingerprints(
    steps: Iterable[str], package_root: Path = PACKAGE_ROOT, cache: Path | None = None
) -> dict[str, str]:
    """The fingerprint of each step; accepted changes give the fingerprint they were accepted from.

    `cache` is a file of syntax digests keyed by the SHA-256 of the source; a damaged one is ignored.
    """
    current = current_fingerprints(steps, package_root, cache)
    return original_fingerprints(current, accepted_file(package_root))


def all_steps(package_root: Path = PACKAGE_ROOT) -> list[str]:
    """Every step of a package by the files in its `steps` folder; none is imported."""
    return sorted(path.stem for path in (package_root / "steps").glob("*.py") if path.stem != "__init__")


def current_fingerprints(
    steps: Iterable[str], package_root: Path = PACKAGE_ROOT, cache: Path | None = None
) -> dict[str, str]:
    """The fingerprint of each step as its code stands, whatever was accepted."""
    project = _open(package_root, cache)
    found, covered = {}, {}
    for step in steps:
        digests = _covered(step, project)
        found[step] = sha256_bytes(canonical_json({"format": _FORMAT, "covered": digests}).encode())
        covered[found[step]] = digests
    if cache is not None:
        _save(cache, project, covered)
    return found


def recorded_digests(fingerprint: str, cache: Path) -> dict[str, str] | None:
    """What an earlier fingerprint covered, if this cache saw it computed; None where it did not."""
    _, past = _load(cache)
    return past.get(fingerprint)


def explain_change(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Name each module or data file that changed, came or went between two `module_digests`, sorted."""
    words = []
    for name in sorted(set(old) | set(new)):
        if name not in new:
            words.append(f"{name} is no longer reached")
        elif name not in old:
            words.append(f"{name} is newly reached")
        elif old[name] != new[name]:
            words.append(f"{name} changed")
    return words


def _closure(module: str, project: _Project) -> tuple[str, ...]:
    if module not in project.paths:
        raise MissingFileError(f"no module {module} under {project.root}: check the step's name")
    files = _by_file_name(project)
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in seen or name not in project.paths:
            continue
        seen.add(name)
        waiting.extend(_parents(name))
        syntax = project.read(name)
        for level, origin, imported in syntax.imports:
            waiting.extend(_targets(name, level, origin, imported, project))
        for text in syntax.strings:
            if text in project.paths:
                waiting.append(text)
            elif text.endswith(".py"):
                waiting.extend(files.get(text.rpartition("/")[2], ()))
    return tuple(sorted(seen))


def _by_file_name(project: _Project) -> dict[str, list[str]]:
    files: dict[str, list[str]] = {}
    for name, path in project.paths.items():
        if path.name != "__init__.py":
            files.setdefault(path.name, []).append(name)
    return files


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


def _targets(importer: str, level: int, origin: str, imported: str, project: _Project) -> list[str]:
    if level:
        package = importer if project.paths[importer].name == "__init__.py" else importer.rpartition(".")[0]
        anchor = package.split(".")[: len(package.split(".")) - (level - 1)]
        origin = ".".join([*anchor, *([origin] if origin else [])])
    if imported == "*":
        return [origin, *(name for name in project.paths if name.rpartition(".")[0] == origin)]
    return [origin, f"{origin}.{imported}"] if imported else [origin]


def _covered(step: str, project: _Project) -> dict[str, str]:
    modules = _closure(f"{project.root.name}.steps.{step}", project)
    covered = {module: project.read(module).digest for module in modules}
    folders = {project.paths[module].parent for module in modules}
    for folder in folders:
        for path in _data_files(folder):
            covered[path.relative_to(project.root.parent).as_posix()] = project.data_digest(path)
    return covered


def _data_files(folder: Path) -> list[Path]:
    """Files other than Python beside a module, and in folders below it that are not packages."""
    found = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "__pycache__")) or path.name.endswith(("~", ".pyc", ".py")):
            continue
        if path.is_dir():
            if not (path / "__init__.py").exists():
                found.extend(_data_files(path))
        else:
            found.append(path)
    return found


def _open(package_root: Path, cache: Path | None) -> _Project:
    root = package_root.resolve()
    if not (root / "__init__.py").is_file():
        raise CaptionlabError(f"{package_root} is not a package (no __init__.py): pass the package's folder")
    paths = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root.parent).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        paths[".".join(parts)] = path
    known, _ = _load(cache) if cache is not None else ({}, {})
    return _Project(root, paths, {}, known)


def _maker() -> str:
    """The cache is good only for the reader and the Python that made it."""
    here = Path(__file__)
    sources = here.read_bytes() + here.with_name("syntax.py").read_bytes()
    return f"{sys.version_info[0]}.{sys.version_info[1]}:{sha256_bytes(sources)}"


def _load(cache: Path) -> tuple[dict[str, Syntax], dict[str, dict[str, str]]]:
    try:
        text, _, check = cache.read_text(encoding="utf-8").rpartition("\n")
        if check != sha256_bytes(text.encode()):
            return {}, {}
        stored = json.loads(text)
        past = dict(stored["past"])
        if stored["maker"] != _maker():
            return {}, past
        return {
            key: Syntax(
                digest, tuple((level, origin, name) for level, origin, name in imports), tuple(strings)
            )
            for key, (digest, imports, strings) in stored["files"].items()
        }, past
    except (OSError, ValueError, KeyError, TypeError):
        return {}, {}


def _save(cache: Path, project: _Project, covered: dict[str, dict[str, str]]) -> None:
    _, past = _load(cache)
    if not project.fresh and set(covered) <= set(past):
        return
    kept = {**{key: value for key, value in past.items() if key not in covered}, **covered}
    kept = dict(list(kept.items())[-_KEPT_FINGERPRINTS:])
    files = {key: [one.digest, one.imports, one.strings] for key, one in project.known.items()}
    text = json.dumps({"maker": _maker(), "files": files, "past": kept}, separators=(",", ":"))
    write_text(cache, f"{text}\n{sha256_bytes(text.encode())}")
