"""The words around the tables, kept as data beside them."""

import importlib.resources
from functools import cache

import yaml


def note(name: str, **fields: object) -> str:
    """The text of that name with its {fields} filled in.

    Raises KeyError for an unknown name or a field that was not given.
    """
    return _texts()[name].format(**fields)


@cache
def _texts() -> dict[str, str]:
    place = importlib.resources.files("captionlab.tables") / "prose.yaml"
    texts: dict[str, str] = yaml.load(place.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return texts
