import json

from captionlab.__main__ import main
from captionlab.files import sha256_file, write_json


def document(option, seed, spearman, additions, repeat=0):
    return {
        "run": {"stage": "larger", "recipe": "larger", "option": option, "seed": seed, "repeat": repeat},
        "suite": "development",
        "pairs": 300,
        "spearman": spearman,
        "additions": additions,
        "identity": "00",
        "final_sha256": "11",
        "teacher_cosine": 0.5,
    }


def arrange(folder):
    documents = [
        document("plain", 1, 0.500, 0),
        document("rich", 1, 0.501, 2),
        document("plain", 2, 0.502, 0),
        document("rich", 2, 0.503, 2),
    ]
    paths = []
    for number, value in enumerate(documents):
        paths.append(folder / f"{number}.json")
        write_json(paths[-1], value)
    runs = [{k: v for k, v in value["run"].items() if k != "stage"} for value in documents]
    return paths, {"stage": "larger", "near_tie": 0.002, "runs": runs}


def call(spec, paths, output):
    files = [str(path) for path in paths]
    words = ["select_run", "--spec", json.dumps(spec), "--development", *files, "--output", str(output)]
    return main(words)


def test_selection_is_written_with_what_decided_it(tmp_path):
    paths, spec = arrange(tmp_path)
    assert call(spec, reversed(paths), tmp_path / "out.json") == 0
    selection = json.loads((tmp_path / "out.json").read_text())
    assert selection["selected"] == {"recipe": "larger", "option": "plain", "seed": 1}
    assert selection["decided_by"] == "additions"
    assert [row["development_sha256"] for row in selection["rows"]] == [sha256_file(path) for path in paths]


def test_a_missing_and_an_extra_run_are_refused(tmp_path, capsys):
    paths, spec = arrange(tmp_path)
    assert call(spec, paths[1:], tmp_path / "out.json") == 1
    assert "lacks the development file" in capsys.readouterr().err
    assert call(spec | {"runs": spec["runs"][1:]}, paths, tmp_path / "out.json") == 1
    assert "does not hold" in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()
