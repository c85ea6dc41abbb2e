"""Reading a spec's fields, so that a wrong or missing one ends in one line."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from captionlab.errors import ConfigError

T = TypeVar("T")

_REQUIRED: Any = object()


def field(mapping: Mapping[str, Any], key: str, kind: type[T], where: str, default: Any = _REQUIRED) -> T:
    """`mapping[key]`, which must be a `kind`; bool does not pass for int, int passes for float.

    Without the key `default` is returned as it stands. Raises ConfigError naming `where`, the key and the
    value.
    """
    if not isinstance(mapping, Mapping):
        raise ConfigError(f"{where} is {mapping!r}: give a mapping")
    if key not in mapping:
        if default is not _REQUIRED:
            return default  # type: ignore[no-any-return]
        raise ConfigError(f"{where}.{key} is missing: give {_named(kind)}")
    value = mapping[key]
    if kind is float and type(value) is int:
        return float(value)  # type: ignore[return-value]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ConfigError(f"{where}.{key} is {value!r}: give {_named(kind)}")
    return value


def optional(mapping: Mapping[str, Any], key: str, kind: type[T], where: str) -> T | None:
    """Like `field`, but null and an absent key give None."""
    if mapping.get(key) is None:
        return None
    return field(mapping, key, kind, where)


def count(mapping: Mapping[str, Any], key: str, where: str, *, least: int = 0) -> int:
    """A whole number of at least `least`; raises ConfigError like `field`."""
    value = field(mapping, key, int, where)
    if value < least:
        raise ConfigError(f"{where}.{key} is {value}: give {least} or more")
    return value


def by_kind(source: Any, known: Mapping[str, Callable[..., T]], where: str) -> Callable[..., T]:
    """The entry of `known` that `source["kind"]` names.

    Raises ConfigError with the kinds there are when it names none of them.
    """
    if not isinstance(source, dict):
        raise ConfigError(f"{where} is {source!r}: give a mapping with a `kind`")
    kind = field(source, "kind", str, where)
    if kind not in known:
        raise ConfigError(f"{where}.kind is {kind!r}: the kinds are {', '.join(sorted(known))}")
    return known[kind]


def _named(kind: type) -> str:
    names = {str: "a text", int: "a whole number", float: "a number", list: "a list", dict: "a mapping"}
    return names.get(kind, kind.__name__)
