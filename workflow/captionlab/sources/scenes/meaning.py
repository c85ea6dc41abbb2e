"""Pairs that a good sentence encoder should grade well: paraphrase, detail and topic.

Each table gives a rule's score and what the rule does.
"""

from dataclasses import replace

from captionlab.sources.scenes import fitting
from captionlab.sources.scenes.lexicon import Domain
from captionlab.sources.scenes.material import Material
from captionlab.sources.scenes.scene import Event, Fact, Scene, Standing, Thing, things, with_participants

Rules = dict[str, tuple[float, str]]

PARAPHRASE: Rules = {
    "reworded": (5.0, "one scene in two wordings"),
    "less-said": (4.0, "one wording leaves the moment and the secondary modifiers unsaid"),
    "elsewhere": (3.0, "the same happens at another kind of place and another moment"),
    "one-shared": (2.0, "one participant and the place are the same, what happens and the other are not"),
    "same-place": (1.0, "only the place and the moment are the same"),
    "unrelated": (0.0, "another scene at another kind of place"),
}
DETAIL: Rules = {
    "all-kept": (5.0, "every detail is told in both wordings"),
    "one-less": (4.0, "one of four details is told in one wording only"),
    "two-less": (3.0, "two details are told in one wording only"),
    "three-less": (2.0, "three details are told in one wording only"),
    "bare": (1.0, "one wording tells the bare fact"),
    "other-fact": (0.0, "another fact of the same domain with four details of its own"),
}
TOPIC: Rules = {
    "same-scene": (5.0, "one scene in two wordings"),
    "same-fact": (4.0, "the same fact at another place of the same domain, at another moment"),
    "one-shared": (3.0, "another fact of the same domain that shares a participant"),
    "same-domain": (2.0, "another fact of the same domain, nothing shared"),
    "same-area": (
        1.0,
        "a fact of another domain of the same area (two rooms of a home, two places of a town)",
    ),
    "other-area": (0.0, "a fact of another area"),
}


def paraphrase(material: Material, rule: str) -> tuple[str, str]:
    """A pair under a rule of PARAPHRASE."""
    while True:
        scene = material.scene(Standing, Event)
        domain = _domain(scene)
        scene = replace(scene, moment=material.moment(domain), fact=_with_secondary(material, scene.fact))
        other = _paraphrase_other(material, rule, scene, domain)
        if other is not None:
            return material.tell(scene), material.tell(other)


def _paraphrase_other(material: Material, rule: str, scene: Scene, domain: Domain) -> Scene | None:
    if rule == "reworded":
        return scene
    if rule == "less-said":
        return replace(scene, moment=None, fact=_without_secondary(scene.fact))
    if rule in ("elsewhere", "unrelated"):
        strange = material.domain(without=domain)
        assert strange is not None
        place, moment = material.choices.pick(strange.places), material.moment(strange, scene.moment)
        fact = scene.fact if rule == "elsewhere" else material.other_fact(strange, without=scene.fact)
        return Scene(strange, place, moment, fact) if fact else None
    shared = material.choices.pick(things(scene.fact)).noun if rule == "one-shared" else None
    fact = material.other_fact(domain, without=scene.fact, having=shared)
    return replace(scene, fact=fact) if fact else None


def detail(material: Material, rule: str) -> tuple[str, str]:
    """A pair under a rule of DETAIL.

    The four details are the primary modifiers, the place, the moment and a third thing in a sentence of its own; which
    are left unsaid turns from pair to pair.
    """
    while True:
        scene = material.scene(Standing, Event)
        domain = _domain(scene)
        full = _full(material, domain, scene)
        if rule == "other-fact":
            fact = material.other_fact(domain, without=scene.fact)
            if fact is None:
                continue
            place = material.other_place(domain, scene.place)
            return material.tell(full), material.tell(
                _full(material, domain, Scene(domain, place, None, fact))
            )
        first = material.choices.below(len(_DROPS))
        lesser = full
        for step in range(_LESS.index(rule)):
            lesser = _DROPS[(first + step) % len(_DROPS)](lesser)
        return material.tell(full), material.tell(lesser)


def _full(material: Material, domain: Domain, scene: Scene) -> Scene:
    """The scene with all four details."""
    first, second = (
        Thing(thing.noun, thing.primary or material.choices.pick(thing.noun.primary))
        for thing in things(scene.fact)
    )
    fact = with_participants(scene.fact, first, second)
    noun = material.choices.pick([noun for noun in domain.things if noun not in (first.noun, second.noun)])
    relation = material.choices.pick(fitting.relations_between(noun, second.noun))
    remark = Standing(material.thing(noun), relation, second)
    return replace(scene, moment=material.moment(domain), fact=fact, remarks=(remark,))


def _drop_primaries(scene: Scene) -> Scene:
    first, second = (replace(thing, primary=None) for thing in things(scene.fact))
    remarks = tuple(
        replace(remark, ground=second) for remark in scene.remarks if isinstance(remark, Standing)
    )
    return replace(scene, fact=with_participants(scene.fact, first, second), remarks=remarks)


def _drop_place(scene: Scene) -> Scene:
    return replace(scene, place=None)


def _drop_moment(scene: Scene) -> Scene:
    return replace(scene, moment=None)


def _drop_remark(scene: Scene) -> Scene:
    return replace(scene, remarks=())


_LESS = ("all-kept", "one-less", "two-less", "three-less", "bare")
_DROPS = (_drop_primaries, _drop_place, _drop_moment, _drop_remark)


def topic(material: Material, rule: str) -> tuple[str, str]:
    """A pair under a rule of TOPIC."""
    while True:
        scene = material.scene(Standing, Event)
        other = _topic_other(material, rule, scene, _domain(scene))
        if other is not None:
            return material.tell(scene), material.tell(other)


def _topic_other(material: Material, rule: str, scene: Scene, domain: Domain) -> Scene | None:
    if rule == "same-scene":
        return scene
    if rule == "same-fact":
        place = material.other_place(domain, scene.place)
        return replace(scene, place=place, moment=material.moment(domain, scene.moment))
    if rule == "one-shared":
        shared = material.choices.pick(things(scene.fact)).noun
        return _elsewhere(
            material, domain, scene, material.other_fact(domain, without=scene.fact, having=shared)
        )
    if rule == "same-domain":
        return _elsewhere(material, domain, scene, material.other_fact(domain, without=scene.fact))
    strange = material.domain(area=domain.area if rule == "same-area" else None, without=domain)
    if strange is None:
        return None
    return _elsewhere(material, strange, scene, material.other_fact(strange, without=scene.fact))


def _elsewhere(material: Material, domain: Domain, scene: Scene, fact: Fact | None) -> Scene | None:
    """The fact at a place of `domain` other than the scene's."""
    return Scene(domain, material.other_place(domain, scene.place), None, fact) if fact else None


def _with_secondary(material: Material, fact: Fact) -> Fact:
    """The fact with a secondary modifier for each participant that has none."""
    first, second = (
        thing
        if thing.secondary is not None
        else replace(thing, secondary=material.choices.pick(fitting.open_modifiers(thing)))
        for thing in things(fact)
    )
    return with_participants(fact, first, second)


def _without_secondary(fact: Fact) -> Fact:
    first, second = (replace(thing, secondary=None) for thing in things(fact))
    return with_participants(fact, first, second)


def _domain(scene: Scene) -> Domain:
    assert scene.domain is not None
    return scene.domain
