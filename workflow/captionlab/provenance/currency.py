"""Whether the code and the campaign of today are those that made what is on disk."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captionlab.campaign import Campaign
from captionlab.provenance.changes import spec_changes
from captionlab.provenance.engine import EngineRecord
from captionlab.provenance.evidence import Evidence
from captionlab.provenance.fingerprint import explain_change, fingerprints, module_digests
from captionlab.provenance.kinds import recording_step


def check_code(
    evidence: Evidence, records: Mapping[str, EngineRecord], package_root: Path, cache: Path | None
) -> None:
    """One finding a step whose present code is not the code that made its artifacts."""
    made: dict[str, Counter[str]] = {}
    for path, document in evidence.documents().items():
        step = recording_step(path)
        code = document.get("code") if isinstance(document, Mapping) else None
        if step and isinstance(code, str) and code and path not in records:
            made.setdefault(step, Counter())[code] += 1
    for path, record in records.items():
        if path in evidence.digests and record.step and record.code:
            made.setdefault(record.step, Counter())[record.code] += 1
    present = _present_steps(made, package_root)
    now = fingerprints(present, package_root, cache)
    for step, codes in sorted(made.items()):
        for code, count in sorted(codes.items()):
            if step not in now:
                evidence.find("code", f"captionlab.steps.{step}", f"made {count} artifacts and is gone")
            elif code != now[step]:
                why = _changed_modules(evidence, step, code, package_root)
                detail = f"made {count} artifacts as {code[:12]} and is now {now[step][:12]}: {why}"
                evidence.find("code", f"captionlab.steps.{step}", detail)


def _present_steps(steps: Mapping[str, Any], package_root: Path) -> list[str]:
    return [step for step in sorted(steps) if (package_root / "steps" / f"{step}.py").is_file()]


def _changed_modules(evidence: Evidence, step: str, code: str, package_root: Path) -> str:
    census = evidence.census
    if census is None or census.steps.get(step) != code:
        return "which modules changed is not recorded"
    now = module_digests(step, package_root)
    before = {name: digest for name, digest in census.modules.items() if name in now}
    return "; ".join(explain_change(before, now)) or "a module that it reached is gone"


def check_specs(evidence: Evidence, campaign: Campaign) -> int:
    """One finding a document that the campaign of today would make from another spec; returns how many agree.

    This sees what the engine forgets with its metadata: results that an older config made.
    """
    agree = 0
    for path, document in evidence.documents().items():
        step = recording_step(path)
        spec = document.get("spec") if isinstance(document, Mapping) else None
        if step is None or not isinstance(spec, Mapping):
            continue
        if changed := spec_changes(step, spec, campaign):
            evidence.find("code", path, f"was made by another spec: {'; '.join(changed[:3])}")
        else:
            agree += 1
    return agree
