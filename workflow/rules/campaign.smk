# The campaign behind all rules: the checked config, its paths, and what no wildcard may stray from.
import re
import sys
from pathlib import Path

CODE = Path(workflow.basedir) / "workflow"
sys.path.insert(0, str(CODE))

from captionlab import checkout, release_specs, specs, table_specs
from captionlab.__main__ import step_names
from captionlab.config import load_campaign
from captionlab.errors import CaptionlabError
from captionlab.provenance.environment import environment_digest
from captionlab.provenance.fingerprint import fingerprints
from captionlab.provenance.signature import tree_signature
from captionlab.tables.figure_names import FIGURES

checkout.let_jobs_run(CODE)
CACHE = Path(".snakemake") / "captionlab"
try:
    CAMPAIGN = load_campaign(config, CACHE / "digests.json")
    FINGERPRINTS = fingerprints(
        step_names(), CODE / "captionlab", CACHE / "syntax.json"
    )
except CaptionlabError as error:
    print(f"captionlab: {error}", file=sys.stderr)
    sys.exit(error.exit_code)

PATHS = CAMPAIGN.paths
# A param of every job with numbers: where config says so, another version of torch or numpy is a reason to run.
STRICT = CAMPAIGN.config["environment"] == "strict"
ENVIRONMENT = environment_digest() if STRICT else "recorded"


def one_of(names):
    """A pattern that matches these names and no other; nothing where there are none."""
    return "|".join(map(re.escape, sorted(set(names)))) or "(?!)"


wildcard_constraints:
    recipe=one_of(run.recipe for run in CAMPAIGN.runs),
    option=one_of(run.option for run in CAMPAIGN.runs),
    seed=r"\d+(\.repeat-\d+)?",
    chunk=one_of(CAMPAIGN.chunks),
    suite=one_of((CAMPAIGN.development_suite, *CAMPAIGN.test_suites)),
    teacher=one_of(CAMPAIGN.teachers),
    reference=one_of(row.name for row in CAMPAIGN.references),
    stage="screen|larger",


DEVELOPMENT_CHUNK = CAMPAIGN.config["evaluation"]["development"]["chunk"]
TEST_CHUNK = CAMPAIGN.config["evaluation"]["test"]["chunk"]


def run_of(wildcards):
    """The run behind a path's wildcards."""
    return CAMPAIGN.run(wildcards.recipe, wildcards.option, wildcards.seed)


def training_chunks(wildcards):
    """The chunks a run trains on, in order."""
    return CAMPAIGN.recipe(wildcards.recipe)["chunks"]


def run_chunks(wildcards, name):
    """A file of every chunk a run reads: those it trains on, then the development chunk."""
    chunks = [*training_chunks(wildcards), DEVELOPMENT_CHUNK]
    return [PATHS.chunk(name, chunk) for chunk in chunks]


def results(wildcards):
    """Every file that a table may read; a function, so that the engine takes them in only where asked for."""
    return [
        *[
            PATHS.run(name, run)
            for run in CAMPAIGN.runs
            for name in ("development.json", "run.json", "history.jsonl")
        ],
        *[
            PATHS.evaluation(name, run)
            for run in CAMPAIGN.runs
            for name in ("suites.json", "geometry.json", "lookup.json")
        ],
        *[PATHS.reference("suites.json", row.name) for row in CAMPAIGN.references],
        *[
            PATHS.suite("json", suite)
            for suite in (CAMPAIGN.development_suite, *CAMPAIGN.test_suites)
        ],
        *[PATHS.chunk("manifest.json", chunk) for chunk in CAMPAIGN.chunks],
        *[PATHS.under(f"selection/{stage}.json") for stage in ("screen", "larger")],
        PATHS.under("statistics/suites.json"),
        PATHS.under("hygiene/duplicates.json"),
        PATHS.under("config.json"),
    ]


def lost(table):
    """Results that a finished table was made from and that are gone: the engine alone would not make them again."""
    if not Path(table).exists():
        return []
    return [path for path in results(None) if not Path(path).exists()]


def made_of_release(wildcards):
    """The published model's files once any is there; the census pins them, but has no model fetched for it."""
    files = [PATHS.under(file) for file in release_specs.release_artifacts(CAMPAIGN)]
    return files if any(Path(file).exists() for file in files) else []


# How jobs are asked for on a cluster. It is left out of CAMPAIGN.config: where a job ran decides no result.
CLUSTER = config.get("cluster", {})


def requested(rule, gpu=False):
    """What a rule's jobs ask for, as `resources: **requested(...)`; a profile sets what the config leaves out."""
    resources = {
        "slurm_partition": of_rule("partition", rule),
        "slurm_account": CLUSTER.get("account"),
        "mem_mb": growing(of_rule("memory_mb", rule)),
        "runtime": growing(of_rule("runtime_minutes", rule)),
    }
    if gpu and CAMPAIGN.config["compute"]["device"] == "cuda":
        resources |= {"gpu": 1, "gpu_model": CLUSTER.get("gpu")}
    return {name: value for name, value in resources.items() if value is not None}


def of_rule(key, rule):
    """A rule's entry of a cluster key, else its `default`, else None."""
    entries = CLUSTER.get(key, {})
    return entries.get(rule, entries.get("default"))


def growing(amount):
    """An amount that grows by itself with every attempt; None stays None."""
    if amount is None:
        return None
    return lambda wildcards, attempt: amount * attempt
