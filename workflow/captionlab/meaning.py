"""Checks of a config that no schema can make: names that must exist, sizes that must fit."""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from captionlab.errors import ConfigError
from captionlab.hub_config import check_hub
from captionlab.rotary.options import check_option, option_from_mapping

Config = Mapping[str, Any]


def check_meaning(config: Config) -> None:
    """Check a config that has passed the schema.

    Raises ConfigError with one line naming the key, the value and what is allowed.
    """
    _check_stages(config)
    _check_options(config)
    _check_chunks(config)
    _check_recipes(config)
    _check_suites(config)
    _check_evaluation(config)
    _check_compute(config)
    _check_speed(config)
    check_hub(config)


def rows_of_chunk(chunk: Config) -> int:
    """Rows a chunk asks for, over all its files."""
    rows = chunk["rows"]
    return sum(map(int, rows.values())) if isinstance(rows, Mapping) else int(rows)


def option_switches(config: Config, option: str) -> dict[str, Any]:
    """An option's switches without its label, which decides no result."""
    return {key: value for key, value in config["options"][option].items() if key != "label"}


def recipe_steps(config: Config, recipe: str) -> int:
    """Steps of a recipe: whole batches of each chunk, times epochs."""
    merged = {**config["training"], **config["recipes"][recipe]}
    batch, epochs = int(merged["batch"]), int(merged["epochs"])
    return sum(rows_of_chunk(config["chunks"][chunk]) // batch for chunk in merged["chunks"]) * epochs


def _check_stages(config: Config) -> None:
    stages = [("screen", config["screen"])]
    stages += [(f"larger[{index}]", row) for index, row in enumerate(config["larger"])]
    seen: dict[str, str] = {}
    for key, stage in stages:
        _known(f"{key}.recipe", stage["recipe"], config["recipes"], "recipes")
        for option in stage["options"]:
            _known(f"{key}.options", option, config["options"], "options")
        if stage["recipe"] in seen:
            raise ConfigError(
                f"{key}.recipe: {stage['recipe']!r} already belongs to {seen[stage['recipe']]}; "
                "give each its own entry under recipes"
            )
        seen[stage["recipe"]] = key
    for option in config["screen"]["repeats"]:
        _known("screen.repeats", option, config["screen"]["options"], "screen.options")


def _check_options(config: Config) -> None:
    for name in config["options"]:
        option = option_from_mapping(name, option_switches(config, name))
        check_option(name, option, config["model"], config["lookup"])


def _check_chunks(config: Config) -> None:
    kind = config["captions"]["kind"]
    for name, chunk in config["chunks"].items():
        keys = {"scenes": {"first", "rows"}, "directory": {"rows"}, "hub": {"file", "rows"}}[kind]
        optional = {"targets_file", "sha256", "targets_sha256"} if kind == "hub" else set()
        if missing := sorted(keys - set(chunk)):
            raise ConfigError(f"chunks.{name}: captions of kind {kind!r} need the key {missing[0]!r}")
        if unknown := sorted(set(chunk) - keys - optional):
            raise ConfigError(f"chunks.{name}: {unknown[0]!r} has no meaning for captions of kind {kind!r}")
        if isinstance(chunk["rows"], Mapping) != (kind == "directory"):
            wanted = "a map of file to rows" if kind == "directory" else "a number"
            raise ConfigError(f"chunks.{name}.rows: {chunk['rows']!r} must be {wanted} for kind {kind!r}")
    if kind == "scenes":
        _check_ranges(config["chunks"])
    roles: dict[str, str] = {}
    for recipe, row in config["recipes"].items():
        for chunk in row["chunks"]:
            _known(f"recipes.{recipe}.chunks", chunk, config["chunks"], "chunks")
            roles[chunk] = f"recipes.{recipe}.chunks"
    for role in ("development", "test"):
        chunk = config["evaluation"][role]["chunk"]
        _known(f"evaluation.{role}.chunk", chunk, config["chunks"], "chunks")
        if chunk in roles:
            raise ConfigError(
                f"evaluation.{role}.chunk: {chunk!r} is also in {roles[chunk]}; "
                "training, development and test chunks must differ"
            )
        roles[chunk] = f"evaluation.{role}.chunk"
    for chunk in config["targets"].get("fit", {}).get("chunks", []):
        _known("targets.fit.chunks", chunk, config["chunks"], "chunks")
        if roles.get(chunk) == "evaluation.test.chunk":
            raise ConfigError(f"targets.fit.chunks: {chunk!r} is the test chunk; the fit must not see it")


def _check_ranges(chunks: Config) -> None:
    ranges = sorted((chunk["first"], chunk["first"] + chunk["rows"], name) for name, chunk in chunks.items())
    for (_, end, name), (first, _, other) in itertools.pairwise(ranges):
        if first < end:
            raise ConfigError(
                f"chunks.{other}.first: {first} lies inside chunk {name!r}, which ends before row {end}; "
                "training, development and test chunks must not overlap"
            )


def _check_recipes(config: Config) -> None:
    for name, row in config["recipes"].items():
        merged = {**config["training"], **row}
        for chunk in merged["chunks"]:
            rows = rows_of_chunk(config["chunks"][chunk])
            if merged["batch"] > rows:
                raise ConfigError(
                    f"training.batch: {merged['batch']} is larger than chunk {chunk!r} of recipe {name!r}, "
                    f"which has {rows} rows; allowed is at most {rows}"
                )
        steps = recipe_steps(config, name)
        if merged["warmup"] >= steps:
            raise ConfigError(
                f"recipes.{name}.warmup: {merged['warmup']} steps do not fit into the run's {steps}; "
                f"allowed is at most {steps - 1}"
            )
        if merged["floor"] > merged["learning_rate"]:
            raise ConfigError(
                f"training.floor: {merged['floor']} is above the peak learning rate "
                f"{merged['learning_rate']} of recipe {name!r}"
            )
        if merged["ceiling"] > config["model"]["max_tokens"]:
            raise ConfigError(
                f"training.ceiling: {merged['ceiling']} is above model.max_tokens {config['model']['max_tokens']}"
            )
        if merged["evaluate_at"] != sorted(set(merged["evaluate_at"])):
            raise ConfigError(f"training.evaluate_at: {merged['evaluate_at']} must rise from entry to entry")
        if merged["keep_state"] != "all":
            for option in merged["keep_state"]:
                _known(f"recipes.{name}.keep_state", option, config["options"], "options")


def _check_suites(config: Config) -> None:
    suites = config["suites"]
    kind = suites["kind"]
    needed = {"scenes": "rows", "directory": "file", "hub": "repo"}[kind]
    for role in ("development", "test"):
        for name, suite in suites[role].items():
            if needed not in suite:
                raise ConfigError(f"suites.{role}.{name}: suites of kind {kind!r} need the key {needed!r}")
    if len(suites["development"]) != 1:
        raise ConfigError(
            f"suites.development: holds {len(suites['development'])} suites; exactly one may choose"
        )
    if both := sorted(set(suites["development"]) & set(suites["test"])):
        raise ConfigError(f"suites.test: {both[0]!r} is also the development suite; they must differ")
    if kind == "directory" and "path" not in suites:
        raise ConfigError(
            "suites.path: is missing; suites of kind 'directory' need the folder of their files"
        )
    if kind == "directory":
        development = {suite["file"] for suite in suites["development"].values()}
        for name, suite in suites["test"].items():
            if suite["file"] in development:
                raise ConfigError(
                    f"suites.test.{name}.file: {suite['file']!r} is the development suite's file; they must differ"
                )
    for name in config["evaluation"]["screen_suites"]:
        _known("evaluation.screen_suites", name, suites["test"], "suites.test")


def _check_evaluation(config: Config) -> None:
    if config["evaluation"]["ceiling"] > config["model"]["max_tokens"]:
        raise ConfigError(
            f"evaluation.ceiling: {config['evaluation']['ceiling']} is above model.max_tokens "
            f"{config['model']['max_tokens']}"
        )
    asked = [
        (f"evaluation.{role}.rows", role, config["evaluation"][role]["rows"])
        for role in ("development", "test")
    ]
    asked.append(("lookup.rows", "development", config["lookup"]["rows"]))
    for key, role, rows in asked:
        chunk = config["evaluation"][role]["chunk"]
        held = rows_of_chunk(config["chunks"][chunk])
        if rows > held and not config["evaluation"]["allow_fewer"]:
            raise ConfigError(
                f"{key}: {rows} rows are more than chunk {chunk!r} holds ({held}); "
                "ask for fewer or set evaluation.allow_fewer"
            )


def _check_compute(config: Config) -> None:
    compute = config["compute"]
    if compute["device"] == "cpu" and compute["autocast"] is not None:
        raise ConfigError(
            f"compute.autocast: {compute['autocast']!r} is for device 'cuda'; a CPU without bf16 units is "
            "many times slower with it: set null"
        )


def _check_speed(config: Config) -> None:
    speed = config.get("speed")
    if speed is None:
        return
    _known("speed.option", speed["option"], config["options"], "options")
    option = option_from_mapping(speed["option"], option_switches(config, speed["option"]))
    check_option(speed["option"], option, {**config["model"], **speed["model"]}, config["lookup"])
    for suite in speed["encoding"]["suites"] or ():
        _known("speed.encoding.suites", suite, config["suites"]["test"], "suites.test")
    chunk = config["recipes"][config["screen"]["recipe"]]["chunks"][0]
    rows, available = speed["training"]["rows"], rows_of_chunk(config["chunks"][chunk])
    if rows > available:
        raise ConfigError(f"speed.training.rows: {rows}; chunk {chunk!r} has {available}: ask for no more")


def _known(key: str, name: str, known: Iterable[str], where: str) -> None:
    if name not in known:
        raise ConfigError(f"{key}: {name!r} is not under {where}; allowed are {', '.join(known)}")
