"""A published model: its files at one commit of a hub, and the model that AutoModel makes of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer

from captionlab.errors import CaptionlabError, ConfigError, MissingFileError
from captionlab.evaluation.encode import cut_row, encode_rows
from captionlab.files import read_json
from captionlab.rotary.encoder import CaptionEncoder
from captionlab.sources.hub import hub_file, hub_listing

MODEL_FILE = "model.safetensors"
_NEEDED = ("config.json", "tokenizer.json", MODEL_FILE)
# No format that can hold a pickle is fetched at all.
_SUFFIXES = (".json", ".py", ".txt", ".safetensors")
_CODE_FILES = ("config.json", "tokenizer_config.json")


@dataclass(frozen=True)
class Release:
    """The files of a published model in a folder of their own, and where they come from."""

    folder: Path
    remote_code: bool
    origin: Mapping[str, Any]


def fetch_release(spec: Mapping[str, Any], work: Path) -> Release:
    """Fetch a release below `work`: links into the hub client's cache, every file verified.

    spec: `repo`, `revision`, `remote_code` and, where given, `allow_floating`, `sha256` of model.safetensors and
    `folder`, the path in the repository of a model that is not at its root. Raises MissingFileError for a release
    without config, tokenizer or safetensors weights, ConfigError for code that config does not allow or that comes
    from another repository, and what hub_file raises.
    """
    repo, floating = spec["repo"], spec.get("allow_floating", False)
    home = PurePosixPath(spec.get("folder", "."))
    listed = hub_listing(repo, spec["revision"], repo_type="model", allow_floating=floating)
    found = {
        PurePosixPath(name).name: name
        for name in listed
        if PurePosixPath(name).parent == home and name.endswith(_SUFFIXES)
    }
    place = f"model {repo}@{spec['revision']}, folder {home}"
    if missing := [name for name in _NEEDED if name not in found]:
        raise MissingFileError(
            f"{place}: {missing[0]} is not there: name a release with {', '.join(_NEEDED)}"
        )
    first = hub_file(repo, spec["revision"], found["config.json"], repo_type="model", allow_floating=floating)
    folder = work / f"release-{first.revision[:12]}"
    folder.mkdir()
    digests = {}
    for name, file in found.items():
        pinned = spec.get("sha256") if name == MODEL_FILE else None
        fetched = hub_file(repo, first.revision, file, repo_type="model", sha256=pinned)
        (folder / name).symlink_to(fetched.path.resolve())
        digests[name] = fetched.sha256
    check_remote_code(folder, spec["remote_code"], place)
    origin = {key: value for key, value in first.record().items() if key in ("repo", "revision", "requested")}
    return Release(folder, spec["remote_code"], {**origin, "folder": str(home), "files": digests})


def check_remote_code(folder: Path, allowed: bool, place: str) -> None:
    """Hold a model's `auto_map` against the config, before anything of it is loaded.

    Raises ConfigError for code of its own where none is allowed, and always for code of another repository, whose
    revision nothing pins.
    """
    for name in _CODE_FILES:
        path = folder / name
        entries = (read_json(path).get("auto_map") or {}) if path.is_file() else {}
        if entries and not allowed:
            raise ConfigError(
                f"{place} runs code of its own ({name}: auto_map): read its .py files at this revision, then set "
                "release.remote_code: true"
            )
        if any("--" in str(target) for target in entries.values()):
            raise ConfigError(
                f"{place}: auto_map in {name} names code of another repository, which no revision pins: "
                "use a release that holds its own code"
            )


class ReleasedEncoder(nn.Module):
    """A model from AutoModel where an encoder's sentence vectors are asked for: its `pooler_output`."""

    def __init__(self, model: Any, target_width: int) -> None:
        super().__init__()
        self.model = model
        self.config = SimpleNamespace(target_width=target_width)

    def forward(self, ids: Tensor, mask: Tensor, *, binding_path: bool = True) -> SimpleNamespace:
        """Sentence vectors [B, target_width] of ids int64 [B, L] and mask [B, L]; a release has no switches."""
        return SimpleNamespace(sentence=self.model(input_ids=ids, attention_mask=mask.long()).pooler_output)

    def forward_together(
        self, batches: Sequence[tuple[Tensor, Tensor]], *, binding_path: bool = True
    ) -> list[SimpleNamespace]:
        """What `forward` gives for each of several (ids, mask): a model of others takes one length at a time."""
        return [self(ids, mask, binding_path=binding_path) for ids, mask in batches]


def load_release(release: Release, device: torch.device) -> ReleasedEncoder:
    """The model in FP32 and evaluation mode, as AutoModel loads it.

    Raises CaptionlabError in one line when Transformers cannot, or when it has no `pooler_output` [B, width].
    """
    try:
        model = AutoModel.from_pretrained(
            str(release.folder), trust_remote_code=release.remote_code, use_safetensors=True
        )
        model = model.float().to(device).eval().requires_grad_(False)
        one = torch.ones(1, 1, dtype=torch.int64, device=device)
        width = int(model(input_ids=one, attention_mask=one).pooler_output.shape[1])
    except Exception as error:  # code of a release may fail in any way
        reason = " ".join(str(error).split())
        raise CaptionlabError(
            f"{release.origin['repo']}@{release.origin['revision']} cannot be loaded as a sentence encoder "
            f"({type(error).__name__}: {reason}): try the Transformers version its card names"
        ) from None
    return ReleasedEncoder(model, width)


def as_encoder(released: ReleasedEncoder) -> CaptionEncoder:
    """The same object under the type of the readings: they use its sentence vectors and nothing else of it."""
    encoder: Any = released
    return encoder  # type: ignore[no-any-return]


@dataclass(frozen=True)
class ReleasedSentences:
    """`Encode` of a release: its own tokenizer, cut to a ceiling, then its own model."""

    encoder: ReleasedEncoder
    tokenizer: Any
    sub_batch_tokens: int

    def __call__(self, texts: Sequence[str], ceiling: int) -> tuple[NDArray[np.float32], int]:
        """FP32 sentence vectors [texts, width], and how many texts were cut."""
        encoded = self.tokenizer(list(texts), padding=False, truncation=False, verbose=False)["input_ids"]
        rows = [np.asarray(row, dtype=np.int64) for row in encoded]
        cut = [cut_row(row, ceiling) for row in rows]
        vectors = encode_rows(as_encoder(self.encoder), cut, sub_batch_tokens=self.sub_batch_tokens)
        return vectors, sum(len(row) > ceiling for row in rows)


def load_tokenizer(release: Release) -> Any:
    """The release's tokenizer as AutoTokenizer loads it."""
    return AutoTokenizer.from_pretrained(str(release.folder), trust_remote_code=release.remote_code)
