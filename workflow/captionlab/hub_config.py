"""Checks of what a config asks of a hub: commits, not branches; files that can be told apart. No network."""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from captionlab.errors import ConfigError
from captionlab.tables import published

Config = Mapping[str, Any]
TARGET_FORMATS = (".npy", ".parquet", ".pt", ".safetensors")
_COMMIT = re.compile(r"[0-9a-f]{40}")


def check_hub(config: Config) -> None:
    """Check everything in a config, valid by the schema, that comes from a hub.

    Raises ConfigError naming the key, the value and what is allowed.
    """
    for key, row in _repositories(config):
        for wanted in ("repo", "revision"):
            if wanted not in row:
                raise ConfigError(f"{key}: the key {wanted!r} is missing; a hub source needs it")
        if not row.get("allow_floating", False) and not _COMMIT.fullmatch(row["revision"]):
            raise ConfigError(
                f"{key}.revision: {row['revision']!r} is no commit of 40 hex digits and may move; "
                "pin the commit, or set allow_floating: true"
            )
    if (card := config.get("release", {}).get("card")) and not published.find("benchmarks", **card):
        rows = dict.fromkeys(
            f"{row['recipe']}/{row['option']}/{row['seed']}" for row in published.records("benchmarks")
        )
        raise ConfigError(
            f"release.card: the card has no row {card['recipe']}/{card['option']}/{card['seed']}; "
            f"it has {', '.join(rows)}"
        )
    if config["suites"]["kind"] == "hub":
        _check_splits(config["suites"])
    if config["targets"]["kind"] == "published":
        _check_target_files(config)


def _repositories(config: Config) -> Iterator[tuple[str, Config]]:
    """Everything that names a repository, with its key."""
    if "release" in config:
        yield "release", config["release"]
    for key in ("captions", "tokenizer"):
        if config[key]["kind"] == "hub":
            yield key, config[key]
    targets = config["targets"]
    if targets["kind"] == "published":
        yield "targets", targets
    for name, teacher in targets.get("teachers", {}).items():
        if teacher["kind"] == "hub":
            yield f"targets.teachers.{name}", teacher
    if config["suites"]["kind"] == "hub":
        for role in ("development", "test"):
            for name, suite in config["suites"][role].items():
                yield f"suites.{role}.{name}", suite


def _check_splits(suites: Config) -> None:
    used: dict[Any, str] = {}
    for role in ("development", "test"):
        for name, suite in suites[role].items():
            key = f"suites.{role}.{name}"
            if "split" not in suite and "file" not in suite:
                raise ConfigError(f"{key}: suites of kind 'hub' need the key 'split' (or 'file')")
            place = (suite["repo"], suite.get("file"), suite.get("split"))
            if place in used and (role == "test") != used[place].startswith("suites.test"):
                raise ConfigError(f"{key}: reads the same rows as {used[place]}; they must differ")
            used[place] = key


def _check_target_files(config: Config) -> None:
    suffixes: dict[str, str] = {}
    for name, chunk in config["chunks"].items():
        if "targets_file" not in chunk:
            raise ConfigError(f"chunks.{name}: published targets need the key 'targets_file'")
        suffixes.setdefault(PurePosixPath(chunk["targets_file"]).suffix, name)
    if len(suffixes) > 1:
        first, second, *_ = suffixes
        raise ConfigError(
            f"chunks.{suffixes[second]}.targets_file: ends in {second!r}, chunk {suffixes[first]!r}'s in {first!r}; "
            "one campaign has one format"
        )
    suffix, name = next(iter(suffixes.items()))
    if suffix not in TARGET_FORMATS:
        raise ConfigError(
            f"chunks.{name}.targets_file: {config['chunks'][name]['targets_file']!r} ends in {suffix!r}; "
            f"allowed are {', '.join(TARGET_FORMATS)}"
        )
