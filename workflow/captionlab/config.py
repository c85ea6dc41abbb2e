"""From the engine's merged config to a checked Campaign, or one clear line."""

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
from jsonschema.exceptions import ValidationError, best_match

from captionlab.campaign import Campaign, Reference, campaign_runs
from captionlab.errors import ConfigError
from captionlab.meaning import check_meaning
from captionlab.provenance.digests import file_digest

SCHEMA = Path(__file__).parents[1] / "schemas" / "config.schema.json"
_LONGEST_VALUE = 60


def load_campaign(config: Mapping[str, Any], digest_cache: Path | None = None) -> Campaign:
    """Check a config by schema and by meaning and derive the campaign from it.

    `config` is what the engine holds after all merges; source files of directory sources are hashed
    (`digest_cache` keeps their digests between calls).

    Raises ConfigError with one line naming the key, the value and what is allowed. Writes no artifact.
    """
    campaign = checked_campaign(config)
    return replace(campaign, digests=source_digests(campaign, digest_cache))


def checked_campaign(config: Mapping[str, Any], digests: Mapping[str, str] | None = None) -> Campaign:
    """The campaign of a config with source digests that are known already; no source file is looked for.

    Raises ConfigError as load_campaign does.
    """
    check_schema(config)
    check_meaning(config)
    # Where jobs run decides no result, so it stays out of every spec.
    config = {key: value for key, value in config.items() if key != "cluster"}
    campaign = Campaign(config, campaign_runs(config), references=(), digests=digests or {})
    return replace(campaign, references=campaign_references(campaign))


def check_schema(config: Mapping[str, Any]) -> None:
    """Check a config against the JSON schema.

    Raises ConfigError for the most telling fault.
    """
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    fault = best_match(validator.iter_errors(config))
    if fault is not None:
        raise ConfigError(_sentence(fault))


def campaign_references(campaign: Campaign) -> tuple[Reference, ...]:
    """The reference rows a config asks for: teachers (own ceiling and the suites'), untrained, bag of words."""
    config = campaign.config
    wanted, ceiling = config["evaluation"]["references"], config["evaluation"]["ceiling"]
    teachers = config["targets"].get("teachers", {})
    rows = []
    if wanted["teachers"]:
        for name, teacher in teachers.items():
            own = teacher["ceiling"]
            common = {"kind": "teacher", "teacher": {"name": name, **teacher}}
            label = f"teacher {name}"
            spec = {**common, "name": f"teacher-{name}", "ceiling": own}
            rows.append(Reference(f"teacher-{name}", f"{label}, {own} tokens", spec))
            spec = {**common, "name": f"teacher-{name}-{ceiling}", "ceiling": ceiling}
            rows.append(Reference(f"teacher-{name}-{ceiling}", f"{label}, {ceiling} tokens", spec))
    if wanted["bag"] and teachers:
        name, teacher = next(iter(teachers.items()))
        spec = {"kind": "bag", "name": "bag", "teacher": {"name": name, **teacher}, "ceiling": ceiling}
        rows.append(Reference("bag", f"bag of {name}'s word embeddings", spec))
    if wanted["untrained"]:
        pairs = dict.fromkeys((run.option, run.seed) for run in campaign.stage_runs("larger"))
        for option, seed in pairs:
            name = f"untrained-{option}-seed-{seed}"
            spec = {
                "kind": "untrained",
                "name": name,
                "option": option,
                "seed": seed,
                "ceiling": ceiling,
            }
            rows.append(Reference(name, f"untrained {option}, seed {seed}", spec))
    return tuple(rows)


def source_digests(campaign: Campaign, cache: Path | None) -> dict[str, str]:
    """SHA-256 of every file a directory source reads, by `captions/<file>`, `suites/<file>` or `tokenizer`.

    Raises ConfigError when a file is not there.
    """
    config = campaign.config
    files: dict[str, Path] = {}
    if config["captions"]["kind"] == "directory":
        folder = campaign.data_path(config["captions"]["path"])
        names = dict.fromkeys(name for chunk in config["chunks"].values() for name in chunk["rows"])
        files |= {f"captions/{name}": folder / name for name in names}
    if config["suites"]["kind"] == "directory":
        folder = campaign.data_path(config["suites"]["path"])
        suites = {**config["suites"]["development"], **config["suites"]["test"]}
        files |= {f"suites/{suite['file']}": folder / suite["file"] for suite in suites.values()}
    if config["tokenizer"]["kind"] == "directory":
        files["tokenizer"] = campaign.data_path(config["tokenizer"]["path"])
    missing = [path for path in files.values() if not path.is_file()]
    if missing:
        raise ConfigError(
            f"data: {missing[0]} is not a file (the config's `data` folder is "
            f"{config.get('data', '.')!r}): put it there or set `data` to the folder that holds it"
        )
    return {name: file_digest(path, cache) for name, path in files.items()}


def _sentence(fault: ValidationError) -> str:
    key = _key(fault.absolute_path) or "config"
    value: Any = fault.validator_value
    if fault.validator == "additionalProperties":
        return _unknown_key(fault, key)
    if fault.validator == "required":
        instance: Any = fault.instance
        missing = [name for name in value if name not in instance]
        return f"{key}: the key {missing[0]!r} is missing; add it (see config.yaml for what it means)"
    if fault.validator == "oneOf":
        if (inner := _fault_of_kind(fault)) is not None:
            return _sentence(inner)
        return f"{key}: {_shown(fault.instance)} is none of the allowed forms: {_forms(value)}"
    return f"{key}: {_shown(fault.instance)} is not allowed; {_allowed(fault)}"


def _unknown_key(fault: ValidationError, key: str) -> str:
    schema: Any = fault.schema
    instance: Any = fault.instance
    known = list(schema.get("properties", {}))
    unknown = next(name for name in instance if name not in known)
    near = difflib.get_close_matches(str(unknown), known, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{key}: unknown key {unknown!r}; {hint}allowed are {', '.join(known)}"


def _fault_of_kind(fault: ValidationError) -> ValidationError | None:
    """The fault inside the one form whose `kind` the value names, where there is such a form."""
    instance: Any = fault.instance
    forms: Any = fault.validator_value
    if not isinstance(instance, Mapping):
        return None
    for index, form in enumerate(forms):
        kind = form.get("properties", {}).get("kind", {}).get("const")
        if kind is not None and kind == instance.get("kind"):
            found: ValidationError | None = best_match(
                inner for inner in fault.context or [] if inner.schema_path[0] == index
            )
            return found
    return None


def _forms(forms: Iterable[Mapping[str, Any]]) -> str:
    return " or ".join(_form(form) for form in forms)


def _form(form: Mapping[str, Any]) -> str:
    if "const" in form:
        return repr(form["const"])
    kind = form.get("properties", {}).get("kind", {})
    if "const" in kind:
        return f"kind {kind['const']!r} with {', '.join(form.get('required', []))}"
    if "pattern" in form:
        return f"text like {form['pattern']}"
    return f"{form.get('type', 'a value')}"


def _allowed(fault: ValidationError) -> str:
    value: Any = fault.validator_value
    if fault.validator == "type":
        wanted = " or ".join(value) if isinstance(value, list) else value
        text = "; a value given with --config arrives as text" if isinstance(fault.instance, str) else ""
        return f"it must be of type {wanted}{text}"
    if fault.validator == "enum":
        return f"allowed are {', '.join(map(repr, value))}"
    if fault.validator == "const":
        return f"allowed is {value!r}"
    words = {
        "minimum": "it must be at least",
        "maximum": "it must be at most",
        "exclusiveMinimum": "it must be above",
        "exclusiveMaximum": "it must be below",
        "minItems": "the least number of entries is",
        "maxItems": "the largest number of entries is",
        "minProperties": "the least number of entries is",
        "pattern": "it must match",
        "uniqueItems": "entries must differ; uniqueItems is",
    }
    return f"{words.get(str(fault.validator), str(fault.validator))} {value}"


def _key(path: Iterable[str | int]) -> str:
    key = ""
    for part in path:
        key += f"[{part}]" if isinstance(part, int) else f".{part}" if key else str(part)
    return key


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
