"""Further sentences of a caption: what else is in the scene, drawn so that one coherent scene unfolds."""

from dataclasses import replace

from captionlab.sources.scenes import fitting
from captionlab.sources.scenes.background import BACKGROUNDS
from captionlab.sources.scenes.choices import Choices
from captionlab.sources.scenes.lexicon import ACTIVITIES, Domain, Noun
from captionlab.sources.scenes.scene import (
    Absence,
    Background,
    Doing,
    Event,
    Fact,
    Look,
    Remark,
    Standing,
    Thing,
    things,
)

# Cumulated chances of the kinds of remark.
_KINDS = (
    ("neighbour", 0.44),
    ("look", 0.64),
    ("deed", 0.80),
    ("doing", 0.86),
    ("absence", 0.89),
    ("background", 1.0),
)


class _Stage:
    """What has been put into the scene so far."""

    def __init__(self, choices: Choices, domain: Domain, fact: Fact) -> None:
        self.choices = choices
        self.domain = domain
        self.present = list(things(fact))
        self.nouns = {thing.noun for thing in self.present}
        self.looked: set[Noun] = set()
        self.twinned: set[Noun] = set()
        self.absent = False
        lines = [*BACKGROUNDS[domain.light], *BACKGROUNDS["anywhere"]]
        start = choices.below(len(lines))
        self.backgrounds = lines[start:] + lines[:start]

    def fresh(self, nouns: tuple[Noun, ...]) -> Thing | None:
        """A new thing of a noun not yet in the scene."""
        options = [noun for noun in nouns if noun not in self.nouns]
        if not options:
            return None
        noun = self.choices.pick(options)
        thing = Thing(noun, self.choices.pick(noun.primary) if self.choices.chance(0.6) else None)
        if self.choices.chance(0.25):
            thing = replace(thing, secondary=self.choices.pick(fitting.open_modifiers(thing)))
        return thing

    def enter(self, thing: Thing) -> Thing:
        """Note that a thing is in the scene now."""
        self.present.append(thing)
        self.nouns.add(thing.noun)
        return thing


def draw_remarks(choices: Choices, domain: Domain, fact: Fact, amount: int) -> tuple[Remark, ...]:
    """`amount` remarks around a fact.

    Nothing is said of a thing twice, a noun that occurs twice is told apart by its primary modifier, and a noun
    said to be absent never enters.
    """
    stage = _Stage(choices, domain, fact)
    remarks: list[Remark] = []
    while len(remarks) < amount:
        chance = choices.below(1000) / 1000
        kind = next(name for name, bound in _KINDS if chance < bound)
        remark = _DRAWN[kind](stage)
        if remark is not None:
            remarks.append(remark)
    return tuple(remarks)


def _neighbour(stage: _Stage) -> Remark | None:
    if stage.choices.chance(0.25) and (twin := _twin(stage)) is not None:
        return twin
    figure = stage.fresh(stage.domain.things)
    if figure is None:
        return None
    if figure.noun.rank < 3 and stage.choices.chance(0.2):
        figure = replace(figure, count=2 + stage.choices.below(3))
    grounds = [thing for thing in stage.present if thing.noun.rank >= figure.noun.rank and thing.count == 1]
    if not grounds:
        return None
    # Half of the time the latest arrivals, so that the text moves on; else anything, so that it comes back.
    ground = stage.choices.pick(grounds[-2:] if stage.choices.chance(0.5) else grounds)
    relation = stage.choices.pick(fitting.relations_between(figure.noun, ground.noun))
    return Standing(stage.enter(figure), relation, ground)


def _twin(stage: _Stage) -> Remark | None:
    """A second thing of a noun already there, of another primary modifier."""
    options = [
        thing
        for thing in stage.present
        if thing.primary is not None and thing.count == 1 and thing.noun not in stage.twinned
    ]
    if not options:
        return None
    first = stage.choices.pick(options)
    others = [modifier for modifier in first.noun.primary if modifier is not first.primary]
    second = Thing(first.noun, stage.choices.pick(others))
    stage.twinned.add(first.noun)
    return Standing(stage.enter(second), stage.choices.pick(fitting.GENERAL_RELATIONS), first)


def _look(stage: _Stage) -> Remark | None:
    options = [thing for thing in stage.present if thing.noun not in stage.looked | stage.twinned]
    if not options:
        return None
    thing = stage.choices.pick(options)
    stage.looked.add(thing.noun)
    modifiers = list(fitting.open_modifiers(thing))
    first = stage.choices.pick(modifiers)
    others = [modifier for modifier in modifiers if modifier.dimension != first.dimension]
    if others and stage.choices.chance(0.5):
        return Look(thing, (first, stage.choices.pick(others)))
    return Look(thing, (first,))


def _deed(stage: _Stage) -> Remark | None:
    agents = [thing for thing in stage.present if thing.noun.being != "thing"]
    agent = stage.choices.pick(agents) if agents and stage.choices.chance(0.6) else None
    if agent is None:
        agent = stage.fresh(fitting.cast(stage.domain))
        if agent is None:
            return None
    patients = [
        thing
        for thing in stage.present
        if thing.noun is not agent.noun and (agent.noun.being == "person" or thing.noun.being != "thing")
    ]
    if not patients:
        return None
    patient = stage.choices.pick(patients)
    if agent not in stage.present:
        stage.enter(agent)
    return Event(agent, stage.choices.pick(fitting.verbs_between(agent.noun, patient.noun)), patient)


def _doing(stage: _Stage) -> Remark | None:
    agent = stage.fresh(fitting.cast(stage.domain))
    if agent is None:
        return None
    return Doing(stage.enter(agent), stage.choices.pick(ACTIVITIES[agent.noun.being]))


def _absence(stage: _Stage) -> Remark | None:
    options = [noun for noun in stage.domain.animals if noun not in stage.nouns]
    if stage.absent or not options:
        return None
    stage.absent = True
    noun = stage.choices.pick(options)
    stage.nouns.add(noun)
    return Absence(noun)


def _background(stage: _Stage) -> Remark | None:
    return Background(stage.backgrounds.pop()) if stage.backgrounds else None


_DRAWN = {
    "neighbour": _neighbour,
    "look": _look,
    "deed": _deed,
    "doing": _doing,
    "absence": _absence,
    "background": _background,
}
