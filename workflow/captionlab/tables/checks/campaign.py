"""Checks that this campaign's results can decide, or come near to where its size or data differ."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from captionlab.tables.artifacts import (
    DUPLICATES_FILE,
    SELECTION_FILE,
    development_file,
    lookup_file,
    suites_file,
)
from captionlab.tables.cells import Cell
from captionlab.tables.checks.finding import PUBLISHED_CAMPAIGN, Evidence, Finding, State, undecided
from captionlab.tables.frames import suite_mean
from captionlab.tables.plan import PlannedRun
from captionlab.tables.published import find
from captionlab.tables.uncertainty import mean_interval, suite_interval


def needs(evidence: Evidence, *, what: str) -> Finding:
    """A statement about something that no file of any campaign holds; `what` says what it would take."""
    return undecided(what)


def published_values(evidence: Evidence, *, table: str, keys: Mapping[str, Any], tolerance: float) -> Finding:
    """Printed numbers against this campaign's, when it is the published campaign.

    A number with an interval is reproduced when the printed one lies inside it; any other may be off by
    `tolerance`, relative to the printed number where that is above 1.
    """
    printed = find(table, **keys)
    ours = [_ours(evidence, table, dict(row.keys)) for row in printed]
    if not evidence.plan.published_size or any(cell.number is None for cell in ours):
        return undecided(PUBLISHED_CAMPAIGN)
    pairs = list(zip(ours, (row.number for row in printed), strict=True))
    close = sum(_close(cell, number, tolerance) for cell, number in pairs)
    gap = max(abs((cell.number or 0.0) - number) / max(1.0, abs(number)) for cell, number in pairs)
    bounded = any(cell.interval is not None for cell in ours)
    rule = "inside our 95% intervals" if bounded else f"within {tolerance}"
    figure = f"{close} of {len(pairs)} numbers {rule}, largest difference {gap:.6f}"
    return Finding(State.REPRODUCED if close == len(pairs) else State.CONTRADICTED, figure)


def lookup_exact(evidence: Evidence, *, option: str) -> Finding:
    """Every sampled query of the option's designated head finds the correct earlier record, under all seeds."""
    read = _readings(evidence, option)
    if not read:
        return undecided(f"a lookup reading of option {option}: add it to the screen")
    figure = "; ".join(
        f"seed {run.seed_label}: {correct:,} of {queries:,}, mean probability {probability:.6f}"
        for run, queries, correct, probability in read
    )
    if all(queries == correct for _, queries, correct, _ in read):
        return Finding(State.REPRODUCED, figure + _size_remark(evidence))
    if evidence.plan.published_size:
        return Finding(State.CONTRADICTED, figure)
    return undecided(PUBLISHED_CAMPAIGN, figure + _size_remark(evidence))


def no_benefit(evidence: Evidence, *, option: str, against: str) -> Finding:
    """The option's development mean does not lie clearly above the other's: not by more than a seed spread."""
    ours, other = (_development(evidence, name) for name in (option, against))
    if not ours or not other:
        return undecided(f"screen runs of {option} and {against}")
    gap = sum(ours) / len(ours) - sum(other) / len(other)
    spread = max(max(ours) - min(ours), max(other) - min(other))
    figure = (
        f"development mean {gap:+.5f} against {against}, seed spread {spread:.5f}{_size_remark(evidence)}"
    )
    if gap <= spread:
        return Finding(State.REPRODUCED, figure)
    return undecided(f"{PUBLISHED_CAMPAIGN}, with five seeds or more", figure)


def selected_by_development(evidence: Evidence) -> Finding:
    """The campaign's default was selected from the development suite, and not from the best test row."""
    selection = evidence.artifacts.document(SELECTION_FILE)
    if selection is None:
        return undecided("this campaign's selection")
    suite = selection.get("suite")
    chosen = selection["selected"]
    figure = f"selected {chosen['recipe']}/{chosen['option']}/seed-{chosen['seed']} on {suite}"
    if suite != evidence.plan.development_suite.name:
        return Finding(State.CONTRADICTED, figure)
    return Finding(State.REPRODUCED, f"{figure}; best test mean: {_best_test_run(evidence)}")


def duplicates_known(evidence: Evidence) -> Finding:
    """Whether duplicates across chunks and near-duplicates with the suites were counted."""
    counts = evidence.artifacts.document(DUPLICATES_FILE)
    if counts is None:
        return undecided("the published chunks: every caption's text, to count duplicates in")
    across = counts["across"]
    near = sum(suite["near"] for suite in counts["suites"].values())
    figure = (
        f"this campaign's own data: {across['exact']:,} captions stand in several chunks "
        f"({across['normalised']:,} after normalising), {near:,} suite sentences are near a training caption"
    )
    return undecided("the published chunks: every caption's text, to count duplicates in", figure)


def control_trained(evidence: Evidence, *, option: str) -> Finding:
    """Whether this campaign trains the control that the card lacks, and what it reads."""
    runs = [run for run in evidence.plan.runs if run.option == option]
    if not runs:
        return undecided(f"option {option} in the screen")
    figure = "; ".join(
        f"seed {run.seed_label}: {correct:,} of {queries:,}, mean probability {probability:.6f}"
        for run, queries, correct, probability in _readings(evidence, option)
    )
    return Finding(State.REPRODUCED, f"trained here: {figure or 'reading missing'}{_size_remark(evidence)}")


def _close(cell: Cell, printed: float, tolerance: float) -> bool:
    if cell.interval is not None:
        return cell.interval[0] <= printed <= cell.interval[1]
    return abs((cell.number or 0.0) - printed) <= tolerance * max(1.0, abs(printed))


def _ours(evidence: Evidence, table: str, keys: Mapping[str, str]) -> Cell:
    place = f"{keys.get('recipe', 'screen')}/{keys['option']}/seed-{keys['seed']}"
    artifacts = evidence.artifacts
    quantity = keys.get("quantity", "")
    if table == "benchmarks":
        file, suite = f"evaluation/{place}/suites.json", keys["suite"]
        if suite == "mean":
            bounded, plain = mean_interval(artifacts, place), suite_mean(evidence.plan, artifacts, file)
        else:
            bounded = suite_interval(artifacts, place, suite)
            plain = artifacts.cell(file, "suites", suite, "spearman")
        return replace(plain, interval=bounded.interval)
    if table == "geometry":
        return artifacts.cell(f"evaluation/{place}/geometry.json", "samples", keys["sample"], quantity)
    folder = {"development": "runs", "lookup": "evaluation"}[table]
    return artifacts.cell(f"{folder}/{place}/{table}.json", quantity)


def _readings(evidence: Evidence, option: str) -> list[tuple[PlannedRun, int, int, float]]:
    found = []
    for run in evidence.plan.runs:
        file = lookup_file(run)
        cells = [evidence.artifacts.cell(file, key).number for key in ("queries", "correct")]
        probability = evidence.artifacts.cell(file, "mean_probability").number
        if run.option == option and probability is not None and None not in cells:
            found.append((run, int(cells[0] or 0), int(cells[1] or 0), probability))
    return found


def _development(evidence: Evidence, option: str) -> list[float]:
    runs = [run for run in evidence.plan.stage("screen") if run.option == option and not run.repeat]
    cells = [evidence.artifacts.cell(development_file(run), "spearman").number for run in runs]
    return [number for number in cells if number is not None]


def _best_test_run(evidence: Evidence) -> str:
    means = [
        (mean.number, run.place)
        for run in evidence.plan.stage("larger")
        if (mean := suite_mean(evidence.plan, evidence.artifacts, suites_file(run))).number is not None
    ]
    return max(means)[1] if means else "missing"


def _size_remark(evidence: Evidence) -> str:
    return "" if evidence.plan.published_size else " (at this campaign's size, on its data)"
