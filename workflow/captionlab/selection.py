"""Which run becomes the default: decided by development numbers alone.

Recipe and option first, by the mean over seeds of the development suite's Spearman; a mean within the near
tie of the best one is as good as the best, and then the option with fewer additions wins, then the higher
mean, then the order of the campaign. The seed of the winner follows the same way: within a near tie of that
option's best seed, the first seed in order. Repeats of a run measure noise; they never enter a mean.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from captionlab.errors import CaptionlabError

# A near tie is inclusive, and 0.502 - 0.500 is not 0.002 in binary.
_SLACK = 1e-12


@dataclass(frozen=True)
class DevelopmentRow:
    """What one run's development.json says; `spearman` is that of the final weights on the whole suite."""

    recipe: str
    option: str
    seed: int
    repeat: int
    spearman: float
    additions: int
    suite: str
    pairs: int
    identity: str
    final_sha256: str

    @property
    def group(self) -> tuple[str, str]:
        """Recipe and option: the rows that share a mean."""
        return (self.recipe, self.option)


@dataclass(frozen=True)
class GroupMean:
    """Seed mean of one recipe and option; `near_tie` says whether it counts as equal to the best."""

    recipe: str
    option: str
    seeds: tuple[int, ...]
    mean: float
    additions: int
    near_tie: bool


def development_row(document: Mapping[str, Any], origin: str) -> DevelopmentRow:
    """The row of one development.json, read from `origin`.

    Raises CaptionlabError when a field is missing.
    """
    try:
        run = document["run"]
        keys = ("spearman", "additions", "suite", "pairs", "identity", "final_sha256")
        return DevelopmentRow(
            **{key: run[key] for key in ("recipe", "option", "seed", "repeat")},
            **{key: document[key] for key in keys},
        )
    except KeyError as error:
        raise CaptionlabError(f"{origin} has no field {error}: train its run again") from None


def select(rows: Sequence[DevelopmentRow], near_tie: float) -> dict[str, Any]:
    """The selection and everything that decided it, ready to be written as JSON.

    `near_tie` is a difference of Spearman, inclusive. Raises CaptionlabError when nothing can be selected or
    the rows are not comparable (different suites, a repeated run, options that disagree on their additions).
    """
    counted = [row for row in rows if row.repeat == 0]
    _check_comparable(rows, counted)
    means = _group_means(counted, near_tie)
    winner, decided_by = _best_group(means)
    seeds = [row for row in counted if row.group == (winner.recipe, winner.option)]
    chosen, seed_decided_by = _best_seed(seeds, near_tie)
    return {
        "selected": {"recipe": chosen.recipe, "option": chosen.option, "seed": chosen.seed},
        "decided_by": decided_by,
        "seed_decided_by": seed_decided_by,
        "rule": {
            "measure": f"mean over seeds of the Spearman on {counted[0].suite}",
            "near_tie": near_tie,
            "order": ["mean, within the near tie", "fewer additions", "higher mean", "campaign order"],
            "seed": ["spearman, within the near tie", "lower seed"],
            "repeats": "shown in rows, left out of means",
        },
        "suite": counted[0].suite,
        "pairs": counted[0].pairs,
        "means": [asdict(group) | {"seeds": list(group.seeds)} for group in means],
        "rows": [asdict(row) | {"counted": row.repeat == 0} for row in rows],
    }


def _check_comparable(rows: Sequence[DevelopmentRow], counted: Sequence[DevelopmentRow]) -> None:
    if not counted:
        raise CaptionlabError("nothing to select from: no development file of a run that is not a repeat")
    suites = sorted({(row.suite, row.pairs) for row in rows})
    if len(suites) > 1:
        raise CaptionlabError(f"development files of different suites cannot be compared: {suites}")
    _refuse_twice(f"{r.recipe}/{r.option}/seed-{r.seed}.repeat-{r.repeat}" for r in rows)
    for group in dict.fromkeys(row.group for row in counted):
        additions = sorted({row.additions for row in counted if row.group == group})
        if len(additions) > 1:
            raise CaptionlabError(
                f"{'/'.join(group)}: its runs count {additions} additions; train them again"
            )


def _refuse_twice(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise CaptionlabError(f"two development files are of the run {name}: pass each run once")
        seen.add(name)


def _group_means(counted: Sequence[DevelopmentRow], near_tie: float) -> list[GroupMean]:
    groups: dict[tuple[str, str], list[DevelopmentRow]] = {}
    for row in counted:
        groups.setdefault(row.group, []).append(row)
    means = {key: sum(row.spearman for row in group) / len(group) for key, group in groups.items()}
    best = max(means.values())
    return [
        GroupMean(
            recipe=key[0],
            option=key[1],
            seeds=tuple(sorted(row.seed for row in group)),
            mean=means[key],
            additions=group[0].additions,
            near_tie=best - means[key] <= near_tie + _SLACK,
        )
        for key, group in groups.items()
    ]


def _best_group(means: Sequence[GroupMean]) -> tuple[GroupMean, str]:
    tied = [group for group in means if group.near_tie]
    fewest = [group for group in tied if group.additions == min(other.additions for other in tied)]
    winner = max(fewest, key=lambda group: group.mean)
    if len(tied) > len(fewest):
        return winner, "additions"
    equal = [group for group in fewest if group.mean == winner.mean]
    return winner, "mean" if len(equal) == 1 else "order"


def _best_seed(rows: Sequence[DevelopmentRow], near_tie: float) -> tuple[DevelopmentRow, str]:
    best = max(row.spearman for row in rows)
    tied = [row for row in rows if best - row.spearman <= near_tie + _SLACK]
    chosen = min(tied, key=lambda row: row.seed)
    return chosen, "spearman" if len(tied) == 1 else "seed order"
