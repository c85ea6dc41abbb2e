"""What joins nouns to a fact and sets it in time: verbs, relations, moments, numbers. Data only.

Written as `nouns` is: commas between entries, `=` between synonyms.
"""

# Verbs: base[=synonym]. Forms that no rule gives are in IRREGULAR.
VERBS: dict[str, str] = {
    # agent kind, patient kind: p person, a animal
    "pp": "greet=welcome, hug=embrace, follow=trail, watch=observe, photograph, chase=pursue, help=assist,"
    " thank, lead=guide, draw=sketch, film, interview, push, comfort=console, tease, applaud",
    "pa": "feed, pet=stroke, follow=trail, watch=observe, photograph, lead=guide, chase=pursue,"
    " brush=groom, draw=sketch, film, examine=inspect, calm=soothe",
    "aa": "chase=pursue, follow=trail, watch=observe, sniff, nudge, approach, circle, lick, guard, push,"
    " lead=guide",
    "ap": "follow=trail, watch=observe, chase=pursue, sniff, approach, nudge, circle, lead=guide, guard",
    # person and thing, by kind of thing; every kind adds the general verbs for its size
    "small": "carry, hold, clean=wipe, examine=inspect, pick up=lift, photograph, drop, point out, hand over",
    "large": "clean=wipe, paint, repair=fix, examine=inspect, photograph, draw=sketch, move=shift, admire,"
    " measure",
    "vehicle": "wash, push, load, rent",
    "food": "eat, buy=purchase, cut, wrap, taste",
    "plant": "water, trim, plant, measure, photograph, draw=sketch, examine=inspect, admire, touch, cut",
    "paper": "read, study, fold, sign",
    "instrument": "play, tune, polish",
    "tool": "use, sharpen, rinse",
    "vessel": "fill, rinse, empty out",
    "textile": "fold, wash, shake out, mend",
    "building": "build, paint, photograph, draw=sketch, leave, admire, examine=inspect, guard, point out",
    "nature": "photograph, draw=sketch, examine=inspect, admire, touch, point out, circle, measure",
    "water": "photograph, draw=sketch, examine=inspect, admire, cross, point out, circle, measure",
    "find": "collect=gather, pick up=lift, hold, wash, break, kick, touch, hide",
}
FOOD_KINDS = ("fruit", "produce", "dish")
ACTIVITIES: dict[str, str] = {
    "person": "run, dance, wait, laugh, sing, stretch, walk, kneel, jump, rest=relax, sleep=doze, whistle,"
    " pray, shout=yell",
    "animal": "run, sleep=doze, rest=relax, walk, stretch, jump, play, wander=roam, stand, hide, yawn,"
    " roll over",
}
IRREGULAR: dict[str, tuple[str, str]] = {
    # base: (-ing form, past participle)
    "hug": ("hugging", "hugged"),
    "lead": ("leading", "led"),
    "draw": ("drawing", "drawn"),
    "feed": ("feeding", "fed"),
    "pet": ("petting", "petted"),
    "hold": ("holding", "held"),
    "drop": ("dropping", "dropped"),
    "eat": ("eating", "eaten"),
    "buy": ("buying", "bought"),
    "cut": ("cutting", "cut"),
    "wrap": ("wrapping", "wrapped"),
    "trim": ("trimming", "trimmed"),
    "read": ("reading", "read"),
    "shake": ("shaking", "shaken"),
    "build": ("building", "built"),
    "leave": ("leaving", "left"),
    "run": ("running", "run"),
    "sing": ("singing", "sung"),
    "sleep": ("sleeping", "slept"),
    "stand": ("standing", "stood"),
    "plant": ("planting", "planted"),
    "break": ("breaking", "broken"),
    "hide": ("hiding", "hidden"),
}

# Relations: key: (wordings, opposite, kin). "on" and "under" need a ground that bears things, "in" one that
# holds them.
RELATIONS: dict[str, tuple[str, str, str]] = {
    "beside": ("beside, next to, alongside", "", "near"),
    "near": ("near, close to, a short way from", "far", "beside"),
    "far": ("far from, a long way from", "near", ""),
    "front": ("in front of, directly in front of", "behind", "opposite"),
    "behind": ("behind, directly behind", "front", ""),
    "left": ("to the left of, on the left side of, left of", "right", "beside"),
    "right": ("to the right of, on the right side of, right of", "left", "beside"),
    "opposite": ("opposite, across from", "", "front"),
    "on": ("on, on top of", "under", ""),
    "under": ("under, beneath, underneath", "on", ""),
    "in": ("in, inside", "", ""),
}

# Moments: wordings of one concept joined by =; the third list fits indoors and outdoors.
MOMENTS: dict[str, str] = {
    "outdoors": "in the rain=during a rain shower, in the fog=in thick mist,"
    " on a windy day=on a breezy day, under a clear sky=under a cloudless sky,"
    " under a cloudy sky=beneath dark clouds, at sunset=at dusk, at sunrise=at dawn,"
    " under the stars=beneath a starry sky",
    "indoors": "by candlelight=in candlelight, in dim light=in faint light,"
    " in bright light=under bright lights, on a rainy day=on a wet day,"
    " on a quiet evening=on a calm evening, before breakfast, after dinner, in the warm glow of a lamp",
    "anywhere": "at night=at nighttime, in the morning, in the afternoon, at noon=at midday,"
    " on a winter day, on a summer day, on a holiday, early in the day",
}
NUMBERS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
