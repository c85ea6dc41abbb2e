"""Checks that the exports and their parity reports decide."""

from collections.abc import Mapping
from typing import Any

from captionlab.tables.checks.finding import Evidence, Finding, State, undecided
from captionlab.tables.frames import selected_place

NEEDED = "an export and its parity report from this campaign"

Report = Mapping[str, Any]


def parity(evidence: Evidence) -> Finding:
    """The largest difference between native and exported outputs, over all cases of all reports, is zero."""
    reports = _reports(evidence)
    if not reports:
        return undecided(NEEDED)
    cases = [case for report in reports for case in report["cases"]]
    deltas = [case[key] for case in cases for key in ("sentence_delta", "token_delta")]
    if any(delta is None for delta in deltas):
        return Finding(State.CONTRADICTED, f"{len(cases)} cases, some with other shapes or no finite values")
    figure = f"{len(cases)} cases in {len(reports)} reports, largest difference {max(deltas):g}"
    return Finding(State.REPRODUCED if max(deltas) == 0 else State.CONTRADICTED, figure)


def precisions(evidence: Evidence, *, wanted: list[str]) -> Finding:
    """The precisions that the cases of the reports run in."""
    present = {str(case.get("precision")) for report in _reports(evidence) for case in report["cases"]}
    if not present:
        return undecided(NEEDED)
    figure = "cases in " + ", ".join(sorted(present))
    lacking = [name for name in wanted if name not in present]
    if lacking:
        return undecided(f"a device that runs {', '.join(lacking)} autocast", figure)
    return Finding(State.REPRODUCED, figure)


def exported(evidence: Evidence, *, question: str) -> Finding:
    """What the default's parity report answers to one of its named questions."""
    answer = _default_answer(evidence, question)
    if answer is None:
        return undecided(NEEDED)
    return Finding(State.REPRODUCED if answer["holds"] else State.CONTRADICTED, answer["figure"])


def left_padding(evidence: Evidence) -> Finding:
    """Whether left padding moves the native outputs of an option with lexical phases.

    Positions counted from the first real token remove the difference here, so equality contradicts nothing.
    """
    for report in _reports(evidence):
        answer = report["answers"].get("left-padding")
        if answer is not None and report["run"]["option"].startswith(("binding", "key")):
            figure = f"{report['run']['option']}: {answer['figure']}"
            if answer["holds"]:
                return Finding(State.REPRODUCED, figure)
            return undecided("the released binding code, which counts positions otherwise", figure)
    return undecided("an export of a binding option and its parity report")


def _reports(evidence: Evidence) -> list[Report]:
    chosen = selected_place(evidence.artifacts)
    return sorted(evidence.reports, key=lambda report: _place(report) != chosen)


def _default_answer(evidence: Evidence, question: str) -> Mapping[str, Any] | None:
    for report in _reports(evidence):
        if _place(report) == selected_place(evidence.artifacts):
            answer: Mapping[str, Any] | None = report["answers"].get(question)
            return answer
    return None


def _place(report: Report) -> str:
    run = report["run"]
    return f"{run['recipe']}/{run['option']}/seed-{run['seed']}"
