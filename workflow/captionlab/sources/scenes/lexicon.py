"""The lexicon: , as typed concepts with all their surfaces.

A concept (one noun, one modifier, one verb ...) has one key and one or more surfaces; wording picks among
surfaces, drawing picks among concepts.
"""

from dataclasses import dataclass

from captionlab.sources.scenes import links, nouns
from captionlab.sources.scenes.domains import DOMAINS as DOMAIN_TEXTS

_VOWELS = "aeiou"
_CONSONANT_SOUND = ("uni", "use", "one", "eu")
_LONG_VOWEL_ENDINGS = ("s", "x", "z", "ch", "sh")


@dataclass(frozen=True, slots=True, eq=False)
class Modifier:
    """A property of a thing. `surfaces` stand before the noun, or after it (`after`, clothing)."""

    key: str
    dimension: str
    surfaces: tuple[str, ...]
    after: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A kind of thing. `rank` is its size class 0-5; `primary` and `secondary` are what it may be said to be."""

    key: str
    kind: str
    rank: int
    surfaces: tuple[tuple[str, str], ...]  # (singular, plural) of each synonym
    primary: tuple[Modifier, ...]
    secondary: tuple[Modifier, ...]
    postures: tuple[str, ...]  # verbs of standing, third person singular
    bears: bool  # things lie on it
    holds: bool  # things lie in it

    @property
    def being(self) -> str:
        """What it is in the eyes of a verb: "person", "animal" or "thing"."""
        if self.kind in ("adult", "minor", "elder"):
            return "person"
        return "animal" if self.kind in ("pet", "cub", "bird", "beast") else "thing"


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """An action; each surface is (base, third person singular, -ing form, past participle)."""

    key: str
    surfaces: tuple[tuple[str, str, str, str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """A place of one thing to another; `opposite` and `kin` are keys of other relations or empty."""

    key: str
    surfaces: tuple[str, ...]
    opposite: str
    kin: str


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A setting: preposition and name ("in", "kitchen")."""

    key: str
    preposition: str


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """A time, light or weather as a phrase with synonyms ("at noon", "at midday")."""

    key: str
    surfaces: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """One kind of setting with who and what is found there."""

    key: str
    area: str
    light: str
    places: tuple[Place, ...]
    things: tuple[Noun, ...]
    people: tuple[Noun, ...]
    animals: tuple[Noun, ...]
    moments: tuple[Moment, ...]


def article(phrase: str) -> str:
    """The phrase with "a" or "an" by the sound it begins with.

    >>> article("old umbrella"), article("unicycle")
    ('an old umbrella', 'a unicycle')
    """
    sounds_open = phrase[0] in _VOWELS and not phrase.startswith(_CONSONANT_SOUND)
    return f"an {phrase}" if sounds_open else f"a {phrase}"


def plural(noun: str) -> str:
    """The regular plural of a noun.

    >>> [plural(word) for word in ("bench", "daisy", "toy", "dress")]
    ['benches', 'daisies', 'toys', 'dresses']
    """
    if noun.endswith(_LONG_VOWEL_ENDINGS):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2] not in _VOWELS:
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def conjugate(base: str) -> tuple[str, str, str, str]:
    """(base, third person singular, -ing form, past participle) of a verb; a particle stays behind.

    >>> conjugate("wash"), conjugate("pick up")
    (('wash', 'washes', 'washing', 'washed'), ('pick up', 'picks up', 'picking up', 'picked up'))
    """
    head, space, particle = base.partition(" ")
    stem = head[:-1] if head.endswith("e") and not head.endswith("ee") else head
    past = f"{head[:-1]}ied" if head.endswith("y") and head[-2] not in _VOWELS else f"{stem}ed"
    ing, participle = links.IRREGULAR.get(head, (f"{stem}ing", past))
    rest = space + particle
    return base, plural(head) + rest, ing + rest, participle + rest


def _entries(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def _modifiers() -> dict[str, Modifier]:
    found = {}
    for dimension, text in nouns.DIMENSIONS.items():
        for entry in _entries(text):
            surfaces = tuple(entry.split("="))
            found[surfaces[0]] = Modifier(surfaces[0], dimension, surfaces)
    return found


def _clothing() -> tuple[Modifier, ...]:
    found = []
    for garment in _entries(nouns.GARMENTS):
        for colour in _entries(nouns.GARMENT_COLOURS):
            worn = [article(f"{colour} {name}") for name in garment.split("=")]
            surfaces = tuple(f"{link} {name}" for name in worn for link in ("in", "wearing"))
            found.append(Modifier(f"{colour} {garment.split('=')[0]}", "clothing", surfaces, after=True))
    return tuple(found)


def _noun(entry: str, kind: str, modifiers: dict[str, Modifier], clothing: tuple[Modifier, ...]) -> Noun:
    names, marks = entry.rsplit("/", 1)
    postures, primary, secondary = (_entries(text) for text in nouns.KINDS[kind])
    forms = [name.split(":") for name in names.split("=")]
    surfaces = tuple((form[0], form[1] if len(form) > 1 else plural(form[0])) for form in forms)
    return Noun(
        key=surfaces[0][0],
        kind=kind,
        rank=int(marks[0]),
        surfaces=surfaces,
        primary=tuple(modifiers[key] for key in primary) or clothing,
        secondary=tuple(modifiers[key] for key in secondary),
        postures=tuple(postures),
        bears="^" in marks,
        holds="u" in marks,
    )


def _nouns() -> dict[str, Noun]:
    found = {}
    clothing = _clothing()
    for kind, text in nouns.NOUNS.items():
        for entry in _entries(text):
            noun = _noun(entry, kind, MODIFIERS, clothing)
            found[noun.key] = noun
    return found


def _verbs(text: str) -> tuple[Verb, ...]:
    return tuple(
        Verb(bases[0], tuple(conjugate(base) for base in bases))
        for bases in (entry.split("=") for entry in _entries(text))
    )


def _moments(text: str) -> tuple[Moment, ...]:
    return tuple(Moment(phrases[0], tuple(phrases)) for phrases in (e.split("=") for e in _entries(text)))


def _domains() -> tuple[Domain, ...]:
    found = []
    for key, text in DOMAIN_TEXTS.items():
        places = (entry.split(" ", 1) for entry in _entries(text.places))
        found.append(
            Domain(
                key=key,
                area=text.area,
                light=text.light,
                places=tuple(Place(name, preposition) for preposition, name in places),
                things=tuple(NOUNS[name] for name in _entries(text.things)),
                people=tuple(NOUNS[name] for name in _entries(text.people)),
                animals=tuple(NOUNS[name] for name in _entries(text.animals)),
                moments=MOMENTS[text.light] + MOMENTS["anywhere"],
            )
        )
    return tuple(found)


def _thing_verbs(noun: Noun) -> tuple[Verb, ...]:
    """What a person may do to a thing of this kind and size."""
    special = "food" if noun.kind in links.FOOD_KINDS else noun.kind
    if special in ("building", "nature", "water", "find", "plant"):
        return VERBS[special]
    general = VERBS["small"] if noun.rank < 2 else VERBS["large"]
    return VERBS.get(special, ()) + general


MODIFIERS = _modifiers()
NOUNS = _nouns()
VERBS = {key: _verbs(text) for key, text in links.VERBS.items()}
ACTIVITIES = {key: _verbs(text) for key, text in links.ACTIVITIES.items()}
RELATIONS = {
    key: Relation(key, tuple(_entries(text)), opposite, kin)
    for key, (text, opposite, kin) in links.RELATIONS.items()
}
MOMENTS = {key: _moments(text) for key, text in links.MOMENTS.items()}
DOMAINS = _domains()
THING_VERBS = {key: _thing_verbs(noun) for key, noun in NOUNS.items() if noun.being == "thing"}
