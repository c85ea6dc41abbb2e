"""Claims of cards as data, checks as functions, and the table that holds one against the other."""

import importlib.resources
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from captionlab.errors import CaptionlabError
from captionlab.tables.cells import Column, Frame, Row, text
from captionlab.tables.checks import arithmetic, campaign, serving, sizes
from captionlab.tables.checks.finding import Evidence, Finding, State

Check = Callable[..., Finding]

CHECKS: Mapping[str, Check] = {
    check.__name__: check
    for check in (
        arithmetic.below,
        arithmetic.bounds,
        arithmetic.conflicting,
        arithmetic.counted,
        arithmetic.differences,
        arithmetic.directions_differ,
        arithmetic.disjoint,
        arithmetic.fewest_seeds,
        arithmetic.near_tie,
        arithmetic.pair_mean,
        arithmetic.pair_mean_order,
        arithmetic.products,
        arithmetic.recipe_presentations,
        arithmetic.recipe_steps,
        arithmetic.row_mean,
        arithmetic.selection_rule,
        arithmetic.strongest_row,
        arithmetic.sums,
        campaign.control_trained,
        campaign.duplicates_known,
        campaign.lookup_exact,
        campaign.needs,
        campaign.no_benefit,
        campaign.published_values,
        campaign.selected_by_development,
        serving.exported,
        serving.left_padding,
        serving.parity,
        serving.precisions,
        sizes.decoder_size,
        sizes.encoder_size,
        sizes.flop_utilisation,
        sizes.perplexity_name,
        sizes.relay_size,
    )
}


@dataclass(frozen=True)
class Claim:
    """One checkable statement: in our words, where the card makes it, and which check decides it."""

    card: str
    name: str
    text: str
    place: str
    check: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


def cards() -> tuple[str, ...]:
    """Names of the cards whose claims are kept here."""
    folder = importlib.resources.files("captionlab.tables") / "claims"
    return tuple(sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".yaml")))


def load(card: str) -> tuple[Claim, ...]:
    """The claims of a card, in its order.

    Raises CaptionlabError for an unknown card, a claim with an unknown check, or a name used twice.
    """
    if card not in cards():
        raise CaptionlabError(f"no claims of a card {card!r}: there are {', '.join(cards())}")
    place = importlib.resources.files("captionlab.tables") / "claims" / f"{card}.yaml"
    document = yaml.load(place.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    claims = tuple(claim for entry in document["claims"] for claim in _expanded(card, entry))
    for claim in claims:
        if claim.check not in CHECKS:
            raise CaptionlabError(f"claims/{card}.yaml: {claim.name} names no known check: {claim.check!r}")
    twice = [name for name, times in Counter(claim.name for claim in claims).items() if times > 1]
    if twice:
        raise CaptionlabError(f"claims/{card}.yaml: {', '.join(twice)} named twice: names must differ")
    return claims


def judge(claim: Claim, evidence: Evidence) -> Finding:
    """What the claim's check finds.

    Raises CaptionlabError when the claim's arguments do not fit its check.
    """
    try:
        return CHECKS[claim.check](evidence, **claim.arguments)
    except TypeError as error:
        raise CaptionlabError(f"claims/{claim.card}.yaml: {claim.name}: {error}") from None


def claims_frame(card: str, evidence: Evidence) -> Frame:
    """Every claim of a card with its state, figure and what it would take."""
    columns = (
        Column("claim", "Claim", machine_only=True),
        Column("text", "The card says"),
        Column("place", "Where"),
        Column("state", "State"),
        Column("figure", "Figure"),
        Column("needs", "What it would take"),
        Column("check", "Check", machine_only=True),
    )
    rows = []
    for claim in load(card):
        finding = judge(claim, evidence)
        words = (claim.name, claim.text, claim.place, finding.state.value, finding.figure, finding.needs)
        rows.append(
            Row(tuple(text(word) for word in (*words, claim.check)), finding.state is State.CONTRADICTED)
        )
    return Frame(f"claims-{card}", f"Claims of {card}", columns, tuple(rows))


def tally(frame: Frame) -> str:
    """How many claims are in each state, in one sentence."""
    states = Counter(str(cell.value) for cell in frame.column("state"))
    parts = [f"{states[state.value]} {state.value}" for state in State]
    return f"{len(frame.rows)} claims: " + ", ".join(parts) + "."


def _expanded(card: str, entry: Mapping[str, Any]) -> Iterator[Claim]:
    shared = entry.get("with", {})
    for values in entry.get("each", [{}]):
        fields = {**shared, **values}
        arguments = {key: value for key, value in fields.items() if not key.startswith("_")}
        words = {key.lstrip("_"): value for key, value in fields.items()}
        named, said = entry["name"].format(**words), entry["text"].format(**words)
        yield Claim(card, named, said, entry["where"], entry["check"], arguments)
