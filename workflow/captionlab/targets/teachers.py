"""Teachers: frozen sentence encoders, loaded from weights that are pinned by digest.

Weights inside an installed package are read as data; the package is never imported. BERT runs in this project's
own forward pass; any other architecture goes through transformers, which is imported only then.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from captionlab.chunks.tokenizer import load_tokenizer
from captionlab.errors import ConfigError, DamagedFileError, MissingFileError
from captionlab.files import read_json, sha256_file
from captionlab.sources.packages import package_file, verify_digest
from captionlab.targets.bert import bert_config, build_bert

Spec = Mapping[str, Any]


@dataclass(frozen=True)
class Teacher:
    """A frozen encoder with its tokenizer.

    `model(ids int64 [B, L], mask bool [B, L] | None)` gives hidden states float32 [B, L, width]; `ceiling` is the
    most tokens, specials included, that the teacher was made for; `pad_id` fills the right of shorter rows. `source`
    is the record of its origin: kind and package, folder, or repository with the commit that its revision stood for.
    """

    name: str
    width: int
    model: nn.Module
    tokenizer: Tokenizer
    ceiling: int
    weights_sha256: str
    tokenizer_sha256: str
    pad_id: int
    source: Mapping[str, Any]


def load_teacher(spec: Spec, *, threads: int) -> Teacher:
    """The teacher a spec names, and torch set to `threads` (they decide the bits of what it computes).

    A spec has name, kind, ceiling and the keys of its kind: `package` (package, weights, sha256, format, config,
    tokenizer), `directory` (path, sha256 of its model.safetensors) or `hub` (repo, revision, optionally
    allow_floating and that sha256). Raises ConfigError on a spec that
    describes no teacher, MissingFileError and DamagedFileError on files that are absent or not what is pinned.
    """
    torch.set_num_threads(threads)
    kind = spec.get("kind")
    loaders = {"package": _from_package, "directory": _from_directory, "hub": _from_hub}
    if kind not in loaders:
        raise ConfigError(
            f"teacher {spec.get('name')}: kind is {kind!r}; allowed are {', '.join(sorted(loaders))}"
        )
    teacher = loaders[kind](spec)
    positions = getattr(getattr(teacher.model, "config", None), "positions", None)
    if positions is not None and teacher.ceiling > positions:
        raise ConfigError(
            f"teacher {teacher.name}: ceiling {teacher.ceiling} is over the model's {positions} positions"
        )
    return teacher


class HiddenStates(nn.Module):
    """A transformers model reduced to ids and mask in, last hidden state out."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Ids int64 [B, L] and mask bool [B, L] (None: no padding) to float32 [B, L, width]."""
        mask = torch.ones_like(ids) if mask is None else mask.long()
        return self.model(input_ids=ids, attention_mask=mask).last_hidden_state  # type: ignore[no-any-return]


def _from_package(spec: Spec) -> Teacher:
    where = f"teacher {spec['name']}"
    weights = package_file(_key(spec, "package"), _key(spec, "weights"), _key(spec, "sha256"))
    config = _package_config(_key(spec, "config"))
    if spec.get("format") == "onnx":
        if _architecture(config, where) != "bert":
            raise ConfigError(f"{where}: an onnx file is read for architecture bert only")
        # The onnx package is imported where an ONNX teacher is loaded: other teachers need not wait for it.
        from captionlab.targets.onnx_weights import bert_state

        state = bert_state(weights)
    else:
        state = _load_safetensors(weights)
    model, width = _build(config, state, where)
    file = _key(spec, "tokenizer")
    path = package_file(_key(file, "package"), _key(file, "file"), file.get("sha256"))
    tokenizer, pad = _read_tokenizer(path)
    return Teacher(
        name=spec["name"],
        width=width,
        model=model,
        tokenizer=tokenizer,
        ceiling=int(_key(spec, "ceiling")),
        weights_sha256=str(spec["sha256"]).lower(),
        tokenizer_sha256=sha256_file(path),
        pad_id=pad,
        source={"kind": "package", "package": spec["package"], "file": spec["weights"]},
    )


def _from_directory(spec: Spec) -> Teacher:
    folder = Path(_key(spec, "path"))
    where = f"teacher {spec['name']} in {folder}"
    weights = folder / "model.safetensors"
    for file in (weights, folder / "config.json", folder / "tokenizer.json"):
        if not file.is_file():
            raise MissingFileError(
                f"{where}: {file.name} is missing; a teacher folder has it beside the others"
            )
    if spec.get("sha256") is not None:
        verify_digest(weights, spec["sha256"])
    config = read_json(folder / "config.json")
    if _architecture(config, where) == "bert":
        model, width = _build(config, _load_safetensors(weights), where)
    else:
        model, width = _pretrained(folder, where)
    tokenizer, pad = _read_tokenizer(folder / "tokenizer.json")
    if config.get("pad_token_id") is not None:
        pad = int(config["pad_token_id"])
    return Teacher(
        name=spec["name"],
        width=width,
        model=model,
        tokenizer=tokenizer,
        ceiling=int(_key(spec, "ceiling")),
        weights_sha256=sha256_file(weights),
        tokenizer_sha256=sha256_file(folder / "tokenizer.json"),
        pad_id=pad,
        source={"kind": "directory", "folder": folder.name},
    )


def _from_hub(spec: Spec) -> Teacher:
    # The hub's client is imported only where a teacher comes from there.
    from captionlab.sources.hub import hub_source

    where = f"teacher {spec['name']}"
    unpinned = {key: value for key, value in spec.items() if key != "sha256"}
    weights = hub_source(spec, where, "model.safetensors", repo_type="model")
    # All files of one commit lie in one folder of the client's cache.
    same = {**unpinned, "revision": weights.revision}
    beside = [hub_source(same, where, file, repo_type="model") for file in ("config.json", "tokenizer.json")]
    source = weights.record()
    del source["file"], source["sha256"]
    source["files"] = {file.file: file.sha256 for file in (weights, *beside)}
    return replace(_from_directory({**unpinned, "path": str(weights.path.parent)}), source=source)


def _key(spec: Spec, key: str) -> Any:
    if key not in spec:
        raise ConfigError(f"teacher {spec.get('name', '')}: key {key} is missing from {dict(spec)}")
    return spec[key]


def _package_config(entry: Spec) -> dict[str, Any]:
    if "file" not in entry:
        return dict(entry)
    config = read_json(package_file(_key(entry, "package"), entry["file"], entry.get("sha256")))
    return dict(config)


def _architecture(config: Spec, where: str) -> str:
    name = config.get("architecture", config.get("model_type"))
    if name is None:
        raise ConfigError(f"{where}: its config names no architecture (keys architecture or model_type)")
    return str(name)


def _load_safetensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except SafetensorError as error:
        raise DamagedFileError(f"{path} is not a safetensors file ({error}): fetch it again") from None


def _build(config: Spec, state: dict[str, Tensor], where: str) -> tuple[nn.Module, int]:
    if _architecture(config, where) == "bert":
        shape = bert_config(config, state, where)
        return build_bert(shape, state, where), shape.width
    from transformers import AutoConfig, AutoModel

    settings = {key: value for key, value in config.items() if key not in ("architecture", "model_type")}
    described = AutoConfig.for_model(_architecture(config, where), **settings)
    model = AutoModel.from_config(described).float()  # type: ignore[no-untyped-call]
    result = model.load_state_dict(state, strict=False)
    _check_loaded(result.missing_keys, result.unexpected_keys, where)
    return HiddenStates(model).eval().requires_grad_(False), int(described.hidden_size)


def _pretrained(folder: Path, where: str) -> tuple[nn.Module, int]:
    from transformers import AutoModel

    model, report = AutoModel.from_pretrained(
        str(folder),
        local_files_only=True,
        use_safetensors=True,
        trust_remote_code=False,
        dtype=torch.float32,
        output_loading_info=True,
    )
    _check_loaded(report["missing_keys"], [], where)
    return HiddenStates(model).eval().requires_grad_(False), int(model.config.hidden_size)


def _check_loaded(missing: Any, unexpected: Any, where: str) -> None:
    """Only a pooler may be absent or left over: no hidden state depends on it."""
    lost = sorted(name for name in missing if "pooler" not in name)
    left = sorted(name for name in unexpected if "pooler" not in name and not name.endswith("position_ids"))
    if lost or left:
        raise DamagedFileError(
            f"{where}: the weights lack {lost[:4]} and hold {left[:4]} beside what its config describes"
        )


def _read_tokenizer(path: Path) -> tuple[Tokenizer, int]:
    """The tokenizer of a vocab.txt (uncased WordPiece) or tokenizer.json, without truncation or padding."""
    tokenizer = load_tokenizer(path) if path.suffix == ".txt" else Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for name in ("[PAD]", "<pad>"):
        pad = tokenizer.token_to_id(name)
        if pad is not None:
            return tokenizer, int(pad)
    return tokenizer, 0
