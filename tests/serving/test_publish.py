"""What of publishing needs no hub: digests of what goes out, and what must come back."""

import pytest

from captionlab.__main__ import main
from captionlab.errors import ConfigError
from captionlab.files import canonical_json, sha256_bytes, write_text
from captionlab.serving.publish import PublishError, file_digests, lay_out, require_same, upload


def test_digests_of_a_folder_leave_the_downloader_s_files_out(tmp_path):
    write_text(tmp_path / "config.json", "{}\n")
    write_text(tmp_path / ".eval_results" / "a.yaml", "[]\n")
    write_text(tmp_path / ".cache" / "huggingface" / "config.json.metadata", "x")
    assert file_digests(tmp_path) == {
        "config.json": sha256_bytes(b"{}\n"),
        ".eval_results/a.yaml": sha256_bytes(b"[]\n"),
    }


def test_a_changed_or_lost_file_is_said_and_the_hub_s_own_are_not():
    sent = {"a": "1", "b": "2"}
    require_same(sent, {"a": "1", "b": "2", ".gitattributes": "3"}, "owner/name@0")
    for received in ({"a": "1", "b": "9"}, {"a": "1"}):
        with pytest.raises(PublishError, match=r"owner/name@0 holds other bytes than were uploaded: b$"):
            require_same(sent, received, "owner/name@0")


def test_a_hub_that_is_not_there_is_said_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_TOKEN", "hf_none")
    write_text(tmp_path / "config.json", "{}\n")
    with pytest.raises(
        PublishError, match=r"owner/name at http://127.0.0.1:9 took no upload \(.*\)"
    ) as caught:
        upload(tmp_path, "owner/name", private=True)
    assert "\n" not in str(caught.value)


def test_the_default_lies_at_the_root_and_other_exports_below_runs(tmp_path):
    exports = {}
    for place in ("larger/relative-16/seed-1", "larger/hierarchical/seed-2"):
        folder = exports[place] = tmp_path / "export" / place
        write_text(folder / "config.json", f"{place}\n")
        card = f'# {place}\nrepo = "owner/name"\nvectors = SentenceTransformer("owner/name").encode()\n'
        write_text(folder / "README.md", card)
    lay_out(exports, "larger/hierarchical/seed-2", "owner/name", tmp_path / "tree")
    below = tmp_path / "tree" / "runs" / "larger" / "relative-16" / "seed-1"
    assert sorted(file_digests(tmp_path / "tree")) == [
        *("README.md", "config.json"),
        *(f"runs/larger/relative-16/seed-1/{name}" for name in ("README.md", "config.json")),
    ]
    assert (tmp_path / "tree" / "config.json").read_text() == "larger/hierarchical/seed-2\n"
    assert (below / "config.json").read_text() == "larger/relative-16/seed-1\n"
    root, other = ((folder / "README.md").read_text() for folder in (tmp_path / "tree", below))
    assert "| `larger/relative-16/seed-1` | [`runs/larger/relative-16/seed-1`]" in root
    line = (
        'repo = snapshot_download("owner/name", allow_patterns="runs/larger/relative-16/seed-1/**")'
        ' + "/runs/larger/relative-16/seed-1"'
    )
    assert line in root and line in other
    assert 'repo = "owner/name"' in root and 'repo = "owner/name"' not in other
    assert "SentenceTransformer(repo)" in other


def test_a_default_without_an_export_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="larger/hierarchical/seed-2 has no export"):
        lay_out({}, "larger/hierarchical/seed-2", "owner/name", tmp_path / "tree")


def test_without_a_repository_nothing_is_sent(binding, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    spec = {"compute": {"device": "cpu", "threads": 1}, "repository": None}
    code = main(
        [
            *("publish_export", "--spec", canonical_json(spec), "--root", str(binding.tokenizer.parent)),
            *("--selection", str(tmp_path / "no.json"), "--output", str(tmp_path / "report.json")),
        ]
    )
    assert code == 2
    assert "serving.repository is not set" in capsys.readouterr().err
    assert not (tmp_path / "report.json").exists()
