import math

import pytest
import torch

from captionlab.training.losses import info_nce, mean_squared_error

UNIT = torch.eye(2)


def test_info_nce_by_hand():
    """Scores [[1, 0], [0, 1]] / 0.5 = [[2, 0], [0, 2]]: every cross-entropy is log(1 + e^-2)."""
    assert info_nce(UNIT, UNIT, 0.5).item() == pytest.approx(math.log(1 + math.exp(-2)), rel=1e-6)


def test_info_nce_averages_both_directions():
    """Students (1, 0) and (0.6, 0.8): rows of S are [1, 0], [0.6, 0.8], its columns [1, 0.6], [0, 0.8]."""
    students = torch.tensor([[1.0, 0.0], [0.6, 0.8]])
    rows = [math.log(1 + math.exp(0 - 1)), math.log(1 + math.exp(0.6 - 0.8))]
    columns = [math.log(1 + math.exp(0.6 - 1)), math.log(1 + math.exp(0 - 0.8))]
    assert info_nce(students, UNIT, 1.0).item() == pytest.approx((sum(rows) + sum(columns)) / 4, rel=1e-6)


def test_equal_captions_are_no_negatives():
    """Rows 0 and 1 share a caption: row 0 keeps only row 2 as a negative, row 2 keeps both."""
    targets = torch.eye(3)[[0, 0, 1]]
    masked = info_nce(targets, targets, 1.0, torch.tensor([4, 4, 9])).item()
    one, two = math.log(1 + math.exp(-1)), math.log(1 + 2 * math.exp(-1))
    assert masked == pytest.approx((2 * one + two) / 3, rel=1e-6)
    assert info_nce(targets, targets, 1.0).item() > masked


def test_groups_of_different_captions_change_nothing():
    rows = torch.nn.functional.normalize(torch.randn(5, 3, generator=torch.Generator().manual_seed(0)), dim=1)
    assert (
        info_nce(rows, rows.flip(0), 0.07).item()
        == info_nce(rows, rows.flip(0), 0.07, torch.arange(5)).item()
    )


def test_squared_error_by_hand():
    """Differences (0.4, -0.8) and (0, 0): squares 0.16 + 0.64 = 0.8 in one of two rows."""
    students = torch.tensor([[0.6, 0.8], [0.0, 1.0]])
    targets = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert mean_squared_error(students, targets, "sum").item() == pytest.approx(0.8 / 2)
    assert mean_squared_error(students, targets, "mean").item() == pytest.approx(0.8 / 4)


def test_half_precision_vectors_are_scored_in_single():
    rows = torch.nn.functional.normalize(torch.randn(4, 8, generator=torch.Generator().manual_seed(1)), dim=1)
    half = rows.bfloat16()
    assert info_nce(half, rows, 0.07).dtype is torch.float32
    assert info_nce(half, rows, 0.07).item() == info_nce(half.float(), rows, 0.07).item()
    assert mean_squared_error(half, rows, "sum").dtype is torch.float32
