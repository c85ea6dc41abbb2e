"""What goes with what: who meets whom, which relation holds between which things, which verb joins them."""

from functools import cache

from captionlab.sources.scenes.lexicon import (
    DOMAINS,
    RELATIONS,
    THING_VERBS,
    VERBS,
    Domain,
    Modifier,
    Noun,
    Relation,
    Verb,
)
from captionlab.sources.scenes.scene import Thing

_HELD_RANK = 1  # the largest size class that lies on or in another thing

GENERAL_RELATIONS: tuple[Relation, ...] = tuple(
    RELATIONS[name] for name in ("beside", "near", "front", "behind", "left", "right", "opposite")
)


@cache
def relations_between(figure: Noun, ground: Noun) -> tuple[Relation, ...]:
    """The relations that `figure` may have to `ground`: seven at least, the special ones first."""
    special = []
    if figure.being == "thing" and figure.rank <= _HELD_RANK and figure.rank < ground.rank:
        if ground.bears:
            special += [RELATIONS["on"], RELATIONS["under"]]
        if ground.holds:
            special += [RELATIONS["in"]]
    return (*special, *GENERAL_RELATIONS)


@cache
def verbs_between(agent: Noun, patient: Noun) -> tuple[Verb, ...]:
    """What `agent`, a person or an animal, may do to `patient`: eight verbs at least.

    Only people do something to things.
    """
    if patient.being == "thing":
        return THING_VERBS[patient.key]
    return VERBS[agent.being[0] + patient.being[0]]


@cache
def standing_pairs(domain: Domain) -> tuple[tuple[Noun, Noun], ...]:
    """(figure, ground) pairs of a domain's things; the figure is never of the larger size class."""
    return tuple((a, b) for a in domain.things for b in domain.things if a is not b and a.rank <= b.rank)


@cache
def cast(domain: Domain) -> tuple[Noun, ...]:
    """The people and animals of a domain."""
    return domain.people + domain.animals


@cache
def meeting_pairs(domain: Domain) -> tuple[tuple[Noun, Noun], ...]:
    """(agent, patient) pairs of a domain's people and animals."""
    return tuple((a, b) for a in cast(domain) for b in cast(domain) if a is not b)


@cache
def handling_pairs(domain: Domain) -> tuple[tuple[Noun, Noun], ...]:
    """(person, thing) pairs of a domain."""
    return tuple((person, thing) for person in domain.people for thing in domain.things)


@cache
def all_meeting_pairs() -> tuple[tuple[Noun, Noun], ...]:
    """Every pair of `meeting_pairs` once, whatever the domain."""
    return tuple(dict.fromkeys(pair for domain in DOMAINS for pair in meeting_pairs(domain)))


@cache
def all_handling_pairs() -> tuple[tuple[Noun, Noun], ...]:
    """Every pair of `handling_pairs` once, whatever the domain."""
    return tuple(dict.fromkeys(pair for domain in DOMAINS for pair in handling_pairs(domain)))


def open_modifiers(thing: Thing) -> tuple[Modifier, ...]:
    """The secondary modifiers that contradict nothing said of `thing`: of dimensions it has none of yet."""
    taken = {modifier.dimension for modifier in (thing.primary, thing.secondary) if modifier is not None}
    return tuple(modifier for modifier in thing.noun.secondary if modifier.dimension not in taken)
