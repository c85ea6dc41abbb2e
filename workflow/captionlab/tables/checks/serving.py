"""Checks that the export and its parity reports decide."""

from captionlab.tables.checks.finding import Evidence, Finding, State, undecided

PARITY_FILE = "serving/parity.json"
NEEDED = "an export and its parity report from this campaign"


def parity(evidence: Evidence) -> Finding:
    """The largest difference between native and exported outputs over all cases is zero."""
    report = evidence.artifacts.document(PARITY_FILE)
    if report is None:
        return undecided(NEEDED)
    deltas = [float(case[key]) for case in report["cases"] for key in ("sentence_delta", "token_delta")]
    figure = f"{len(report['cases'])} cases, largest difference {max(deltas):g}"
    return Finding(State.REPRODUCED if max(deltas) == 0 else State.CONTRADICTED, figure)


def exported(evidence: Evidence, *, question: str) -> Finding:
    """What the parity report says to one of its named questions."""
    report = evidence.artifacts.document(PARITY_FILE)
    answer = report.get("answers", {}).get(question) if report else None
    if answer is None:
        return undecided(NEEDED)
    return Finding(State.REPRODUCED if answer["holds"] else State.CONTRADICTED, answer["figure"])
