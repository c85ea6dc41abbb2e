import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from captionlab.errors import CaptionlabError
from captionlab.selection import DevelopmentRow, development_row, select

# The six development rows of the model card.
CARD = [
    ("4M", "hierarchical", 1, 0.68295, 2),
    ("4M", "hierarchical", 2, 0.68854, 2),
    ("4M", "relative-16", 1, 0.68672, 0),
    ("4M", "relative-16", 2, 0.68633, 0),
    ("1M", "hierarchical", 1, 0.68331, 2),
    ("1M", "hierarchical", 2, 0.67775, 2),
]


def row(recipe, option, seed, spearman, additions, repeat=0):
    return DevelopmentRow(recipe, option, seed, repeat, spearman, additions, "sts-b-dev", 1500, "id", "sha")


def card():
    return [row(*values) for values in CARD]


def test_the_card_yields_its_own_default():
    selection = select(card(), near_tie=0.002)
    assert selection["selected"] == {"recipe": "4M", "option": "relative-16", "seed": 1}
    assert [group["near_tie"] for group in selection["means"]] == [True, True, False]
    assert selection["means"][0]["mean"] == pytest.approx(0.685745)
    assert selection["means"][1]["mean"] == pytest.approx(0.686525)
    assert selection["decided_by"] == "additions"
    assert selection["seed_decided_by"] == "seed order"


def test_without_a_near_tie_the_mean_decides_even_for_more_additions():
    rows = [row("r", "plain", 1, 0.60, 0), row("r", "rich", 1, 0.61, 3)]
    assert select(rows, near_tie=0.002)["selected"]["option"] == "rich"
    assert select(rows, near_tie=0.002)["decided_by"] == "mean"
    assert select(rows, near_tie=0.05)["selected"]["option"] == "plain"
    assert select(rows, near_tie=0.05)["decided_by"] == "additions"


def test_equal_additions_fall_to_the_higher_mean_then_to_campaign_order():
    rows = [row("r", "a", 1, 0.600, 0), row("r", "b", 1, 0.601, 0)]
    assert select(rows, near_tie=0.002)["selected"]["option"] == "b"
    equal = [row("r", "b", 1, 0.6, 0), row("r", "a", 1, 0.6, 0)]
    assert select(equal, near_tie=0.002)["selected"]["option"] == "b"
    assert select(equal, near_tie=0.002)["decided_by"] == "order"


def test_a_seed_that_leads_by_more_than_the_near_tie_is_released():
    rows = [row("r", "a", 1, 0.60, 0), row("r", "a", 2, 0.61, 0), row("r", "a", 3, 0.6095, 0)]
    selection = select(rows, near_tie=0.002)
    assert selection["selected"]["seed"] == 2
    assert selection["seed_decided_by"] == "seed order"
    assert select(rows, near_tie=0.0001)["seed_decided_by"] == "spearman"


def test_repeats_are_shown_but_not_counted():
    rows = [*card(), row("4M", "hierarchical", 1, 0.99, 2, repeat=1)]
    selection = select(rows, near_tie=0.002)
    assert selection["means"] == select(card(), near_tie=0.002)["means"]
    assert [entry["counted"] for entry in selection["rows"]] == [True] * 6 + [False]


@given(st.permutations(card()))
def test_the_order_of_rows_does_not_matter_when_nothing_is_equal(rows):
    assert select(rows, near_tie=0.002)["selected"] == {"recipe": "4M", "option": "relative-16", "seed": 1}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "nothing to select from"),
        ([row("r", "a", 1, 0.5, 0, repeat=1)], "nothing to select from"),
        ([*card(), card()[0]], "two development files"),
        ([*card(), dataclasses.replace(card()[0], seed=9, suite="other")], "different suites"),
        ([*card(), dataclasses.replace(card()[0], seed=9, additions=5)], "additions"),
    ],
)
def test_rows_that_cannot_be_compared_are_refused(rows, words):
    with pytest.raises(CaptionlabError, match=words):
        select(rows, near_tie=0.002)


def test_a_document_without_a_field_is_named():
    with pytest.raises(CaptionlabError, match=r"here/development.json has no field 'repeat'"):
        development_row({"run": {"recipe": "r", "option": "a", "seed": 1}}, "here/development.json")
