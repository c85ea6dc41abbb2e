"""Nouns and what they may be said to be. Data only.

Within a string, entries are separated by commas; `=` joins synonyms of one concept.
No surface belongs to two concepts of one slot: the proof that captions never repeat rests on it.
"""

# Modifiers by dimension. A thing carries at most one modifier of a dimension, so that it is never "small" and
# "large" at once.
DIMENSIONS: dict[str, str] = {
    "size": "small=little, large=big, tiny, huge=enormous, tall, low",
    "length": "long, wide, narrow",
    "thickness": "thick, thin",
    "age": "old, new, young, elderly, ancient, modern",
    "water": "clear, shallow, murky, sparkling, snowy",
    "state": "broken, dusty, shiny=gleaming, worn, clean, dirty=filthy, rusty, chipped, polished, damaged",
    "filling": "empty, full",
    "opening": "open, closed=shut",
    "shape": "round, flat, bent, crooked, sturdy=solid, folded, soft, heavy, smooth, rough",
    "growth": "wild, blooming=flowering, leafy, bare, withered",
    "taste": "sweet, juicy, delicious=tasty, warm",
    "mood": "smiling, cheerful=happy, tired=weary, calm, curious, sleepy=drowsy, shy, serious, playful,"
    " alert, restless, hungry, friendly, busy",
    "hair": "curly-haired, long-haired, grey-haired",
    "fur": "wet=soaked, muddy, fluffy, lean=skinny, scruffy",
    "colour": "red, blue, green, yellow, white, black, brown, grey=gray, orange, pink, purple, golden,"
    " silver, tan, dark, pale, cream-coloured, colourful=colorful",
    "pattern": "striped, checked=checkered, spotted=speckled, dotted, painted, mossy",
    "material": "wooden, metal, plastic, stone, brick, ceramic, glass, leather, steel, woven, knitted,"
    " cotton, copper",
    "preparation": "fresh, ripe, sliced, peeled, washed, bruised, half-eaten, homemade, burnt, frosted,"
    " frozen",
}

# Kind of noun: (postures, primary modifiers, secondary modifiers). A sentence names at most one primary and one
# secondary modifier of a thing; the two lists of a kind share no word.
KINDS: dict[str, tuple[str, str, str]] = {
    "furniture": (
        "stands, is",
        "wooden, metal, white, black, brown, grey, painted, green, blue, red",
        "small, large, old, new, low, sturdy, dusty, worn",
    ),
    "textile": (
        "lies, is",
        "red, blue, striped, checked, white, green, yellow, dotted, grey, purple",
        "small, large, thin, old, new, worn, clean, soft",
    ),
    "bag": (
        "lies, is, stands",
        "red, blue, leather, brown, black, green, yellow, grey, striped, woven",
        "small, large, old, new, empty, full, heavy, open",
    ),
    "vessel": (
        "stands, sits, is",
        "white, blue, ceramic, red, green, metal, striped, black, yellow, copper",
        "small, large, empty, old, chipped, shiny, full, round",
    ),
    "tool": (
        "lies, is",
        "metal, wooden, silver, black, red, plastic, blue, steel, yellow, green",
        "small, large, old, new, long, worn, clean, dirty, heavy",
    ),
    "device": (
        "stands, sits, is",
        "black, white, silver, grey, red, blue, green, yellow, plastic, brown",
        "small, large, old, new, broken, dusty, shiny, modern",
    ),
    "instrument": (
        "stands, lies, is",
        "black, red, brown, golden, white, blue, painted, dark, green, silver",
        "small, large, old, new, polished, dusty, worn, heavy",
    ),
    "vehicle": (
        "stands, is",
        "red, blue, white, black, green, yellow, grey, silver, orange, brown",
        "small, large, old, new, dirty, shiny, rusty, empty",
    ),
    "fruit": (
        "lies, is",
        "red, green, yellow, ripe, sliced, peeled, washed, bruised, half-eaten, fresh",
        "small, large, round, sweet, juicy, shiny, soft",
    ),
    "produce": (
        "lies, is",
        "fresh, ripe, sliced, peeled, washed, bruised, half-eaten, frozen, pale, dark",
        "small, large, long, dirty, round, clean, soft",
    ),
    "dish": (
        "lies, sits, is",
        "golden, brown, fresh, burnt, sliced, frosted, half-eaten, homemade, dark, frozen",
        "small, large, thick, thin, round, delicious, warm",
    ),
    "plant": (
        "grows, stands, is",
        "green, dark, pale, yellow, brown, bare, blooming, withered, red",
        "small, tall, large, young, old, wild, crooked, thin",
    ),
    "nature": (
        "lies, is",
        "grey, brown, dark, pale, mossy, white, black, smooth, rough, snowy",
        "small, large, wide, round, flat, huge, old, damaged",
    ),
    "water": (
        "is, lies",
        "blue, green, dark, grey, brown, clear, shallow, frozen, murky, sparkling",
        "small, large, wide, narrow, calm, huge",
    ),
    "find": (
        "lies, is",
        "grey, brown, dark, pale, white, black, orange, pink, spotted, smooth",
        "small, large, tiny, broken, wet, clean, thin",
    ),
    "building": (
        "stands, is",
        "red, white, brick, wooden, stone, grey, yellow, blue, painted, green",
        "small, large, tall, old, new, empty, narrow, damaged",
    ),
    "fixture": (
        "stands, is",
        "metal, wooden, white, black, green, red, blue, grey, yellow, painted",
        "small, large, old, new, broken, dirty, clean, sturdy",
    ),
    "hanging": (
        "hangs, is",
        "white, black, red, blue, green, golden, yellow, grey, brown, colourful",
        "small, large, old, new, dusty, round, wide, crooked",
    ),
    "toy": (
        "lies, is",
        "red, blue, yellow, green, wooden, plastic, striped, orange, pink, white",
        "small, large, old, new, dirty, worn, broken, clean",
    ),
    "paper": (
        "lies, is",
        "red, blue, white, yellow, brown, green, black, grey, pink, striped",
        "open, closed, thick, thin, old, new, small, large",
    ),
    "pet": (
        "sits, stands, is",
        "brown, black, white, grey, spotted, tan, golden, dark, pale, cream-coloured",
        "small, large, young, old, playful, sleepy, curious, wet, muddy, fluffy, hungry",
    ),
    "bird": (
        "sits, stands, is",
        "white, black, grey, brown, spotted, colourful, dark, pale, golden, tan",
        "small, large, young, old, curious, alert, restless, wet, hungry",
    ),
    "cub": (
        "sits, stands, is",
        "brown, black, white, grey, spotted, tan, golden, dark, pale",
        "small, tiny, playful, sleepy, curious, wet, muddy, fluffy, hungry",
    ),
    "beast": (
        "stands, is",
        "wet, muddy, lean, scruffy, dark, pale, hungry, sleepy, restless, alert",
        "small, large, young, old, curious, calm, huge",
    ),
    "adult": (
        "stands, sits, is",
        "",
        "young, elderly, tall, smiling, tired, curly-haired, calm, busy, serious, friendly",
    ),
    "minor": ("stands, sits, is", "", "small, smiling, curly-haired, cheerful, sleepy, shy, tall, curious"),
    "elder": ("sits, stands, is", "", "smiling, grey-haired, tired, cheerful, tall, calm, friendly, serious"),
}
GARMENTS = "coat, jacket, shirt, sweater=jumper, hat, cap, vest, hoodie"
GARMENT_COLOURS = (
    "red, blue, green, yellow, white, black, brown, grey, orange, pink, purple, striped, checked"
)

# Nouns by kind: name[:plural][=synonym[:plural]]/rank[marks]. Rank is the size class, 0 (in a hand) to 5 (a
# tower). Mark ^: things lie on it. Mark u: things lie in it.
NOUNS: dict[str, str] = {
    "furniture": "chair/2^, table/2^, stool/2^, sofa=couch:couches/2^, armchair/2^, bed/2^,"
    " wardrobe=closet/3, cupboard=cabinet/2, dresser=chest of drawers:chests of drawers/2^,"
    " bookshelf:bookshelves=bookcase/3, desk/2^, nightstand=bedside table/2^, bench/2^, counter/3^,"
    " shelf:shelves/2^, crib/2, picnic table/2^, deckchair/2^, easel/2, workbench/3^,"
    " blackboard=chalkboard/2",
    "textile": "rug=carpet/1^, curtain/1, pillow/1, blanket/1^, towel/1, tablecloth/1, cushion/1, quilt/1,"
    " napkin/0, flag/1, tent/3, hammock/2, sail/2, umbrella=parasol/1, kite/1, sleeping bag/1, mattress/2^,"
    " doormat/1, apron/1, bathrobe/1",
    "bag": "backpack=rucksack/1u, handbag=purse/1u, suitcase/1u, sack/1u, basket/1u, briefcase/1u,"
    " lunch box/0u",
    "vessel": "cup/0, mug/0, plate/0^, bowl/0u, jug=pitcher/0, teapot/0, kettle/1, pot/1u, vase/1, jar/0u,"
    " bottle/0, bucket=pail/1u, flowerpot/1, watering can/1, tray/1^, barrel/2, saucer/0",
    "tool": "spoon/0, fork/0, knife:knives/0, ladle/0, spatula/0, whisk/0, hammer/0, saw/1, screwdriver/0,"
    " wrench=spanner/0, drill/1, axe/1, shovel=spade/1, rake/1, broom/1, mop/1, paintbrush/0, hairbrush/0,"
    " comb/0, toothbrush/0, pen/0, pencil/0, ruler/0, stapler/0, chisel/0, hoe/1, pitchfork/1,"
    " fishing rod/1, anchor/1, paddle=oar/1, stethoscope/0, lantern/1, rolling pin/0,"
    " cutting board=chopping board/0^, toolbox/1u, key/0, magnifying glass/0, pocketknife:pocketknives/0",
    "device": "laptop/1, phone=telephone/0, camera/0, radio/1, television=TV/1, lamp/1, fan/1, printer/1,"
    " keyboard/1, microphone/0, speaker=loudspeaker/1, projector/1, calculator/0, toaster/1, oven/2,"
    " fridge=refrigerator/2, microwave/1, blender/1, washing machine/2, heater/1, monitor/1, hair dryer/0,"
    " scale/1, cash register/1",
    "instrument": "guitar/1, violin=fiddle/1, drum/1, trumpet/1, flute/0, cello/2, saxophone/1,"
    " accordion/1, harp/2, piano/3^",
    "vehicle": "car=automobile/3, bus/4, truck=lorry/4, van/3, taxi=cab/3, bicycle=bike/2,"
    " motorcycle=motorbike/2, scooter/2, tram=streetcar/4, train/4, tractor/3, ship/5, canoe/2, kayak/2,"
    " sailboat/3, ferry/5, rowboat/3, wheelbarrow/2u, cart=wagon/2u, stroller=pram/2, ambulance/3,"
    " fire engine=fire truck/4, trailer/3, sled=sledge/2, skateboard/1, shopping cart=shopping trolley/2u,"
    " wheelchair/2, snowmobile/3, tricycle/2, camper/4, fishing boat/3",
    "fruit": "apple/0, pear/0, tomato:tomatoes/0, pepper/0, melon/1, plum/0, mango:mangoes/0",
    "produce": "carrot/0, onion/0, potato:potatoes/0, cabbage/1, cucumber/0, lemon/0, banana/0, peach/0,"
    " pumpkin/1, fish:fish/0",
    "dish": "cake/1, loaf of bread:loaves of bread/0, sandwich/0, pizza/1, pie/0, cookie=biscuit/0,"
    " pancake/0, muffin/0, croissant/0, pretzel/0",
    "plant": "tree/4, bush=shrub/2, rose/0, tulip/0, sunflower/1, cactus:cacti/1, fern/1, palm tree/4,"
    " pine tree=pine/4, hedge/3, daisy/0, ivy plant/1, apple tree/4",
    "nature": "rock=boulder/2^, log/2^, tree stump/2^, haystack/3^",
    "water": "puddle/1, pond/4, stream=brook/4",
    "find": "stone/0, shell=seashell/0, pebble/0, feather/0, branch/1, mushroom/0, pinecone/0, starfish/0,"
    " sandcastle/1",
    "building": "house/5, barn/5, shed/4, cottage/5, church/5, tower/5, lighthouse/5, bridge/5,"
    " hut=cabin/4, windmill/5, greenhouse/4, kiosk/4, garage/4, shop=store/5, chicken coop=henhouse/3,"
    " boathouse/5",
    "fixture": "lamp post=street lamp/3, sign/2, fence/3, gate/3, ladder/2, mailbox=letterbox/2, statue/3,"
    " fountain/3, swing/3, slide/3, seesaw/3, sandbox=sandpit/3u, sink/2u, bathtub=tub/3u, stove=cooker/2,"
    " fireplace/3, trash can=dustbin/2u, traffic light/3, vending machine/3, ticket machine/3,"
    " phone booth=phone box/3, scarecrow/2, beehive/1, birdhouse/1, crate/1u, box/1u, chest=trunk/1u,"
    " buoy/1, spotlight=floodlight/1, music stand/1, podium/2, candle/0, candlestick/0, trophy/0, bell/0,"
    " barbecue=grill/2, snowman:snowmen/2, market stall/3, cage/2, trough/2u, turnstile/3,"
    " climbing frame=jungle gym/3, display case/2, first aid kit/1, window/3, door/3, screen/2,"
    " basketball hoop/3, surfboard/2, snowboard/1, ski pole/1, helmet/0",
    "hanging": "mirror/1, clock/1, poster/1, painting/1, map/1, banner/1, chandelier/1,"
    " notice board=bulletin board/2, wreath/1",
    "toy": "ball/0, doll/0, teddy bear/0, balloon/0, toy car/0, puzzle/0, rocking horse/2, dollhouse/1,"
    " frisbee/0, hula hoop/1, beach ball/0, soccer ball/0, toy train/0, robot/1, skipping rope=jump rope/0,"
    " globe/1",
    "paper": "book/0, notebook/0, newspaper/0, magazine/0, envelope/0, letter/0, calendar/0, folder/0,"
    " postcard/0, dictionary/0, comic book/0, ticket/0, photo album/0, menu/0, sketchbook/0",
    "pet": "dog/1, cat/1, horse/3, cow/3, sheep:sheep/2, goat/2, pig/2, donkey/3, rabbit=bunny/1, pony/3,"
    " hamster/0",
    "cub": "kitten/0, puppy/1, calf:calves/2, lamb/1",
    "bird": "duck/1, goose:geese/1, chicken=hen/1, rooster/1, swan/1, pigeon/0, crow/0, parrot/0, owl/0,"
    " seagull=gull/0, sparrow/0, robin/0, peacock/1, penguin/1",
    "beast": "squirrel/0, fox/2, deer:deer/3, bear/3, elephant/4, giraffe/4, zebra/3, lion/3, tiger/3,"
    " monkey/1, camel/3, turtle=tortoise/1, wolf:wolves/2, seal/2, otter/1, hedgehog/0, beaver/1, llama/2,"
    " crab/0",
    "adult": "man:men/3, woman:women=lady/3, farmer/3, chef=cook/3, nurse/3, doctor=physician/3, teacher/3,"
    " builder=construction worker/3, police officer/3, firefighter/3, sailor/3, fisherman:fishermen/3,"
    " artist/3, musician/3, dancer/3, waiter/3, gardener/3, mechanic/3, cyclist/3, tourist/3, hiker/3,"
    " baker/3, photographer/3, jogger/3, shopkeeper/3, carpenter/3, secretary/3, singer/3, skier/3,"
    " lifeguard/3, janitor/3, veterinarian=vet/3, commuter/3, conductor/3, librarian/3, electrician/3,"
    " plumber/3, zookeeper/3, patient/3, engineer/3",
    "minor": "boy/2, girl/2, child:children=kid/2, teenager/3, toddler/2, student=pupil/3",
    "elder": "grandmother=grandma/3, grandfather=grandpa/3",
}
