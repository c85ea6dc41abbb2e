"""The figures of a campaign, each drawn from one table; equal tables give equal bytes.

Colours are told apart in greyscale by marker and line style too, and every figure has an opaque white ground,
so that it reads on paper and on a dark page.
"""

from collections.abc import Callable, Mapping, Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from captionlab.tables import figure_frames as data
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.cells import Frame
from captionlab.tables.dag import draw_stages, stages
from captionlab.tables.drawing import (
    COLOURS,
    DASHES,
    MARKERS,
    STYLE,
    Entry,
    by_seed,
    empty_figure,
    encoded,
    entries_of,
    grouped,
    single_axes,
)
from captionlab.tables.figure_names import FIGURES
from captionlab.tables.plan import Plan

Drawing = Callable[[Frame], Figure]


def figure_frame(name: str, plan: Plan, artifacts: Artifacts) -> Frame:
    """The table behind a figure.

    Raises KeyError for an unknown figure.
    """
    return _FRAMES[name](plan, artifacts)


def draw(frame: Frame) -> Mapping[str, bytes]:
    """SVG and PNG of the figure that a table belongs to; an empty table gives a figure that says so."""
    with matplotlib.rc_context(STYLE):
        figure = _DRAWINGS[frame.name](frame) if frame.rows else empty_figure(frame)
        return {"svg": encoded(figure, "svg"), "png": encoded(figure, "png")}


def draw_training(frame: Frame) -> Figure:
    """A panel an option and recipe: loss over steps, one line a seed, all other runs faint behind."""
    return _panels(frame, "loss", "Loss (mean over stretches of steps)")


def draw_development(frame: Frame) -> Figure:
    """A panel an option and recipe: development Spearman at the declared steps, one line a seed."""
    return _panels(frame, "spearman", "Development Spearman")


def draw_against_test(frame: Frame) -> Figure:
    """A point a larger run: development Spearman across, suite mean up; the selected one ringed."""
    figure, axes = single_axes(6.4, 4.4)
    entries = entries_of(frame)
    for place, (label, group) in enumerate(grouped(entries, "label").items()):
        known = [row for row in group if row["development"] is not None and row["test"] is not None]
        across, up = [row["development"] for row in known], [row["test"] for row in known]
        axes.plot(across, up, MARKERS[place % 9], color=COLOURS[place % 9], label=label, markersize=7)
        for row in known:
            spot = (row["development"], row["test"])
            axes.annotate(f"seed {row['seed']}", spot, textcoords="offset points", xytext=(7, -3), fontsize=8)
            if row["selected"]:
                axes.plot(*spot, "o", markersize=14, mfc="none", mec="#111111", label="selected default")
    axes.set(xlabel="Development Spearman", ylabel="Mean of the test suites", title=frame.title)
    axes.margins(0.15)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    return figure


def draw_scores(frame: Frame) -> Figure:
    """A row a suite, a dot with its interval a run; references as grey ticks."""
    entries = entries_of(frame)
    suites = list(dict.fromkeys(row["suite"] for row in entries))
    runs = grouped([row for row in entries if row["kind"] == "run"], "label")
    references = grouped([row for row in entries if row["kind"] == "reference"], "label")
    figure, axes = single_axes(7.4, 0.62 * len(suites) + 1.6 + 0.17 * (len(runs) + len(references)))
    step = 0.66 / max(1, len(runs) - 1)
    for place, (label, group) in enumerate(runs.items()):
        shift = -0.35 + place * step
        _dots(axes, group, suites, shift, COLOURS[place % 9], MARKERS[place % 9], label)
    shades = ("#555555", "#8a8a8a")
    for place, (label, group) in enumerate(references.items()):
        known = [row for row in group if row["spearman"] is not None]
        heights = [suites.index(row["suite"]) + 0.46 for row in known]
        style: Entry = {"color": shades[place % 2], "markersize": 6, "mfc": "none"}
        marker = MARKERS[place % 9]
        axes.plot([row["spearman"] for row in known], heights, marker, label=label, zorder=1, **style)
    axes.set_yticks(range(len(suites)), suites)
    axes.invert_yaxis()
    axes.set(xlabel="Spearman (bar: 95% interval over items)", title=frame.title)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.55 / len(suites) - 0.04), ncols=2)
    return figure


def draw_spectrum(frame: Frame) -> Figure:
    """Cumulative variance share over components, one line a larger run."""
    figure, axes = single_axes(6.4, 4.4)
    for place, (label, group) in enumerate(grouped(entries_of(frame), "label").items()):
        for number, (seed, line) in enumerate(grouped(group, "seed").items()):
            style: Entry = {"color": COLOURS[place % 9], "linestyle": DASHES[number % 5], "linewidth": 1.4}
            across, up = [row["component"] for row in line], [row["cumulative"] for row in line]
            axes.plot(across, up, label=f"{label}, seed {seed}", **style)
    axes.set(xscale="log", xlabel="Principal components", ylabel="Cumulative share of variance")
    axes.set(title=frame.title, ylim=(0, 1.02))
    axes.legend(loc="upper left")
    return figure


def draw_participation(frame: Frame) -> Figure:
    """A row a caption sample, a dot a larger run."""
    entries = entries_of(frame)
    samples = list(dict.fromkeys(row["sample"] for row in entries))
    groups = grouped(entries, "label")
    figure, axes = single_axes(6.8, 0.9 * len(samples) + 1.5 + 0.15 * len(groups))
    for place, (label, group) in enumerate(groups.items()):
        for number, (seed, line) in enumerate(grouped(group, "seed").items()):
            known = [row for row in line if isinstance(row["rank"], float | int)]
            heights = [samples.index(row["sample"]) - 0.25 + 0.25 * place for row in known]
            filled = COLOURS[place % 9] if number == 0 else "white"
            style: Entry = {"mfc": filled, "mec": COLOURS[place % 9], "linestyle": "none", "markersize": 7}
            across = [row["rank"] for row in known]
            axes.plot(across, heights, marker=MARKERS[place % 9], label=f"{label}, seed {seed}", **style)
    axes.set_yticks(range(len(samples)), samples)
    axes.set_ylim(len(samples) - 0.5, -0.5)
    axes.set(xlabel="Participation rank", title=frame.title)
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.2), ncols=2)
    return figure


def draw_lookup(frame: Frame) -> Figure:
    """Mean probability of the correct record by distance, one line an option, a marker a seed."""
    figure, axes = single_axes(7.2, 5.0)
    entries = [row for row in entries_of(frame) if row["repeat"] == 0]
    spans = list(dict.fromkeys((row["first"], row["last"]) for row in entries))
    spans.sort()
    for place, (label, group) in enumerate(grouped(entries, "label").items()):
        colour, marker = COLOURS[place % 9], MARKERS[place % 9]
        seeds = grouped(group, "seed")
        for number, line in enumerate(seeds.values()):
            across = [spans.index((row["first"], row["last"])) for row in line]
            style: Entry = {
                "color": colour,
                "linestyle": DASHES[number % 5],
                "marker": marker,
                "markersize": 4.5,
            }
            name = label if number == 0 else None
            axes.plot(across, [row["probability"] for row in line], label=name, linewidth=1.2, **style)
    names = [f"{first}–{last}" if last < 8192 else f"{first}+" for first, last in spans]
    axes.set_xticks(range(len(spans)), names)
    axes.set(xlabel="Tokens back to the nearest record (second seed dashed)", title=frame.title)
    axes.set(ylabel="Mean probability on correct records", ylim=(-0.03, 1.03))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)
    return figure


def draw_consensus(frame: Frame) -> Figure:
    """Left: each teacher's cosine to the consensus before and after; right: residual by iteration."""
    figure = Figure(figsize=(7.4, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
    entries = entries_of(frame)
    teachers = list(dict.fromkeys(row["name"] for row in entries if row["quantity"] != "residual"))
    for shift, quantity, colour, hatch in (
        (-0.2, "cosine_before", "#c9d7e8", "//"),
        (0.2, "cosine_after", "#0b5394", ""),
    ):
        values = [row["value"] for row in entries if row["quantity"] == quantity]
        heights = [place + shift for place in range(len(values))]
        name = quantity.replace("cosine_", "") + " alignment"
        lengths = [value or 0.0 for value in values]
        left.barh(heights, lengths, 0.38, color=colour, hatch=hatch, edgecolor="#0b5394", label=name)
        for height, value in zip(heights, values, strict=True):
            written = "other width" if value is None else f"{value:.3f}"
            left.annotate(written, (max(value or 0.0, 0.0), height), (4, -3), textcoords="offset points")
    left.set_yticks(range(len(teachers)), teachers)
    left.set_ylim(len(teachers) - 0.5, -0.5)
    left.margins(x=0.18)
    left.set(xlabel="Mean cosine to the consensus", title=frame.title)
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2)
    residual = [(int(row["name"]), row["value"]) for row in entries if row["quantity"] == "residual"]
    right.plot([place for place, _ in residual], [value for _, value in residual], "o-", color="#c2410c")
    sweeps = [place for place, _ in residual]
    right.set_xticks(sweeps[:: max(1, len(sweeps) // 8)])
    right.set(xlabel="Sweep", ylabel="Residual", title="Procrustes residual")
    return figure


def _panels(frame: Frame, key: str, ylabel: str) -> Figure:
    entries = entries_of(frame)
    groups: dict[tuple[str, str], list[Entry]] = {}
    for row in entries:
        groups.setdefault((row["stage"], row["label"]), []).append(row)
    columns = min(3, len(groups))
    rows = -(-len(groups) // columns)
    figure = Figure(figsize=(2.9 * columns + 0.4, 2.1 * rows + 0.6), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    for axes in grid.flat[len(groups) :]:
        axes.set_visible(False)
    for axes, ((stage, label), group) in zip(grid.flat, groups.items(), strict=False):
        for other in (line for name, line in groups.items() if name[0] == stage and name[1] != label):
            for line in by_seed(other).values():
                axes.plot([r["step"] for r in line], [r[key] for r in line], color="#d5d5d5", linewidth=0.6)
        for number, (name, line) in enumerate(by_seed(group).items()):
            style: Entry = {"color": COLOURS[number % 9], "linestyle": DASHES[number % 5], "linewidth": 1.4}
            marker = MARKERS[number % 9] if len(line) < 12 else ""
            across, up = [row["step"] for row in line], [row[key] for row in line]
            axes.plot(across, up, marker=marker, markersize=4, label=name, **style)
        axes.set_title(f"{stage}: {label}" if stage not in label else label)
        axes.legend(loc="best", handlelength=2.6)
    for axes in grid.flat[max(0, len(groups) - columns) : len(groups)]:
        axes.set_xlabel("Step")
    figure.supylabel(ylabel, fontsize=9)
    return figure


def _dots(
    axes: Axes,
    group: Sequence[Entry],
    suites: Sequence[str],
    shift: float,
    colour: str,
    marker: str,
    label: str,
) -> None:
    known = [row for row in group if row["spearman"] is not None]
    heights = [suites.index(row["suite"]) + shift for row in known]
    values = [row["spearman"] for row in known]
    bounded = [row["spearman_interval"] or (row["spearman"], row["spearman"]) for row in known]
    below = [value - low for value, (low, _) in zip(values, bounded, strict=True)]
    above = [high - value for value, (_, high) in zip(values, bounded, strict=True)]
    style: Entry = {"ecolor": colour, "elinewidth": 1.1, "capsize": 0, "linestyle": "none", "zorder": 3}
    axes.errorbar(
        values,
        heights,
        xerr=[below, above],
        marker=marker,
        color=colour,
        markersize=4.5,
        label=label,
        **style,
    )


_FRAMES: Mapping[str, Callable[[Plan, Artifacts], Frame]] = {
    "training-curves": data.training_curves,
    "development-curves": data.development_curves,
    "development-against-test": data.development_against_test,
    "suite-scores": data.suite_scores,
    "spectrum": data.spectrum,
    "participation": data.participation,
    "lookup-distance": data.lookup_by_distance,
    "consensus": data.consensus,
    "stages": stages,
}
_DRAWINGS: Mapping[str, Drawing] = {
    "training-curves": draw_training,
    "development-curves": draw_development,
    "development-against-test": draw_against_test,
    "suite-scores": draw_scores,
    "spectrum": draw_spectrum,
    "participation": draw_participation,
    "lookup-distance": draw_lookup,
    "consensus": draw_consensus,
    "stages": draw_stages,
}
assert tuple(_FRAMES) == tuple(_DRAWINGS) == FIGURES
