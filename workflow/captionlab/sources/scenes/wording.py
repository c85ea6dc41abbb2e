"""From a scene to English: picks a syntax, synonyms and articles, and never changes what is told."""

from collections.abc import Sequence

from captionlab.sources.scenes import forms
from captionlab.sources.scenes.choices import Choices
from captionlab.sources.scenes.forms import Form
from captionlab.sources.scenes.lexicon import Moment, Noun, Place, article
from captionlab.sources.scenes.links import NUMBERS
from captionlab.sources.scenes.scene import (
    Absence,
    Background,
    Doing,
    Event,
    Fact,
    Group,
    Look,
    Remark,
    Scene,
    Standing,
    Thing,
)

_CHANCE_OF_FRONTING = 0.3
_CHANCE_OF_OPENING = 0.12
_CHANCE_OF_FULL_STOP = 0.5


class Teller:
    """Words the sentences of one text, and remembers what it has mentioned.

    The first mention of a thing is indefinite, later ones are definite and keep its name, so that longer texts repeat
    whole words. A noun that names two things is told apart by its primary modifier.
    """

    __slots__ = ("_choices", "_mentioned")

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._mentioned: dict[Noun, list[tuple[Thing, int]]] = {}

    def phrase(self, thing: Thing) -> str:
        """The noun phrase of a thing, definite where it was mentioned before."""
        known = self._mentioned.setdefault(thing.noun, [])
        for former, synonym in known:
            if former == thing:
                return self._again(thing, synonym, apart=len(known) > 1)
        synonym = known[0][1] if known else self._choices.below(len(thing.noun.surfaces))
        known.append((thing, synonym))
        return self._first(thing, synonym, another=len(known) > 1)

    def _told(self, noun: Noun) -> list[Thing]:
        return [thing for thing, _ in self._mentioned.get(noun, [])]

    def _first(self, thing: Thing, synonym: int, *, another: bool) -> str:
        words = []
        if thing.secondary is not None:
            words.append(self._choices.pick(thing.secondary.surfaces))
        after = self._primary(thing, words)
        words.append(thing.noun.surfaces[synonym][thing.count > 1])
        phrase = " ".join(words)
        if thing.count > 1:
            return f"{NUMBERS[thing.count]} {phrase}{after}"
        return f"{f'another {phrase}' if another else article(phrase)}{after}"

    def _again(self, thing: Thing, synonym: int, *, apart: bool) -> str:
        words = ["the"]
        after = self._primary(thing, words) if apart else ""
        words.append(thing.noun.surfaces[synonym][thing.count > 1])
        return " ".join(words) + after

    def _primary(self, thing: Thing, words: list[str]) -> str:
        """Put the primary modifier into `words`, or return it to stand after the noun."""
        if thing.primary is None:
            return ""
        surface = self._choices.pick(thing.primary.surfaces)
        if thing.primary.after:
            return f" {surface}"
        words.append(surface)
        return ""

    def parts(self, fact: Fact) -> dict[str, str]:
        """The slots of the forms of a fact."""
        match fact:
            case Standing(figure, relation, ground):
                relation_words = self._choices.pick(relation.surfaces)
                return self._figure(figure) | {"R": relation_words, "G": self.phrase(ground)}
            case Event(agent, verb, patient):
                _, third, ing, participle = forms_of_verb = self._choices.pick(verb.surfaces)
                many = agent.count > 1
                return {
                    "A": self.phrase(agent),
                    "P": self.phrase(patient),
                    "s": forms_of_verb[0] if many else third,
                    "ing": ing,
                    "pp": participle,
                    "be": be(agent),
                    "beP": be(patient),
                    "who": who(agent),
                }
            case Doing(agent, verb):
                base, third, ing, _ = self._choices.pick(verb.surfaces)
                return {
                    "A": self.phrase(agent),
                    "s": base if agent.count > 1 else third,
                    "ing": ing,
                    "be": be(agent),
                    "who": who(agent),
                }
            case Group(several):
                return self._figure(several)

    def _figure(self, figure: Thing) -> dict[str, str]:
        posture = self._choices.pick(figure.noun.postures)
        return {
            "F": self.phrase(figure),
            "V": posture if figure.count == 1 else _many(posture),
            "Ving": forms.ING_POSTURES[posture],
            "be": be(figure),
            "who": who(figure),
        }

    def where(self, place: Place) -> str:
        """The place with its preposition."""
        name = f"the {place.key}" if self._choices.chance(0.4) else article(place.key)
        return f"{place.preposition} {name}"

    def sentence(self, fact: Fact, place: Place | None, moment: Moment | None, form: Form) -> str:
        """One sentence without its final stop, in a given form."""
        choices = self._choices
        parts = self.parts(fact)
        when = choices.pick(moment.surfaces) if moment is not None else ""
        if form.headed and place is not None:
            parts["W"] = f"{article(place.key)} {when}" if when else article(place.key)
            return form.text.format_map(parts)
        where = self.where(place) if place is not None else ""
        body = form.text.format_map(parts)
        if not form.clause:
            return _joined(self._opening(), body, where, when)
        if (where or when) and choices.chance(_CHANCE_OF_FRONTING):
            if where and (not when or choices.chance(0.5)):
                return _joined(f"{where},", body, when)
            return _joined(f"{when},", body, where)
        return _joined(body, where, when)

    def _opening(self) -> str:
        if self._choices.chance(_CHANCE_OF_OPENING):
            return self._choices.pick(forms.FRAGMENT_OPENINGS)
        return ""

    def remark(self, remark: Remark) -> str:
        """One further sentence without its final stop."""
        choices = self._choices
        match remark:
            case Look(thing, modifiers):
                quality = " and ".join(choices.pick(modifier.surfaces) for modifier in modifiers)
                many = thing.count > 1
                verbs = {"look": "look" if many else "looks", "seem": "seem" if many else "seems"}
                parts = {"T": self.phrase(thing), "M": quality, "be": be(thing)} | verbs
                return choices.pick(forms.LOOK).format_map(parts)
            case Absence(noun):
                name = choices.pick(noun.surfaces)[0]
                return choices.pick(forms.ABSENCE).format(N=name)
            case Background(wordings):
                return choices.pick(wordings)
            case Standing():
                return choices.pick(forms.MORE_STANDING).format_map(self.parts(remark))
            case Event(agent, _, _):
                known = agent in self._told(agent.noun)
                return choices.pick(forms.KNOWN_EVENT if known else forms.MORE_EVENT).format_map(
                    self.parts(remark)
                )
            case Doing():
                body = choices.pick(forms.MORE_DOING).format_map(self.parts(remark))
                return f"{body} {choices.pick(forms.ASIDE)}"


def forms_of(fact: Fact, *, placed: bool) -> Sequence[Form]:
    """The forms that word a fact; without a place those that need none."""
    return _PLACED[type(fact)] if placed else _UNPLACED[type(fact)]


def be(thing: Thing) -> str:
    """ "is" or "are"."""
    return "are" if thing.count > 1 else "is"


def who(thing: Thing) -> str:
    """The relative pronoun."""
    return "who" if thing.noun.being == "person" else "that"


def finished(sentence: str) -> str:
    """With a capital and a full stop."""
    return f"{sentence[0].upper()}{sentence[1:]}."


def tell(scene: Scene, choices: Choices) -> str:
    """The caption of a scene: one line.

    A scene with remarks is a paragraph, each sentence closed by a full stop; a scene without is one sentence, which
    may be a noun phrase without a stop.
    """
    teller = Teller(choices)
    form = choices.pick(forms_of(scene.fact, placed=scene.place is not None))
    first = finished(teller.sentence(scene.fact, scene.place, scene.moment, form))
    if scene.remarks:
        return " ".join([first, *(finished(teller.remark(remark)) for remark in scene.remarks)])
    if not form.clause and choices.chance(_CHANCE_OF_FULL_STOP):
        return first[:-1]
    return first


def _joined(*pieces: str) -> str:
    return " ".join(piece for piece in pieces if piece)


def _many(posture: str) -> str:
    return "are" if posture == "is" else posture[:-1]


_PLACED: dict[type[Fact], tuple[Form, ...]] = {
    Standing: forms.STANDING,
    Event: forms.EVENT,
    Doing: forms.DOING,
    Group: forms.GROUP,
}
_UNPLACED = {kind: tuple(form for form in known if not form.headed) for kind, known in _PLACED.items()}
