"""audit.md: what was checked, what is wrong, what the engine says, what was accepted. No clock value in it."""

from collections import Counter
from collections.abc import Iterable

from captionlab.provenance.audit import Audit
from captionlab.provenance.evidence import EXIT_CODES, listed
from captionlab.provenance.kinds import kind

_SORTS = {
    "data": "tampered data",
    "table": "tampered table",
    "missing": "missing file",
    "code": "changed code",
}


def audit_markdown(audit: Audit) -> str:
    """The report as Markdown."""
    verdict = f"**{len(audit.findings)} findings.**" if audit.findings else "**Passed: nothing was altered.**"
    parts = [
        "# Audit",
        verdict,
        f"Census SHA-256: `{audit.census_sha256}`",
        "## Checked",
        _bullets(f"{name}: {count:,}" for name, count in audit.counts.items()),
        "## Findings",
        _findings(audit),
    ]
    if audit.findings:
        parts += ["Table cells that rest on these files: " + _affected(audit)]
    parts += ["## Table walk", *_walk(audit)]
    parts += ["## Snakemake's own metadata", _bullets(audit.engine)]
    parts += ["## Accepted changes", _accepted(audit)]
    if audit.notes:
        parts += ["## Notes", _bullets(audit.notes)]
    return "\n\n".join(parts) + "\n"


def finding_lines(audit: Audit) -> list[str]:
    """One line a finding, for a terminal or a log."""
    return [f"{_SORTS[one.sort]}: {one.path}: {one.detail}" for one in audit.findings]


def _findings(audit: Audit) -> str:
    codes = ", ".join(f"{_SORTS[sort]} {code}" for sort, code in EXIT_CODES.items())
    rule = f"Exit codes: {codes}; of several the lowest."
    if not audit.findings:
        return f"None. {rule}"
    rows = ["| File | What | Detail |", "|:---|:---|:---|"]
    rows += [f"| `{one.path}` | {_SORTS[one.sort]} | {_cell(one.detail)} |" for one in audit.findings]
    return "\n".join(rows) + f"\n\n{rule}"


def _affected(audit: Audit) -> str:
    named = [f"{cell.row}:{cell.column} ({cell.table})" for cell in audit.affected]
    return f"{len(named)}" + (f": {listed(named)}" if named else "")


def _walk(audit: Audit) -> list[str]:
    """Each JSON file that tables read: its weights, its run's identity, the manifests and their sources."""
    if not audit.cells:
        return ["No table was made again."]
    rows = [
        "| JSON that tables read | Cells | SHA-256 | Weights | Identity | Data | Sources |",
        "|:---|---:|:---|:---|:---|:---|:---|",
    ]
    counts = Counter(cell.file for cell in audit.cells)
    for file, count in sorted(counts.items()):
        rest = audit.lineage.ancestors(file)
        weights = [path for path in rest if kind(path) == "weights"]
        data = [
            path
            for path in rest
            if kind(path) == "manifest" or (path.startswith("suites/") and "json" in path)
        ]
        cells = (
            f"`{file}`",
            str(count),
            _digest(audit, file),
            ", ".join(_digest(audit, path) for path in weights) or "–",
            ", ".join(f"`{name[:12]}`" for name in sorted({audit.identities[path] for path in weights}))
            or "–",
            ", ".join(f"{path.split('/')[1]} {_digest(audit, path)}" for path in sorted(data)) or "–",
            ", ".join(sorted({audit.sources[path] for path in rest if path in audit.sources})) or "–",
        )
        rows.append("| " + " | ".join(cells) + " |")
    return ["\n".join(rows)]


def _digest(audit: Audit, path: str) -> str:
    return f"`{audit.lineage.digests.get(path, 'missing')[:12]}`"


def _accepted(audit: Audit) -> str:
    return _bullets(
        f"`{entry['step']}` {entry['from'][:12]} → {entry['to'][:12]}: "
        f"{entry['reason']} ({entry['who']}, {entry['date']})"
        for entry in audit.accepted
    )


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines) or "None."


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
