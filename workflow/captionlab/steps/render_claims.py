"""Write claims.md and one CSV a card: every checkable statement, what became of it, and by which figure."""

import argparse
from pathlib import Path

from captionlab.files import parse_spec, read_json, write_text
from captionlab.tables.artifacts import Artifacts
from captionlab.tables.checks.finding import Evidence
from captionlab.tables.claims import cards, claims_frame, tally
from captionlab.tables.plan import plan_from_spec
from captionlab.tables.render import comma_separated, latex, markdown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this step."""
    parser.add_argument("--spec", required=True, help="the campaign as tables see it, one JSON object")
    parser.add_argument("--code", default="", help="fingerprint of the code that this step reaches")
    parser.add_argument("--root", required=True, type=Path, help="results root of the campaign")
    parser.add_argument("--output", required=True, type=Path, help="claims.md; CSV and LaTeX go beside it")
    parser.add_argument(
        "--card", action="append", help="a card by name (default: all, the study's own first)"
    )
    parser.add_argument("--parity", nargs="*", default=[], type=Path, help="parity reports of exports")


def run(args: argparse.Namespace) -> None:
    """Judge every claim of every card against the campaign under the root."""
    plan = plan_from_spec(parse_spec(args.spec))
    evidence = Evidence(plan, Artifacts(args.root), tuple(read_json(path) for path in args.parity))
    parts = [f"# Claims, checked by campaign `{plan.campaign}`\n"]
    for card in args.card or sorted(cards(), key=lambda name: (not name.startswith("captionbert"), name)):
        frame = claims_frame(card, evidence)
        write_text(args.output.parent / f"{frame.name}.csv", comma_separated(frame))
        write_text(args.output.parent / f"{frame.name}.tex", latex(frame))
        parts.append(f"## {card}\n\n{tally(frame)}\n\n{markdown(frame)}")
    write_text(args.output, "\n".join(parts))
