"""What of publishing needs no hub: digests of what goes out, and what must come back."""

import pytest

from captionlab.__main__ import main
from captionlab.files import canonical_json, sha256_bytes, write_text
from captionlab.serving.publish import PublishError, file_digests, require_same, upload


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


def test_without_a_repository_nothing_is_sent(binding, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    spec = {"compute": {"device": "cpu", "threads": 1}, "repository": None}
    code = main(
        [
            *("publish_export", "--spec", canonical_json(spec), "--state", str(binding.run / "no")),
            *("--run-json", str(binding.run / "run.json"), "--tokenizer", str(binding.tokenizer)),
            *("--export", str(binding.export), "--output", str(tmp_path / "report.json")),
        ]
    )
    assert code == 2
    assert "serving.repository is not set" in capsys.readouterr().err
    assert not (tmp_path / "report.json").exists()
