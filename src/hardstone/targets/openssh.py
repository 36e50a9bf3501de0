"""The machine's OpenSSH client: one connection to a target, over which commands run.

The user's configuration, keys, agent and jump hosts apply. Host keys are always checked strictly.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hardstone.errors import HardstoneError, PrivilegeError, TargetError, printable
from hardstone.files import pause
from hardstone.targets.named import SshSettings

CONNECT_S = 15.0
_PREFIX = "hardstone-master-"  # of the folder of a connection
_UNUSED_S = 60.0
_PERSON_S = 120.0  # to type a passphrase
_COMMAND_S = 40.0
_IDLE_S = 30
_MOST_SAID_CHARS = 300
_MOST_OUTPUT_BYTES = 1 << 20  # a command's
_MOST_ERROR_BYTES = 1 << 16
_PART_BYTES = 1 << 15
# Nothing of a user's configuration may open other ways into this machine, or write into the
# channel. A link that is cut is noticed within 15 s.
_OPTIONS = {
    "StrictHostKeyChecking": "yes",
    "NoHostAuthenticationForLocalhost": "no",
    "VerifyHostKeyDNS": "no",
    "ConnectTimeout": str(round(CONNECT_S)),
    "ServerAliveInterval": "5",
    "ServerAliveCountMax": "3",
    "ClearAllForwardings": "yes",
    "Compression": "yes",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "PermitLocalCommand": "no",
    "RemoteCommand": "none",
    "RequestTTY": "no",
    "EscapeChar": "none",
    "LogLevel": "ERROR",
}


_SUDO = re.compile(r"\bsudo|is not allowed to (execute|run)", re.IGNORECASE)  # what it says


class UnreachableError(TargetError):
    """No connection could be made. It may be possible later, unless `is_final`: a key is wrong, or
    the account."""

    def __init__(self, cause: str, remedy: str, *, is_final: bool) -> None:
        super().__init__(cause, remedy)
        self.is_final = is_final


class _FloodError(Exception):
    """A command wrote more than any answer has."""


@dataclass(frozen=True)
class Said:
    """How a command ended: ssh's exit code, and what came."""

    code: int
    output: bytes
    error: str


class OpenSsh:
    """One connection to `settings`; `program` is the client. Every call has a deadline."""

    def __init__(self, settings: SshSettings, program: str = "ssh") -> None:
        self._settings = settings
        self._program = program
        self._folder: Path | None = None
        self._timeout_s: float | None = None
        self._may_ask = True

    @property
    def is_connected(self) -> bool:
        return self._folder is not None

    def typed(self) -> str:
        """What a person types to get there by hand."""
        one = self._settings
        port = [] if one.port is None else ["-p", str(one.port)]
        return " ".join(["ssh", *port, self._destination()])

    def connect(self, timeout_s: float | None = None, *, may_ask: bool = True) -> None:
        """Makes the connection, in `timeout_s` at most; if `may_ask`, a person at a terminal may be
        asked for a passphrase, and has longer. `run` makes a lost one again in the same way.

        UnreachableError where that fails.
        """
        self._timeout_s, self._may_ask = timeout_s, may_ask
        if self.is_alive():
            return
        self.close()
        if shutil.which(self._program) is None:
            raise UnreachableError(
                "there is no OpenSSH client on this machine",
                "install it: sudo apt-get install openssh-client",
                is_final=True,
            )
        base = _short_folder() or tempfile.gettempdir()
        remove_unused(Path(base))
        self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        try:
            self._start_master()
        except BaseException:
            self.close()
            raise

    def _start_master(self) -> None:
        """ssh goes into the background once it is connected, and ends when nothing has used the
        connection for a while: whoever made it may have been killed. It may hold standard error,
        so that goes to a file."""
        is_asked = self._may_ask and sys.stdin.isatty() and sys.stderr.isatty()
        longest_s = 2 * CONNECT_S if self._timeout_s is None else self._timeout_s
        batch = "no" if is_asked else "yes"
        stays = f"ControlPersist={_IDLE_S}"
        command = self._command("-M", "-N", "-f", "-o", stays, "-o", f"BatchMode={batch}")
        with tempfile.TemporaryFile() as said:
            try:
                code = subprocess.run(
                    [*command, "--", self._destination()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    timeout=_PERSON_S if is_asked else longest_s,
                    check=False,
                ).returncode
            except subprocess.TimeoutExpired:
                raise self._unreachable("it does not answer") from None
            said.seek(0)
            words = said.read(1 << 14).decode("utf-8", "replace")
        if code:
            raise self._unreachable(words)

    def run(
        self, command: str, content: bytes | None = None, deadline_s: float = _COMMAND_S
    ) -> Said:
        """Runs `command`, a text that the login shell there reads, with `content` as its input.

        UnreachableError where the connection is lost, or the command outlives its deadline, or
        writes more than any answer has.
        """
        self.connect(self._timeout_s, may_ask=self._may_ask)
        with self.start(command) as process:
            try:
                output, error = _exchanged(process, content or b"", time.monotonic() + deadline_s)
            except BaseException as failure:
                process.kill()
                self.close()  # the connection's process holds the other ends of the pipes
                if isinstance(failure, TimeoutError):
                    raise self._unreachable("no answer to a command") from None
                if isinstance(failure, _FloodError):
                    raise UnreachableError(
                        f"{self._settings.name}: the account writes without end",
                        "give it a login shell without a ForceCommand, or name another account",
                        is_final=True,
                    ) from None
                raise
        said = error.decode("utf-8", "replace")
        if process.returncode == 255 and not self.is_alive():
            self.close()
            raise self._unreachable(said or "the connection was lost")
        return Said(process.returncode, output, said)

    def start(self, command: str) -> subprocess.Popen[bytes]:
        """Starts `command` with pipes. Without its connection ssh would make another one: the
        option that keeps it from that is not used over a connection that is there."""
        words = self._command("-o", "ControlMaster=no", "-o", "ProxyJump=none")
        words += ["-o", "ProxyCommand=false", "-o", "BatchMode=yes"]
        return subprocess.Popen(
            [*words, "--", self._destination(), command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def is_alive(self) -> bool:
        """Whether the connection's process is there; it notices a cut link itself."""
        return self.is_connected and self._control("check") == 0

    def close(self) -> None:
        """Ends the connection; may be called twice, and never fails."""
        if self._folder is None:
            return
        self._control("exit")
        socket = self._folder / "s"
        until = time.monotonic() + 2.0
        while socket.exists() and time.monotonic() < until:
            pause(0.01)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder = None

    def _control(self, order: str) -> int:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            return subprocess.run(
                [*self._command("-O", order), "--", self._destination()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=5.0,
                check=False,
            ).returncode
        return -1

    def _command(self, *words: str) -> list[str]:
        options = [part for name, value in _OPTIONS.items() for part in ("-o", f"{name}={value}")]
        port = [] if self._settings.port is None else ["-p", str(self._settings.port)]
        control = [] if self._folder is None else ["-S", str(self._folder / "s")]
        return [self._program, *control, *options, *port, *words]

    def _destination(self) -> str:
        user = self._settings.user
        return self._settings.host if user is None else f"{user}@{self._settings.host}"

    def _unreachable(self, said: str) -> UnreachableError:
        cause, remedy, is_final = explained(said, self._settings, self.typed())
        return UnreachableError(f"{self._settings.name}: {cause}", remedy, is_final=is_final)


def _exchanged(
    process: subprocess.Popen[bytes], content: bytes, until: float
) -> tuple[bytes, bytes]:
    """Writes `content` and reads output and error to their ends. TimeoutError at `until`, and
    _FloodError for more than an answer has: the account there does not get this machine's memory.
    """
    given, output, error = process.stdin, process.stdout, process.stderr
    if given is None or output is None or error is None:
        raise AssertionError("it was started with pipes")
    texts = (bytearray(), bytearray())
    rest = memoryview(content)
    os.set_blocking(given.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(given, selectors.EVENT_WRITE)
        selector.register(output, selectors.EVENT_READ, (texts[0], _MOST_OUTPUT_BYTES))
        selector.register(error, selectors.EVENT_READ, (texts[1], _MOST_ERROR_BYTES))
        while selector.get_map():
            if time.monotonic() >= until:
                raise TimeoutError
            for key, _ in selector.select(max(0.0, until - time.monotonic())):
                if key.fileobj is given:
                    rest = rest[_written(given, rest) :]
                    is_over = not rest
                else:
                    text, most_bytes = key.data
                    chunk = os.read(key.fd, _PART_BYTES)
                    text.extend(chunk)
                    is_over = not chunk
                    if len(text) > most_bytes:
                        raise _FloodError
                if is_over:
                    selector.unregister(key.fileobj)
                    if key.fileobj is given:
                        given.close()
    try:
        process.wait(max(0.1, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    return bytes(texts[0]), bytes(texts[1])


def _written(stream: IO[bytes], content: memoryview) -> int:
    """How much of `content` is done with: all of it where the command reads no input."""
    try:
        return os.write(stream.fileno(), content[:_PART_BYTES])
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(content)


def explained(said: str, settings: SshSettings, typed: str) -> tuple[str, str, bool]:
    """Cause, remedy, and whether another try is of no use, from what ssh wrote."""
    host = settings.host if settings.port in (None, 22) else f"[{settings.host}]:{settings.port}"
    last = [line.strip() for line in said.splitlines() if line.strip()][-1:]
    if "REMOTE HOST IDENTIFICATION HAS CHANGED" in said:
        return (
            "its host key is not the one that is known: another machine answers, or it was "
            "installed again",
            f"if you know why, remove the old key: ssh-keygen -R {host}",
            True,
        )
    if "host key is known for" in said or "Host key verification failed" in said:
        remedy = f"connect once by hand, and compare the fingerprint before you accept it: {typed}"
        return "its host key is not known here", remedy, True
    if "Permission denied" in said:
        copied = typed.replace("ssh ", "ssh-copy-id ", 1)
        return "it does not accept your keys", f"give it one: {copied}", True
    if "Could not resolve" in said:
        return "its name cannot be resolved", "correct the name, or add it to ~/.ssh/config", True
    if "Bad configuration option" in said or "Bad owner or permissions" in said:
        return f"ssh refuses its configuration: {_shown(last)}", "correct ~/.ssh/config", True
    remedy = f"check that it is on and that SSH answers: {typed}"
    return (_shown(last) or "it does not answer"), remedy, False


def _shown(lines: Sequence[str]) -> str:
    return printable("; ".join(lines))[:_MOST_SAID_CHARS]


def remove_unused(base: Path) -> None:
    """Removes the empty folders that killed programs left: their ssh has ended, and its socket with
    it. One that is made now gets its socket within a minute."""
    for folder in base.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # not empty, or of another user
            if time.time() - folder.lstat().st_mtime > _UNUSED_S:
                folder.rmdir()


def _short_folder() -> str | None:
    """Where the path of a socket is short enough: 104 bytes are all that some systems have."""
    named = os.environ.get("XDG_RUNTIME_DIR", "")
    for folder in (named, tempfile.gettempdir()):
        if folder and len(folder) < 50 and os.access(folder, os.W_OK | os.X_OK):
            return folder
    return None


def refused_sudo(settings: SshSettings, said: str, folder: str) -> HardstoneError:
    """Why `sudo -n` did not start the agent in `folder` there, whose name each run makes: `said` is
    the text of the error. Of a refusal only where sudo itself says something."""
    why = said.removeprefix(f"{settings.name}: ").removeprefix("the connection was lost: ")
    if not _SUDO.search(why):
        return TargetError(
            f"{settings.name}: the agent does not start through sudo: {_shown(why.splitlines())}",
            f"see what sudo allows there: {OpenSsh(settings).typed()} sudo -n -l",
        )
    user = settings.user or "USER"
    program = f"{folder.rpartition('-')[0]}-*/hardstone-probe"
    return PrivilegeError(
        f"{settings.name}: sudo refuses to start the probe: {_shown(why.splitlines()[-1:])}",
        "whoever may run the agent as root may run any command as root; for an account that may "
        "become root anyway, allow it there with sudo visudo, one line: "
        f"{user} ALL=(root) NOPASSWD: {program} agent *",
    )
