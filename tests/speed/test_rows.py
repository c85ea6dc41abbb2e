"""Ratios, fractions and verdicts of a row."""

import json

import pytest

from captionlab.speed.rows import Goal, Limit, Part, Row, fraction, met, part_json, ratio
from captionlab.speed.timing import measured


def row(ours, *, peer=None, limit=None, goal=None, less=False):
    return Row(
        what="work",
        size="all of it",
        unit="s" if less else "items/s",
        ours=measured([ours]),
        peer_name=None if peer is None else "another",
        peer=None if peer is None else measured([peer]),
        limit=None if limit is None else Limit("the machine", limit),
        goal=goal,
        less_is_better=less,
    )


def test_more_items_a_second_and_fewer_seconds_are_both_better():
    assert ratio(row(30.0, peer=10.0)) == 3.0
    assert ratio(row(2.0, peer=3.0, less=True)) == 1.5
    assert ratio(row(1.0)) is None
    assert fraction(row(60.0, limit=80.0)) == 0.75
    assert fraction(row(1.0)) is None


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        (row(30.0, peer=10.0, goal=Goal("ratio", 3.0)), True),
        (row(29.9, peer=10.0, goal=Goal("ratio", 3.0)), False),
        (row(2.9, goal=Goal("value", 3.0), less=True), True),
        (row(3.1, goal=Goal("value", 3.0), less=True), False),
        (row(3.1, goal=Goal("value", 3.0)), True),
        (row(74.0, limit=100.0, goal=Goal("fraction", 0.75)), False),
        (row(75.0, limit=100.0, goal=Goal("fraction", 0.75)), True),
        (row(1.0), None),
    ],
)
def test_a_goal_is_met_or_not(made, verdict):
    assert met(made) is verdict


def test_a_goal_for_a_ratio_without_a_peer_is_a_mistake():
    with pytest.raises(ValueError, match="work: a goal for the ratio"):
        met(row(1.0, goal=Goal("ratio", 2.0)))


def test_a_part_as_json_has_the_machine_the_versions_and_the_verdicts():
    document = part_json(Part("limits", [row(4.0, peer=2.0, goal=Goal("ratio", 3.0))]), {"speed": {}})
    assert json.loads(json.dumps(document)) == document
    assert document["rows"][0]["ratio"] == 2.0
    assert document["rows"][0]["met"] is False
    assert document["machine"]["processors"] >= 1
    assert document["versions"]["torch"].startswith("2.13")
