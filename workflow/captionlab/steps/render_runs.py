"""Write runs.md, runs.csv and run-groups.csv: every planned run with its status, spec and numbers."""

import argparse
from pathlib import Path

from captionlab.files import parse_spec, write_text
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.plan import plan_from_spec
from captionlab.tables.render import comma_separated, latex, markdown
from captionlab.tables.runs import run_groups, runs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this step."""
    parser.add_argument("--spec", required=True, help="the campaign as tables see it, one JSON object")
    parser.add_argument("--code", default="", help="fingerprint of the code that this step reaches")
    parser.add_argument("--root", required=True, type=Path, help="results root of the campaign")
    parser.add_argument("--output", required=True, type=Path, help="runs.md; CSV and LaTeX go beside it")


def run(args: argparse.Namespace) -> None:
    """List the runs; a run that failed or was never made is a row like any other."""
    plan, artifacts = plan_from_spec(parse_spec(args.spec)), Artifacts(args.root)
    parts = [f"# Runs of campaign `{plan.campaign}`\n"]
    for frame in (runs(plan, artifacts), run_groups(plan, artifacts)):
        write_text(args.output.parent / f"{frame.name}.csv", comma_separated(frame))
        write_text(args.output.parent / f"{frame.name}.tex", latex(frame))
        parts.append(f"## {frame.title}\n\n{markdown(frame)}")
    write_text(args.output, "\n".join(parts))
