"""From a row to its scene: a permuted row is a code, a code is a core, and the rest is drawn around it.

The 2**24 codes of a seed are shared out to slots by their low 8 bits. A slot belongs to one length class and one
family of core, and holds 2**16 codes; slots of the same class and family number their codes through, so no two codes
of a class and family have the same core number. A family writes a core number in mixed radix and picks one concept
a digit. A list may be longer than its radix: the pick then starts from an offset computed from the digits
before, so that every entry is used and equal earlier picks still mean unequal later ones. Every family therefore
gives different cores to different numbers. The radices' product must hold the family's numbers, which is checked
on import.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import gcd, prod

from captionlab.sources.scenes import fitting
from captionlab.sources.scenes.choices import ROWS, Choices, key, permuted
from captionlab.sources.scenes.lexicon import ACTIVITIES, DOMAINS, MOMENTS, Domain, Modifier, Noun
from captionlab.sources.scenes.remarks import draw_remarks
from captionlab.sources.scenes.scene import Doing, Event, Fact, Group, Scene, Standing, Thing

_SLOT_BITS = 8
_SLOTS = 1 << _SLOT_BITS
_SLOT_CODES = ROWS // _SLOTS
_STREAM = 1

# The mix of captions, in 256ths, by length class and family of core. A short caption is one sentence, a middle
# one adds MIDDLE_REMARKS sentences, a long one LONG_REMARKS, which takes it beyond 128 WordPiece tokens.
MIX: dict[str, dict[str, int]] = {
    "short": {
        "standing": 66,
        "meeting": 36,
        "handling": 51,
        "brief meeting": 7,
        "brief handling": 14,
        "doing": 18,
        "group": 20,
    },
    "middle": {"standing": 14, "meeting": 8, "handling": 12},
    "long": {"standing": 4, "meeting": 3, "handling": 3},
}
REMARKS: dict[str, tuple[int, int]] = {"short": (0, 0), "middle": (1, 2), "long": (12, 17)}

_COUNTS = range(2, 11)
_CHANCE_OF_SECONDARY = 0.15
_CHANCE_OF_MOMENT = 0.12

Digits = Sequence[int]


@dataclass(frozen=True)
class Family:
    """A kind of core: the radix of each digit, and the core that the digits mean (a scene without remarks)."""

    radices: tuple[int, ...]
    build: Callable[[Digits], Scene]

    @property
    def capacity(self) -> int:
        """How many cores the family has."""
        return prod(self.radices)

    def core(self, number: int) -> Scene:
        """The core of a number below the capacity: different numbers, different cores.

        Numbers are first spread over the whole capacity by a factor prime to it, so that a share of the numbers
        reaches every part of every list.
        """
        rest = number * _spread(self.capacity) % self.capacity
        digits = []
        for radix in self.radices:
            rest, digit = divmod(rest, radix)
            digits.append(digit)
        return self.build(digits)


@cache
def _spread(capacity: int) -> int:
    factor = int(capacity * 0.6180339887)
    while gcd(factor, capacity) != 1:
        factor += 1
    return factor


def _primary(noun: Noun, digit: int, offset: int) -> Modifier | None:
    """No modifier for digit 0, else a primary one of the noun."""
    return None if digit == 0 else noun.primary[(digit - 1 + offset) % len(noun.primary)]


def _pair(nouns: tuple[Noun, Noun], digits: Digits, offset: int) -> tuple[Thing, Thing]:
    first = Thing(nouns[0], _primary(nouns[0], digits[0], offset))
    return first, Thing(nouns[1], _primary(nouns[1], digits[1], offset + 3 * digits[0]))


def _standing(digits: Digits) -> Scene:
    domain, place = DOMAINS[digits[0]], DOMAINS[digits[0]].places[digits[1]]
    pairs = fitting.standing_pairs(domain)
    nouns = pairs[(digits[2] + 97 * digits[1]) % len(pairs)]
    relations = fitting.relations_between(*nouns)
    relation = relations[(digits[3] + digits[2]) % len(relations)]
    figure, ground = _pair(nouns, digits[4:], digits[2] + digits[3])
    return Scene(domain, place, None, Standing(figure, relation, ground))


def _event(nouns: tuple[Noun, Noun], digits: Digits, offset: int) -> Event:
    verbs = fitting.verbs_between(*nouns)
    agent, patient = _pair(nouns, digits[1:], offset + 5 * digits[0])
    return Event(agent, verbs[(digits[0] + offset) % len(verbs)], patient)


def _meeting(digits: Digits) -> Scene:
    domain, place = DOMAINS[digits[0]], DOMAINS[digits[0]].places[digits[1]]
    pairs = fitting.meeting_pairs(domain)
    nouns = pairs[(digits[2] + 61 * digits[1]) % len(pairs)]
    return Scene(domain, place, None, _event(nouns, digits[3:], digits[2]))


def _handling(digits: Digits) -> Scene:
    domain, place = DOMAINS[digits[0]], DOMAINS[digits[0]].places[digits[1]]
    pairs = fitting.handling_pairs(domain)
    nouns = pairs[(digits[2] + 83 * digits[1]) % len(pairs)]
    return Scene(domain, place, None, _event(nouns, digits[3:], digits[2]))


def _brief_meeting(digits: Digits) -> Scene:
    nouns = fitting.all_meeting_pairs()[digits[0]]
    return Scene(None, None, None, _event(nouns, digits[1:], digits[0]))


def _brief_handling(digits: Digits) -> Scene:
    nouns = fitting.all_handling_pairs()[digits[0]]
    return Scene(None, None, None, _event(nouns, digits[1:], digits[0]))


def _doing(digits: Digits) -> Scene:
    domain, place = DOMAINS[digits[0]], DOMAINS[digits[0]].places[digits[1]]
    cast = fitting.cast(domain)
    noun = cast[(digits[2] + 5 * digits[1]) % len(cast)]
    verbs = ACTIVITIES[noun.being]
    verb = verbs[(digits[3] + digits[2]) % len(verbs)]
    agent = Thing(noun, _primary(noun, digits[4], digits[2] + 7 * digits[3]))
    return Scene(domain, place, domain.moments[digits[5]], Doing(agent, verb))


def _group(digits: Digits) -> Scene:
    domain, place = DOMAINS[digits[0]], DOMAINS[digits[0]].places[digits[1]]
    noun = domain.things[(digits[2] + digits[1]) % len(domain.things)]
    primary = _primary(noun, digits[4], digits[2] + digits[3])
    things = Thing(noun, primary, count=_COUNTS[digits[3]])
    return Scene(domain, place, domain.moments[digits[5]], Group(things))


def _shortest(lengths: Callable[[Domain], Sequence[object]]) -> int:
    return min(len(lengths(domain)) for domain in DOMAINS)


_SETTINGS = (len(DOMAINS), _shortest(lambda domain: domain.places))
_PRIMARIES = 4  # none and three more
_CLOTHES = 2  # none and one more: clothing takes four words
_MANY_PRIMARIES = 8
_MOMENTS = _shortest(lambda domain: domain.moments)
_RELATIONS = len(fitting.GENERAL_RELATIONS)
_VERBS_BETWEEN = 9  # of people and animals
_VERBS_ON_THINGS = 8
_VERBS_ALONE = 12

FAMILIES: dict[str, Family] = {
    "standing": Family(
        (*_SETTINGS, _shortest(fitting.standing_pairs), _RELATIONS, _PRIMARIES + 1, _PRIMARIES), _standing
    ),
    "meeting": Family(
        (*_SETTINGS, _shortest(fitting.meeting_pairs), _VERBS_BETWEEN, _PRIMARIES, _PRIMARIES), _meeting
    ),
    "handling": Family(
        (*_SETTINGS, _shortest(fitting.handling_pairs), _VERBS_ON_THINGS, _CLOTHES, _MANY_PRIMARIES),
        _handling,
    ),
    "brief meeting": Family(
        (len(fitting.all_meeting_pairs()), _VERBS_BETWEEN, _PRIMARIES, _PRIMARIES), _brief_meeting
    ),
    "brief handling": Family(
        (len(fitting.all_handling_pairs()), _VERBS_ON_THINGS, _CLOTHES + 1, _MANY_PRIMARIES), _brief_handling
    ),
    "doing": Family((*_SETTINGS, _shortest(fitting.cast), _VERBS_ALONE, _PRIMARIES, _MOMENTS), _doing),
    "group": Family((*_SETTINGS, _shortest(lambda d: d.things), len(_COUNTS), _PRIMARIES, _MOMENTS), _group),
}


def _slots() -> tuple[tuple[str, str, int], ...]:
    """(length class, family, first core number) of each slot."""
    slots = []
    for length, families in MIX.items():
        for family, share in families.items():
            if share * _SLOT_CODES > FAMILIES[family].capacity:
                raise ValueError(f"{share} slots of {family} ask for more cores than it has")
            slots += [(length, family, number * _SLOT_CODES) for number in range(share)]
    if len(slots) != _SLOTS:
        raise ValueError(f"MIX adds up to {len(slots)}, not {_SLOTS}")
    return tuple(slots)


_SLOT_TABLE = _slots()


def length_class(seed: int, row: int) -> str:
    """ "short", "middle" or "long"."""
    return _SLOT_TABLE[permuted(seed, row) & (_SLOTS - 1)][0]


def core(seed: int, row: int) -> Scene:
    """The core of a row's scene (0 <= row < ROWS): no two rows of a length class have the same."""
    code = permuted(seed, row)
    _, family, first = _SLOT_TABLE[code & (_SLOTS - 1)]
    return FAMILIES[family].core(first + (code >> _SLOT_BITS))


def draw(seed: int, row: int, *, remarked: bool = True) -> Scene:
    """The scene of a row (0 <= row < ROWS): its core with all that the core leaves open."""
    remarks = REMARKS[length_class(seed, row)] if remarked else (0, 0)
    return _around(core(seed, row), Choices(key(seed, _STREAM, row)), remarks)


def _around(bare: Scene, choices: Choices, remarks: tuple[int, int]) -> Scene:
    """The core with what it leaves open: secondary modifiers, a moment, further remarks."""
    moment = bare.moment
    if moment is None and choices.chance(_CHANCE_OF_MOMENT):
        moment = choices.pick(bare.domain.moments if bare.domain else MOMENTS["anywhere"])
    fact = _detailed(bare.fact, choices)
    amount = remarks[0] + choices.below(remarks[1] - remarks[0] + 1)
    further = draw_remarks(choices, bare.domain, fact, amount) if bare.domain and amount else ()
    return Scene(bare.domain, bare.place, moment, fact, further)


def _detailed(fact: Fact, choices: Choices) -> Fact:
    match fact:
        case Standing(figure, relation, ground):
            return Standing(_with_secondary(figure, choices), relation, _with_secondary(ground, choices))
        case Event(agent, verb, patient):
            return Event(_with_secondary(agent, choices), verb, _with_secondary(patient, choices))
        case Doing(agent, verb):
            return Doing(_with_secondary(agent, choices), verb)
        case Group(several):
            return Group(_with_secondary(several, choices))


def _with_secondary(thing: Thing, choices: Choices) -> Thing:
    if not choices.chance(_CHANCE_OF_SECONDARY):
        return thing
    options = fitting.open_modifiers(thing)
    return Thing(thing.noun, thing.primary, choices.pick(options), thing.count)
