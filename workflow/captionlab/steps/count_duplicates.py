"""Count duplicate captions inside and across chunks, and suite sentences that are near training captions."""

import argparse
from pathlib import Path

from captionlab.chunks.duplicates import NearRule, count_chunks, count_near, read_captions
from captionlab.files import parse_spec, versions, write_json, write_text
from captionlab.sources.pairs import read_pairs
from captionlab.tables.artifacts import DUPLICATES_FILE, Artifacts
from captionlab.tables.hygiene import hygiene
from captionlab.tables.plan import Plan, plan_from_spec
from captionlab.tables.render import comma_separated, latex, markdown

NEAR = NearRule(threshold=0.7, permutations=128, seed=1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this step."""
    parser.add_argument("--spec", required=True, help="the campaign as tables see it, one JSON object")
    parser.add_argument("--code", default="", help="fingerprint of the code that this step reaches")
    parser.add_argument("--root", required=True, type=Path, help="results root of the campaign")
    parser.add_argument("--output", required=True, type=Path, help="hygiene/duplicates.json below the root")
    parser.add_argument("--table", required=True, type=Path, help="duplicates.md; CSV and LaTeX go beside it")


def run(args: argparse.Namespace) -> None:
    """Count, write the JSON, and render its tables. Training chunks are all but development and test."""
    spec = parse_spec(args.spec)
    plan = plan_from_spec(spec)
    held_out = {spec.get("development_chunk"), spec.get("test_chunk")}
    training = [chunk for chunk in plan.chunks if chunk not in held_out]
    folders = {chunk: args.root / "chunks" / chunk for chunk in plan.chunks}
    names = [suite.name for suite in (*plan.suites, plan.development_suite)]
    suites = {name: _sentences(args.root / "suites" / f"{name}.tsv") for name in names}
    captions = (
        caption for chunk in training for caption in read_captions(folders[chunk] / "captions.parquet")
    )
    document = {
        **count_chunks(folders),
        "training": training,
        "near": {"threshold": NEAR.threshold, "permutations": NEAR.permutations, "seed": NEAR.seed},
        "suites": count_near(captions, suites, NEAR),
        "versions": versions("captionlab", "datasketch", "pyarrow", "numpy"),
    }
    write_json(args.output, document)
    _render(plan, Artifacts(args.root, {DUPLICATES_FILE: document}), args.table)


def _sentences(path: Path) -> list[str]:
    return [sentence for pair in read_pairs(path) for sentence in (pair.sentence1, pair.sentence2)]


def _render(plan: Plan, artifacts: Artifacts, table: Path) -> None:
    parts = [f"# Duplicates in campaign `{plan.campaign}`\n"]
    for frame in hygiene(plan, artifacts):
        write_text(table.parent / f"{frame.name}.csv", comma_separated(frame))
        write_text(table.parent / f"{frame.name}.tex", latex(frame))
        parts.append(f"## {frame.title}\n\n{markdown(frame)}")
    write_text(table, "\n".join(parts))
