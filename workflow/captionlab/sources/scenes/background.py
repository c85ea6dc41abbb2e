"""Remarks that any scene may close with: light, weather, floor, mood, camera. Data only."""

BACKGROUNDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "indoors": (
        ("sunlight falls through a narrow opening", "a beam of sunlight comes in from one side"),
        ("the floor is covered with pale tiles", "pale tiles cover the whole floor"),
        ("the walls are bare and painted in a light colour", "there is nothing on the light walls"),
        ("the ceiling is high and crossed by dark beams", "dark beams run across the high ceiling"),
        ("the air inside seems warm and still", "it looks warm and quiet inside"),
        ("long shadows fall across the floor", "the floor is crossed by long shadows"),
        ("everything has been tidied up with care", "everything is in its usual order"),
        ("a few small things are scattered about", "several small objects lie about in disorder"),
        (
            "the room smells of fresh paint, one would guess",
            "one would guess that the walls were painted lately",
        ),
        ("soft music seems to come from somewhere else", "somewhere else, soft music seems to be playing"),
    ),
    "outdoors": (
        ("the sky above is wide and almost white", "above it all the sky is almost white"),
        ("the ground is still damp from last night", "the damp ground reflects a little light"),
        ("a light wind is blowing from the side", "a breeze seems to blow from one side"),
        ("long shadows stretch over the ground", "the ground is crossed by long shadows"),
        ("in the distance a row of hills can be seen", "far away there is a row of low hills"),
        ("dry leaves lie scattered on the ground", "the ground is littered with dry leaves"),
        ("some puffy clouds drift slowly by", "a few clouds are drifting past"),
        ("the air looks cold and very clear", "it seems to be a cold and clear day"),
        ("a narrow path leads out of the picture", "a narrow path runs off to one side"),
        ("thin smoke rises somewhere in the distance", "somewhere far off, thin smoke is rising"),
    ),
    "anywhere": (
        ("the whole scene feels calm", "there is a calm mood over the whole scene"),
        ("the picture was taken from slightly above", "the camera looks down a little from above"),
        ("the edges of the picture are out of focus", "towards its edges the picture is blurred"),
        ("the colours are strong and a little warm", "warm and strong colours fill the picture"),
        ("it must have been an ordinary day", "nothing about the day seems unusual"),
        ("the light is soft and even", "a soft light lies evenly over everything"),
        ("there is plenty of empty space around", "a lot of space around has been left empty"),
        ("nobody seems to be in a hurry", "no one appears to be in a hurry"),
        ("everything is in sharp focus in the middle", "the middle of the picture is sharp and clear"),
        ("it could be a page from an old story", "the view could come from an old story"),
    ),
}
