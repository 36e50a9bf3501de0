"""Puts the probe on a target that SSH reaches, into a folder of its own.

What runs there before the agent are lines of POSIX shell that any login shell passes on alike:
`/bin/sh -c '...'` with words of a few safe characters. Standard output may have anything before
the line that each begins with, such as a banner.
"""

from __future__ import annotations

import getpass
import hashlib
import re
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from hardstone.errors import InputError, PrivilegeError, TargetError, printable
from hardstone.memory import LEFT_NAME
from hardstone.targets.alone import holder_of
from hardstone.targets.build import probe_for
from hardstone.targets.find import PROBE
from hardstone.targets.named import SshSettings
from hardstone.targets.openssh import OpenSsh, Said, UnreachableError

_PREFIX = "hardstone-ssh-"
_SAFE = re.compile(r"[A-Za-z0-9@._/-]{1,180}", re.ASCII)
_WORD = re.compile(r"[A-Za-z0-9]{1,64}", re.ASCII)
_UPLOAD_S = 600.0  # a slow link
_BUILD_S = 600.0
_LEAST_KIB = 20_000  # the probe, and the recordings of a test
_MOST_SHOWN = 200
# Without single quotes, backslashes and "!", which login shells read each in their own way.
_LOOK = (
    "w=$1; f=$2; echo; echo hardstone-look $w; uname -m; uname -s; id -u; id -un; "
    "cat /proc/sys/kernel/random/boot_id || echo -; cat /etc/machine-id || echo -; "
    "getconf GNU_LIBC_VERSION || ls /lib/ld-musl-* || echo -; "
    "if test -d /run/systemd/system; then test -e /var/lib/systemd/linger/$(id -un) && echo stays "
    "|| echo ends; else echo stays; fi; "
    "for b in $f /dev/shm /run /tmp /var/tmp $HOME; do "  # what a cut link left
    'for o in $(find $b -maxdepth 1 -name "hardstone-ssh-*" -user $(id -un) -mmin +1); do '
    "ls $o | grep -q begun || grep -qs $o /proc/[0-9]*/cmdline || rm -rf $o; done; done "
    "2>/dev/null; "
    "for b in $f /dev/shm /run /tmp /var/tmp $HOME; do test -d $b || continue; "
    "d=$b/hardstone-ssh-$w; "
    "if mkdir -m 700 $d; then echo : >$d/t && chmod 700 $d/t && $d/t && r=yes || r=noexec; "
    "test -s $d/t || r=full; rm -f $d/t; rmdir $d; else r=readonly; fi; echo base $b $r; done; "
    "echo mounts; cat /proc/mounts; echo room; df -Pk /dev/shm /run /tmp /var/tmp $HOME $f; "
    "echo hardstone-end $w"
)
# The link may be cut at any time: then a part arrives, or the shell has nobody to tell.
_PUT = (
    "w=$1; d=$2; k=$3; umask 077; mkdir -p -m 700 $d; "
    'trap "rm -rf $d; exit 1" HUP TERM PIPE; '
    "if test -x $k; then cat >/dev/null; cp $k $d/hardstone-probe; "
    "else cat >$d/hardstone-probe; fi; chmod 700 $d/hardstone-probe; "
    "n=$(wc -c <$d/hardstone-probe); "
    "test $n = $4 && v=$($d/hardstone-probe --version) && : >$d/brief || rm -rf $d; "
    "echo; echo hardstone-put $w; echo $n; echo $v; "
    "case $k in -) ;; *) test -x $k || { mkdir -p ${k%/*}; "
    "cp $d/hardstone-probe $k.$w && mv $k.$w $k; } ;; esac; echo hardstone-end $w || rm -rf $d"
)
_BUILD = "w=$1; d=$2; umask 077; mkdir -p -m 700 $d; { THERE; } >$d/build.log 2>&1; "
_BUILD += "echo; echo hardstone-put $w; wc -c <$d/hardstone-probe; $d/hardstone-probe --version; "
_BUILD += "tail -n 5 $d/build.log; rm -f $d/build.log; echo hardstone-end $w"
_GONE = "w=$1; rm -rf $2; echo; echo hardstone-gone $w; echo hardstone-end $w"
# Who holds a lock: /proc/locks has its file by the number of the mount, and by inode.
_HELD = (
    "w=$1; shift; echo; echo hardstone-held $w; cat /proc/self/mountinfo; "
    "for f in $*; do d=$(cd -P ${f%/*} && pwd -P) || continue; test -e $f || continue; "
    "set -- $(ls -di $d/${f##*/}); echo file $1 $d/${f##*/}; "
    'grep FLOCK /proc/locks | grep ":$1 " | while read -r n k t a p m r; do '
    "echo lock $n $k $t $a $p $m $r; echo of $p; grep Uid: /proc/$p/status; "
    "head -c 300 /proc/$p/cmdline; echo; done; done 2>/dev/null; echo hardstone-end $w"
)
_BOOT = "w=$1; echo; echo hardstone-boot $w; cat /proc/sys/kernel/random/boot_id || echo -; "
_BOOT += "test -x $2/hardstone-probe && echo there || echo gone; echo hardstone-end $w"


Known = TypeVar("Known")
ProbeOf = Callable[[str, Callable[[str], None]], Path]


class Session(msgspec.Struct, kw_only=True, frozen=True):
    """Where the files of a run are on a target, and which boot of it that is."""

    url: str
    folder: str
    word: str
    machine: str
    boot_id: str
    machine_id: str
    is_in_memory: bool
    is_root: bool
    libc: str  # of the system, which a static probe does not use; "": not known
    sha256: str


@dataclass(frozen=True)
class _Base:
    """A folder that the files could go into; `state`: yes, noexec, full or readonly."""

    path: str
    state: str
    is_in_memory: bool
    free_kib: int | None


@dataclass(frozen=True)
class _Place:
    """What a target is, and its folders in the order of preference."""

    machine: str
    system: str
    uid: int
    home_ends: bool  # with the login, systemd removes what a user has in memory
    boot_id: str
    machine_id: str
    libc: str
    bases: list[_Base]


def deploy(
    ssh: OpenSsh,
    settings: SshSettings,
    tell: Callable[[str], None],
    probe_of: ProbeOf = probe_for,
) -> Session:
    """Puts the probe there and gives where. `probe_of` gives the file of the probe for a machine.

    TargetError or InputError with what to do.
    """
    if settings.folder is not None and not _SAFE.fullmatch(settings.folder):
        raise InputError(
            f"{settings.name}: the folder {printable(settings.folder)[:80]} has characters that a "
            "shell may read",
            "use letters, digits, and ._-/ only",
        )
    word = secrets.token_hex(6)
    place = _look(ssh, settings, word)
    if place.system != "Linux":
        raise TargetError(
            f"{settings.name} runs {printable(place.system)[:40]}, and not Linux",
            "see docs/how-to/port.md for other systems",
        )
    base = _chosen(settings, place)
    folder = f"{base.path.rstrip('/')}/{_PREFIX}{word}"
    try:
        digest = _put(ssh, settings, place, folder, word, tell, probe_of)
    except BaseException:
        remove(ssh, folder, word)
        raise
    return Session(
        url=settings.url,
        folder=folder,
        word=word,
        machine=place.machine,
        boot_id=place.boot_id,
        machine_id=place.machine_id,
        is_in_memory=base.is_in_memory,
        is_root=settings.sudo,
        libc=place.libc,
        sha256=digest,
    )


def measured_by(ssh: OpenSsh, word: str, locks: Sequence[str]) -> str | None:
    """Who holds one of the files `locks` there, as `holder_of` says it; None: nobody, as far as one
    short login can tell, which puts nothing there. `word` marks its answer.

    TargetError where no shell answers.
    """
    devices: dict[str, str] = {}
    places: list[str] = []
    held: list[str] = []
    of_process: dict[str, list[str]] = {}
    pid = ""
    for line in _lines(ssh.run(_line(_HELD, word, *locks)), "held", word):
        words = line.split()
        if words[:1] == ["of"] and len(words) == 2:
            pid = words[1]
        elif words[:1] == ["file"] and len(words) == 3:
            pid = ""
            places.append(f"{_above(words[2], devices, '')}:{words[1]}")
        elif words[:1] == ["lock"] and len(words) > 6:  # with its number
            pid = ""
            held.append(" ".join(words[1:]))
        elif pid:
            of_process.setdefault(pid, []).append(line)
        elif not places and len(words) > 4:
            devices[words[4]] = _device(words[2])

    def read(path: str) -> bytes:
        owner, _, name = path.rpartition("/")
        lines = of_process.get(owner)
        if path == "locks":
            return "\n".join(held).encode()
        if not lines or not lines[0].startswith("Uid:"):
            raise FileNotFoundError(path)
        text = f"\n{lines[0]}\n" if name == "status" else " ".join(lines[1:]).strip(" \0")
        return text.encode()

    for place in places:
        if any(one.split()[1] == "FLOCK" and one.split()[5] == place for one in held):
            return holder_of(place, read)
    return None


def _device(said: str) -> str:
    """ "8:17" of mountinfo as /proc/locks has it: "08:11"."""
    found = re.fullmatch(r"([0-9]{1,9}):([0-9]{1,9})", said, re.ASCII)
    return f"{int(found[1]):02x}:{int(found[2]):02x}" if found else ""


def boot_of(ssh: OpenSsh, session: Session) -> tuple[str, bool]:
    """The boot that the target is in now, and whether the probe is still in its folder."""
    _check_place(session.folder, session.word)
    lines = _lines(ssh.run(_line(_BOOT, session.word, session.folder)), "boot", session.word)
    return (lines[0], lines[1] == "there") if len(lines) > 1 else ("-", False)


def remove(ssh: OpenSsh, folder: str, word: str) -> bool:
    """Removes a folder of ours there, and says whether it is gone. Never raises a TargetError."""
    _check_place(folder, word)
    try:
        if ssh.is_connected:
            _lines(ssh.run(_line(_GONE, word, folder)), "gone", word)
            return True
    except TargetError:
        pass
    return False


def agent_line(session: Session) -> str:
    """The line that starts the agent."""
    _check_place(session.folder, session.word)
    program = f"{session.folder}/{PROBE}"
    words = _safe(program, "agent", session.folder, session.word, _who())
    return f"sudo -n {words}" if session.is_root else f"exec {words}"


def _check_place(folder: str, word: str) -> None:
    """InputError unless `folder` is one that `deploy` makes: a session may come from a file."""
    is_ours = folder.startswith("/") and folder.endswith(f"/{_PREFIX}{word}")
    if not (is_ours and _WORD.fullmatch(word) and _SAFE.fullmatch(folder)):
        raise InputError(
            f"the run says that it is in {printable(folder)[:80]} on the target, which is no "
            "folder of hardstone's",
            f"restore {LEFT_NAME} in its journal, or remove that journal",
        )


def _who() -> str:
    """Who measures, for those who wait: USER@HOST."""
    try:
        name = f"{getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):
        return "unknown"
    return re.sub(r"[^A-Za-z0-9@._-]", "-", name)[:64]


def _safe(*words: str) -> str:
    """The words of every line for a shell there; InputError for one that it could read."""
    for word in words:
        if not _SAFE.fullmatch(word):
            raise InputError(
                f"'{printable(word)[:80]}' has characters that a shell may read",
                "use letters, digits, and @._-/ only",
            )
    return " ".join(words)


def _line(script: str, *words: str) -> str:
    if set(script) & set("'\\!"):
        raise ValueError("a script that a login shell could read otherwise")
    return f"/bin/sh -c '{script}' hardstone {_safe(*words)}"


def _lines(said: Said, kind: str, word: str) -> list[str]:
    """What a script wrote between its two lines; TargetError where it did not run to its end."""
    text = said.output.decode("utf-8", "replace")
    _, begin, rest = text.partition(f"hardstone-{kind} {word}\n")
    body, end, _ = rest.partition(f"hardstone-end {word}")
    if begin and end:
        return [line.strip() for line in body.splitlines()]
    shown = [line.strip() for line in (said.error or text).splitlines() if line.strip()][:2]
    words = printable("; ".join(shown))[:_MOST_SHOWN]
    if begin:
        told = said.error and words
        raise UnreachableError(
            f"the login ended before its answer was complete{told and f': {told}'}",
            "check the link to the target, and try again",
            is_final=False,
        )
    raise TargetError(
        f"no shell answers on the target{words and f': {words}'}",
        "the account needs a login shell, and no ForceCommand; name another account",
    )


def _look(ssh: OpenSsh, settings: SshSettings, word: str) -> _Place:
    lines = _lines(ssh.run(_line(_LOOK, word, settings.folder or "/nowhere")), "look", word)
    try:
        machine, system, uid, _, boot_id, machine_id, libc, stays = lines[:8]
        return _Place(
            machine=machine,
            system=system,
            uid=int(uid),
            home_ends=stays == "ends" and int(uid) >= 1000,
            boot_id=boot_id[:64],
            machine_id=machine_id[:64],
            libc=_libc(libc),
            bases=_bases(lines[8:]),
        )
    except (ValueError, IndexError) as error:
        raise TargetError(
            f"{settings.name}: the target's shell gave no answer that can be read",
            "check that uname, id, mkdir and df work there",
        ) from error


def _libc(said: str) -> str:
    """ "glibc 2.36", "musl"."""
    if "ld-musl" in said:
        return "musl"
    return printable(said)[:40] if said.startswith("glibc ") else ""


def _bases(lines: list[str]) -> list[_Base]:
    mounts: dict[str, str] = {}
    free: dict[str, int | None] = {}
    part = ""
    found = []
    for line in lines:
        words = line.split()
        if line in ("mounts", "room"):
            part = line
        elif part == "" and words[:1] == ["base"] and len(words) == 3:
            found.append((words[1], words[2]))
        elif part == "mounts" and len(words) > 2:
            mounts[words[1]] = words[2]  # the last mount on a folder hides the others
        elif part == "room" and len(words) > 5 and words[3].isdigit():
            free[words[5]] = int(words[3])
    memory = ("tmpfs", "ramfs", "rootfs")
    return [
        _Base(path, state, _above(path, mounts, "") in memory, _above(path, free, None))
        for path, state in dict(found).items()
    ]


def _above(path: str, known: Mapping[str, Known], unknown: Known) -> Known:
    """What is known of the mount that a folder is in."""
    place = Path(path)
    while str(place) not in known and place != place.parent:
        place = place.parent
    return known.get(str(place), unknown)


def _chosen(settings: SshSettings, place: _Place) -> _Base:
    """The folder that the user names, else the first that can be used: in memory where possible."""
    fit = [
        one
        for one in place.bases
        if one.state == "yes" and _has_room(one) and _SAFE.fullmatch(one.path)
    ]
    if settings.folder is not None:
        named = [one for one in fit if one.path == settings.folder]
        if named:
            return named[0]
    elif fit:
        # What a user has in /dev/shm goes when the login ends (RemoveIPC of systemd-logind).
        lasting = [one for one in fit if not (one.path == "/dev/shm" and place.home_ends)]  # noqa: S108
        return next((one for one in lasting if one.is_in_memory), (lasting or fit)[0])
    states = {one.path: _why_not(one) for one in place.bases}
    if settings.folder is not None:
        states = {settings.folder: states.get(settings.folder, "it is no folder")}
    told = "; ".join(f"{path}: {why}" for path, why in states.items())
    raise TargetError(
        f"{settings.name}: no folder for the probe: {printable(told)[:_MOST_SHOWN]}",
        "name one that is writable and not mounted noexec: "
        "hardstone target add NAME URL --folder PATH --replace",
    )


def _has_room(base: _Base) -> bool:
    return base.free_kib is None or base.free_kib >= _LEAST_KIB


def _why_not(base: _Base) -> str:
    if base.state == "yes":
        return f"only {base.free_kib} KiB free"
    return {
        "noexec": "no program may run there (noexec)",
        "full": "the disk is full",
        "readonly": "it cannot be written",
    }.get(base.state, base.state)


def _put(
    ssh: OpenSsh,
    settings: SshSettings,
    place: _Place,
    folder: str,
    word: str,
    tell: Callable[[str], None],
    probe_of: ProbeOf,
) -> str:
    """The digest of what is there now."""
    if settings.build_there:
        tell(f"compiling the probe on {settings.name}")
        from hardstone.targets.build import THERE_SCRIPT, source_archive

        content = source_archive()
        script = _BUILD.replace("THERE", THERE_SCRIPT)
        said = ssh.run(_line(script, word, folder), content, _BUILD_S)
        _check_put(settings, _lines(said, "put", word), None)
        return ""
    probe = probe_of(place.machine, tell)
    content = probe.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    kept, is_kept = "-", False
    if settings.keep_probe:
        home, is_kept = _home(ssh, settings, word, digest)
        kept = f"{home}/.cache/hardstone/probe-{digest[:32]}"
        if not _SAFE.fullmatch(kept):
            raise InputError(
                f"{settings.name}: the home folder has characters that a shell may read",
                "leave keep_probe out",
            )
    if not is_kept:
        tell(f"copying the probe to {settings.name} ({len(content) >> 10} KiB)")
    line = _line(_PUT, word, folder, kept, str(len(content)))
    said = ssh.run(line, b"" if is_kept else content, _UPLOAD_S)
    _check_put(settings, _lines(said, "put", word), len(content))
    return digest


def _home(ssh: OpenSsh, settings: SshSettings, word: str, digest: str) -> tuple[str, bool]:
    """The account's home, and whether the probe of that digest is kept there."""
    script = "w=$1; echo; echo hardstone-home $w; cd && pwd; "
    script += "test -x .cache/hardstone/probe-$2 && echo kept || echo none; echo hardstone-end $w"
    lines = _lines(ssh.run(_line(script, word, digest[:32])), "home", word)
    if len(lines) != 2 or not lines[0].startswith("/"):
        raise TargetError(f"{settings.name}: the account has no home", "leave keep_probe out")
    return lines[0], lines[1] == "kept"


def _check_put(settings: SshSettings, lines: list[str], size_bytes: int | None) -> None:
    size, *version = [*lines, ""][:2] if lines else ["", ""]
    if size_bytes is not None and size != str(size_bytes):
        raise TargetError(
            f"{settings.name}: only {printable(size)[:20] or 'nothing'} of {size_bytes} bytes of "
            "the probe arrived",
            "free some space there, or name another folder: "
            "hardstone target add NAME URL --folder PATH --replace",
        )
    if not re.fullmatch(r"[0-9][0-9A-Za-z.+-]{0,40}", version[0]):
        told = printable("; ".join(lines[1:]))[:_MOST_SHOWN]
        if size_bytes is None:
            raise TargetError(
                f"{settings.name}: the probe does not compile there: {told}",
                "install a C compiler there, or leave build_there out",
            )
        raise PrivilegeError(
            f"{settings.name}: the probe does not run there{told and f': {told}'}",
            "look at what refuses it there: a processor of another kind, a security policy",
        )
