"""Snakemake's metadata is read as Snakemake itself writes it."""

import subprocess
import sys
from pathlib import Path

import pytest

from captionlab.files import sha256_bytes
from captionlab.provenance.engine import engine_records, records_below, step_arguments

LONG = "/".join(["a-folder-with-a-long-name" * 3] * 4)
SNAKEFILE = f"""
rule make:
    input: "in.txt"
    output: "results/{LONG}/out.txt", "results/side.txt"
    params: spec='{{"a": "b c"}}', code="f00"
    shell: "true captionlab train_run --spec {{params.spec:q}} --code {{params.code}}; echo 1 | tee {{output}}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("engine")
    (folder / "Snakefile").write_text(SNAKEFILE)
    (folder / "in.txt").write_text("hello")
    words = [sys.executable, "-m", "snakemake", "--cores", "1", f"results/{LONG}/out.txt"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return folder


def test_records_tell_rule_inputs_and_arguments(folder: Path) -> None:
    found = engine_records(folder / ".snakemake/metadata")
    assert set(found) == {f"results/{LONG}/out.txt", "results/side.txt"}
    record = found[f"results/{LONG}/out.txt"]
    assert (record.rule, record.step, record.code, record.spec) == (
        "make",
        "train_run",
        "f00",
        '{"a": "b c"}',
    )
    assert record.checksums == {"in.txt": sha256_bytes(b"hello")}
    assert record.ended == pytest.approx((folder / "results/side.txt").stat().st_mtime, abs=1)
    assert set(records_below(folder / "results", folder / ".snakemake/metadata")) == {
        f"{LONG}/out.txt",
        "side.txt",
    }
    assert records_below(folder / "other", folder / ".snakemake/metadata") == {}


def test_what_is_no_record_is_passed_over(tmp_path: Path) -> None:
    for name, text in (("!!", "{}"), ("YWJj", "{"), ("YWJk", "[]"), ("YWJl", '{"input": 3}')):
        (tmp_path / name).write_text(text)
    assert engine_records(tmp_path) == {}
    assert engine_records(tmp_path / "absent") == {}


@pytest.mark.parametrize("command", ["", "echo captionlab", "python 'unclosed", "touch x"])
def test_commands_without_a_step(command: str) -> None:
    assert step_arguments(command) == {}
