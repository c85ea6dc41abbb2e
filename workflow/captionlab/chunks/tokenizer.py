"""The encoder's tokenizer: uncased BERT WordPiece, built from a vocabulary and nothing else."""

import json
from collections.abc import Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import WordPiece as WordPieceDecoder
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from captionlab.errors import DamagedFileError, MissingFileError
from captionlab.files import read_json, sha256_bytes

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CAPACITY = 8192
_WORD_LIMIT = 100

Ids = npt.NDArray[np.uint16]


def load_tokenizer(path: Path | str, sha256: str | None = None) -> Tokenizer:
    """The tokenizer from a `vocab.txt` (a piece a line) or a `tokenizer.json`, without truncation or padding.

    Of a `tokenizer.json` the vocabulary is read and the tokenizer built anew from it; the file must describe
    that same tokenizer, truncation and padding aside, so that neither can leak in. `sha256` pins the
    vocabulary (see `vocabulary_digest`). Raises MissingFileError, or DamagedFileError naming the file and
    what it should hold.
    """
    path = Path(path)
    if path.suffix != ".json":
        return build_tokenizer(_checked(_read_pieces(path), path, sha256))
    described = read_json(path)
    try:
        numbers = described["model"]["vocab"]
        pieces = sorted(numbers, key=numbers.__getitem__)
        consecutive = [numbers[piece] for piece in pieces] == list(range(len(pieces)))
    except (TypeError, KeyError, AttributeError):
        consecutive = False
    if not consecutive:
        raise DamagedFileError(
            f"{path} holds no WordPiece vocabulary with ids 0, 1, 2 ...: give another file"
        )
    tokenizer = build_tokenizer(_checked(pieces, path, sha256))
    if _pipeline(tokenizer.to_str()) != _pipeline(_normalised(path)):
        raise DamagedFileError(f"{path} is no uncased BERT WordPiece tokenizer: use one, or its vocab.txt")
    return tokenizer


def build_tokenizer(pieces: Sequence[str]) -> Tokenizer:
    """Uncased BERT WordPiece over `pieces` (id = position): lower case, accents and control characters
    stripped, CJK characters split, words beyond 100 characters unknown; [CLS] before and [SEP] after each
    text.
    """
    numbers = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(WordPiece(vocab=numbers, unk_token="[UNK]", max_input_chars_per_word=_WORD_LIMIT))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.decoder = WordPieceDecoder()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", numbers["[CLS]"]), ("[SEP]", numbers["[SEP]"])],
    )
    tokenizer.add_special_tokens([AddedToken(special, normalized=False) for special in SPECIALS])
    return tokenizer


def vocabulary(tokenizer: Tokenizer) -> list[str]:
    """All pieces in the order of their ids."""
    numbers = tokenizer.get_vocab(with_added_tokens=True)
    return sorted(numbers, key=numbers.__getitem__)


def vocabulary_text(pieces: Sequence[str]) -> str:
    """The canonical `vocab.txt`: a piece a line in the order of ids, LF line ends, a final one too."""
    return "".join(f"{piece}\n" for piece in pieces)


def vocabulary_digest(pieces: Sequence[str]) -> str:
    """The tokenizer's identity: SHA-256 of the canonical `vocab.txt` in UTF-8."""
    return sha256_bytes(vocabulary_text(pieces).encode("utf-8"))


def tokenize(tokenizer: Tokenizer, texts: Sequence[str]) -> list[Ids]:
    """uint16 ids of each text with [CLS] first and [SEP] last, cut to 8,192 ids (the [SEP] kept)."""
    flat, offsets = tokenize_flat(tokenizer, texts)
    return [flat[start:end] for start, end in pairwise(offsets)]


def distinct_rows(rows: Sequence[npt.NDArray[Any]]) -> tuple[list[npt.NDArray[Any]], npt.NDArray[np.int64]]:
    """The different rows of token ids among `rows` (of one dtype), by first appearance, and each row's place there.

    Different texts may give one row: an uncased vocabulary sees neither case nor spacing.
    """
    keys = [row.tobytes() for row in rows]
    distinct = dict(zip(keys, rows, strict=True))
    numbers = {key: number for number, key in enumerate(distinct)}
    return list(distinct.values()), np.array([numbers[key] for key in keys], dtype=np.int64)


def tokenize_flat(tokenizer: Tokenizer, texts: Sequence[str]) -> tuple[Ids, npt.NDArray[np.int64]]:
    """Like `tokenize`, as one uint16 array and int64 offsets [texts + 1]; all cores are used."""
    rows = [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts))]
    rows = [ids if len(ids) <= CAPACITY else [*ids[: CAPACITY - 1], ids[-1]] for ids in rows]
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return np.fromiter(chain.from_iterable(rows), np.uint16, int(offsets[-1])), offsets


def _read_pieces(path: Path) -> list[str]:
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise MissingFileError(f"{path} is missing: run prepare_tokenizer or correct the path") from None
    except UnicodeDecodeError as error:
        raise DamagedFileError(f"{path} is not UTF-8 ({error.reason}): restore it") from None
    # Not splitlines: some pieces are characters that it takes for line ends.
    return text.removesuffix("\n").split("\n")


def _checked(pieces: Sequence[str], path: Path, sha256: str | None) -> Sequence[str]:
    absent = [special for special in SPECIALS if special not in pieces]
    if absent or pieces[0] != "[PAD]" or len(set(pieces)) != len(pieces) or len(pieces) > 1 << 16:
        raise DamagedFileError(
            f"{path} is no vocabulary ({len(pieces)} lines): it holds each piece once, [PAD] first, "
            f"{', '.join(SPECIALS[1:])} somewhere, at most 65,536"
        )
    if sha256 is not None and vocabulary_digest(pieces) != sha256.lower():
        raise DamagedFileError(
            f"{path} holds a vocabulary of {len(pieces)} pieces with sha256 {vocabulary_digest(pieces)}, "
            f"pinned is {sha256}: restore it, or pin the right digest"
        )
    return pieces


def _normalised(path: Path) -> str:
    # Read by the library first: files of its older versions lack fields that newer ones write.
    try:
        return Tokenizer.from_file(str(path)).to_str()
    except Exception as error:  # the library raises bare Exception for a file it cannot read
        raise DamagedFileError(f"{path} is no tokenizer file ({error}): restore it") from None


def _pipeline(text: str) -> dict[str, Any]:
    described: dict[str, Any] = json.loads(text)
    return {key: value for key, value in described.items() if key not in ("truncation", "padding", "version")}
