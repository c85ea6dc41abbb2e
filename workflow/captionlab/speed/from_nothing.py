"""A campaign made from nothing: its wall time, how busy the processors were, and which jobs the time goes to."""

import resource
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captionlab.errors import ConfigError
from captionlab.kept import read_campaign
from captionlab.speed.engine import Engine, checkout_copy, recorded_seconds, rule_table
from captionlab.speed.rows import Goal, Part, Row
from captionlab.speed.timing import Reading

MOST_SECONDS = 600.0


def measure(spec: Mapping[str, Any], root: Path, threads: int) -> Part:
    """The row of the campaign file `spec["speed"]["from_nothing"]`, relative to the current directory; no row
    where it is null. Nothing is read from `root`.

    The campaign is made once, on `threads` cores, in a copy of the checkout that is deleted afterwards. Raises
    CaptionlabError where the engine fails, ConfigError where the file is missing or no campaign, or where its
    results are an absolute folder, which a copy would share.
    """
    name = spec["speed"]["from_nothing"]
    if name is None:
        return Part("from_nothing", [])
    with tempfile.TemporaryDirectory() as scratch:
        copy = checkout_copy(Path.cwd(), Path(scratch) / "checkout")
        campaign = read_campaign(copy / name)
        if Path(campaign.paths.root).is_absolute():
            raise ConfigError(
                f"{name}: results {campaign.paths.root} lie outside a copy: name a relative folder"
            )
        engine = Engine(copy, copy / name, threads)
        final = campaign.paths.under("tables/final.md")
        planned = engine.planned(final)
        seconds = _made(engine, final)
        spent = recorded_seconds(copy / campaign.paths.under("benchmarks"))
    row = Row(
        what="A campaign from nothing",
        size=f"{name}: {len(campaign.runs)} runs, {sum(planned.values())} jobs on {threads} cores",
        unit="s",
        ours=seconds,
        less_is_better=True,
        goal=Goal("value", MOST_SECONDS),
        note="teachers, targets, training, evaluation and tables; where the CPU share is near 1, only less work or "
        "faster processors would make it shorter: the jobs below",
    )
    totals = {rule: sum(times) for rule, times in spent.items()}
    return Part("from_nothing", [row], {"Seconds of the jobs from nothing": rule_table(planned, totals)})


def _made(engine: Engine, target: str) -> Reading:
    """Wall seconds of the call that makes everything, with the share of the cores that it and its jobs had."""
    wall, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    engine.call(target=target)
    spent, after = time.perf_counter() - wall, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Reading(spent, spent, spent, 1, busy / spent / engine.cores)
