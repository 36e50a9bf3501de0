"""An `ssh` that reaches this machine without a network, and a probe that plays what it is given."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
from dataclasses import replace
from pathlib import Path

import msgspec

from hardstone.targets.base import SILENT, Notices
from hardstone.targets.deploy import Session
from hardstone.targets.named import SshSettings, parse_ssh_url
from hardstone.targets.openssh import OpenSsh
from hardstone.targets.ssh import Patience, SshTransport
from tests.conftest import PROBE
from tests.process.targets import sample
from tests.waiting import LONGEST_S

QUICK = Patience(away_s=LONGEST_S, again_s=0.05, start_s=0.0, job_s=0.0, late=0.0)
AWAY = replace(QUICK, away_s=0.3)
# With the clock of MadeSsh: it is time to connect when all jobs that were sent have ended.
_JOB_S = 1e6
ENDED = replace(QUICK, start_s=-_JOB_S / 2, job_s=_JOB_S, attached_s=_JOB_S)
ENDED_AWAY = replace(ENDED, away_s=0.3)

SESSION = Session(
    url="ssh://board",
    folder="/tmp/hardstone-ssh-0123456789ab",
    word="0123456789ab",
    machine="x86_64",
    boot_id="-",
    machine_id="-",
    is_in_memory=False,
    is_root=False,
    libc="",
    sha256="",
)

# Its master is a file in the place of the control socket. Files that a test makes: `down` refuses
# every connection, `banner` is what a login writes first, `shell` the login shell.
_SSH = """#!/bin/sh
state={state}
printf '%s\\n' "$*" >>$state/log
order= is_master=
while test $# -gt 1; do
  case $1 in
  -S) control=$2 ;;
  -O) order=$2 ;;
  -M) is_master=1 ;;
  esac
  shift
done
case $order in
exit) rm -f "$control"; exit ;;
?*) test -e "$control" || exit 255; exit ;;
esac
if test -e $state/down; then
  said=$(cat $state/down)
  echo "${{said:-ssh: connect to host board: Connection refused}}" >&2
  exit 1
fi
test -z "$is_master" || {{ : >"$control"; exit; }}
test -e "$control" || {{ echo no master >&2; exit 1; }}
test ! -e $state/banner || cat $state/banner
echo $$ >>$state/channels
test ! -e $state/shell || exec $(cat $state/shell) -c "$1"
exec /bin/sh -c "$1"
"""
# The agent is the real one; a test plays the file of its name, after what `TEST.sh` does.
_PROBE = """#!/bin/sh
state={state}
case $1 in
agent)
  if test -f $state/dying; then
    printf "hardstone-agent %s\\nH\\001\\000\\000\\000\\003" $3
    exit 1
  fi
  exec {probe} "$@" ;;
--version) echo 0.1.0 ;;
run)
  test -f $state/$2.sh && . $state/$2.sh
  echo "$@" >>$state/ran
  cat $state/$2
  echo >>$state/ended ;;
dump) cat $state/dumped ;;
*) cat $state/$1 ;;
esac
"""


class MadeSsh:
    """A target behind the made-up ssh; `state` holds what it is told to do."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self.home = folder / "target"
        for one in (self.state, self.home):
            one.mkdir()
        self._closed = self._ended = 0
        self._program = self.state / "ssh"
        self._program.write_text(_SSH.format(state=shlex.quote(str(self.state))))
        self._program.chmod(0o700)
        self._probe = self.state / "probe"
        for name, document in (("list", sample.register()), ("facts", sample.facts())):
            self.tell(name, msgspec.json.encode(document).decode())
        text = _PROBE.format(state=shlex.quote(str(self.state)), probe=shlex.quote(str(PROBE)))
        self._probe.write_text(text)
        self._probe.chmod(0o700)
        self.settings = SshSettings(
            name="board", host=parse_ssh_url("ssh://board").host, folder=str(self.home)
        )

    def client(self) -> OpenSsh:
        return OpenSsh(self.settings, str(self._program))

    def transport(self, **how: object) -> SshTransport:
        return SshTransport(
            self.settings,
            client=self.client(),
            probe_of=lambda machine, tell: self._probe,
            **{"patience": QUICK, "locks": [str(self.state / "lock")], **how},  # type: ignore[arg-type]
        )

    def opened(self, notices: Notices = SILENT, **how: object) -> SshTransport:
        transport = self.transport(**how)
        transport.open(notices)
        return transport

    def finish(self, transport: SshTransport) -> None:
        """What was collected is stored: nothing of it stays on the target."""
        transport.stored()
        transport.close()
        assert self.left() == []

    def tell(self, name: str, text: str = "") -> None:
        (self.state / name).write_text(text)

    def cut(self) -> None:
        """The link is gone: each channel, and every new connection."""
        self.tell("down")
        for pid in map(int, (self.state / "channels").read_text().split()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def clear(self) -> None:
        """No keeper stays, also where a test has failed."""
        (self.state / "down").unlink(missing_ok=True)
        (self.state / "shell").unlink(missing_ok=True)
        for folder in self.home.iterdir():
            word = folder.name.rpartition("-")[2]
            session = msgspec.structs.replace(SESSION, folder=str(folder), word=word)
            transport = self.transport(session=session)
            transport.stored()
            transport.close()

    def clock(self) -> float:
        """Goes on with each job that ends. The first look after a connection was closed, from which
        hardstone counts, sees none that ended while it was closed."""
        closed, path = self.closed(), self.state / "ended"
        if closed == self._closed and path.exists():
            self._ended = path.stat().st_size
        self._closed = closed
        return _JOB_S * self._ended

    def left(self) -> list[str]:
        """What is left in the target's folder."""
        return sorted(one.name for one in self.home.iterdir())

    def log(self) -> list[str]:
        path = self.state / "log"
        return path.read_text().splitlines() if path.exists() else []

    def masters(self) -> int:
        """How many connections were made."""
        return sum(" -M " in line for line in self.log())

    def closed(self) -> int:
        """How many were ended."""
        return sum(" -O exit " in line for line in self.log())
