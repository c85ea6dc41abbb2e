"""Make one chunk: its captions, tokens and offsets, and the captions.json that vouches for them."""

import argparse
from pathlib import Path

from captionlab.chunks.tokenizer import load_tokenizer
from captionlab.chunks.write import write_chunk
from captionlab.files import parse_spec, read_json
from captionlab.sources.captions import open_captions
from captionlab.sources.fields import field


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the step."""
    parser.add_argument("--spec", required=True, help='JSON: {"chunk", "source": {"kind", ...}}')
    parser.add_argument("--code", default="", help="fingerprint of the code, recorded by the workflow")
    parser.add_argument("--tokenizer", required=True, type=Path, help="folder that prepare_tokenizer wrote")
    parser.add_argument("--output", required=True, type=Path, help="folder of the chunk")


def run(args: argparse.Namespace) -> None:
    """Write captions.parquet, tokens.npy, offsets.npy and captions.json into the chunk's folder."""
    spec = parse_spec(args.spec)
    chunk = field(spec, "chunk", str, "spec")
    manifest = read_json(args.tokenizer / "manifest.json")
    pinned = field(manifest, "tokenizer_sha256", str, str(args.tokenizer / "manifest.json"))
    tokenizer = load_tokenizer(args.tokenizer / "vocab.txt", pinned)
    source = open_captions(chunk, spec.get("source"))
    write_chunk(args.output, chunk, source, tokenizer)
