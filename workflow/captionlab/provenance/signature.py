"""A cheap sign that something below a results root was touched: sizes and times, no contents."""

from pathlib import Path

from captionlab.files import canonical_json, sha256_bytes

_SPARE = frozenset({"logs", "benchmarks", "provenance"})


def tree_signature(root: Path | str) -> str:
    """Hex SHA-256 over path, size, mtime and ctime of every file below `root`.

    Logs, benchmarks and provenance are left out, because jobs write those without changing a result. An
    altered file always shows: its ctime cannot be set back.
    """
    root = Path(root)
    rows = []
    for path in sorted(root.rglob("*")):
        below = path.relative_to(root)
        if below.parts[0] not in _SPARE and path.is_file():
            stat = path.stat()
            rows.append([str(below), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns])
    return sha256_bytes(canonical_json(rows).encode())
