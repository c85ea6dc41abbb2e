import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from captionlab.errors import CaptionlabError
from captionlab.evaluation.sampling import keyed_generator, sample_rows


def test_the_stream_depends_on_its_key_alone():
    one = keyed_generator("suite", 0, "STS12").integers(0, 10**9, 4)
    assert (one == keyed_generator("suite", 0, "STS12").integers(0, 10**9, 4)).all()
    assert (one != keyed_generator("suite", 0, "STS13").integers(0, 10**9, 4)).any()
    assert (one != keyed_generator("suite", 1, "STS12").integers(0, 10**9, 4)).any()


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 5))
def test_a_larger_sample_holds_the_smaller_one(small, more, seed):
    candidates = np.arange(0, 240, 3)
    one = sample_rows(candidates, small, seed=seed, sample="test:all", allow_fewer=False)
    two = sample_rows(candidates, small + more, seed=seed, sample="test:all", allow_fewer=False)
    assert len(one) == small and len(two) == small + more
    assert (np.diff(two) > 0).all()
    assert set(one) <= set(two) <= set(candidates)


def test_another_seed_or_sample_is_another_draw():
    rows = np.arange(1000)
    draws = [
        sample_rows(rows, 20, seed=seed, sample=sample, allow_fewer=False).tolist()
        for seed, sample in ((0, "test:all"), (1, "test:all"), (0, "test:long"))
    ]
    assert draws[0] != draws[1] and draws[0] != draws[2]


def test_too_few_rows_are_an_error_unless_allowed():
    rows = np.arange(7)
    with pytest.raises(CaptionlabError, match="asks for 8 rows and there are 7"):
        sample_rows(rows, 8, seed=0, sample="test:long", allow_fewer=False)
    assert sample_rows(rows, 8, seed=0, sample="test:long", allow_fewer=True).tolist() == rows.tolist()
