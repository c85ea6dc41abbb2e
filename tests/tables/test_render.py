"""One frame in three spellings, by hand."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from captionlab.tables.cells import Cell, Column, Frame, Row, Source, derived, mean, text
from captionlab.tables.render import comma_separated, exact, latex, markdown, shown

COLUMNS = (
    Column("model", "Model"),
    Column("n", "n"),
    Column("score", "Score_1 & 2", 3),
    Column("gain", "Gain", 2, signed=True),
    Column("digest", "Digest", machine_only=True),
)
ROWS = (
    Row((text("a|b"), Cell(23950), Cell(0.5, interval=(0.25, 0.75)), Cell(-0.001), text("ff")), marked=True),
    Row((text("100% of {c}"), Cell(None), Cell(0.12345, note="7 of 8"), Cell(0.125), Cell(None))),
)
FRAME = Frame("made-up", "A table", COLUMNS, ROWS, ("A note.",))


def test_markdown():
    assert markdown(FRAME) == (
        "| Model | n | Score_1 & 2 | Gain |\n"
        "|:---|---:|---:|---:|\n"
        "| **a\\|b** | **23,950** | **0.500 [0.250, 0.750]** | **+0.00** |\n"
        "| 100% of {c} | missing | 0.123 (7 of 8) | +0.12 |\n"
        "\nA note.\n"
    )


def test_csv_is_exact_and_splits_intervals():
    assert comma_separated(FRAME) == (
        "model,n,score,score_low,score_high,gain,digest\n"
        "a|b,23950,0.5,0.25,0.75,-0.001,ff\n"
        "100% of {c},missing,0.12345,missing,missing,0.125,missing\n"
    )


def test_latex_escapes_and_uses_booktabs():
    written = latex(FRAME)
    assert r"\begin{tabular}{lrrr}" in written
    assert r"Model & n & Score\_1 \& 2 & Gain \\" in written
    assert r"100\% of \{c\} & missing & 0.123 (7 of 8) & +0.12 \\" in written
    assert written.index(r"\toprule") < written.index(r"\midrule") < written.index(r"\bottomrule")
    assert r"\textbf{a\textbar{}b}" in written


def test_long_text_wraps_in_latex():
    frame = Frame("f", "f", (Column("x", "x"),), (Row((text("word " * 20),)),))
    assert r"\begin{tabular}{p{0.22\linewidth}}" in latex(frame)


def test_a_number_that_rounds_to_nothing_has_no_minus():
    assert shown(Cell(-0.00001), Column("x", "x", 4)) == "0.0000"
    assert shown(Cell(-0.00001), Column("x", "x", 4, signed=True)) == "+0.0000"


def test_whole_numbers_and_truth_values():
    assert shown(Cell(15990784), Column("x", "x")) == "15,990,784"
    assert shown(Cell(True), Column("x", "x")) == "yes"
    assert exact(Cell(False)) == "false"


def test_a_cell_may_bring_its_own_decimals():
    assert shown(Cell(96.6, decimals=2), Column("x", "x", 4)) == "96.60"


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_csv_numbers_survive_the_round_trip(numbers):
    frame = Frame("f", "f", (Column("x", "x", 3),), tuple(Row((Cell(number),)) for number in numbers))
    read = [float(row["x"]) for row in csv.DictReader(io.StringIO(comma_separated(frame)))]
    assert read == numbers


def test_a_mean_says_how_many_it_had():
    here, there = Source("a.json", "/x"), Source("b.json", "/x")
    assert mean((Cell(1.0, here), Cell(2.0, there))) == Cell(1.5, sources=(here, there))
    partial = mean((Cell(1.0, here), Cell(None), Cell(2.0)))
    assert (partial.value, partial.note, partial.sources) == (1.5, "2 of 3", (here,))
    assert mean((Cell(None),)).value is None


def test_a_derived_number_names_each_source_once():
    here = Source("a.json", "/x")
    assert derived(2.0, (Cell(1.0, here), Cell(1.0, here))).sources == (here,)
