"""What the suites are made of: scenes that no caption and no other suite has.

Each suite reads its own stretch of the rows that captions never use, and keeps only scenes of its own residue: the
ordinals of the two participants' nouns add up to the suite's index modulo 9. Swapping roles, attributes, counts or
relations moves no noun, so every sentence of a suite keeps the residue, and facts made beside a drawn one are taken
from the same residue. A sentence on two facts has twice the residue, which still tells the suites apart because 2 has
an inverse modulo 9. Hence no sentence of one suite can be a sentence of another.
"""

from functools import cache

from captionlab.errors import CaptionlabError
from captionlab.sources.scenes import fitting
from captionlab.sources.scenes.captions import CAPTION_ROWS
from captionlab.sources.scenes.choices import ROWS, Choices, key
from captionlab.sources.scenes.drawing import core, draw
from captionlab.sources.scenes.lexicon import DOMAINS, NOUNS, Domain, Modifier, Moment, Noun, Place
from captionlab.sources.scenes.scene import Event, Fact, Scene, Standing, Thing, things
from captionlab.sources.scenes.wording import tell

RESIDUES = 9
_ROWS_EACH = (ROWS - CAPTION_ROWS) // RESIDUES
_FIRST_STREAM = 16
_ORDINALS = {noun: ordinal for ordinal, noun in enumerate(NOUNS.values())}


class Material:
    """The scenes of one suite, one after the other, and its stream of choices."""

    def __init__(self, seed: int, residue: int) -> None:
        self._seed = seed
        self._residue = residue
        self._row = CAPTION_ROWS + residue * _ROWS_EACH
        self._end = self._row + _ROWS_EACH
        self.choices = Choices(key(seed, _FIRST_STREAM + residue, 0))

    def scene(self, *kinds: type[Fact]) -> Scene:
        """The next scene of a place and of one of these kinds of fact, without remarks.

        Raises CaptionlabError when the suite's rows are used up.
        """
        while self._row < self._end:
            row, self._row = self._row, self._row + 1
            scene = core(self._seed, row)
            if scene.domain is not None and isinstance(scene.fact, kinds) and self._mine(scene.fact):
                return draw(self._seed, row, remarked=False)
        raise CaptionlabError(
            f"scenes: the {_ROWS_EACH:,} rows of a suite hold no further pairs: ask for a smaller suite"
        )

    def _mine(self, fact: Fact) -> bool:
        nouns = [thing.noun for thing in things(fact)]
        return len(nouns) == 2 and residue_of(nouns[0], nouns[1]) == self._residue

    def event(self) -> tuple[Scene, Event]:
        """The next scene whose fact is an event, with it."""
        scene = self.scene(Event)
        assert isinstance(scene.fact, Event)
        return scene, scene.fact

    def standing(self) -> tuple[Scene, Standing]:
        """The next scene whose fact is a standing, with it."""
        scene = self.scene(Standing)
        assert isinstance(scene.fact, Standing)
        return scene, scene.fact

    def other_fact(
        self, domain: Domain, *, without: Fact | None = None, having: Noun | None = None
    ) -> Fact | None:
        """A fact of this domain and suite that shares no noun with `without` but names `having`.

        None where the domain has no such fact.
        """
        barred = {thing.noun for thing in things(without)} - {having} if without is not None else set()
        options = [
            pair
            for pair in _pairs(domain, self._residue)
            if barred.isdisjoint(pair) and (having is None or having in pair)
        ]
        if not options:
            return None
        first, second = (self.thing(noun) for noun in self.choices.pick(options))
        if first.noun.being == "thing":
            relation = self.choices.pick(fitting.relations_between(first.noun, second.noun))
            return Standing(first, relation, second)
        return Event(first, self.choices.pick(fitting.verbs_between(first.noun, second.noun)), second)

    def thing(self, noun: Noun) -> Thing:
        """One of a noun, mostly with a primary modifier."""
        return Thing(noun, self.choices.pick(noun.primary) if self.choices.chance(0.7) else None)

    def other_place(self, domain: Domain, place: Place | None) -> Place:
        """Another place of the same domain."""
        return self.choices.pick([other for other in domain.places if other is not place])

    def moment(self, domain: Domain, without: Moment | None = None) -> Moment:
        """A moment that fits the domain, another than `without`."""
        return self.choices.pick([moment for moment in domain.moments if moment is not without])

    def domain(self, *, area: str | None = None, without: Domain) -> Domain | None:
        """Another domain: of the same area where one is named, else of another area than `without`'s."""
        wanted = [
            other
            for other in DOMAINS
            if other is not without and (other.area == area if area else other.area != without.area)
        ]
        return self.choices.pick(wanted) if wanted else None

    def tell(self, scene: Scene) -> str:
        """A wording of the scene."""
        return tell(scene, self.choices)


def residue_of(first: Noun, second: Noun) -> int:
    """Which suite may speak of these two nouns: 0 <= residue < RESIDUES, the same in either order."""
    return (_ORDINALS[first] + _ORDINALS[second]) % RESIDUES


def shared(first: tuple[Modifier, ...], second: tuple[Modifier, ...]) -> list[Modifier]:
    """The modifiers in both lists, in the order of the first."""
    return [modifier for modifier in first if modifier in second]


@cache
def _pairs(domain: Domain, residue: int) -> tuple[tuple[Noun, Noun], ...]:
    known = fitting.standing_pairs(domain) + fitting.meeting_pairs(domain) + fitting.handling_pairs(domain)
    return tuple(pair for pair in known if residue_of(*pair) == residue)
