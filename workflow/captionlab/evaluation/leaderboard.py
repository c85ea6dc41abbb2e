"""Result files in the layout that mteb 2 reads: results/<organisation>__<model>/<revision>/<Task>.json.

Only what was measured is written: cosine scores of one split. A suite that mteb has a task for gets that task's
name; others keep their own. The dataset revision is the hub's where the suite came from there, else the digest
of the file that was scored, so that a rebuilt suite is never taken for the pinned one. Times and dates are null:
result files hold no clock.
"""

from collections.abc import Mapping
from typing import Any

from captionlab.errors import CaptionlabError
from captionlab.rotary.options import option_from_mapping, parameter_count

TASKS = {"STS-B": "STSBenchmark"}
LANGUAGES = ["eng-Latn"]
_REVISION_LENGTH = 40


def task_result(
    entry: Mapping[str, Any], suite: str, record: Mapping[str, Any], version: str | None
) -> dict[str, Any]:
    """One task's result from a suite's entry in suites.json and the suite's own record.

    `version` is the mteb version whose scores these are to be compared with, or None.
    """
    scores = {
        "pearson": entry["pearson"],
        "spearman": entry["spearman"],
        "cosine_pearson": entry["pearson"],
        "cosine_spearman": entry["spearman"],
        "main_score": entry["spearman"],
        "hf_subset": "default",
        "languages": LANGUAGES,
        "mteb_version": version,
    }
    return {
        "task_name": TASKS.get(suite, suite),
        "dataset_revision": str(record.get("source", {}).get("revision") or f"sha256-{record['sha256']}"),
        "mteb_version": version,
        "scores": {"test": [scores]},
        "evaluation_time": None,
        "kg_co2_emissions": None,
        "date": None,
        "evaluation_phases": None,
    }


def model_meta(document: Mapping[str, Any], organisation: str, name: str) -> dict[str, Any]:
    """mteb's model_meta.json from a suites.json; `name` is the model's name without organisation.

    What is not known here (release date, licence, training data) is null.
    """
    model, spec = document["model"], document["spec"]
    reference = spec.get("reference", {})
    shape = spec.get("model") or reference.get("model")
    switches = spec.get("option") or reference.get("option")
    counted = shape and switches
    parameters = parameter_count(shape, option_from_mapping(name, switches)) if counted else None
    return {
        "loader": None,
        "name": f"{organisation}/{name}",
        "revision": model_revision(model),
        "release_date": None,
        "languages": LANGUAGES,
        "n_parameters": parameters,
        "n_embedding_parameters": shape["vocabulary"] * shape["width"] if counted else None,
        "memory_usage_mb": None,
        "max_tokens": document["ceiling"],
        "embed_dim": shape["target_width"] if counted else model.get("width"),
        "license": None,
        "open_weights": None,
        "public_training_code": None,
        "public_training_data": None,
        "framework": ["PyTorch"],
        "similarity_fn_name": "cosine",
        "use_instructions": False,
        "training_datasets": None,
    }


def model_revision(model: Mapping[str, Any]) -> str:
    """What stands for a model's revision: identity of a run, weights of a teacher, seed of an untrained encoder."""
    for key in ("identity", "weights_sha256"):
        if key in model:
            return str(model[key])[:_REVISION_LENGTH]
    if "seed" in model:
        return f"seed-{model['seed']}"
    raise CaptionlabError(
        f"model {model.get('name')} has neither identity, weights nor seed: evaluate it again"
    )
