"""What Snakemake's own metadata says of each output: rule, inputs with checksums, the step's arguments."""

import base64
import binascii
import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

METADATA = Path(".snakemake") / "metadata"


@dataclass(frozen=True)
class EngineRecord:
    """One output as the engine remembers it; paths are relative to the folder it ran in.

    `checksums` holds the SHA-256 of the inputs that were small enough for it to read. `step`, `code` and `spec`
    come from the shell command, None where the job did not call a step. `started` and `ended` are in seconds;
    `ended` is the mtime of the output right after its job.
    """

    output: str
    rule: str
    inputs: tuple[str, ...]
    checksums: Mapping[str, str]
    step: str | None
    code: str | None
    spec: str | None
    started: float | None
    ended: float | None


def engine_records(metadata: Path = METADATA) -> dict[str, EngineRecord]:
    """All records by output path; empty without metadata. Files that are no records are passed over."""
    found = {}
    for path in sorted(metadata.rglob("*")):
        if path.is_file() and (record := _record(path, metadata)) is not None:
            found[record.output] = record
    return found


def records_below(root: Path, metadata: Path = METADATA) -> dict[str, EngineRecord]:
    """The records of outputs below a results root, by path below it; the engine ran where `metadata` lies."""
    folder = metadata.absolute().parents[1]
    found = {}
    for path, record in engine_records(metadata).items():
        output = Path(os.path.normpath(folder / path))
        if output.is_relative_to(root.absolute()):
            found[output.relative_to(root.absolute()).as_posix()] = record
    return found


def below_root(root: Path, path: str, metadata: Path = METADATA) -> str | None:
    """A path of a record as one below the results root, or None where it lies elsewhere."""
    whole = Path(os.path.normpath(metadata.absolute().parents[1] / path))
    return whole.relative_to(root.absolute()).as_posix() if whole.is_relative_to(root.absolute()) else None


def step_arguments(command: str) -> dict[str, str]:
    """The step, `--code` and `--spec` of a shell command that calls `python -m captionlab <step>`."""
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return {}
    found = {}
    if "captionlab" in words[:-1]:
        found["step"] = words[words.index("captionlab") + 1]
        for key in ("code", "spec"):
            if f"--{key}" in words[:-1]:
                found[key] = words[words.index(f"--{key}") + 1]
    return found


def _record(path: Path, metadata: Path) -> EngineRecord | None:
    # Long names are split: every folder of the path but its last part begins with "@".
    encoded = "".join(part.removeprefix("@") for part in path.relative_to(metadata).parts)
    try:
        output = base64.b64decode(encoded, altchars=b"-_").decode()
        stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        arguments = step_arguments(stored.get("shellcmd") or "")
        return EngineRecord(
            output=output,
            rule=str(stored["rule"]),
            inputs=tuple(stored.get("input") or ()),
            checksums={
                name: digest.removeprefix("sha256:")
                for name, digest in (stored.get("input_checksums") or {}).items()
            },
            step=arguments.get("step"),
            code=arguments.get("code"),
            spec=arguments.get("spec"),
            started=stored.get("starttime"),
            ended=stored.get("endtime"),
        )
    except (binascii.Error, ValueError, KeyError, TypeError, AttributeError):
        return None
