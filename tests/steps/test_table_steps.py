"""Table steps as commands: what they write, that they write it alike, and what they refuse in one line."""

import csv
import importlib.util
import json

import pyarrow
import pyarrow.parquet as parquet
import pytest

from captionlab.__main__ import main
from captionlab.tables.figure_names import FIGURES


@pytest.fixture(scope="module")
def root(repository, tmp_path_factory):
    place = repository / "tests" / "tables" / "results_tree.py"
    specification = importlib.util.spec_from_file_location("results_tree", place)
    tree = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tree)
    folder = tmp_path_factory.mktemp("results")
    spec = tree.spec()
    tree.write_tree(folder, spec)
    (folder / "spec.json").write_text(json.dumps(spec))
    return folder


def step(name, root, output, *more):
    words = [name, "--spec", (root / "spec.json").read_text(), "--root", str(root), "--output", str(output)]
    return main([*words, *map(str, more)])


def files(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize(
    ("name", "file", "table"),
    [
        ("render_final", "final.md", "benchmarks"),
        ("render_screen", "screen.md", "screen"),
        ("render_runs", "runs.md", "runs"),
        ("render_claims", "claims.md", "claims-captionbert-8192-rotary"),
    ],
)
def test_a_table_step_writes_markdown_csv_and_latex_alike(root, tmp_path, name, file, table):
    assert step(name, root, tmp_path / "one" / file) == 0
    assert step(name, root, tmp_path / "two" / file) == 0
    written = files(tmp_path / "one")
    assert written == files(tmp_path / "two")
    assert {file, f"{table}.csv", f"{table}.tex"} <= set(written)
    with (tmp_path / "one" / f"{table}.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.reader(handle))
    assert len(rows) > 6
    assert len({len(row) for row in rows}) == 1


def test_the_page_embeds_the_figures_that_were_drawn(root, tmp_path):
    assert step("draw_figures", root, tmp_path / "figures", "--figure", "stages") == 0
    assert set(files(tmp_path / "figures")) == {"stages.csv", "stages.png", "stages.svg"}
    assert step("render_html", root, tmp_path / "final.html", "--figures", tmp_path / "figures") == 0
    assert (tmp_path / "final.html").read_text().count("data:image/svg+xml;base64,") == 1


def test_an_unknown_figure_is_refused(root, tmp_path, capsys):
    with pytest.raises(SystemExit):
        step("draw_figures", root, tmp_path, "--figure", "pie")
    assert FIGURES[0] in capsys.readouterr().err


def test_a_spec_that_is_no_campaign_is_refused_in_one_line(root, tmp_path, capsys):
    words = ["--spec", "{}", "--root", str(root), "--output", str(tmp_path / "final.md")]
    assert main(["render_final", *words]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "--spec lacks the key 'scale'" in error
    assert not (tmp_path / "final.md").exists()


def test_duplicates_are_counted_and_shown(root, tmp_path):
    folder = tmp_path / "results"
    captions = {
        "train": ["A red dog runs over the wet grass.", "A cat."],
        "development": ["a cat"],
        "test": ["Rain."],
    }
    for chunk, texts in captions.items():
        (folder / "chunks" / chunk).mkdir(parents=True)
        table = pyarrow.table({"caption": texts, "image": [""] * len(texts)})
        parquet.write_table(table, folder / "chunks" / chunk / "captions.parquet")
    (folder / "suites").mkdir()
    header = "subset\tscore\tsentence1\tsentence2\n"
    (folder / "suites" / "one.tsv").write_text(
        header + "all\t5\ta red dog runs over the wet grass\tRain.\nall\t1\tRain.\tSnow.\n"
    )
    (folder / "suites" / "dev.tsv").write_text(header + "all\t1\tSnow.\tIce.\nall\t2\tSnow.\tSun.\n")
    spec = json.loads((root / "spec.json").read_text())
    spec["suites"] = [{"name": "one", "role": "test"}]
    spec["development_suite"] = {"name": "dev"}
    spec |= {"chunks": list(captions), "development_chunk": "development", "test_chunk": "test"}
    (folder / "spec.json").write_text(json.dumps(spec))
    output, table = folder / "hygiene" / "duplicates.json", tmp_path / "tables" / "duplicates.md"
    assert step("count_duplicates", folder, output, "--table", table) == 0
    document = json.loads(output.read_text())
    assert document["training"] == ["train"]
    assert document["across"] == {"exact": 0, "normalised": 1}
    assert document["suites"]["one"] == {"sentences": 3, "equal": 1, "near": 1}
    text = table.read_text()
    assert "| one | test | 3 | 1 | 1 |" in text
    assert "| in several chunks | – | 0 | 1 |" in text


@pytest.mark.parametrize(
    "name", ["render_final", "render_screen", "render_runs", "render_claims", "render_html", "draw_figures"]
)
def test_no_table_step_imports_torch(loaded_by, name):
    assert loaded_by(f"import captionlab.steps.{name}", ("torch", "transformers", "pandas")) == []
