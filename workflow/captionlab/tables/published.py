"""The numbers a card prints, as data: one number a row, with where it stands and when it was read."""

import csv
import importlib.resources
from dataclasses import dataclass
from functools import cache

TABLES = (
    "benchmarks",
    "pair-means",
    "development",
    "geometry",
    "lookup",
    "verification",
    "counts",
)


@dataclass(frozen=True)
class Published:
    """A printed number: its keys by column name, the text as printed, and its origin."""

    keys: tuple[tuple[str, str], ...]
    printed: str
    source: str
    revision: str
    read: str

    @property
    def number(self) -> float:
        """The printed number as a float."""
        return float(self.printed)

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed digit: how far the unrounded number may be away."""
        digits = self.printed.partition(".")[2]
        return 0.5 * 10.0 ** -len(digits)


@cache
def records(table: str) -> tuple[dict[str, str], ...]:
    """The rows of one published table as they stand in its CSV.

    Raises FileNotFoundError for a table that does not exist.
    """
    place = importlib.resources.files("captionlab.tables") / "published" / f"{table}.csv"
    return tuple(csv.DictReader(place.read_text(encoding="utf-8").splitlines()))


def find(table: str, **keys: str | int) -> tuple[Published, ...]:
    """The numbers of a table whose columns have the given values, in the card's order."""
    wanted = {key: str(value) for key, value in keys.items()}
    return tuple(
        _published(row)
        for row in records(table)
        if all(row.get(key) == value for key, value in wanted.items())
    )


def one(table: str, **keys: str | int) -> Published | None:
    """The only number with these keys, or None where the card prints none.

    Raises LookupError when the keys fit several.
    """
    found = find(table, **keys)
    if len(found) > 1:
        raise LookupError(f"published {table}: {keys} fits {len(found)} numbers, expected one")
    return found[0] if found else None


def count(name: str) -> Published:
    """A number that the card states in its text.

    Raises KeyError when the card's counts hold no such name.
    """
    found = one("counts", name=name)
    if found is None:
        raise KeyError(name)
    return found


def _published(row: dict[str, str]) -> Published:
    origin = ("value", "source", "revision", "read")
    keys = tuple((key, value) for key, value in row.items() if key not in origin)
    return Published(keys, row.get("value", ""), row["source"], row["revision"], row["read"])
