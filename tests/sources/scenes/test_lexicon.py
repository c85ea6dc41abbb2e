"""The lexicon's promises: enough words, English forms, and no surface with two meanings in one place."""

import re
from collections import Counter

import pytest

from captionlab.sources.scenes import fitting, forms, lexicon
from captionlab.sources.scenes.lexicon import DOMAINS, MODIFIERS, NOUNS, article, conjugate, plural


def test_there_are_200_object_nouns_and_more_in_use():
    used = {noun for domain in DOMAINS for noun in domain.things}
    assert len(used) >= 200
    assert all(noun.being == "thing" for noun in used)


def test_every_noun_is_found_somewhere():
    placed = {noun for domain in DOMAINS for noun in (*domain.things, *domain.people, *domain.animals)}
    assert not set(NOUNS.values()) - placed


def test_people_and_animals_are_listed_as_such():
    for domain in DOMAINS:
        assert {noun.being for noun in domain.people} == {"person"}
        assert {noun.being for noun in domain.animals} == {"animal"}


# Written down from a dictionary, not from the code.
@pytest.mark.parametrize(
    ("base", "third", "ing", "participle"),
    [
        ("carry", "carries", "carrying", "carried"),
        ("wash", "washes", "washing", "washed"),
        ("chase", "chases", "chasing", "chased"),
        ("pursue", "pursues", "pursuing", "pursued"),
        ("pick up", "picks up", "picking up", "picked up"),
        ("empty out", "empties out", "emptying out", "emptied out"),
        ("hug", "hugs", "hugging", "hugged"),
        ("lead", "leads", "leading", "led"),
        ("draw", "draws", "drawing", "drawn"),
        ("play", "plays", "playing", "played"),
        ("groom", "grooms", "grooming", "groomed"),
        ("relax", "relaxes", "relaxing", "relaxed"),
        ("shake out", "shakes out", "shaking out", "shaken out"),
        ("fix", "fixes", "fixing", "fixed"),
        ("guide", "guides", "guiding", "guided"),
        ("trim", "trims", "trimming", "trimmed"),
    ],
)
def test_verb_forms(base, third, ing, participle):
    assert conjugate(base) == (base, third, ing, participle)


def test_no_verb_misses_a_doubled_consonant():
    short = re.compile(r"^[^aeiou]*[aeiou][bdgmnprt]$")
    verbs = [
        verb for known in (lexicon.VERBS, lexicon.ACTIVITIES) for some in known.values() for verb in some
    ]
    for verb in verbs:
        for base, _, ing, _ in verb.surfaces:
            head = base.split()[0]
            if short.match(head):
                assert ing.split()[0] == f"{head}{head[-1]}ing"


@pytest.mark.parametrize(
    ("noun", "many"),
    [
        ("bench", "benches"), ("daisy", "daisies"), ("toy car", "toy cars"), ("box", "boxes"), ("brush", "brushes"),
        ("tray", "trays"), ("bus", "buses"),
    ],
)  # fmt: skip
def test_regular_plurals(noun, many):
    assert plural(noun) == many


@pytest.mark.parametrize(
    ("noun", "many"),
    [
        ("knife", "knives"), ("goose", "geese"), ("sheep", "sheep"), ("loaf of bread", "loaves of bread"),
        ("shelf", "shelves"), ("wolf", "wolves"), ("woman", "women"), ("child", "children"), ("potato", "potatoes"),
        ("chest", "chests"), ("calf", "calves"), ("snowman", "snowmen"), ("cactus", "cacti"),
    ],
)  # fmt: skip
def test_irregular_plurals(noun, many):
    assert NOUNS[noun].surfaces[0] == (noun, many)


def test_articles_go_by_sound():
    assert article("apple") == "an apple"
    assert article("orange hat") == "an orange hat"
    assert article("cup") == "a cup"
    assert article("unicycle") == "a unicycle"
    assert article("umbrella") == "an umbrella"


def test_no_surface_names_two_nouns():
    surfaces = Counter(form for noun in NOUNS.values() for pair in noun.surfaces for form in set(pair))
    assert [form for form, times in surfaces.items() if times > 1] == []


def test_no_surface_names_two_modifiers():
    surfaces = Counter(word for modifier in MODIFIERS.values() for word in modifier.surfaces)
    assert [word for word, times in surfaces.items() if times > 1] == []


def test_no_noun_reads_as_a_modified_noun():
    words = {word for modifier in MODIFIERS.values() for word in modifier.surfaces}
    names = {form for noun in NOUNS.values() for pair in noun.surfaces for form in pair}
    for name in names:
        first, _, rest = name.partition(" ")
        assert not (first in words and rest in names), name


def test_primary_and_secondary_modifiers_never_meet():
    for noun in NOUNS.values():
        assert not set(noun.primary) & set(noun.secondary), noun.key
        assert len(noun.primary) >= 8
        assert len({modifier.dimension for modifier in noun.secondary}) >= 3, noun.key


def test_no_verb_form_means_two_verbs_between_the_same_two():
    pairs = fitting.all_meeting_pairs() + fitting.all_handling_pairs()
    for verbs in {fitting.verbs_between(*pair) for pair in pairs}:
        for at in range(4):
            known = Counter(surface[at] for verb in verbs for surface in verb.surfaces)
            assert max(known.values()) == 1
        assert len(verbs) >= 8


def test_no_place_or_moment_is_said_twice():
    places = Counter(place.key for domain in DOMAINS for place in domain.places)
    moments = Counter(
        words for some in lexicon.MOMENTS.values() for moment in some for words in moment.surfaces
    )
    assert max(places.values()) == 1
    assert max(moments.values()) == 1


def test_every_domain_is_well_filled():
    for domain in DOMAINS:
        assert len(domain.places) >= 4
        assert len(set(domain.things)) == len(domain.things) >= 20, domain.key
        assert len(set(fitting.cast(domain))) == len(fitting.cast(domain)) >= 16, domain.key
        assert len(domain.moments) >= 16


@pytest.mark.parametrize(
    ("known", "roles"),
    [(forms.STANDING, "FRG"), (forms.EVENT, "AP"), (forms.DOING, "A"), (forms.GROUP, "F")],
)
def test_every_form_names_each_role_once(known, roles):
    for form in known:
        slots = Counter(re.findall(r"{(\w+)}", form.text))
        assert {role: slots[role] for role in roles} == dict.fromkeys(roles, 1), form.text
        assert slots["W"] == form.headed
