"""Row files: what is written is read, and every damage is named."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from captionlab.errors import DamagedFileError, MissingFileError
from captionlab.targets.embeddings import fit_rows
from captionlab.targets.rows import NormStatistics, RowFile, block_ranges, unit_rows, write_rows


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.integers(0, 30), width=st.integers(1, 4), block=st.integers(1, 9))
def test_written_rows_are_read_in_any_range(tmp_path, rows, width, block):
    data = np.arange(rows * width, dtype=np.float64).reshape(rows, width)
    path = tmp_path / "a.npy"
    write_rows(path, rows, width, (data[start:stop] for start, stop in block_ranges(rows, block)))
    assert np.array_equal(np.load(path), data)
    file = RowFile.open(path)
    assert (file.rows, file.width) == (rows, width)
    for start, stop in block_ranges(rows, block):
        assert np.array_equal(file.read(start, stop), data[start:stop])


def test_norms_by_hand():
    norms = NormStatistics()
    norms.add(np.array([[3.0, 4.0], [0.0, 1.0]]))
    norms.add(np.array([[6.0, 8.0]]))
    assert norms.as_json() == {"min": 1.0, "mean": pytest.approx(16 / 3), "max": 10.0}


@pytest.mark.parametrize(
    ("rows", "message"), [(2, "3 vectors were found for 2"), (4, "3 vectors were found for 4")]
)
def test_another_number_of_rows_is_an_error(tmp_path, rows, message):
    with pytest.raises(DamagedFileError, match=message):
        write_rows(tmp_path / "a.npy", rows, 2, [np.ones((2, 2)), np.ones((1, 2))])


def test_damage_is_named(tmp_path):
    path = tmp_path / "a.npy"
    with pytest.raises(MissingFileError):
        RowFile.open(path)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(DamagedFileError, match=r"not a \.npy"):
        RowFile.open(path)
    np.save(path, np.ones((3, 2), dtype=np.int64))
    with pytest.raises(DamagedFileError, match="floating matrix"):
        RowFile.open(path)
    np.save(path, np.ones((3, 2), dtype=np.float32))
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(DamagedFileError, match="bytes"):
        RowFile.open(path)


def test_values_that_are_not_finite_are_named_by_row(tmp_path):
    data = np.ones((5, 2), dtype=np.float32)
    data[3, 1] = np.nan
    np.save(tmp_path / "a.npy", data)
    with pytest.raises(DamagedFileError, match="row 3"):
        RowFile.open(tmp_path / "a.npy").read(2, 5)


def test_a_row_without_direction_is_named():
    with pytest.raises(DamagedFileError, match="row 11"):
        unit_rows(np.array([[1.0, 0], [0, 0]]), 10, "targets")


def test_fit_rows_are_spread_over_the_chunk():
    assert fit_rows(10, 4, "c").tolist() == [0, 2, 5, 7]
    assert fit_rows(3, None, "c").tolist() == [0, 1, 2]
