"""The crash-safe memory of a target, as a journal and its recovery use it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

RECORDING_LIMIT_BYTES = 512 * 2**20
# In a journal whose run goes on at its target without the toolkit: only a collection takes it.
LEFT_NAME = "left.json"
GUEST_PREFIX = "hardstone-lab-"  # of the folder of a guest, beside those of runs


@dataclass(frozen=True)
class Another:
    """The journal that the memory of a run belongs to, None where it is not known; and whether a
    tool is recording into it."""

    journal: Path | None
    is_recording: bool


class Memory(Protocol):
    """The files of one run on its target. They outlive a kill of every process there.

    Making one touches nothing: files are made when they are needed, and a second one for the same
    journal finds those of the first. Where the store was copied, several journals are of one run:
    the files are of the one that made them, and for the others it is as if there were none. Calls
    raise OSError, or TargetError where the target cannot be reached.
    """

    def path_for(self, number: int) -> str:
        """Where on the target test `number` of the run may record; nothing is there yet."""

    def has(self, path: str) -> bool:
        """Whether a recording of this run is at `path`, a text that may be damaged."""

    def copy(self, path: str) -> Iterator[bytes] | None:
        """The recording at `path` as it is now, in pieces.

        None where there is none, or where a copy would disturb what is being measured.
        """

    def direct(self, path: str) -> str | None:
        """Where `Recorder.dump` reads the recording at `path` as it is now, without a copy; None:
        it needs one, or nobody asked to look."""

    def drop(self, path: str) -> None:
        """Removes the recording at `path`. Never raises."""

    def scratch(self) -> Path:
        """A place on this machine for one file of this run, which `remove` removes too."""

    def keep(self, document: bytes) -> Path | None:
        """Keeps a run that cannot be stored, on this machine; None where there is no place."""

    def kept(self) -> list[Path]:
        """Where `keep` may have left this run, on this machine."""

    def another(self) -> Another | None:
        """Whose the files of the run are, where they are of another journal than this one."""

    def release(self) -> None:
        """Ends the recording and leaves the files to the recovery; may be called twice."""

    def remove(self) -> None:
        """Removes all that this run has left, and releases it. Never raises."""


class Recorder(Protocol):
    """What a journal and its recovery need of a target. `name` is enough to find it again."""

    name: str

    @property
    def is_noisy(self) -> bool:
        """Lines of others come between those of the probe, as on a serial console."""

    def memory(self, run_id: str, journal: Path) -> Memory:
        """The memory of a run whose journal is the folder `journal`, on this machine.

        Where the target has no such memory and is this machine, the journal itself serves.
        """

    def dump(self, path: str) -> list[bytes]:
        """The stream that a killed probe left at `path` on the target."""
