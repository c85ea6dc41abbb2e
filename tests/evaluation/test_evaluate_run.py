import hashlib
import json

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from captionlab.__main__ import main
from captionlab.chunks.store import open_chunk
from captionlab.chunks.tokenizer import build_tokenizer
from captionlab.evaluation.restore import restore_encoder
from captionlab.files import read_json
from captionlab.sources.pairs import read_pairs

FILES = ("suites.json", "cosines.safetensors", "geometry.json", "lookup.json", "lookup-queries.jsonl")


@pytest.fixture(scope="module")
def evaluated(world, tmp_path_factory):
    output = tmp_path_factory.mktemp("evaluation")
    assert main(world.arguments(output)) == 0
    return output


def one_by_one(world, texts, ceiling):
    """Vectors of texts encoded alone, without padding: an independent way to the same numbers."""
    encoder = restore_encoder(
        world.spec, world.weights, read_json(world.root / "runs" / "run.json"), torch.device("cpu")
    )
    tokenizer = build_tokenizer((world.root / "tokenizer" / "vocab.txt").read_text().split())
    tokenizer.enable_truncation(ceiling)
    with torch.no_grad():
        rows = [encoder(torch.tensor([tokenizer.encode(text).ids])).sentence[0] for text in texts]
    return torch.stack(rows).double().numpy()


def test_suites_are_those_of_sentences_encoded_one_by_one(world, evaluated):
    document = read_json(evaluated / "suites.json")
    cosines = load_file(evaluated / "cosines.safetensors")
    assert list(document["suites"]) == ["one", "two"]
    for suite, entry in document["suites"].items():
        pairs = read_pairs(world.root / "suites" / f"{suite}.tsv")
        one = one_by_one(world, [pair.sentence1 for pair in pairs], 9)
        two = one_by_one(world, [pair.sentence2 for pair in pairs], 9)
        assert cosines[suite].dtype == np.float64
        assert cosines[suite] == pytest.approx((one * two).sum(axis=1), abs=1e-5)
        texts = {text for pair in pairs for text in (pair.sentence1, pair.sentence2)}
        assert entry["unique_sentences"] == len(texts) < 2 * len(pairs)
        # Seven words and two specials fill the ceiling; no word here is split.
        assert entry["truncated"] == sum(len(text.split()) > 7 for text in texts) > 0
    scores = [entry["spearman"] for entry in document["suites"].values()]
    assert document["mean"] == pytest.approx(sum(scores) / 2)
    assert document["model"]["weights_sha256"] == hashlib.sha256(world.weights.read_bytes()).hexdigest()


def test_path_removal_changes_only_what_it_removes(evaluated):
    document = read_json(evaluated / "suites.json")
    removed = document["path_removed"]["suites"]
    assert removed["one"]["pairs"] == document["suites"]["one"]["pairs"]
    assert removed["one"]["spearman"] != document["suites"]["one"]["spearman"]


def test_geometry_against_the_full_gram_matrix_and_eigenvalues(world, evaluated):
    samples = read_json(evaluated / "geometry.json")["samples"]
    assert {name: entry["rows"] for name, entry in samples.items()} == {
        "development:all": 20,
        "test:all": 30,
        "test:long": 8,
    }
    store = open_chunk(world.root / "chunks" / "test", verify=True)
    entry = samples["test:long"]
    assert entry["min_tokens"] == 11
    rows = long_rows(store, entry["rows_sha256"])
    encoder = restore_encoder(
        world.spec, world.weights, read_json(world.root / "runs" / "run.json"), torch.device("cpu")
    )
    with torch.no_grad():
        ids = [torch.tensor(row.astype(np.int64))[None] for row in store.rows(rows, 12)]
        x = torch.cat([encoder(row).sentence for row in ids]).double().numpy()
    gram = x @ x.T
    values = np.linalg.eigvalsh(np.cov(x, rowvar=False))
    assert entry["self_cosine"] == pytest.approx(gram[~np.eye(8, dtype=bool)].mean(), abs=1e-6)
    assert entry["participation_rank"] == pytest.approx(values.sum() ** 2 / (values**2).sum(), rel=1e-4)
    expected = (x * store.target_rows(rows)).sum(axis=1).mean()
    assert entry["teacher_cosine"] == pytest.approx(expected, abs=1e-6)


def long_rows(store, digest):
    """The eight rows a digest names, found by trying: only rows of more than ten tokens may be among them."""
    from captionlab.evaluation.sampling import sample_rows

    candidates = np.flatnonzero(np.diff(store.offsets) > 10)
    rows = sample_rows(candidates, 8, seed=0, sample="test:long", allow_fewer=False)
    assert hashlib.sha256(rows.astype("<i8").tobytes()).hexdigest() == digest
    assert np.diff(store.offsets)[rows].min() > 10
    return rows


def test_lookup_lines_are_what_the_summary_counts(world, evaluated):
    summary = read_json(evaluated / "lookup.json")
    lines = [json.loads(line) for line in (evaluated / "lookup-queries.jsonl").read_text().splitlines()]
    captions = [line for line in lines if line["source"] == "development"]
    assert (summary["rows"], summary["layer"], summary["head"]) == (20, 1, 0)
    assert summary["queries"] == len(captions) > 0
    assert summary["correct"] == sum(line["correct"] for line in captions)
    assert summary["captions"] == len({line["row"] for line in captions})
    assert summary["mean_probability"] == pytest.approx(np.mean([line["probability"] for line in captions]))
    assert summary["suites"]["two"]["queries"] == sum(line["source"] == "two" for line in lines)
    assert summary["path_removed"]["queries"] == summary["queries"]
    assert summary["path_removed"]["mean_probability"] != summary["mean_probability"]
    assert summary["at_birth"]["queries"] == summary["queries"]
    # The weights of this world are those of its seed at birth.
    assert summary["at_birth"]["mean_probability"] == summary["mean_probability"]


def test_a_query_stands_at_a_repeated_word_and_names_its_records(world, evaluated):
    store = open_chunk(world.root / "chunks" / "development", verify=True)
    lines = [json.loads(line) for line in (evaluated / "lookup-queries.jsonl").read_text().splitlines()]
    found = {(line["row"], line["position"]): line for line in lines if line["source"] == "development"}
    for row in {row for row, _ in found}:
        (ids,) = store.rows([row], 12)
        for position in range(1, len(ids) - 1):
            earlier = [place for place in range(1, position) if ids[place] == ids[position]]
            line = found.pop((row, position), None)
            assert (line is not None) == bool(earlier)
            if line is not None:
                assert line["records"] == earlier
                assert line["distance"] == position - earlier[-1]
                assert line["candidates"] == position - 1
                assert 0 <= line["probability"] <= 1
    assert not found


def test_a_second_evaluation_writes_the_same_bytes(world, evaluated, tmp_path):
    assert main(world.arguments(tmp_path)) == 0
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (evaluated / name).read_bytes()


def test_too_few_rows_are_an_error_unless_allowed(world, tmp_path, capsys):
    geometry = {**world.spec["geometry"]}
    geometry["test"] = {**geometry["test"], "long_rows": 4000}
    assert main(world.arguments(tmp_path, geometry=geometry)) == 1
    assert "test:long asks for 4000 rows" in capsys.readouterr().err
    assert main(world.arguments(tmp_path, geometry={**geometry, "allow_fewer": True})) == 0
    entry = read_json(tmp_path / "geometry.json")["samples"]["test:long"]
    assert entry["rows"] < entry["asked"] == 4000


def test_a_sample_of_no_rows_has_no_geometry_but_its_count(world, tmp_path):
    geometry = {**world.spec["geometry"], "allow_fewer": True}
    geometry["test"] = {**geometry["test"], "long_tokens": 60}
    assert main(world.arguments(tmp_path, geometry=geometry)) == 0
    entry = read_json(tmp_path / "geometry.json")["samples"]["test:long"]
    assert (entry["rows"], entry["self_cosine"], entry["participation_rank"]) == (0, None, None)


def test_weights_that_are_not_the_runs_are_refused(world, tmp_path, capsys):
    record = read_json(world.root / "runs" / "run.json")
    record["outputs"]["final.safetensors"]["sha256"] = "0" * 64
    (tmp_path / "run.json").write_text(json.dumps(record))
    words = world.arguments(tmp_path / "out")
    words[words.index("--run-json") + 1] = str(tmp_path / "run.json")
    assert main(words) == 4
    assert "train the run again" in capsys.readouterr().err
    wider = {**world.spec["model"], "ffn": 64}
    assert main(world.arguments(tmp_path / "out", model=wider)) == 4
    assert "does not hold the encoder of its spec" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_suite_that_is_not_its_record_is_refused(world, tmp_path, capsys):
    suites = tmp_path / "suites"
    suites.mkdir()
    for path in (world.root / "suites").iterdir():
        (suites / path.name).write_bytes(path.read_bytes())
    with (suites / "one.tsv").open("a") as handle:
        handle.write("s\t1.0\ta dog\ta cat\n")
    words = world.arguments(tmp_path / "out")
    words[words.index("--suites") + 1] = str(suites)
    assert main(words) == 4
    assert "run prepare_suite again" in capsys.readouterr().err


def test_a_run_without_suites_has_an_empty_table_and_no_mean(world, tmp_path):
    lookup = {**world.spec["lookup"], "suites": []}
    assert main(world.arguments(tmp_path, suites=[], lookup=lookup)) == 0
    document = read_json(tmp_path / "suites.json")
    assert (document["suites"], document["mean"]) == ({}, None)
    assert load_file(tmp_path / "cosines.safetensors") == {}
    assert read_json(tmp_path / "lookup.json")["suites"] == {}


def test_an_option_without_binding_is_read_too(world, tmp_path):
    # Its weights are those of another option, so it has to be made anew.
    from safetensors.torch import save_file

    from captionlab.files import digest_entry, write_json
    from captionlab.rotary.build import build_encoder, config_from_spec

    option = {"heads": 2, "position": "relative"}
    spec = {**world.spec, "option": option}
    pieces = (world.root / "tokenizer" / "vocab.txt").read_text().split()
    encoder = build_encoder(config_from_spec(spec), pieces, 1)
    save_file(encoder.state_dict(), tmp_path / "final.safetensors", {"format": "pt"})
    outputs = {"final.safetensors": digest_entry(tmp_path / "final.safetensors")}
    write_json(tmp_path / "run.json", {"identity": "2", "outputs": outputs})
    words = world.arguments(tmp_path / "out", option=option, path_removal=False)
    words[words.index("--weights") + 1] = str(tmp_path / "final.safetensors")
    words[words.index("--run-json") + 1] = str(tmp_path / "run.json")
    assert main(words) == 0
    summary = read_json(tmp_path / "out" / "lookup.json")
    assert summary["queries"] > 0 and 0 <= summary["accuracy"] <= 1
    assert summary["path_removed"] is None
    assert read_json(tmp_path / "out" / "suites.json")["path_removed"] is None


def test_an_evaluation_loads_neither_compiler_nor_transformers(world, loaded_by, tmp_path):
    heavy = ("torch._dynamo", "torch._inductor", "transformers", "sklearn", "scipy", "pandas")
    program = f"from captionlab.__main__ import main\nassert main({world.arguments(tmp_path)!r}) == 0"
    assert loaded_by(program, heavy) == []
