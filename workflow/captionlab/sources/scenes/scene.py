"""Scenes as values: who and what is there, what happens, where and when, before any word is chosen."""

from dataclasses import dataclass

from captionlab.sources.scenes.lexicon import Domain, Modifier, Moment, Noun, Place, Relation, Verb


@dataclass(frozen=True, slots=True)
class Thing:
    """One participant, or `count` like ones. Its primary modifier tells it from others of its noun."""

    noun: Noun
    primary: Modifier | None = None
    secondary: Modifier | None = None
    count: int = 1


@dataclass(frozen=True, slots=True)
class Standing:
    """`figure` is in `relation` to `ground`."""

    figure: Thing
    relation: Relation
    ground: Thing


@dataclass(frozen=True, slots=True)
class Event:
    """`agent` does `verb` to `patient`."""

    agent: Thing
    verb: Verb
    patient: Thing


@dataclass(frozen=True, slots=True)
class Doing:
    """`agent` does `verb`, to nobody."""

    agent: Thing
    verb: Verb


@dataclass(frozen=True, slots=True)
class Group:
    """`things` are there."""

    things: Thing


@dataclass(frozen=True, slots=True)
class Look:
    """`thing` has these further properties."""

    thing: Thing
    modifiers: tuple[Modifier, ...]


@dataclass(frozen=True, slots=True)
class Absence:
    """There is no `noun`."""

    noun: Noun


@dataclass(frozen=True, slots=True)
class Background:
    """A remark on light, weather, floor or mood, by its wordings."""

    wordings: tuple[str, ...]


Fact = Standing | Event | Doing | Group
Remark = Standing | Event | Doing | Look | Absence | Background


@dataclass(frozen=True, slots=True)
class Scene:
    """What one caption tells. `place` is None where the caption names none."""

    domain: Domain | None
    place: Place | None
    moment: Moment | None
    fact: Fact
    remarks: tuple[Remark, ...] = ()


def things(fact: Fact) -> tuple[Thing, ...]:
    """The participants of a fact, in the order of its fields."""
    match fact:
        case Standing(figure, _, ground):
            return (figure, ground)
        case Event(agent, _, patient):
            return (agent, patient)
        case Doing(agent, _):
            return (agent,)
        case Group(several):
            return (several,)


def with_participants(fact: Fact, first: Thing, second: Thing) -> Fact:
    """The same fact of two participants about these two."""
    match fact:
        case Standing(_, relation, _):
            return Standing(first, relation, second)
        case Event(_, verb, _):
            return Event(first, verb, second)
    raise TypeError(f"a {type(fact).__name__} has one participant")
