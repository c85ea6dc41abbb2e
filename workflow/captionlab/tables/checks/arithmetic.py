"""Checks that a card's own numbers decide: sums, means, products, orders and bounds."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from captionlab.selection import DevelopmentRow, select
from captionlab.tables.checks.finding import Evidence, Finding, decided
from captionlab.tables.published import Published, count, find, one, records
from captionlab.training.order import steps

CHUNK_ROWS = 500_000


def row_mean(evidence: Evidence, *, recipe: str, option: str, seed: int) -> Finding:
    """The printed mean of a row of the benchmarks against the mean of its printed scores.

    Rounding of the scores and of the mean may move them half a unit each.
    """
    computed = _row_mean(recipe, option, seed)
    printed = _only(one("benchmarks", recipe=recipe, option=option, seed=seed, suite="mean"))
    holds = abs(computed - printed.number) <= 2 * printed.half_unit
    return decided(holds, f"mean of the eight printed scores {computed:.5f}, printed {printed.printed}")


def pair_mean(evidence: Evidence, *, recipe: str, option: str) -> Finding:
    """The printed mean over both seeds against the printed scores, to the rounding of those."""
    computed = _pair_mean(recipe, option)
    printed = _only(one("pair-means", recipe=recipe, option=option))
    slack = printed.half_unit + 0.5e-4
    return decided(
        abs(computed - printed.number) <= slack,
        f"mean of the sixteen printed scores {computed:.5f}, printed {printed.printed}",
    )


def pair_mean_order(evidence: Evidence) -> Finding:
    """Hierarchical over relative over matched exposure in the means of both seeds."""
    means = [_pair_mean("larger", "hierarchical"), _pair_mean("larger", "relative-16")]
    means.append(_pair_mean("exposure", "hierarchical"))
    written = " > ".join(f"{value:.5f}" for value in means)
    return decided(means == sorted(means, reverse=True), written)


def directions_differ(evidence: Evidence) -> Finding:
    """Hierarchical minus relative under each seed, with and without the suite of fewest pairs."""
    whole = [_difference(seed, ()) for seed in (1, 2)]
    without = [_difference(seed, ("BIOSSES",)) for seed in (1, 2)]
    figure = (
        f"seed 1 {whole[0]:+.4f}, seed 2 {whole[1]:+.4f}; without BIOSSES (100 pairs) {without[0]:+.4f} and "
        f"{without[1]:+.4f}: an after-the-fact split of rounded values, a hint and no finding"
    )
    return decided(whole[0] * whole[1] < 0, figure)


def strongest_row(evidence: Evidence, *, recipe: str, option: str, seed: int) -> Finding:
    """The row with the highest printed mean."""
    rows = sorted(find("benchmarks", suite="mean"), key=lambda row: -row.number)
    best = dict(rows[0].keys)
    holds = (best["recipe"], best["option"], best["seed"]) == (recipe, option, str(seed))
    figure = f"highest {rows[0].printed} ({best['option']}, seed {best['seed']}), next {rows[1].printed}"
    return decided(holds, figure)


def selection_rule(evidence: Evidence, *, near_tie: float) -> Finding:
    """The six printed development rows, given to this project's selection, yield the card's default."""
    outcome = select(_development_rows(), near_tie)
    chosen = outcome["selected"]
    means = ", ".join(f"{row['recipe']}/{row['option']} {row['mean']:.6f}" for row in outcome["means"])
    holds = chosen == {"recipe": "larger", "option": "relative-16", "seed": 1}
    named = f"{chosen['recipe']}/{chosen['option']}/seed-{chosen['seed']}"
    return decided(holds, f"yields {named}, decided by {outcome['decided_by']}; development means {means}")


def near_tie(evidence: Evidence, *, width: float) -> Finding:
    """The two 4M development means lie within the near tie."""
    means = [_development_mean("larger", option) for option in ("hierarchical", "relative-16")]
    gap = abs(means[0] - means[1])
    figure = (
        f"development means {means[0]:.6f} and {means[1]:.6f}, {gap:.6f} apart (near tie here: {width}); relative-16 "
        "has both the higher mean and fewer additions, so either rule chooses it"
    )
    return decided(gap <= width, figure)


def recipe_steps(evidence: Evidence, *, recipe: str) -> Finding:
    """Steps of a recipe when the last partial batch of each chunk is dropped."""
    rows, epochs = int(count(f"{recipe}_rows").number), int(count(f"{recipe}_epochs").number)
    batch, chunks = int(count("batch").number), rows // CHUNK_ROWS
    computed = steps([CHUNK_ROWS] * chunks, batch, epochs)
    whole = rows * epochs // batch
    figure = (
        f"{chunks} chunks × {CHUNK_ROWS // batch} whole batches × {epochs} epochs = {computed:,} "
        f"(batches cut from all rows at once would give {whole:,})"
    )
    return decided(computed == int(count(f"{recipe}_steps").number), figure)


def recipe_presentations(evidence: Evidence, *, recipe: str) -> Finding:
    """Presentations of a recipe: steps times batch."""
    step_count, batch = int(count(f"{recipe}_steps").number), int(count("batch").number)
    printed = int(count(f"{recipe}_presentations").number)
    return decided(step_count * batch == printed, f"{step_count:,} × {batch:,} = {step_count * batch:,}")


def sums(evidence: Evidence, *, terms: Sequence[float], printed: str) -> Finding:
    """A sum, rounded as it is printed."""
    total = math.fsum(terms)
    return decided(_rounds(total, printed), f"{_join(terms, ' + ')} = {total:,.10g}, printed {printed}")


def products(evidence: Evidence, *, factors: Sequence[float], printed: str, per: float = 1.0) -> Finding:
    """A product divided by `per`, rounded as it is printed."""
    value = math.prod(factors) / per
    division = f" / {per:,.12g}" if per != 1.0 else ""
    figure = f"{_join(factors, ' × ')}{division} = {value:,.10g}, printed {printed}"
    return decided(_rounds(value, printed), figure)


def differences(evidence: Evidence, *, larger: str, smaller: str, printed: str) -> Finding:
    """A printed difference of two printed numbers, to the rounding of all three."""
    value = abs(Decimal(larger) - Decimal(smaller))
    slack = sum(_half_unit(number) for number in (larger, smaller, printed))
    figure = f"{larger} − {smaller} = {value}, printed {printed} (rounding allows ±{slack})"
    return decided(abs(value - Decimal(printed)) <= slack, figure)


def counted(evidence: Evidence, *, table: str, keys: Mapping[str, Any], expected: int) -> Finding:
    """How many rows of a published table have these keys."""
    wanted = {key: str(value) for key, value in keys.items()}
    number = sum(all(row[key] == value for key, value in wanted.items()) for row in records(table))
    return decided(number == expected, f"{number} in the card's table, {expected} stated")


def below(
    evidence: Evidence,
    *,
    table: str,
    column: str,
    keys: Mapping[str, Any],
    loads: Sequence[str],
    limit: float,
) -> Finding:
    """A column's numbers stay below a limit, in the rows of the loads that the statement speaks of."""
    rows = [row for row in records(table) if row["load"] in loads]
    rows = [row for row in rows if all(row[key] == str(value) for key, value in keys.items())]
    figure = ", ".join(f"{row[column]} ({row['model']} / {row['load']})" for row in rows)
    return decided(all(float(row[column]) < limit for row in rows), f"{figure}; limit {limit}")


def disjoint(evidence: Evidence, *, training: Sequence[str], held_out: Sequence[str]) -> Finding:
    """No held-out chunk is among the training chunks, and none is named twice."""
    shared = sorted(set(training) & set(held_out))
    holds = not shared and len({*training, *held_out}) == len(training) + len(held_out)
    figure = f"{len(training)} training chunks, {len(held_out)} held out, {len(shared)} shared"
    return decided(holds, figure)


def fewest_seeds(evidence: Evidence, *, seeds: int) -> Finding:
    """The least p of a two-sided permutation test of `seeds` runs against as many."""
    ways = math.comb(2 * seeds, seeds)
    figure = f"{seeds} against {seeds}: least two-sided p = 2/{ways} = {2 / ways:.3f}"
    return decided(2 / ways > 0.05, figure)


def bounds(evidence: Evidence, *, width: int) -> Finding:
    """Printed geometry lies where its definition allows: rank in [1, width], self cosine above -1/(n-1)."""
    ranks = [row.number for row in find("geometry", quantity="participation_rank")]
    selves = [row.number for row in find("geometry", quantity="self_cosine")]
    fewest = min(row.number for row in find("geometry", quantity="rows"))
    holds = all(1 <= rank <= width for rank in ranks) and all(-1 / (fewest - 1) <= s <= 1 for s in selves)
    figure = f"ranks {min(ranks)} to {max(ranks)}, self cosines {min(selves)} to {max(selves)}"
    return decided(holds, figure)


def conflicting(evidence: Evidence, *, first: str, second: str) -> Finding:
    """Two statements of one card that cannot both be true."""
    return decided(first == second, f"{first}; but {second}")


def _only(found: Published | None) -> Published:
    if found is None:
        raise LookupError("the card prints no such number")
    return found


def _scores(recipe: str, option: str, seed: int, leave_out: Sequence[str] = ()) -> list[float]:
    rows = find("benchmarks", recipe=recipe, option=option, seed=seed)
    return [row.number for row in rows if dict(row.keys)["suite"] not in {"mean", *leave_out}]


def _row_mean(recipe: str, option: str, seed: int, leave_out: Sequence[str] = ()) -> float:
    scores = _scores(recipe, option, seed, leave_out)
    return math.fsum(scores) / len(scores)


def _pair_mean(recipe: str, option: str) -> float:
    return (_row_mean(recipe, option, 1) + _row_mean(recipe, option, 2)) / 2


def _difference(seed: int, leave_out: Sequence[str]) -> float:
    hierarchical = _row_mean("larger", "hierarchical", seed, leave_out)
    return hierarchical - _row_mean("larger", "relative-16", seed, leave_out)


def _development_mean(recipe: str, option: str) -> float:
    rows = find("development", recipe=recipe, option=option, quantity="spearman")
    return math.fsum(row.number for row in rows) / len(rows)


def _development_rows() -> list[DevelopmentRow]:
    additions = {"relative-16": 0, "hierarchical": 2}
    rows = []
    for printed in find("development", quantity="spearman"):
        keys = dict(printed.keys)
        rows.append(
            DevelopmentRow(
                recipe=keys["recipe"],
                option=keys["option"],
                seed=int(keys["seed"]),
                repeat=0,
                spearman=printed.number,
                additions=additions[keys["option"]],
                suite="STS-B validation",
                pairs=1500,
                identity="",
                final_sha256="",
            )
        )
    return rows


def _rounds(value: float, printed: str) -> bool:
    number = Decimal(printed.replace(",", ""))
    return abs(Decimal(repr(float(value))) - number) <= _half_unit(printed) + Decimal("1e-9")


def _half_unit(printed: str) -> Decimal:
    _, point, digits = printed.replace(",", "").partition(".")
    return Decimal(5) * Decimal(10) ** -(len(digits) + 1) if point else Decimal(0)


def _join(numbers: Sequence[float], sign: str) -> str:
    return sign.join(f"{number:,.12g}" for number in numbers)
