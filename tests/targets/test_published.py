"""Published vectors in each of their file formats."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import save_file

from captionlab.errors import ConfigError, DamagedFileError, MissingFileError
from captionlab.targets.published import published_blocks

ROWS = np.array([[3.0, 4.0], [0.5, 0.0], [-1.0, 2.0]], dtype=np.float32)


def save(path, kind):
    if path.suffix == ".npy":
        np.save(path, ROWS.astype(kind))
    elif path.suffix == ".pt":
        torch.save(
            {"ids": torch.arange(3), "vectors": torch.from_numpy(ROWS)}
            if kind == "named"
            else torch.from_numpy(ROWS),
            path,
        )
    elif path.suffix == ".safetensors":
        tensor = torch.from_numpy(ROWS).to(torch.bfloat16 if kind == "bfloat16" else torch.float32)
        save_file({"vectors": tensor} | ({"other": torch.ones(1)} if kind == "named" else {}), path)
    else:
        inner = pa.list_(pa.float32(), 2) if kind == "fixed" else pa.list_(pa.float32())
        pq.write_table(
            pa.table({"id": [1, 2, 3], "vectors": pa.array(ROWS.tolist(), inner)}), path, row_group_size=2
        )
    return path


@pytest.mark.parametrize(
    ("suffix", "kind"),
    [
        (".npy", "float16"),
        (".npy", "float64"),
        (".pt", "plain"),
        (".pt", "named"),
        (".safetensors", "bfloat16"),
        (".safetensors", "named"),
        (".parquet", "fixed"),
        (".parquet", "variable"),
    ],
)
def test_every_format_gives_the_rows(tmp_path, suffix, kind):
    path = save(tmp_path / f"a{suffix}", kind)
    found = np.vstack(list(published_blocks(path, "vectors" if kind == "named" else None)))
    assert found.dtype == np.float64
    assert np.array_equal(found, ROWS)


def test_a_wrong_name_lists_what_is_there(tmp_path):
    path = save(tmp_path / "a.safetensors", "named")
    for name in (None, "vector"):
        with pytest.raises(ConfigError, match="the file holds other, vectors"):
            list(published_blocks(path, name))


def test_a_pickle_with_code_is_not_run(tmp_path):
    class Trap:
        def __reduce__(self):
            return (tmp_path.joinpath("sprung").write_text, ("x",))

    torch.save({"vectors": Trap()}, tmp_path / "a.pt")
    with pytest.raises(DamagedFileError, match="plain tensor file"):
        list(published_blocks(tmp_path / "a.pt", "vectors"))
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    "rows", [[[1.0, 2.0], [3.0], [4.0]], [[1.0, 2.0], [3.0, 4.0, 5.0], [6.0]], [[1.0], None]]
)
def test_ragged_rows_are_refused(tmp_path, rows):
    pq.write_table(pa.table({"v": rows}), tmp_path / "a.parquet")
    with pytest.raises(DamagedFileError, match="not as long"):
        list(published_blocks(tmp_path / "a.parquet", None))


def test_strange_files_are_refused(tmp_path):
    with pytest.raises(MissingFileError):
        published_blocks(tmp_path / "b.npy", None)
    with pytest.raises(ConfigError, match="suffix"):
        published_blocks(tmp_path / "b.csv", None)
