"""What a made-up run leaves in a store: a document, a journal, and a recording of `count` samples,
1, 2, 3 ..., with its dump."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable
from pathlib import Path

import msgspec

from hardstone.errors import InputError
from hardstone.memory import Memory
from hardstone.model import (
    STREAM_SCHEMA,
    Conditions,
    RunDocument,
    StreamFooter,
    StreamHeader,
    StreamResult,
    StreamSeries,
)
from hardstone.store.place import new_run_id
from hardstone.store.store import Store
from hardstone.targets.host_memory import HostMemory
from tests.unit.stats import make

_MAGIC = b"RECORDED"
_BYTES = 1 << 20


class Recording:
    """Maps a file as the probe does: nothing is written but memory."""

    def __init__(self, path: Path, test: str) -> None:
        with path.open("xb") as file:
            file.truncate(_BYTES)
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _BYTES)
        self._map[8 : 8 + len(test)] = test.encode()
        self._map[0:8] = _MAGIC

    def record(self, count: int) -> None:
        self._map[100:108] = struct.pack("<q", count)


def recorded(path: Path, test: str, count: int) -> None:
    """A recording with `count` samples from its first moment on: who copies it has all of them."""
    ready = path.with_name(f"{path.name}.ready")
    Recording(ready, test).record(count)
    ready.rename(path)


def dump(path: Path) -> list[bytes]:
    data = path.read_bytes()
    if len(data) != _BYTES or not data.startswith(_MAGIC):
        raise InputError(f"{path} is no recording")
    test = data[8:100].rstrip(b"\0").decode()
    return stream(test, struct.unpack("<q", data[100:108])[0])


def stream(test: str, count: int) -> list[bytes]:
    """The stream of a test that recorded 1 to `count`."""
    series = make.series(range(1, count + 1))
    fields = {name: getattr(series, name) for name in series.__struct_fields__}
    lines = [
        StreamHeader(
            schema=STREAM_SCHEMA,
            probe_version="0.1.0",
            test=test,
            params={},
            started_utc_ns=1_795_231_320_000_000_000,
        ),
        StreamSeries(**fields),
        StreamResult(
            status="measured",
            reason=None,
            remedy=None,
            interrupted=False,
            duration_ns=count,
            conditions=Conditions(load="heavy", realtime=True),
            environment={},
        ),
        StreamFooter(lines=3, events=0, series=1, verdicts=0),
    ]
    return [msgspec.json.encode(line) for line in lines]


class Here:
    """This machine as a target, as far as journals and recovery use one."""

    name = "local"
    is_noisy = False

    def __init__(self, dump: Callable[[Path], list[bytes]] = dump) -> None:
        self._dump = dump

    def memory(self, run_id: str, journal: Path) -> Memory:
        return HostMemory(run_id, journal)

    def dump(self, path: str) -> list[bytes]:
        return self._dump(Path(path))


def recover(store: Store, dump: Callable[[Path], list[bytes]]) -> list[str]:
    """As a command does: every target is this machine."""
    return store.recover(dump, lambda _: Here(dump))


def planned(**changed: object) -> RunDocument:
    """A run that is about to begin."""
    fields: dict[str, object] = {"run_id": new_run_id(), "results": [], "finished_utc": None}
    return make.document(**(fields | changed))  # type: ignore[arg-type]


def journal_of(store: Store, document: RunDocument) -> Path:
    return store.path / "journals" / document.id / "journal.jsonl"


def stored(store: Store, *, name: str = "", run_id: str = "") -> str:
    """The id of a run that was recorded and stored."""
    document = make.document(run_id=run_id or new_run_id(), name=name)
    with store.journal(document, Here()) as journal:
        journal.finish(document)
    return document.id
