"""Claims: data that loads, checks that decide, and the card's arithmetic against figures worked out by hand."""

import json
import shutil

import pytest

from captionlab.errors import CaptionlabError
from captionlab.tables import claims as claims_module
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.checks import arithmetic, sizes
from captionlab.tables.checks.finding import Evidence, State
from captionlab.tables.claims import CHECKS, Claim, cards, claims_frame, judge, load, tally
from captionlab.tables.plan import plan_from_spec

CARD = "captionbert-8192-rotary"
RELAY = "qwen3.5-0.8b-relay-caption"
DECODER = "autoresearch-blip3o-long-caption-depth8"


@pytest.fixture
def nothing(plan_spec, tmp_path):
    """A campaign without a single result: only arithmetic can decide."""
    return Evidence(plan_from_spec(plan_spec), Artifacts(tmp_path))


@pytest.fixture
def finished(plan_spec, results):
    return Evidence(plan_from_spec(plan_spec), Artifacts(results))


def states(card, evidence):
    return {claim.name: judge(claim, evidence) for claim in load(card)}


def test_all_three_cards_have_claims():
    assert set(cards()) == {CARD, RELAY, DECODER}


def test_what_the_card_s_own_numbers_decide_is_decided_without_results(nothing):
    found = states(CARD, nothing)
    holds = {name for name, finding in found.items() if finding.state is State.HOLDS}
    expected = {
        "size",
        "default",
        "near-tie",
        "strongest",
        "directions",
        "pair-mean-order",
        "eighteen",
        "twenty-four",
        "steps-screen",
        "steps-larger",
        "steps-exposure",
        "presentations-larger",
        "held-out",
        "case-entries",
        "zero-difference",
        "no-significance",
    }
    assert expected <= holds
    assert sum(name.startswith("row-mean-") for name in holds) == 6
    assert sum(name.startswith("pair-mean-") for name in holds) == 4


def test_arithmetic_is_never_called_uncheckable(nothing):
    decided = {claim.name for claim in load(CARD) if getattr(arithmetic, claim.check, None)}
    found = states(CARD, nothing)
    assert len(decided) > 30
    assert all(found[name].state in (State.HOLDS, State.CONTRADICTED) for name in decided)


def test_the_memory_bound_does_not_hold(nothing):
    finding = states(CARD, nothing)["memory-local"]
    assert finding.state is State.CONTRADICTED
    assert "4.384 (Default / Hub on local GPU)" in finding.figure


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("size", "54,114,560"),
        ("steps-screen", "2 chunks × 244 whole batches × 4 epochs = 1,952"),
        ("steps-larger", "= 7,808 (batches cut from all rows at once would give 7,812)"),
        ("presentations-exposure", "7,808 × 2,048 = 15,990,784"),
        ("directions", "seed 1 -0.0022, seed 2 +0.0078"),
        ("near-tie", "0.685745 and 0.686525, 0.000780 apart"),
        ("no-significance", "p = 2/6 = 0.333"),
    ],
)
def test_figures_worked_out_by_hand(nothing, name, figure):
    assert figure in states(CARD, nothing)[name].figure


def test_without_results_nothing_is_reproduced(nothing):
    assert State.REPRODUCED not in {finding.state for finding in states(CARD, nothing).values()}


def test_the_published_campaign_reproduces_the_card(finished):
    found = states(CARD, finished)
    assert found["scores-larger-hierarchical-1"].state is State.REPRODUCED
    assert found["lookup-exact"].state is State.REPRODUCED
    assert "10,146 of 10,146" in found["lookup-exact"].figure
    assert found["blind-selection"].state is State.REPRODUCED


def test_a_number_too_far_off_contradicts_the_card(plan_spec, results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "results")
    file = copy / "evaluation/larger/hierarchical/seed-1/suites.json"
    scores = json.loads(file.read_text())
    scores["suites"]["STS12"]["spearman"] += 0.05
    file.write_text(json.dumps(scores))
    file = copy / "statistics/suites.json"
    statistics = json.loads(file.read_text())
    for row in statistics["rows"]:
        if row["model"] == "larger/hierarchical/seed-1" and row["suite"] == "STS12":
            row.update({key: row[key] + 0.05 for key in ("spearman", "low", "high")})
    file.write_text(json.dumps(statistics))
    found = states(CARD, Evidence(plan_from_spec(plan_spec), Artifacts(copy)))
    assert found["scores-larger-hierarchical-1"].state is State.CONTRADICTED
    assert "8 of 9 numbers inside our 95% intervals" in found["scores-larger-hierarchical-1"].figure


def test_another_size_neither_confirms_nor_contradicts_printed_numbers(tree, results):
    found = states(CARD, Evidence(plan_from_spec(tree.spec(published_size=False)), Artifacts(results)))
    printed = [name for name in found if name.startswith(("scores-", "development-", "geometry-larger"))]
    assert printed
    assert {found[name].state for name in printed} == {State.UNCHECKABLE}
    assert "at this campaign's size" in found["lookup-exact"].figure


def test_the_decoder_s_parameters_do_not_follow(nothing):
    found = states(DECODER, nothing)
    assert found["parameters"].state is State.CONTRADICTED
    assert found["parameters"].figure.startswith("the table's own sizes give 75,498,000; 22,652,416")
    assert found["perplexity"].state is State.CONTRADICTED
    assert "2^0.858463 = 1.8131" in found["perplexity"].figure
    assert found["tokens"].state is State.HOLDS
    assert found["utilisation"].state is State.HOLDS


def test_decoder_sizes_of_known_siblings():
    # Counts that public siblings of the card state for themselves.
    plain = sizes.decoder_parameters(vocabulary=16384, width=512, layers=8, heads=4, gate_channels=32)
    assert sum(plain.values()) == 75_498_000
    deep = sizes.decoder_parameters(vocabulary=16384, width=768, layers=12, heads=6, gate_channels=32)
    assert sum(deep.values()) == 185_599_128
    wide = sizes.decoder_parameters(vocabulary=16384, width=1024, layers=8, heads=8, gate_channels=32)
    assert sum(wide.values()) == 201_327_632


def test_the_relay_s_sizes_follow(nothing):
    found = states(RELAY, nothing)
    assert found["size"].state is State.HOLDS
    assert found["size"].figure == "261,015 a block × 24 = 6,264,360"
    assert found["seed-stability"].state is State.HOLDS


@pytest.mark.parametrize(
    ("value", "printed", "rounds"),
    [(33.554432, "33.6", True), (33.4, "33.6", False), (54.114, "54.1", True), (0.2542, "0.3", True)],
)
def test_rounding(nothing, value, printed, rounds):
    finding = arithmetic.sums(nothing, terms=[value], printed=printed)
    assert (finding.state is State.HOLDS) is rounds


def test_a_changed_printed_mean_is_caught(nothing, monkeypatch):
    row = next(row for row in arithmetic.records("benchmarks") if row["suite"] == "STS12")
    monkeypatch.setitem(row, "value", "0.5882")
    finding = arithmetic.row_mean(nothing, recipe="larger", option="hierarchical", seed=1)
    assert finding.state is State.CONTRADICTED


def test_every_check_is_used_by_some_claim():
    used = {claim.check for card in cards() for claim in load(card)}
    assert used == set(CHECKS)


@pytest.mark.parametrize("card", [CARD, RELAY, DECODER])
def test_a_claim_without_a_decision_says_what_it_would_take(card, nothing, finished):
    for evidence in (nothing, finished):
        for name, finding in states(card, evidence).items():
            assert (finding.state is State.UNCHECKABLE) == bool(finding.needs), name
            assert finding.needs or finding.figure, name


def test_frame_and_tally_agree(finished):
    frame = claims_frame(CARD, finished)
    assert tally(frame).startswith(f"{len(load(CARD))} claims: ")
    contradicted = [row for row in frame.rows if row.marked]
    assert f"{len(contradicted)} contradicted" in tally(frame)


def test_unknown_cards_checks_and_arguments_are_refused(nothing, monkeypatch):
    with pytest.raises(CaptionlabError, match="no claims of a card 'none'"):
        load("none")
    with pytest.raises(CaptionlabError, match="unexpected keyword argument"):
        judge(Claim(CARD, "odd", "", "", "near_tie", {"height": 1}), nothing)
    monkeypatch.delitem(claims_module.CHECKS, "near_tie")
    with pytest.raises(CaptionlabError, match="names no known check: 'near_tie'"):
        load(CARD)


def parity_report(option, delta=0.0, **answers):
    case = {"name": "float32-1x8", "precision": "float32", "sentence_delta": delta, "token_delta": 0.0}
    return {
        "run": {"recipe": "larger", "option": option, "seed": 1},
        "cases": [case],
        "answers": {name: {"holds": holds, "figure": name} for name, holds in answers.items()},
    }


def served(plan_spec, results, *reports):
    return states(CARD, Evidence(plan_from_spec(plan_spec), Artifacts(results), reports))


def test_parity_of_zero_reproduces_and_anything_else_contradicts(plan_spec, results):
    found = served(plan_spec, results, parity_report("relative-16"))
    assert found["parity"].state is State.REPRODUCED
    found = served(plan_spec, results, parity_report("relative-16", 1e-7))
    assert found["parity"].state is State.CONTRADICTED
    found = served(plan_spec, results, parity_report("relative-16", None))
    assert found["parity"].state is State.CONTRADICTED


def test_the_default_s_report_answers_for_the_default(plan_spec, results):
    reports = (parity_report("hierarchical", capacity=False), parity_report("relative-16", capacity=True))
    found = served(plan_spec, results, *reports)
    assert found["capacity"].state is State.REPRODUCED
    assert found["standalone"].state is State.UNCHECKABLE
    assert found["precisions"].needs == "a device that runs float16, bfloat16 autocast"


def test_left_padding_is_a_question_to_binding_options(plan_spec, results):
    relative = parity_report("relative-16", **{"left-padding": False})
    found = served(plan_spec, results, relative)
    assert found["left-padding"].needs == "an export of a binding option and its parity report"
    moved = parity_report("binding-whole", **{"left-padding": True})
    assert served(plan_spec, results, moved)["left-padding"].state is State.REPRODUCED
    still = parity_report("binding-whole", **{"left-padding": False})
    assert served(plan_spec, results, still)["left-padding"].state is State.UNCHECKABLE
