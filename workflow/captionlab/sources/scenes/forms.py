"""Syntaxes: one line of text a form, with a slot for each part of a fact. Data only.

Every form names each role of its fact exactly once, and the words around a slot tell its role: what stands before the
verb, after "by" or after a relation. So a sentence can be read back to its fact whatever form was picked.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Form:
    """A syntax. `clause`: a full sentence, before which a place may be put; else a noun phrase, as captions are.

    `headed`: the place is the head ("a kitchen with ..."), so that the form needs one and takes no other.
    """

    text: str
    clause: bool = True
    headed: bool = False


# {F} figure, {G} ground, {R} relation, {V} verb of standing, {Ving} its -ing form, {be} is or are, {who} who or that,
# {W} the place as head.
STANDING = (
    Form("{F} {V} {R} {G}"),
    Form("there {be} {F} {R} {G}"),
    Form("{R} {G} {V} {F}"),
    Form("{R} {G} there {be} {F}"),
    Form("{F} {R} {G}", clause=False),
    Form("{F} {who} {V} {R} {G}", clause=False),
    Form("{F} {Ving} {R} {G}", clause=False),
    Form("{W} with {F} {R} {G}", clause=False, headed=True),
)
# {A} agent, {P} patient, {s} verb in the present, {ing}, {pp} participle, {be} and {beP} is or are for each.
EVENT = (
    Form("{A} {be} {ing} {P}"),
    Form("{A} {s} {P}"),
    Form("{P} {beP} being {pp} by {A}"),
    Form("{P} {beP} {pp} by {A}"),
    Form("there {be} {A} {ing} {P}"),
    Form("{A} {ing} {P}", clause=False),
    Form("{A} {who} {be} {ing} {P}", clause=False),
    Form("{P} {pp} by {A}", clause=False),
    Form("{P} that {A} {be} {ing}", clause=False),
    Form("{W} with {A} {ing} {P}", clause=False, headed=True),
)
DOING = (
    Form("{A} {be} {ing}"),
    Form("{A} {s}"),
    Form("there {be} {A} {ing}"),
    Form("{A} {ing}", clause=False),
    Form("{A} {who} {be} {ing}", clause=False),
    Form("{W} with {A} {ing}", clause=False, headed=True),
)
GROUP = (
    Form("there {be} {F}"),
    Form("{F} {V}"),
    Form("{F}", clause=False),
    Form("{W} with {F}", clause=False, headed=True),
)
# {T} the thing, {M} one property or two joined by "and", {look} look or looks, {seem} seem or seems.
LOOK = ("{T} {be} {M}", "{T} {look} {M}", "{T} {seem} to be {M}", "it can be seen that {T} {be} {M}")
# {N} a noun without article.
ABSENCE = (
    "there is no {N} in sight",
    "no {N} can be seen",
    "there is no {N} anywhere",
    "no {N} is to be seen",
)
# Further sentences. "There is" introduces, so KNOWN_EVENT, whose agent was mentioned before, goes without it.
PRESENCE = ("there is {N} in sight", "{N} can be seen", "there is {N} somewhere", "{N} is to be seen")
# The same facts denied, with the slots of STANDING and EVENT.
DENIALS: dict[str, tuple[Form, ...]] = {
    "Standing": (
        Form("{F} {be} not {R} {G}"),
        Form("it is not true that {F} {be} {R} {G}"),
    ),
    "Event": (
        Form("{A} {be} not {ing} {P}"),
        Form("{P} {beP} not being {pp} by {A}"),
        Form("{P} {beP} not {pp} by {A}"),
        Form("it is not true that {A} {s} {P}"),
    ),
}
MORE_STANDING = (
    *(form.text for form in STANDING[:4]),
    "one can also see {F} {R} {G}",
)
MORE_EVENT = tuple(form.text for form in EVENT[:5])
KNOWN_EVENT = tuple(form.text for form in EVENT[:4])
MORE_DOING = tuple(form.text for form in DOING[:3])
ASIDE = ("nearby", "in the background", "a little further away", "at the edge of the picture", "not far away")
FRAGMENT_OPENINGS = ("a photo of", "a picture of", "a close view of", "a view of")

ING_POSTURES = {
    "stands": "standing",
    "sits": "sitting",
    "lies": "lying",
    "hangs": "hanging",
    "grows": "growing",
    "is": "placed",
}
