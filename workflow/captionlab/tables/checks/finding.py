"""What a check has to go on and what it can find."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from captionlab.tables.artifacts import Artifacts
from captionlab.tables.plan import Plan


class State(StrEnum):
    """The four things that can be said of a claim."""

    HOLDS = "holds by arithmetic"
    REPRODUCED = "reproduced"
    CONTRADICTED = "contradicted"
    UNCHECKABLE = "not checkable here"


@dataclass(frozen=True)
class Evidence:
    """The campaign a card's claims are held against, and the parity reports of its exports that were named."""

    plan: Plan
    artifacts: Artifacts
    reports: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Finding:
    """A state with its figure; `needs` says what it would take where this campaign cannot decide."""

    state: State
    figure: str
    needs: str = ""


def decided(holds: bool, figure: str) -> Finding:
    """What the card's own numbers decide: it holds, or it is contradicted by the figure."""
    return Finding(State.HOLDS if holds else State.CONTRADICTED, figure)


def undecided(needs: str, figure: str = "") -> Finding:
    """What neither the card's numbers nor this campaign can decide."""
    return Finding(State.UNCHECKABLE, figure, needs)


PUBLISHED_CAMPAIGN = "the published campaign: its data, size and 24 runs"
