"""TensorBoard curves made from the history, so that they have no gap and no overlap after a resume.

The file's name and its times are fixed (an event's time is its step in seconds): equal histories give equal
bytes. Only the message types of the tensorboard package are used: its writers, and torch.utils.tensorboard
even more so, are slow to import.
"""

import json
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from captionlab.errors import CaptionlabError

try:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
    from tensorboard.compat.proto.types_pb2 import DT_FLOAT
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionStartInfo
except ImportError:
    Event = None

EVENTS_FILE = "events.out.tfevents.0"
_FLUSH_SECONDS = 5.0
_NOT_CURVES = ("step", "epoch", "chunk")
_HPARAMS_TAG = "_hparams_/session_start_info"


class EventFile:
    """The event file of a run, written anew from the history so far and then line by line.

    Use it as a context manager. Raises CaptionlabError when the tensorboard package is not installed.
    """

    def __init__(self, path: Path, lines: Sequence[str], hyperparameters: Mapping[str, Any]) -> None:
        if Event is None:
            raise CaptionlabError(
                "training.events asks for TensorBoard events but the tensorboard package is not installed: "
                "install it or set training.events to false"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("wb")
        self._flushed = 0.0
        for event in _opening(hyperparameters):
            self._write(event)
        for line in lines:
            self.add(line)

    def add(self, line: str) -> None:
        """Append the curves of one history line; every few seconds a running TensorBoard gets to see them."""
        self._write(_event(json.loads(line)))
        if time.monotonic() - self._flushed > _FLUSH_SECONDS:
            self._file.flush()
            self._flushed = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def _write(self, event: Any) -> None:
        self._file.write(record(event.SerializeToString(deterministic=True)))


def _event(entry: Mapping[str, Any]) -> Any:
    step = entry["step"]
    curves = dict(_curves(entry))
    values = [Summary.Value(tag=tag, simple_value=value) for tag, value in curves.items()]
    return Event(wall_time=float(step), step=step, summary=Summary(value=values))


def _curves(entry: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    readings = entry.get("development")
    prefix, values = ("training", entry) if readings is None else ("development", readings)
    for name, value in values.items():
        if name not in _NOT_CURVES and value is not None:
            yield f"{prefix}/{name}", float(value)


def _opening(hyperparameters: Mapping[str, Any]) -> Iterator[Any]:
    """The file's version and the run's hyperparameters, under which TensorBoard groups and compares runs."""
    yield Event(wall_time=0.0, file_version="brain.Event:2")
    start = SessionStartInfo(start_time_secs=0.0)
    for name, value in sorted(hyperparameters.items()):
        if isinstance(value, bool):
            start.hparams[name].bool_value = value
        elif isinstance(value, int | float):
            start.hparams[name].number_value = value
        else:
            start.hparams[name].string_value = str(value)
    content = HParamsPluginData(session_start_info=start)
    plugin = SummaryMetadata.PluginData(
        plugin_name="hparams", content=content.SerializeToString(deterministic=True)
    )
    value = Summary.Value(
        tag=_HPARAMS_TAG,
        metadata=SummaryMetadata(plugin_data=plugin),
        tensor=TensorProto(dtype=DT_FLOAT, tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=0)])),
    )
    yield Event(wall_time=0.0, step=0, summary=Summary(value=[value]))


def record(data: bytes) -> bytes:
    """A TFRecord: length (uint64), its masked CRC, the data, its masked CRC; all little-endian."""
    length = struct.pack("<Q", len(data))
    return length + _masked(crc32c(length)) + data + _masked(crc32c(data))


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli, RFC 3720) of bytes."""
    value = 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def _masked(crc: int) -> bytes:
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def _table() -> Iterator[int]:
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        yield value


_TABLE = tuple(_table())
