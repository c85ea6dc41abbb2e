import numpy as np
import pytest

from captionlab.errors import CaptionlabError
from captionlab.evaluation.bootstrap import bootstrap_spearman
from captionlab.evaluation.sampling import keyed_generator
from captionlab.evaluation.spearman import spearman
from captionlab.evaluation.statistics import Member, SuiteScores, draw, summarise


def suite(name, pairs, noises, seed, sentences=None):
    generator = np.random.default_rng(seed)
    gold = generator.integers(0, 6, pairs).astype(float)
    shared = generator.normal(size=pairs)
    cosines = {
        model: gold + noise * (0.9 * shared + 0.4 * generator.normal(size=pairs))
        for model, noise in noises.items()
    }
    one = sentences or [f"{name} {index}" for index in range(pairs)]
    return SuiteScores(name, gold, one, [f"{name} other {index}" for index in range(pairs)], cosines)


NOISES = {"a/1": 2.0, "a/2": 2.1, "b/1": 3.0, "b/2": 3.1, "reference/u": 30.0}
MEMBERS = [
    Member("a/1", "a", "reference/u"),
    Member("a/2", "a", None),
    Member("b/1", "b", None),
    Member("b/2", "b", None),
    Member("reference/u", None, None),
]


def analyse(resamples=400):
    suites = [suite("long", 300, NOISES, 1), suite("short", 60, NOISES, 2)]
    draws = draw(suites, list(NOISES), resamples, 7)
    return suites, draws, summarise(draws, MEMBERS, 7, "short")


def test_points_are_the_plain_scores():
    suites, _, summary = analyse()
    by_key = {(row["model"], row["suite"]): row for row in summary["rows"]}
    for held in suites:
        for model, cosines in held.cosines.items():
            row = by_key[(model, held.name)]
            assert row["spearman"] == spearman(cosines, held.gold)
            assert row["low"] < row["spearman"] < row["high"]
    mean = {row["model"]: row for row in summary["means"]}["a/1"]
    scores = [spearman(held.cosines["a/1"], held.gold) for held in suites]
    assert mean["mean"] == pytest.approx(sum(scores) / 2, abs=1e-15)
    assert mean["without_smallest"]["suite"] == "short"
    assert mean["without_smallest"]["mean"] == scores[0]


def test_groups_and_differences():
    _, draws, summary = analyse()
    point = {model: draws[model][0].mean() for model in draws.models}
    groups, untrained = summary["differences"]
    assert (groups["a"], groups["b"], groups["kind"]) == ("a", "b", "groups")
    assert groups["over"] == "items"
    expected = (point["a/1"] + point["a/2"] - point["b/1"] - point["b/2"]) / 2
    assert groups["mean_difference"] == pytest.approx(expected, abs=1e-15)
    assert set(groups["suites"]) == {"long", "short"}
    assert (untrained["a"], untrained["b"], untrained["kind"]) == ("a/1", "reference/u", "untrained")
    assert untrained["low"] > 0
    seeds = {row["group"]: row for row in summary["seeds"]}
    assert seeds["b"]["values"] == [point["b/1"], point["b/2"]]
    assert seeds["b"]["spread"] == pytest.approx(abs(point["b/1"] - point["b/2"]), abs=1e-15)


def test_a_paired_difference_is_narrower_than_an_unpaired_one():
    _, draws, summary = analyse()
    paired = summary["differences"][0]["suites"]["long"]
    a, b = draws["a/1"][1][0], draws["b/1"][1][0]
    shuffled = np.random.default_rng(0).permutation(len(b))
    low, high = np.quantile(a - b[shuffled], [0.025, 0.975])
    assert paired["high"] - paired["low"] < 0.7 * (high - low)


def test_another_model_or_suite_changes_no_interval():
    suites, draws, _ = analyse()
    fewer = draw(suites[:1], list(NOISES)[:2], 400, 7)
    assert np.array_equal(fewer["a/2"][1][0], draws["a/2"][1][0])


def test_five_seeds_widen_the_interval_by_their_spread():
    noises = {f"m/{seed}": noise for seed, noise in enumerate((1.0, 2.0, 3.0, 4.0, 5.0))}
    held = [suite("long", 400, noises, 3)]
    draws = draw(held, list(noises), 600, 0)
    both = summarise(draws, [Member(name, "m", None) for name in noises], 0, None)["groups"][0]
    items = summarise(draws, [Member(name, "m", None) for name in list(noises)[:4]], 0, None)["groups"][0]
    assert (both["over"], items["over"]) == ("seeds and items", "items")
    assert both["without_smallest"] is None
    mixed = [*(Member(name, "m", None) for name in noises), Member("m/0", "n", None)]
    assert summarise(draws, mixed, 0, None)["seeds"][1]["spread"] is None
    assert summarise(draws, mixed, 0, None)["differences"][0]["over"] == "seeds and items of A, items of B"
    values = [draws[name][0][0] for name in noises]
    # The seeds' own standard error (n in its variance, as a bootstrap has it) is far above the items' here.
    expected = 2 * 1.96 * np.std(values) / np.sqrt(5)
    assert both["high"] - both["low"] == pytest.approx(expected, rel=0.15)


def test_missing_and_short_cosines_are_refused():
    held = suite("long", 30, {"a": 1.0}, 0)
    with pytest.raises(CaptionlabError, match="b has none of the 30 cosines of suite long"):
        draw([held], ["a", "b"], 10, 0)
    short = SuiteScores("long", held.gold, held.sentence1, held.sentence2, {"a": held.cosines["a"][:29]})
    with pytest.raises(CaptionlabError, match="a has 29 of the 30"):
        draw([short], ["a"], 10, 0)


def test_facts_of_clusters():
    held = suite("long", 30, {"a": 1.0}, 0, sentences=["hub"] * 10 + [f"s{index}" for index in range(20)])
    facts = draw([held], ["a"], 50, 0).facts[0]
    assert (facts["clusters"], facts["largest_cluster"], facts["pairs"]) == (21, 10, 30)
    assert facts["effective_clusters"] == pytest.approx(900 / 120)


def population_spearman(make):
    gold, score, _ = make(np.random.default_rng(99), 400000)
    return spearman(gold, score)


def independent(generator, count):
    latent = generator.normal(size=count)
    gold = np.clip(np.round(2.5 + 1.4 * latent + 0.6 * generator.normal(size=count)), 0, 5)
    return gold, latent + generator.normal(size=count), np.arange(count)


def clustered(generator, count):
    # Three pairs a sentence; score and gold err together with it.
    clusters = np.arange(count) // 3
    bias = generator.normal(size=(2, count))[:, clusters]
    latent = generator.normal(size=count)
    gold = np.round(2.5 + latent + 0.8 * bias[0])
    return gold, latent + 0.8 * bias[1] + 0.5 * generator.normal(size=count), clusters


def coverage(make, count, trials, resamples):
    truth = population_spearman(make)
    generator = np.random.default_rng(4)
    hits = 0
    for trial in range(trials):
        gold, score, clusters = make(generator, count)
        drawn = bootstrap_spearman(gold, score[None], clusters, resamples, keyed_generator(trial))[0]
        low, high = np.quantile(drawn, [0.025, 0.975])
        hits += low <= truth <= high
    return hits / trials


@pytest.mark.slow
@pytest.mark.parametrize(("make", "count"), [(independent, 300), (clustered, 600)])
def test_intervals_cover_between_93_and_97_percent(make, count):
    assert 0.93 <= coverage(make, count, trials=2000, resamples=600) <= 0.97


@pytest.mark.slow
def test_paired_differences_cover_between_93_and_97_percent():
    def make(generator, count):
        latent = generator.normal(size=count)
        gold = np.clip(np.round(2.5 + 1.4 * latent), 0, 5)
        shared = generator.normal(size=count)
        scores = [
            latent + noise * (0.8 * shared + 0.6 * generator.normal(size=count)) for noise in (1.0, 1.2)
        ]
        return gold, np.stack(scores)

    gold, scores = make(np.random.default_rng(99), 400000)
    truth = spearman(scores[0], gold) - spearman(scores[1], gold)
    generator = np.random.default_rng(4)
    hits = 0
    for trial in range(1500):
        gold, scores = make(generator, 300)
        drawn = bootstrap_spearman(gold, scores, np.arange(300), 600, keyed_generator(trial))
        low, high = np.quantile(drawn[0] - drawn[1], [0.025, 0.975])
        hits += low <= truth <= high
    assert 0.93 <= hits / 1500 <= 0.97
