import numpy as np
import pytest
import torch

from captionlab.evaluation.lookup import LookupRows, Query, lookup_document, read_queries, summarise_queries
from captionlab.evaluation.restore import restore_encoder
from captionlab.files import read_json

CLS, SEP, S = 2, 3, 21
DOG, CAT, A, RED = 5, 6, 10, 11
# "a dog sees a red dog": queries at the second `a` (position 4) and the second `dog` (position 6).
# "dogs dog dogs": pieces dog ##s dog dog ##s; only the second `dogs` (position 4) has a record, at 1.
ROWS = [
    np.array([CLS, A, DOG, 16, A, RED, DOG, SEP], dtype=np.uint16),
    np.array([CLS, DOG, S, DOG, DOG, S, SEP], dtype=np.uint16),
    np.array([CLS, CAT, DOG, SEP], dtype=np.uint16),
]


@pytest.fixture(scope="module")
def encoder(world):
    record = read_json(world.root / "runs" / "run.json")
    return restore_encoder(world.spec, world.weights, record, torch.device("cpu"))


def test_queries_of_hand_written_captions(encoder):
    queries = read_queries(encoder, LookupRows("by hand", ROWS, [7, 3, 9]), sub_batch_tokens=16)
    places = [
        (query.row, query.position, query.records, query.distance, query.candidates) for query in queries
    ]
    assert places == [(3, 4, (1,), 3, 2), (7, 4, (1,), 3, 3), (7, 6, (2,), 4, 5)]
    assert all(0 < query.probability < 1 for query in queries)


def test_probability_is_the_softmax_over_earlier_words(encoder):
    (query,) = [
        query
        for query in read_queries(encoder, LookupRows("by hand", ROWS[:1], [0]), sub_batch_tokens=16)
        if query.position == 6
    ]
    ids = torch.tensor(ROWS[0].astype(np.int64))[None]
    scores = encoder(ids, want_lookup=True).lookup.scores[0, 0, 6].double()
    earlier = torch.softmax(scores[[1, 2, 3, 4, 5]], dim=0)
    assert query.probability == pytest.approx(float(earlier[1]), abs=1e-6)
    assert query.correct == (int(earlier.argmax()) == 1)


def query(row, correct, probability, records, candidates, head=0):
    return Query(row, head, 9, tuple(records), 9 - max(records), candidates, probability, correct)


def test_summary_by_hand():
    queries = [
        query(1, True, 0.9, [3], 4),
        query(1, False, 0.3, [3, 5], 4),
        query(2, True, 0.6, [8], 8),
        query(2, False, 0.1, [8], 8, head=1),
    ]
    assert summarise_queries(queries, 10, 0) == {
        "head": 0,
        "rows": 10,
        "captions": 2,
        "queries": 3,
        "correct": 2,
        "accuracy": pytest.approx(2 / 3),
        "mean_probability": pytest.approx(0.6),
        "chance": pytest.approx((1 / 4 + 2 / 4 + 1 / 8) / 3),
        "mean_distance": pytest.approx((6 + 4 + 1) / 3),
    }
    assert summarise_queries(queries, 10, 1)["queries"] == 1


def test_no_repeated_word_means_no_accuracy(encoder):
    read = [LookupRows("captions", ROWS[2:], [0])]
    document, lines = lookup_document(encoder, read, sub_batch_tokens=16, path_removal=False, born=encoder)
    assert lines == []
    assert (document["queries"], document["accuracy"], document["mean_probability"]) == (0, None, None)
    assert document["path_removed"] is None
