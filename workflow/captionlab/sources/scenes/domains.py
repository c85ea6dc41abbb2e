"""The places of the grammar and who and what is found there. Data only.

A domain is one kind of setting: its `area` groups domains that resemble each other (the topic suite grades by
it), its places carry their preposition, and its things, people and animals are names of `nouns.NOUNS`.
"""

from typing import NamedTuple


class DomainText(NamedTuple):
    """One domain as comma-separated text; `light` is "indoors" or "outdoors"."""

    area: str
    light: str
    places: str
    things: str
    people: str
    animals: str


_FAMILY = "man, woman, boy, girl, child, teenager, grandmother, grandfather, toddler"
_VISITORS = "man, woman, boy, girl, child, teenager, grandmother, grandfather, tourist, student"

DOMAINS: dict[str, DomainText] = {
    "kitchen": DomainText(
        "home",
        "indoors",
        "in kitchen, in pantry, in dining room, in scullery",
        "table, chair, stool, counter, stove, fridge, oven, toaster, kettle, pot, cup, plate, bowl, jug,"
        " spoon, fork, knife, cutting board, ladle, spatula, whisk, microwave, blender, apple, tomato,"
        " carrot, loaf of bread, cake, pie, napkin, apron, rolling pin, tray",
        f"{_FAMILY}, chef, baker",
        "dog, cat, kitten, puppy, hamster",
    ),
    "living room": DomainText(
        "home",
        "indoors",
        "in living room, in parlour, in hallway, in attic",
        "sofa, armchair, window, door, wreath, table, rug, lamp, television, bookshelf, fireplace, curtain,"
        " cushion, blanket, clock, mirror, painting, vase, candle, piano, radio, book, newspaper,"
        " photo album, umbrella, fern, rocking horse",
        f"{_FAMILY}, musician, electrician",
        "dog, cat, kitten, puppy, hamster, parrot",
    ),
    "bedroom": DomainText(
        "home",
        "indoors",
        "in bedroom, in guest room, in nursery, in dormitory",
        "bed, wardrobe, dresser, nightstand, lamp, pillow, quilt, mattress, crib, doll, teddy bear,"
        " dollhouse, toy car, toy train, suitcase, bathrobe, mirror, poster, hairbrush, book, backpack,"
        " robot, globe, chest",
        f"{_FAMILY}, student, nurse",
        "dog, cat, kitten, puppy, hamster, rabbit",
    ),
    "bathroom": DomainText(
        "home",
        "indoors",
        "in bathroom, in laundry room, in washroom, in cellar",
        "sink, bathtub, towel, bathrobe, mirror, comb, hairbrush, toothbrush, hair dryer, doormat, bucket,"
        " mop, broom, washing machine, basket, cupboard, shelf, scale, bottle, stool, candle, heater, jar,"
        " cup",
        f"{_FAMILY}, plumber, janitor",
        "dog, cat, kitten, puppy, rabbit, duck",
    ),
    "office": DomainText(
        "work",
        "indoors",
        "in office, in meeting room, in reception area, in copy room",
        "desk, chair, key, laptop, phone, printer, keyboard, monitor, calculator, stapler, pen, pencil,"
        " ruler, notebook, folder, envelope, letter, calendar, briefcase, lamp, fan, cupboard,"
        " notice board, projector, mug",
        "man, woman, secretary, engineer, teacher, student, janitor, electrician, photographer, artist,"
        " doctor, tourist",
        "dog, cat, parrot, puppy",
    ),
    "workshop": DomainText(
        "work",
        "indoors",
        "in workshop, in repair shop, in toolshed, in warehouse",
        "workbench, hammer, saw, screwdriver, wrench, drill, chisel, toolbox, ladder, paintbrush, bucket,"
        " crate, barrel, lantern, fan, shelf, box, wheelbarrow, motorcycle, bicycle, axe, stool, log, radio",
        "man, woman, boy, girl, carpenter, mechanic, engineer, electrician, plumber, builder, teenager,"
        " student",
        "dog, cat, kitten, owl",
    ),
    "classroom": DomainText(
        "learning",
        "indoors",
        "in classroom, in school corridor, in study hall, in computer lab",
        "desk, chair, trophy, blackboard, globe, map, book, notebook, pencil, ruler, backpack, poster,"
        " clock, projector, laptop, sketchbook, dictionary, bookshelf, calculator, lunch box, notice board,"
        " easel, puzzle, pen, robot",
        "teacher, boy, girl, child, student, teenager, man, woman, janitor, artist, librarian, photographer",
        "hamster, rabbit, parrot, turtle, dog",
    ),
    "library": DomainText(
        "learning",
        "indoors",
        "in library, in reading room, in bookshop, in archive",
        "bookshelf, book, magazine, newspaper, comic book, dictionary, map, globe, desk, armchair, lamp,"
        " ladder, clock, folder, notebook, magnifying glass, laptop, cart, postcard, rug, display case,"
        " photo album, stool, poster",
        "librarian, student, teacher, man, woman, boy, girl, child, grandmother, grandfather, teenager,"
        " artist",
        "cat, kitten, dog, owl",
    ),
    "museum": DomainText(
        "learning",
        "indoors",
        "in museum, in art gallery, in exhibition hall, in sculpture studio",
        "statue, painting, vase, display case, bench, easel, sketchbook, mirror, clock, sign, map, camera,"
        " lantern, anchor, globe, harp, jug, bell, chandelier, ladder, book, banner, spotlight, chest",
        f"{_VISITORS}, artist, photographer, teacher, janitor",
        "cat, dog, parrot, owl",
    ),
    "clinic": DomainText(
        "work",
        "indoors",
        "in clinic, in hospital ward, in waiting room, in pharmacy",
        "bed, wheelchair, stethoscope, scale, curtain, pillow, blanket, lamp, monitor, cupboard, chair,"
        " desk, clock, magazine, calendar, first aid kit, bottle, folder, towel, screen, phone, balloon,"
        " teddy bear, sink",
        "doctor, nurse, patient, man, woman, boy, girl, child, grandmother, grandfather, janitor,"
        " veterinarian",
        "dog, cat, kitten, puppy, rabbit, parrot",
    ),
    "street": DomainText(
        "town",
        "outdoors",
        "on street, on street corner, in alley, on avenue",
        "car, puddle, tower, garage, bus, truck, van, taxi, bicycle, motorcycle, scooter, tram, ambulance,"
        " fire engine, traffic light, lamp post, sign, mailbox, bench, trash can, phone booth, kiosk,"
        " house, shop, stroller, tree, church",
        f"{_VISITORS}, police officer, cyclist, firefighter, jogger, commuter",
        "dog, cat, pigeon, crow, sparrow",
    ),
    "market": DomainText(
        "town",
        "outdoors",
        "at market, on village square, at flea market, in shopping street",
        "market stall, basket, crate, apple, pear, tomato, pepper, melon, plum, mango, carrot, onion,"
        " potato, cucumber, cabbage, lemon, banana, peach, pumpkin, fish, scale, cart, umbrella,"
        " shopping cart, sack, barrel, flowerpot",
        f"{_VISITORS}, shopkeeper, farmer, chef, baker, photographer",
        "dog, cat, pigeon, chicken, goose, seagull",
    ),
    "station": DomainText(
        "town",
        "indoors",
        "at train station, on railway platform, in bus terminal, in subway station",
        "train, suitcase, backpack, handbag, briefcase, bench, clock, ticket, ticket machine,"
        " vending machine, sign, map, newspaper, magazine, turnstile, trash can, kiosk, poster, phone,"
        " umbrella, cart, guitar, bicycle, stroller",
        f"{_VISITORS}, commuter, conductor, police officer, musician, janitor",
        "dog, cat, pigeon, sparrow, puppy",
    ),
    "cafe": DomainText(
        "town",
        "indoors",
        "in cafe, in bakery, in restaurant, in tea room",
        "table, tablecloth, chair, counter, cup, mug, saucer, teapot, plate, tray, cake, cookie, muffin,"
        " croissant, pretzel, sandwich, pizza, pancake, menu, napkin, vase, cash register, laptop,"
        " newspaper, candle, display case",
        f"{_VISITORS}, waiter, chef, baker, musician",
        "dog, cat, puppy, parrot",
    ),
    "park": DomainText(
        "green",
        "outdoors",
        "in park, on lawn, on hillside, by duck pond",
        "bench, tree, bush, fountain, statue, lamp post, kite, frisbee, ball, picnic table, blanket,"
        " basket, stroller, bicycle, skateboard, pond, rose, tulip, sign, trash can, birdhouse, tree stump,"
        " hammock, scooter, daisy",
        f"{_VISITORS}, jogger, cyclist, gardener, photographer",
        "dog, puppy, duck, swan, squirrel, pigeon, robin, goose",
    ),
    "garden": DomainText(
        "green",
        "outdoors",
        "in garden, in back yard, on terrace, in orchard",
        "rose, tulip, sunflower, hedge, apple tree, fern, watering can, wheelbarrow, shovel, rake, hoe,"
        " flowerpot, greenhouse, shed, gate, fence, deckchair, barbecue, birdhouse, beehive, fountain,"
        " ladder, scarecrow, bucket, ivy plant",
        f"{_FAMILY}, gardener, artist",
        "dog, cat, rabbit, hedgehog, robin, sparrow, turtle, squirrel",
    ),
    "farm": DomainText(
        "country",
        "outdoors",
        "on farm, in farmyard, in pasture, in vineyard",
        "barn, tractor, trailer, haystack, fence, gate, trough, cart, pitchfork, bucket, windmill, shed,"
        " sack, barrel, chicken coop, scarecrow, ladder, wheelbarrow, pumpkin, cabbage, tree, cottage,"
        " crate, log",
        "farmer, man, woman, boy, girl, child, grandmother, grandfather, veterinarian, mechanic,"
        " photographer, teenager",
        "cow, horse, sheep, goat, pig, donkey, chicken, rooster, goose, lamb, calf, pony, dog",
    ),
    "forest": DomainText(
        "country",
        "outdoors",
        "in forest, in clearing, on mountain trail, in valley",
        "tree, pine tree, tree stump, log, rock, stream, mushroom, fern, branch, pinecone, feather,"
        " cottage, hut, bridge, sign, axe, backpack, lantern, bush, stone, pond, map, beehive, basket",
        "hiker, man, woman, boy, girl, child, photographer, teenager, tourist, grandfather, artist, jogger",
        "deer, fox, bear, wolf, squirrel, owl, hedgehog, rabbit, beaver, crow, dog",
    ),
    "campsite": DomainText(
        "country",
        "outdoors",
        "at campsite, on meadow, by mountain lake, in canyon",
        "tent, tree stump, sleeping bag, lantern, backpack, camper, hammock, picnic table, log, canoe,"
        " kayak, pot, kettle, fishing rod, axe, guitar, mug, blanket, map, pocketknife, barbecue, cactus,"
        " deckchair, bicycle",
        "hiker, man, woman, boy, girl, child, teenager, photographer, tourist, grandfather, musician,"
        " cyclist",
        "dog, fox, bear, deer, squirrel, otter, horse, llama",
    ),
    "beach": DomainText(
        "water",
        "outdoors",
        "on beach, on dune, on sandbank, by lagoon",
        "umbrella, towel, deckchair, surfboard, sandcastle, shell, beach ball, bucket, shovel, palm tree,"
        " rowboat, kayak, kite, pebble, starfish, rock, lighthouse, sailboat, frisbee, flag, hammock, hut,"
        " camera, book",
        f"{_VISITORS}, lifeguard, photographer, artist, jogger",
        "dog, seagull, crab, turtle, seal, horse, puppy",
    ),
    "harbour": DomainText(
        "water",
        "outdoors",
        "in harbour, on pier, at marina, on riverbank",
        "ship, ferry, sailboat, fishing boat, rowboat, canoe, anchor, buoy, lighthouse, barrel, crate,"
        " paddle, fishing rod, lamp post, bridge, sail, bell, bench, boathouse, truck, bucket, fish,"
        " lantern, flag",
        f"{_VISITORS}, sailor, fisherman, builder, police officer",
        "dog, cat, seagull, seal, duck, swan, crow, otter",
    ),
    "playground": DomainText(
        "play",
        "outdoors",
        "at playground, in schoolyard, on sports field, on basketball court",
        "swing, slide, seesaw, sandbox, climbing frame, ball, soccer ball, bench, tricycle, scooter,"
        " skateboard, bucket, hula hoop, skipping rope, balloon, doll, teddy bear, robot, fence, tree,"
        " basketball hoop, helmet, bicycle, lunch box",
        f"{_FAMILY}, teacher, student, police officer",
        "dog, puppy, pigeon, crow, squirrel, cat",
    ),
    "concert": DomainText(
        "play",
        "indoors",
        "on stage, in concert hall, in theatre, in ballroom",
        "piano, guitar, violin, drum, trumpet, flute, cello, saxophone, accordion, harp, microphone,"
        " speaker, spotlight, music stand, curtain, chair, podium, chandelier, banner, camera, mirror,"
        " stool, keyboard, candlestick",
        "musician, singer, dancer, man, woman, boy, girl, child, photographer, teenager, teacher,"
        " electrician",
        "dog, cat, parrot, horse",
    ),
    "mountain": DomainText(
        "snow",
        "outdoors",
        "on ski slope, on snowy field, on frozen lake, at mountain lodge",
        "sled, snowboard, ski pole, snowman, pine tree, hut, snowmobile, backpack, helmet, lantern, shovel,"
        " sign, bench, rock, branch, mug, blanket, flag, barrel, camera, fence, log, axe",
        "skier, man, woman, boy, girl, child, teenager, photographer, tourist, hiker, grandfather,"
        " firefighter",
        "dog, fox, wolf, deer, owl, penguin, seal, horse",
    ),
    "zoo": DomainText(
        "play",
        "outdoors",
        "at zoo, in safari park, at wildlife reserve, in aviary",
        "fence, gate, cage, trough, pond, rock, tree, bench, sign, map, camera, balloon, stroller, kiosk,"
        " bucket, broom, log, bush, cactus, ticket, branch, birdhouse, wheelbarrow, palm tree",
        f"{_VISITORS}, zookeeper, veterinarian, photographer",
        "elephant, giraffe, zebra, lion, tiger, bear, monkey, camel, penguin, seal, parrot, turtle,"
        " peacock, llama",
    ),
}
