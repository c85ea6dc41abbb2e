"""Pairs that share nearly all their words and differ in what belongs to what: binding suites.

Each table gives a rule's score and what the rule does. Syntax and synonyms are picked without regard to the rule, so
that the overlap of words tells little of the score.
"""

from dataclasses import replace

from captionlab.sources.scenes import fitting, forms
from captionlab.sources.scenes.forms import Form
from captionlab.sources.scenes.lexicon import RELATIONS, Modifier, Noun, Relation, Verb, article
from captionlab.sources.scenes.material import Material, shared
from captionlab.sources.scenes.scene import (
    Absence,
    Event,
    Scene,
    Standing,
    Thing,
    things,
    with_participants,
)
from captionlab.sources.scenes.wording import Teller, finished, forms_of

Rules = dict[str, tuple[float, str]]

ATTRIBUTE_SWAP: Rules = {
    "same": (5.0, "each participant keeps its modifiers"),
    "secondary-swapped": (3.0, "size, age or state change places; colour, material or clothing stay"),
    "primary-swapped": (2.0, "colour, material or clothing change places; size, age or state stay"),
    "both-swapped": (1.0, "all modifiers change places"),
}
ROLE_SWAP: Rules = {
    "same-roles": (5.0, "one event, agent and patient as they were"),
    "same-roles-twice": (5.0, "two events at a time, every agent and patient as they were"),
    "one-reversed": (3.0, "of two events at a time one has agent and patient reversed"),
    "agents-exchanged": (2.0, "two events at a time have exchanged their agents"),
    "reversed": (1.0, "one event, agent and patient reversed"),
    "both-reversed": (0.0, "two events at a time, both reversed"),
}
COUNT: Rules = {
    "equal": (5.0, "both things are as many"),
    "one-off": (4.0, "one thing more or less in all"),
    "two-off": (3.0, "two things more or less in all, a thing of each kind counting as two"),
    "four-off": (2.0, "three or four things more or less in all"),
    "many-off": (1.0, "five things or more, more or less in all"),
}
NEGATION: Rules = {
    "agree": (5.0, "both sentences affirm or deny the same"),
    "silent": (4.0, "one says nothing on a third thing that the other affirms or denies"),
    "detail-denied": (3.0, "one affirms the third thing, the other denies it"),
    "fact-denied": (1.0, "one affirms the fact, the other denies it"),
    "all-denied": (0.0, "one denies both the fact and the third thing as the other has them"),
}
RELATION: Rules = {
    "same": (5.0, "the same relation, or its converse with the things exchanged"),
    "kin": (
        4.0,
        "a relation that mostly holds too: beside and near, left of and beside, opposite and in front of",
    ),
    "other": (2.5, "a relation that says nothing on the first: left of and behind"),
    "opposite": (1.0, "the opposite relation, or the same one with the things exchanged"),
}

_SYMMETRIC = ("beside", "near", "far", "opposite")
_REVERSIBLE = ("beside", "near", "far", "front", "behind", "left", "right", "opposite")
_MOST = 9


def attribute_swap(material: Material, rule: str) -> tuple[str, str]:
    """A pair under a rule of ATTRIBUTE_SWAP: two participants, each with a primary and a secondary modifier."""
    while True:
        scene = material.scene(Standing, Event)
        first, second = (thing.noun for thing in things(scene.fact))
        primaries = shared(first.primary, second.primary)
        secondaries = shared(first.secondary, second.secondary)
        if len(primaries) < 2 or len(secondaries) < 2:
            continue
        one, other = _two(material, primaries)
        small, great = _two(material, secondaries)
        told = with_participants(scene.fact, Thing(first, one, small), Thing(second, other, great))
        if rule in ("primary-swapped", "both-swapped"):
            one, other = other, one
        if rule in ("secondary-swapped", "both-swapped"):
            small, great = great, small
        swapped = with_participants(scene.fact, Thing(first, one, small), Thing(second, other, great))
        return material.tell(replace(scene, fact=told)), material.tell(replace(scene, fact=swapped))


def role_swap(material: Material, rule: str) -> tuple[str, str]:
    """A pair under a rule of ROLE_SWAP."""
    scene, first = _reversible(material)
    if rule in ("same-roles", "reversed"):
        told = first if rule == "same-roles" else _reversed(first)
        return material.tell(scene), material.tell(replace(scene, fact=told))
    while True:
        _, second = _reversible(material)
        both = {first.agent.noun, first.patient.noun} & {second.agent.noun, second.patient.noun}
        if not both and first.verb.key != second.verb.key and _may_exchange(first, second):
            break
    sentence = _while(material, first, second)
    match rule:
        case "one-reversed":
            changed = (
                (first, _reversed(second)) if material.choices.chance(0.5) else (_reversed(first), second)
            )
        case "agents-exchanged":
            changed = (replace(first, agent=second.agent), replace(second, agent=first.agent))
        case "both-reversed":
            changed = (_reversed(first), _reversed(second))
        case _:
            changed = (first, second)
    return sentence, _while(material, *changed)


def _reversible(material: Material) -> tuple[Scene, Event]:
    """The next event that could as well happen the other way round."""
    while True:
        scene, event = material.event()
        agent, patient = event.agent.noun, event.patient.noun
        if patient.being == "thing":
            continue
        verbs = shared_verbs(agent, patient)
        if verbs:
            event = replace(event, verb=material.choices.pick(verbs))
            return replace(scene, fact=event), event


def shared_verbs(first: Noun, second: Noun) -> list[Verb]:
    """What each of the two may do to the other."""
    back = {verb.key for verb in fitting.verbs_between(second, first)}
    return [verb for verb in fitting.verbs_between(first, second) if verb.key in back]


def _may_exchange(first: Event, second: Event) -> bool:
    return first.agent.noun.being == second.agent.noun.being


def _reversed(event: Event) -> Event:
    return replace(event, agent=event.patient, patient=event.agent)


def _while(material: Material, *events: Event) -> str:
    """Two events in one sentence, in either order."""
    order = events if material.choices.chance(0.5) else events[::-1]
    teller = Teller(material.choices)
    clauses = [teller.sentence(event, None, None, _clause(material, event)) for event in order]
    return finished(material.choices.pick((" while ", ", and ")).join(clauses))


def _clause(material: Material, fact: Event | Standing) -> Form:
    return material.choices.pick([form for form in forms_of(fact, placed=False) if form.clause])


def count(material: Material, rule: str) -> tuple[str, str]:
    """A pair under a rule of COUNT: so many of one thing in a relation to so many of another."""
    low, high = {
        "equal": (0, 0),
        "one-off": (1, 1),
        "two-off": (2, 2),
        "four-off": (3, 4),
        "many-off": (5, 12),
    }[rule]
    scene, fact = material.standing()
    below = material.choices.below
    while True:
        before = (1 + below(_MOST), 1 + below(_MOST))
        after = (1 + below(_MOST), 1 + below(_MOST))
        if low <= abs(before[0] - after[0]) + abs(before[1] - after[1]) <= high:
            break
    first, second = (
        replace(
            scene,
            fact=replace(
                fact,
                figure=replace(fact.figure, count=numbers[0]),
                ground=replace(fact.ground, count=numbers[1]),
            ),
        )
        for numbers in (before, after)
    )
    return material.tell(first), material.tell(second)


def relation(material: Material, rule: str) -> tuple[str, str]:
    """A pair under a rule of RELATION."""
    scene, fact = material.standing()
    options = [RELATIONS[name] for name in _REVERSIBLE]
    if rule == "kin":
        options = [option for option in options if option.kin]
    if rule == "opposite":
        options = [option for option in options if option.opposite]
    told = replace(fact, relation=material.choices.pick(options))
    other = _related(material, told, rule)
    return material.tell(replace(scene, fact=told)), material.tell(replace(scene, fact=other))


def _related(material: Material, fact: Standing, rule: str) -> Standing:
    known = fact.relation
    turned = Standing(fact.ground, known, fact.figure)
    match rule:
        case "same":
            if material.choices.chance(0.5):
                return fact
            return turned if known.key in _SYMMETRIC else replace(turned, relation=RELATIONS[known.opposite])
        case "kin":
            return replace(fact, relation=RELATIONS[known.kin])
        case "opposite":
            if known.key not in _SYMMETRIC and material.choices.chance(0.5):
                return turned
            return replace(fact, relation=RELATIONS[known.opposite])
    return replace(
        fact, relation=material.choices.pick([RELATIONS[n] for n in _REVERSIBLE if _unrelated(known, n)])
    )


def _unrelated(known: Relation, name: str) -> bool:
    """Whether the relation of this name neither follows from the known one nor excludes it."""
    other = RELATIONS[name]
    tied = (known.key, known.opposite, known.kin)
    return name not in tied and known.key not in (other.opposite, other.kin)


def negation(material: Material, rule: str) -> tuple[str, str]:
    """A pair under a rule of NEGATION: a fact, and in a second sentence a third thing, each affirmed or denied."""
    scene = material.scene(Standing, Event)
    assert scene.domain is not None
    taken = [thing.noun for thing in things(scene.fact)]
    third = material.choices.pick([noun for noun in scene.domain.things if noun not in taken])
    fact_holds, third_holds = material.choices.chance(0.6), material.choices.chance(0.5)
    first = _polar(material, scene, third, fact_holds, third_holds)
    if rule in ("fact-denied", "all-denied"):
        fact_holds = not fact_holds
    if rule in ("detail-denied", "all-denied"):
        third_holds = not third_holds
    return first, _polar(material, scene, third, fact_holds, None if rule == "silent" else third_holds)


def _polar(material: Material, scene: Scene, third: Noun, fact_holds: bool, third_holds: bool | None) -> str:
    """The fact affirmed or denied, then the third thing affirmed, denied or (None) not mentioned."""
    teller = Teller(material.choices)
    assert isinstance(scene.fact, Event | Standing)
    if fact_holds:
        form = _clause(material, scene.fact)
    else:
        form = material.choices.pick(forms.DENIALS[type(scene.fact).__name__])
    sentences = [finished(teller.sentence(scene.fact, scene.place, scene.moment, form))]
    if third_holds is not None:
        sentences.append(
            finished(_presence(material, third) if third_holds else teller.remark(Absence(third)))
        )
    return " ".join(sentences)


def _presence(material: Material, noun: Noun) -> str:
    name = material.choices.pick(noun.surfaces)[0]
    return material.choices.pick(forms.PRESENCE).format(N=article(name))


def _two(material: Material, modifiers: list[Modifier]) -> tuple[Modifier, Modifier]:
    """Two different ones, in no order."""
    first = material.choices.pick(modifiers)
    return first, material.choices.pick([modifier for modifier in modifiers if modifier is not first])
