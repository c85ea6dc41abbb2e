"""The plan of a campaign as tables: work, time on a device, data and disk, memory."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from captionlab.tables.cells import Cell, Column, Frame, Row, text

# Share of a device's dense peak that training reaches: an assumption, printed with every figure that rests on it.
MFU = 0.35
_TERA, _PETA, _GIGA, _HOUR = 1e12, 1e15, 1e9, 3600.0


@dataclass(frozen=True)
class Device:
    """Dense peaks with float32 accumulation in TFLOP/s (vendors' data sheets), and memory in GB."""

    name: str
    label: str
    half: float
    full: float
    memory: float


DEVICES = (
    Device("h100", "H100 SXM", 989.0, 67.0, 80.0),
    Device("h200", "H200", 989.0, 67.0, 141.0),
    Device("rtx5090", "RTX 5090", 209.5, 104.8, 32.0),
    Device("rtx4090", "RTX 4090", 165.2, 82.6, 24.0),
)


class Cost(Protocol):
    """What a study says of one run; see the study's own budget module."""

    @property
    def stage(self) -> str: ...  # noqa: D102
    @property
    def recipe(self) -> str: ...  # noqa: D102
    @property
    def option(self) -> str: ...  # noqa: D102
    @property
    def parameters(self) -> int: ...  # noqa: D102
    @property
    def steps(self) -> int: ...  # noqa: D102
    @property
    def presentations(self) -> int: ...  # noqa: D102
    @property
    def tokens(self) -> float: ...  # noqa: D102
    @property
    def flops(self) -> float: ...  # noqa: D102
    @property
    def reading_flops(self) -> float: ...  # noqa: D102
    @property
    def whole(self) -> float: ...  # noqa: D102
    @property
    def cached(self) -> float: ...  # noqa: D102
    @property
    def disk(self) -> float: ...  # noqa: D102


@dataclass(frozen=True)
class ChunkCost:
    """A chunk: rows, mean tokens (from its manifest, or assumed), bytes to fetch and bytes kept."""

    name: str
    rows: int
    length: float
    measured: bool
    download: float
    disk: float


def work(costs: Sequence[Cost], *, half: bool) -> Frame:
    """One row a stage and recipe, one for all readings, and the sum."""
    columns = (
        Column("stage", "Stage"),
        Column("recipe", "Recipe"),
        Column("runs", "Runs"),
        Column("steps", "Steps a run"),
        Column("presentations", "Presentations a run"),
        Column("all_steps", "Steps"),
        Column("all_presentations", "Presentations"),
        Column("tokens", "Tokens, 10⁹", 2),
        Column("flops", "PFLOP", 1),
        *(Column(f"hours_{device.name}", f"{device.label}, hours", 2) for device in DEVICES),
    )
    rows = []
    for stage, recipe in dict.fromkeys((cost.stage, cost.recipe) for cost in costs):
        group = [cost for cost in costs if (cost.stage, cost.recipe) == (stage, recipe)]
        one = (Cell(group[0].steps), Cell(group[0].presentations))
        rows.append(Row((text(stage), text(recipe), Cell(len(group)), *one, *_sums(group, half))))
    readings = sum(cost.reading_flops for cost in costs)
    blank = text("–")
    rows.append(Row((text("evaluation"), blank, Cell(len(costs)), *(5 * [blank]), *_time(readings, half))))
    total = sum(cost.flops for cost in costs) + readings
    counts = (Cell(sum(cost.steps for cost in costs)), Cell(sum(cost.presentations for cost in costs)))
    tokens = Cell(sum(cost.tokens for cost in costs) / _GIGA)
    cells = (text("all"), blank, Cell(len(costs)), blank, blank, *counts, tokens, *_time(total, half))
    rows.append(Row(cells, marked=True))
    return Frame("plan", "Work", columns, tuple(rows), (_work_note(half),))


def data(chunks: Sequence[ChunkCost]) -> Frame:
    """One row a chunk and the sum."""
    columns = (
        Column("chunk", "Chunk"),
        Column("rows", "Rows"),
        Column("length", "Tokens a caption", 1),
        Column("measured", "Length from"),
        Column("download", "Download, GB", 2),
        Column("disk", "Disk, GB", 2),
    )
    rows = [
        Row((text(c.name), Cell(c.rows), Cell(c.length), text("manifest" if c.measured else "assumed"),
             Cell(c.download / _GIGA), Cell(c.disk / _GIGA)))
        for c in chunks
    ]  # fmt: skip
    sums = (Cell(sum(c.download for c in chunks) / _GIGA), Cell(sum(c.disk for c in chunks) / _GIGA))
    rows.append(
        Row((text("all"), Cell(sum(c.rows for c in chunks)), text("–"), text("–"), *sums), marked=True)
    )
    return Frame("plan-data", "Data", columns, tuple(rows))


def memory(costs: Sequence[Cost], *, half: bool) -> Frame:
    """One row a recipe and option: parameters, peak memory of a device, and disk of one run."""
    columns = (
        Column("recipe", "Recipe"),
        Column("option", "Option"),
        Column("parameters", "Parameters"),
        Column("whole", "Peak, whole graph, GB", 1),
        Column("cached", "Peak, gradient cache, GB", 1),
        Column("fits", "Whole graph fits"),
        Column("disk", "Disk a run, GB", 2),
    )
    rows = []
    for cost in {(cost.recipe, cost.option): cost for cost in costs}.values():
        fits = [device.label for device in DEVICES if cost.whole / _GIGA <= device.memory]
        sizes = (Cell(cost.parameters), Cell(cost.whole / _GIGA), Cell(cost.cached / _GIGA))
        where = text(", ".join(fits) or "none of these")
        rows.append(Row((text(cost.recipe), text(cost.option), *sizes, where, Cell(cost.disk / _GIGA))))
    disk = sum(cost.disk for cost in costs) / _GIGA
    note = (
        f"Estimates: activations are counted in {'BF16' if half else 'FP32'}, a workspace is not. All runs together "
        f"keep {disk:,.1f} GB."
    )
    return Frame("plan-memory", "Memory and disk of runs", columns, tuple(rows), (note,))


def _sums(group: Sequence[Cost], half: bool) -> Iterable[Cell]:
    yield Cell(sum(cost.steps for cost in group))
    yield Cell(sum(cost.presentations for cost in group))
    yield Cell(sum(cost.tokens for cost in group) / _GIGA)
    yield from _time(sum(cost.flops for cost in group), half)


def _time(flops: float, half: bool) -> Iterable[Cell]:
    yield Cell(flops / _PETA)
    for device in DEVICES:
        peak = device.half if half else device.full
        yield Cell(flops / (peak * _TERA * MFU) / _HOUR)


def _work_note(half: bool) -> str:
    peaks = ", ".join(f"{d.label} {d.half if half else d.full:g}" for d in DEVICES)
    return (
        f"FLOPs are those of matrix products (a multiply and an add are two), fused attention. Hours: one device, "
        f"{MFU:.0%} of its dense {'BF16' if half else 'FP32'} peak (TFLOP/s: {peaks}). The gradient cache adds a "
        "forward pass, about a third. Evaluation: forward passes over captions and sentences."
    )


def sizes(spec: Mapping[str, Any], chunk: str, length: float, measured: bool) -> ChunkCost:
    """Bytes of one chunk: a token is two bytes in tokens.npy and about two in a caption's compressed text."""
    rows, width = spec["rows"][chunk], spec["model"]["target_width"]
    text_bytes, targets = 2.0 * rows * length, 4.0 * rows * width
    download = (text_bytes if spec["fetched"]["captions"] else 0) + (
        targets if spec["fetched"]["targets"] else 0
    )
    disk = text_bytes + 2.0 * rows * length + 8.0 * (rows + 1) + targets
    return ChunkCost(chunk, rows, length, measured, download, disk)
