"""The evaluation stage against numbers that others published or compute."""

import os

import numpy as np
import pytest
import torch

from captionlab.evaluation.references import bag_sentences, teacher_sentences
from captionlab.evaluation.spearman import cosine_rows, pearson, spearman
from captionlab.evaluation.suites import evaluate
from captionlab.sources.pairs import read_pairs
from captionlab.targets.teachers import load_teacher

# Spearman x 100 of sentence-transformers/all-MiniLM-L6-v2 as its authors and the mteb leaderboard give it.
PUBLISHED = {
    "STS12": 72.37,
    "STS13": 80.60,
    "STS14": 75.59,
    "STS15": 85.39,
    "STS16": 78.99,
    "STSB-test": 82.03,
    "SICKR-all": 77.58,
}
ROWS = {
    "STS12": 3108,
    "STS13": 1500,
    "STS14": 3750,
    "STS15": 3000,
    "STS16": 1186,
    "STSB-test": 1379,
    "SICKR-all": 9927,
}


def score(shared_data, minilm, suite):
    teacher = load_teacher(minilm, threads=1)
    pairs = read_pairs(shared_data / "sts" / f"{suite}.tsv")
    return evaluate(teacher_sentences(teacher), pairs, teacher.ceiling)


def reproduces(reading, suite):
    assert reading.pairs == ROWS[suite]
    assert 100 * reading.spearman == pytest.approx(PUBLISHED[suite], abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("suite", PUBLISHED)
def test_minilm_reproduces_its_published_scores(shared_data, minilm, suite):
    reproduces(score(shared_data, minilm, suite), suite)


def test_minilm_reproduces_its_published_sts_b_score(shared_data, minilm):
    reproduces(score(shared_data, minilm, "STSB-test"), "STSB-test")


def test_a_bag_of_words_cannot_tell_order_and_ignores_specials(minilm):
    teacher = load_teacher(minilm, threads=1)
    texts = ["a dog bites a man", "a man bites a dog", "a man bites a dog today", "[SEP]"]
    vectors, cut = bag_sentences(teacher)(texts, 8)
    cosines = cosine_rows(vectors[[0, 0]], vectors[[1, 2]])
    assert cosines[0] == pytest.approx(1.0, abs=1e-6)
    assert cosines[1] < 0.999
    assert cut == 0
    assert not vectors[3].any()
    # Five words and two specials fill seven tokens, six cut the last word of each.
    words = teacher.model.words.detach().numpy()
    ids = [teacher.tokenizer.token_to_id(word) for word in ("a", "dog", "bites", "a")]
    vectors, cut = bag_sentences(teacher)(texts[:1], 6)
    assert cut == 1
    assert vectors[0] == pytest.approx(words[ids].mean(axis=0), abs=1e-6)


def tied_vectors(*, equal_sentences):
    """Vectors of 400 pairs, every cosine in ties: few distinct directions, gold in six levels."""
    generator = np.random.default_rng(0)
    directions = generator.normal(size=(12, 16))
    first = generator.integers(0, 12, 400)
    second = (first + generator.integers(0 if equal_sentences else 1, 12, 400)) % 12
    one, two = directions[first], directions[second]
    gold = np.clip(np.round(2.5 + 2 * cosine_rows(one, two) + generator.normal(size=400)), 0, 5)
    return one, two, gold


def test_the_scorer_agrees_with_mteb(monkeypatch):
    monkeypatch.setitem(os.environ, "HF_HUB_OFFLINE", "1")
    mteb = pytest.importorskip("mteb")
    from datasets import Dataset

    for one, two, gold in (tied_vectors(equal_sentences=True), untied_vectors()):
        task = mteb.get_task("STS16")
        names = [[f"{side} {index}" for index in range(len(gold))] for side in "ab"]
        rows = {"sentence1": names[0], "sentence2": names[1], "score": gold.tolist()}
        task.dataset = {"test": Dataset.from_dict(rows)}
        task.data_loaded = True
        table = dict(zip(names[0] + names[1], np.concatenate([one, two]), strict=True))
        result = mteb.evaluate(injected_encoder(table), task, cache=None, show_progress_bar=False)
        scores = result[0].scores["test"][0]
        cosines = cosine_rows(one, two)
        assert spearman(cosines, gold) == pytest.approx(scores["cosine_spearman"], abs=1e-6)
        assert pearson(cosines, gold) == pytest.approx(scores["cosine_pearson"], abs=1e-6)


def untied_vectors():
    generator = np.random.default_rng(1)
    one = generator.normal(size=(300, 8))
    two = one + generator.normal(size=(300, 8))
    return one, two, np.round(5 * generator.random(300), 1)


def injected_encoder(table):
    from mteb.models import ModelMeta
    from mteb.models.abs_encoder import AbsEncoder

    class Injected(AbsEncoder):
        """A model that knows the vectors of given sentences, as float64."""

        model = None
        mteb_model_meta = ModelMeta.create_empty({"name": "test/injected", "revision": "1"})

        def encode(self, inputs, **_):
            return np.stack([table[text] for batch in inputs for text in batch["text"]])

    return Injected()


def test_the_scorer_agrees_with_sentence_transformers():
    from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator

    # It normalises before it multiplies, which gives equal sentences cosines that differ in the last bit and
    # tears their ties apart; so it gets ties of other kinds only.
    for one, two, gold in (tied_vectors(equal_sentences=False), untied_vectors()):
        names = [[f"{side} {index}" for index in range(len(gold))] for side in "ab"]
        table = dict(zip(names[0] + names[1], np.concatenate([one, two]), strict=True))
        evaluator = EmbeddingSimilarityEvaluator(names[0], names[1], gold.tolist(), main_similarity="cosine")
        model = Given(table)
        scores = evaluator(model)
        cosines = cosine_rows(one, two)
        assert spearman(cosines, gold) == pytest.approx(scores["spearman_cosine"], abs=1e-6)
        assert pearson(cosines, gold) == pytest.approx(scores["pearson_cosine"], abs=1e-6)


class Given:
    """As much of a SentenceTransformer as its evaluator asks for."""

    similarity_fn_name = "cosine"

    def __init__(self, table):
        self.table = table
        self.model_card_data = self

    def set_evaluation_metrics(self, *_):
        """The evaluator tells a model's card what it measured."""

    def encode(self, texts, **_):
        return torch.tensor(np.stack([self.table[text] for text in texts]))
