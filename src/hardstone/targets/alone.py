"""One measurement at a time: two on one machine would disturb each other."""

from __future__ import annotations

import errno
import os
import pwd
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hardstone.errors import TargetError, printable
from hardstone.files import pause, take_lock
from hardstone.units import format_span

_NAME = "hardstone-measuring.lock"
_LOOK_AGAIN_S = 0.2
WAITS = "waiting for it to finish"
_MOST_BYTES = 1 << 22  # of a file in /proc: thousands of locks
_COMMAND_CHARACTERS = 100
_PROC = Path("/proc")
_Flock = Callable[[int], bool]


def default_lock_file() -> Path:
    """A file that all users of the machine share; `$HARDSTONE_LOCK_FILE` names another."""
    if named := os.environ.get("HARDSTONE_LOCK_FILE"):
        return Path(named)
    shared = Path("/run/lock")
    folder = shared if os.access(shared, os.W_OK | os.X_OK) else _temporary_folder()
    return folder / _NAME


def _temporary_folder() -> Path:
    """Where none can be written to, the usual one: opening the lock there says why."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:
        return Path("/tmp")  # noqa: S108


@contextmanager
def measuring_alone(
    is_stopped: Callable[[], bool],
    on_wait: Callable[[str], None],
    on_unlocked: Callable[[str], None],
    lock_file: Path | None = None,
    *,
    wait_s: float | None = None,
    own_lock_file: Path | None = None,
    where: str = "this machine",
    flock: _Flock = take_lock,
) -> Iterator[None]:
    """Holds the measuring lock of this machine, or `lock_file` of what `where` names; the kernel
    releases it with the process.

    If another process holds it, calls `on_wait` once with who that is, and waits until it is free
    or `is_stopped`: TargetError after `wait_s`. Where the common lock cannot be taken,
    `on_unlocked` is called with the reason, and a lock of this user alone is taken; where that
    cannot be taken either, measuring continues without.
    """
    common = lock_file or default_lock_file()
    own = own_lock_file or (_temporary_folder() / f"hardstone-{os.geteuid()}-measuring.lock")
    reasons = []
    for path in (common, own):
        try:
            file = _opened(path)
            if path is own:
                _check_own(file)
            locked = _waited_for(file, path, is_stopped, on_wait, wait_s, where, flock)
        except OSError as error:
            reasons.append(f"the lock {path} cannot be taken: {error.strerror or error}")
            continue
        if reasons:
            on_unlocked(f"{reasons[0]}; hardstone waits only for other measurements of this user")
        break
    else:
        locked = -1
        on_unlocked("; ".join(reasons))
    try:
        yield
    finally:
        if locked >= 0:
            os.close(locked)


def _check_own(file: int) -> None:
    """In a folder of all users, anybody may have made it, and hold it for ever."""
    if os.fstat(file).st_uid != os.geteuid():
        os.close(file)
        raise OSError(errno.EPERM, "it belongs to another user")


def _waited_for(
    file: int,
    path: Path,
    is_stopped: Callable[[], bool],
    on_wait: Callable[[str], None],
    wait_s: float | None,
    where: str,
    flock: _Flock,
) -> int:
    """Waits for the lock on `file`, opened from `path`, or until `is_stopped`; returns `file`. An
    error closes it: OSError where it cannot be locked."""
    try:
        if not flock(file):
            who = holder_text(file)
            ends_at = None if wait_s is None else time.monotonic() + wait_s
            on_wait(f"Another hardstone measurement is running on {where}{who}; {WAITS}.")
            while not is_stopped() and not flock(file):
                if ends_at is not None and time.monotonic() >= ends_at:
                    raise held_too_long(str(path), holder_text(file), wait_s or 0.0)
                pause(_LOOK_AGAIN_S)
    except BaseException:
        os.close(file)
        raise
    return file


def held_too_long(path: str, who: str, wait_s: float) -> TargetError:
    span = format_span(round(wait_s * 1e9))
    return TargetError(
        f"another measurement has held {path} for longer than {span}{who}",
        "end it, or wait longer: --wait TIME",
    )


def holder_text(descriptor: int, proc: Path = _PROC) -> str:
    """Who holds a flock on the file, as far as /proc tells: " (pid 7 of user root: COMMAND)"."""
    state = os.fstat(descriptor)
    place = f"{os.major(state.st_dev):02x}:{os.minor(state.st_dev):02x}:{state.st_ino}"
    return holder_of(place, lambda path: _read(proc / path))


def holder_of(place: str, read: Callable[[str], bytes]) -> str:
    """As `holder_text`, of the file at `place` ("08:01:77", as /proc/locks has it). `read` gives a
    file of /proc, or raises OSError."""
    pid = _holder(place, read)
    if pid is None:
        return ""
    try:
        status = read(f"{pid}/status").decode("utf-8", "replace")
    except OSError:
        return f" (pid {pid} took the lock and has ended; fuser shows who holds it)"
    with suppress(OSError, ValueError, IndexError):
        user = _user_name(int(status.partition("\nUid:")[2].split()[0]))
        words = read(f"{pid}/cmdline").rstrip(b"\0").replace(b"\0", b" ")
        command = printable(words.decode("utf-8", "replace"))[:_COMMAND_CHARACTERS]
        return f" (pid {pid} of user {user}{command and f': {command}'})"
    return f" (pid {pid})"


def _holder(place: str, read: Callable[[str], bytes]) -> int | None:
    """The process that took the flock, of this name space."""
    with suppress(OSError, ValueError):
        for line in read("locks").decode("ascii", "replace").splitlines():
            words = line.split()
            if len(words) > 5 and words[1] == "FLOCK" and words[5] == place and int(words[4]) > 0:
                return int(words[4])
    return None


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MOST_BYTES)


def _user_name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _opened(path: Path) -> int:
    """Without O_CREAT first: in a sticky folder the kernel refuses that even to root for a file
    of another user (fs.protected_regular)."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        return os.open(path, flags | os.O_CREAT, 0o644)
