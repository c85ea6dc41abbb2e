"""What the engine costs: a call with nothing to do, the planning of large campaigns, the campaign's own jobs."""

import csv
import os
import pstats
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from captionlab.errors import CaptionlabError
from captionlab.speed.rows import Goal, Limit, Part, Row
from captionlab.speed.timing import Reading, Sample, in_turn, measured

MOST_SECONDS = 3.0
CHECKOUT = ("Snakefile", "config.yaml", "workflow", "profiles")
DIGESTS = Path(".snakemake") / "captionlab"
_EMPTY = "rule all:\n    input:\n        'made',\n"
_SCREEN_SHARE = 0.7


def measure(spec: Mapping[str, Any], root: Path, threads: int) -> Part:
    """Seconds of a no-op call, of planning campaigns of `spec["speed"]["runs"]` runs, and of the jobs of this one.

    The workflow is that of the current directory, the campaign `spec["config"]`. The engine that started this job
    holds the directory's lock, so its calls go without; none of them ever runs a job.
    """
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        campaign = scratch / "campaign.yaml"
        campaign.write_text(yaml.safe_dump(spec["config"], sort_keys=False), encoding="utf-8")
        calls = Engine(Path.cwd(), campaign, threads)
        noop = _noop_row(calls, str(spec["final"]), spec["speed"], scratch)
        plans, texts = _planning(calls, spec["config"], spec["speed"], scratch)
        jobs, table = _campaign(calls, str(spec["final"]), root, threads)
    return Part("workflow", [noop, *plans, *jobs], {**texts, **table})


class Engine:
    """Snakemake as a process in `folder`, on a campaign's config file where one is given."""

    def __init__(self, folder: Path, campaign: Path | None, cores: int) -> None:
        self.folder = folder
        self.campaign = campaign
        self.cores = cores

    def call(self, *options: str, target: str | None = None, before: Sequence[str] = ()) -> str:
        """What a call printed, both streams. `before` are Python's own options, a profiler for example.

        Raises CaptionlabError with the last line where it fails.
        """
        command = [sys.executable, *before, "-m", "snakemake", "--cores", str(self.cores), "--nolock"]
        if self.campaign is not None:
            command += ["--configfile", str(self.campaign), "--replace-workflow-config"]
        command += [*options, "--", *([target] if target else [])]
        result = subprocess.run(
            command, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        if result.returncode:
            lines = result.stdout.strip().splitlines() or ["without a word"]
            raise CaptionlabError(f"snakemake in {self.folder} failed with {result.returncode}: {lines[-1]}")
        return result.stdout

    def planned(self, target: str, *options: str) -> dict[str, int]:
        """Jobs of a dry run by rule; empty where nothing is to be done."""
        return job_counts(self.call("-n", "--quiet", "rules", *options, target=target))


def job_counts(text: str) -> dict[str, int]:
    """Jobs by rule in the first table of job counts that the engine prints, without its total."""
    counts: dict[str, int] = {}
    _, _, table = text.partition("Job stats:")
    for line in table.splitlines()[3:]:
        words = line.split()
        if len(words) != 2 or words[0] == "total":
            break
        counts[words[0]] = int(words[1])
    return counts


def campaign_of(config: Mapping[str, Any], runs: int) -> dict[str, Any]:
    """A config with exactly so many runs: the campaign's own screen with more seeds, and one larger option.

    runs is at least 2. A relative `data` folder is made absolute, so that the config works from another folder.
    """
    changed = {**config, "screen": dict(config["screen"]), "larger": []}
    options = config["screen"]["options"][: runs - 1]
    seeds = max(1, round(_SCREEN_SHARE * runs / len(options)))
    changed["screen"] |= {"options": options, "seeds": list(range(1, seeds + 1)), "repeats": {}}
    first = config["larger"][0]
    others = list(range(1, runs - seeds * len(options) + 1))
    changed["larger"] = [{"recipe": first["recipe"], "options": first["options"][:1], "seeds": others}]
    if "data" in config:
        changed["data"] = str(Path(config["data"]).absolute())
    return changed


def _noop_row(calls: Engine, final: str, speed: Mapping[str, Any], scratch: Path) -> Row:
    """The call that finds everything made. Where it does not, only a dry run is timed: nothing may run here."""
    idle = calls.planned(final) == {}
    empty = Engine(_empty_workflow(scratch / "empty"), None, calls.cores)
    ways: dict[str, Callable[[], Any]] = {
        "ours": partial(calls.call, *([] if idle else ["-n", "--quiet", "rules"]), target=final),
        "empty": empty.call,
    }
    samples = in_turn(ways, warmup=1, repeats=speed["repeats"])
    note = (
        "Nothing to be done."
        if idle
        else "The campaign is not finished, so this is a dry run of what is left."
    )
    return Row(
        what="A call with nothing to do",
        size=f"snakemake {final}",
        unit="s",
        ours=_wall(samples["ours"]),
        less_is_better=True,
        limit=Limit("snakemake on one empty rule", _wall(samples["empty"]).median),
        goal=Goal("value", MOST_SECONDS) if idle else None,
        note=note,
    )


def _empty_workflow(folder: Path) -> Path:
    folder.mkdir()
    (folder / "Snakefile").write_text(_EMPTY, encoding="utf-8")
    (folder / "made").touch()
    return folder


def _planning(
    calls: Engine, config: Mapping[str, Any], speed: Mapping[str, Any], scratch: Path
) -> tuple[list[Row], dict[str, str]]:
    """Dry runs of campaigns that differ from this one in their seeds only, in a copy of the checkout."""
    if not speed["runs"]:
        return [], {}
    copy = checkout_copy(calls.folder, scratch / "checkout")
    rows: list[Row] = []
    target = f"{str(config['results']).rstrip('/')}/tables/final.md"
    sizes: list[tuple[int, float]] = []
    engine = calls
    for runs in speed["runs"]:
        campaign = copy / f"runs-{runs}.yaml"
        campaign.write_text(yaml.safe_dump(campaign_of(config, runs), sort_keys=False), encoding="utf-8")
        engine = Engine(copy, campaign, calls.cores)
        # The first call also fills the copy's caches, which a checkout in use has.
        jobs = sum(engine.planned(target).values())
        call = partial(engine.planned, target)
        seconds = _wall(in_turn({"dag": call}, warmup=0, repeats=speed["repeats"])["dag"])
        sizes.append((jobs, seconds.median))
        rows.append(_plan_row(runs, jobs, seconds, sizes))
    return rows, {"Where the engine's time goes": _profile(engine, target, scratch / "dag.prof")}


def _plan_row(runs: int, jobs: int, seconds: Reading, sizes: Sequence[tuple[int, float]]) -> Row:
    note = ""
    if len(sizes) > 1:
        (fewer, before), (more, now) = sizes[-2:]
        note = f"{1000 * (now - before) / (more - fewer):.1f} ms for each job more than in the row above."
    return Row(
        what="Planning a campaign (dry run)",
        size=f"{runs:,} runs, {jobs:,} jobs",
        unit="s",
        ours=seconds,
        less_is_better=True,
        note=note,
    )


def checkout_copy(folder: Path, copy: Path) -> Path:
    """The workflow's own files, with the digests of source files that this checkout knows already."""
    copy.mkdir()
    for part in CHECKOUT:
        if (folder / part).is_dir():
            shutil.copytree(folder / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(folder / part, copy / part)
    if (folder / DIGESTS).is_dir():
        shutil.copytree(folder / DIGESTS, copy / DIGESTS)
    return copy


def _profile(engine: Engine, target: str, path: Path) -> str:
    """Shares of a dry run's time by whose code it is spent in, as a Markdown table."""
    options = ("-n", "--quiet", "rules")
    engine.call(*options, target=target, before=["-m", "cProfile", "-o", str(path)])
    spent: dict[str, float] = {}
    statistics: Any = pstats.Stats(str(path))
    for (file, _, _), (_, _, own, _, _) in statistics.stats.items():
        owner = _owner(file, engine.folder)
        spent[owner] = spent.get(owner, 0.0) + own
    total = sum(spent.values())
    lines = ["| Code | Share of the time under cProfile |", "|:---|---:|"]
    lines += [f"| {owner} | {own / total:.1%} |" for owner, own in sorted(spent.items(), key=lambda x: -x[1])]
    return "\n".join(lines)


def _owner(file: str, checkout: Path) -> str:
    if file.startswith(str(checkout)):
        return "this workflow: its rules and the library"
    if f"{os.sep}snakemake" in file:
        return "Snakemake"
    return "Python and other packages"


def _campaign(calls: Engine, final: str, root: Path, threads: int) -> tuple[list[Row], dict[str, str]]:
    """What all jobs of a finished campaign took, by the engine's own records; nothing where there are none."""
    spent = recorded_seconds(root / "benchmarks")
    planned = calls.planned(final, "--forceall") if spent else {}
    rules = {rule: seconds for rule, seconds in spent.items() if rule in planned}
    if not rules:
        return [], {}
    totals = {rule: planned[rule] * sum(seconds) / len(seconds) for rule, seconds in rules.items()}
    total = sum(totals.values())
    jobs = sum(planned[rule] for rule in rules)
    lost = sorted(set(planned) - set(rules))
    note = (
        "Wall seconds of the jobs when they were made; the engine samples processor seconds and misses a job's end. "
        "A job beside another is slower than alone where the processors share a core."
    )
    if lost:
        note += f" No record of: {', '.join(lost)}."
    rows = [
        Row(
            what="The campaign's jobs, summed",
            size=f"{jobs} jobs",
            unit="s",
            ours=measured([total]),
            less_is_better=True,
            note=note,
        ),
        Row(
            what="The campaign at least, without the engine",
            size=f"{jobs} jobs on {threads} cores",
            unit="s",
            ours=measured([total / threads]),
            less_is_better=True,
            note=f"The sum over {threads}: no order of the jobs takes less.",
        ),
    ]
    return rows, {"Seconds of the campaign's jobs": rule_table(planned, totals)}


def recorded_seconds(folder: Path) -> dict[str, list[float]]:
    """Wall seconds of each job by rule, from the engine's benchmark files `<rule>.tsv` and `<rule>/**/*.tsv`."""
    spent: dict[str, list[float]] = {}
    for path in sorted(folder.rglob("*.tsv")):
        rule = re.sub(r"\.tsv$", "", path.relative_to(folder).parts[0])
        with path.open(encoding="utf-8", newline="") as file:
            spent.setdefault(rule, []).extend(float(row["s"]) for row in csv.DictReader(file, delimiter="\t"))
    return spent


def rule_table(planned: Mapping[str, int], totals: Mapping[str, float]) -> str:
    """Jobs, seconds and share of each rule, the dearest first, as a Markdown table."""
    whole = sum(totals.values())
    lines = ["| Rule | Jobs | Seconds each | Seconds | Share |", "|:---|---:|---:|---:|---:|"]
    for rule, total in sorted(totals.items(), key=lambda item: -item[1]):
        jobs = planned[rule]
        lines.append(f"| {rule} | {jobs} | {total / jobs:.1f} | {total:.1f} | {total / whole:.1%} |")
    return "\n".join(lines)


def _wall(samples: list[Sample]) -> Reading:
    """Wall seconds; a child's processor time is not in the samples."""
    return measured([sample.wall for sample in samples])
