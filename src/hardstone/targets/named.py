"""Targets over SSH: their URL and the settings that go with it. And the file of the targets with a
name, over SSH and behind consoles: $HARDSTONE_TARGETS_FILE, else
$XDG_CONFIG_HOME/hardstone/targets.toml.

[targets.arm-board]
url = "ssh://root@192.0.2.7"
sudo = false          # optional, as all that follow
keep_probe = false
folder = "/mnt/data"
build_there = false

[targets.nuttx-board]
url = "console:/dev/ttyACM0,baud=921600"  # all settings are in the URL

The file is a person's: a change keeps its comments, its order and its mode.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardstone.errors import InputError, printable
from hardstone.files import (
    followed,
    open_checked,
    parse_toml,
    pause,
    read_regular,
    remedy_of,
    replace_file,
    take_lock,
)
from hardstone.targets.console.address import SCHEME as CONSOLE
from hardstone.targets.console.address import ConsoleSettings, parse_console

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_SCHEME = "ssh://"
# What OpenSSH takes as a host without a second look; never a word that begins with "-".
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,252}|\[[0-9A-Fa-f:.]{2,45}(%[A-Za-z0-9._-]+)?\]")
_PORT = re.compile(r"[0-9]{1,5}", re.ASCII)
_REMEDY = "write ssh://[USER@]HOST[:PORT], HOST as ssh takes it"


@dataclass(frozen=True, kw_only=True)
class SshSettings:
    """A system that SSH reaches. `name` is what `--target` took: the name in the user's file, or
    the URL. None leaves a choice to OpenSSH's configuration, or to the toolkit.

    `sudo`: the probe runs as root, through `sudo -n`. `keep_probe`: the probe stays on the target,
    under its hash, in the user's cache folder. `folder`: where on the target the files of a run go.
    `build_there`: the probe is compiled on the target by its own compiler, against its own libc.
    """

    name: str
    host: str
    user: str | None = None
    port: int | None = None
    sudo: bool = False
    keep_probe: bool = False
    folder: str | None = None
    build_there: bool = False

    @property
    def url(self) -> str:
        """ssh://[USER@]HOST[:PORT]"""
        user = "" if self.user is None else f"{self.user}@"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{_SCHEME}{user}{host}{'' if self.port is None else f':{self.port}'}"


NamedTarget = SshSettings | ConsoleSettings


def parse_ssh_url(text: str) -> SshSettings:
    """The settings of a URL, which is their name too; InputError for anything else."""
    user, at, place = text.removeprefix(_SCHEME).rpartition("@")
    match = re.fullmatch(r"(\[[^\]]*\]|[^:]*)(?::(.*))?", place)
    host, port = match.groups() if match is not None else ("", None)
    is_wrong = (
        not text.startswith(_SCHEME)
        or not _HOST.fullmatch(host)
        or (at and not _USER.fullmatch(user))
        or (port is not None and not (_PORT.fullmatch(port) and 0 < int(port) < 65536))
    )
    if is_wrong:
        raise InputError(f"'{printable(text)[:80]}' is not the URL of an SSH target", _REMEDY)
    return SshSettings(
        name=text,
        host=host.strip("[]"),
        user=user if at else None,
        port=None if port is None else int(port),
    )


def ssh_settings(text: str) -> SshSettings | None:
    """The SSH target that `text` means, a URL or a name; None where it is neither.

    InputError for a wrong URL, and for a file of targets that cannot be read.
    """
    found = _settings_named(text)
    return found if isinstance(found, SshSettings) else None


def named_console(text: str) -> ConsoleSettings | None:
    """The console that `text` means, a URL or a name; None where it is neither.

    InputError as for `ssh_settings`.
    """
    found = _settings_named(text)
    return found if isinstance(found, ConsoleSettings) else None


def parse_url(text: str) -> NamedTarget:
    """The settings of a URL over SSH or of a console; InputError for anything else."""
    return parse_console(text) if text.startswith(CONSOLE) else parse_ssh_url(text)


def _settings_named(text: str) -> NamedTarget | None:
    if text.startswith((_SCHEME, CONSOLE)):
        return parse_url(text)
    return named_targets().get(text) if _is_name(text) else None


_ELSEWHERE = "name another file in HARDSTONE_TARGETS_FILE"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_RESERVED = ("local", "lab", "fake", "ssh", "console")
# The socket of the probe's keeper is in it, whose path may have 107 characters.
_FOLDER = re.compile(r"/[A-Za-z0-9@._/-]{0,63}", re.ASCII)
_MOST_BYTES = 1 << 18
_MOST_TARGETS = 1000
_TABLE = "targets"
_KINDS = {"url": str, "sudo": bool, "keep_probe": bool, "folder": str, "build_there": bool}
_KIND_WORDS = {str: "a text in quotes", bool: "true or false"}
_LOCK_S = 10.0
_POLL_S = 0.01


def targets_file() -> Path:
    """$HARDSTONE_TARGETS_FILE, $XDG_CONFIG_HOME/hardstone/targets.toml, or the same in ~/.config.

    It may be missing. InputError if there is no home folder to look in.
    """
    own = os.environ.get("HARDSTONE_TARGETS_FILE", "")
    if own.strip():
        return Path(own).absolute()
    base = os.environ.get("XDG_CONFIG_HOME", "")
    if Path(base).is_absolute():
        return Path(base) / "hardstone" / "targets.toml"
    try:
        return Path.home() / ".config" / "hardstone" / "targets.toml"
    except RuntimeError:
        raise InputError("there is no home folder", _ELSEWHERE) from None


def check_name(name: str) -> None:
    """InputError unless `name` may be that of a target."""
    if not _is_name(name):
        why = ": it has another meaning" if name.lower() in _RESERVED else ""
        raise InputError(
            f"'{printable(name)[:80]}' cannot be the name of a target{why}",
            "use letters, digits and . _ -, at most 64, a letter or digit first; not "
            + ", ".join(_RESERVED),
        )


def check_folder(folder: str, before: str) -> None:
    """InputError, which begins with `before`, unless `folder` may hold the files of runs."""
    if not _FOLDER.fullmatch(folder) or ".." in folder.split("/"):
        raise InputError(
            f"{before}: '{printable(folder)[:80]}' is not a folder for the files of a run",
            "give its absolute path on the target, at most 64 letters, digits and @ . _ / -",
        )


def named_targets() -> dict[str, NamedTarget]:
    """All targets of the file, in its order; none where there is no file. InputError, with the line
    or the key, for a file that holds anything else."""
    path = targets_file()
    return _targets_in(_parsed(_content(path), path), path)


def unknown_target(text: str) -> InputError:
    """What to say where `text` is no target: the nearest name, or all there are."""
    names = list(named_targets())
    wanted = text[:80]
    if text.startswith("ssh:"):
        return InputError(
            f"unknown target '{printable(text)[:60]}'", "write ssh://[USER@]HOST[:PORT]"
        )
    close = difflib.get_close_matches(wanted, ["local", *names], n=1, cutoff=0.6)
    kinds = "local, lab:NAME[,KEY=VALUE...], fake:FILE, ssh://[USER@]HOST[:PORT], console:PORT"
    cause = f"unknown target '{printable(text)[:60]}'"
    if close:
        return InputError(cause, f"did you mean {close[0]}?")
    if not names:
        remedy = f"known targets: {kinds}; to name one: hardstone target add NAME ssh://USER@HOST"
        return InputError(cause, remedy)
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return InputError(cause, f"known targets: {shown}, {kinds}")


def add_target(
    settings: NamedTarget, *, replaces: bool = False, wait_s: float = _LOCK_S
) -> NamedTarget | None:
    """Writes `settings` to the file under their name; gives what that name meant before.

    InputError if it means something else already, unless `replaces`, and where another program
    has locked the file for longer than `wait_s`.
    """
    check_name(settings.name)
    if isinstance(settings, SshSettings) and settings.folder is not None:
        check_folder(settings.folder, "--folder")

    def added(targets: Mapping[str, NamedTarget]) -> dict[str, NamedTarget]:
        known = targets.get(settings.name)
        if known not in (None, settings) and not replaces:
            raise InputError(
                f"the target {settings.name} exists: {known.url}",
                "choose another name, or replace it with --replace",
            )
        if known is None and len(targets) >= _MOST_TARGETS:
            raise InputError(f"there are {_MOST_TARGETS} targets", "remove some of them")
        return {**targets, settings.name: settings}

    return _rewrite(added, wait_s).get(settings.name)


def remove_targets(names: Iterable[str]) -> list[NamedTarget]:
    """Takes all of `names` out of the file, or none; gives what they meant."""
    asked = list(dict.fromkeys(names))

    def removed(targets: Mapping[str, NamedTarget]) -> dict[str, NamedTarget]:
        for name in asked:
            if name not in targets:
                raise unknown_name(name, targets)
        return {name: one for name, one in targets.items() if name not in asked}

    before = _rewrite(removed, _LOCK_S)
    return [before[name] for name in asked]


def unknown_name(name: str, known: Iterable[str]) -> InputError:
    """What to say where no named target is called `name`."""
    names = list(known)
    close = difflib.get_close_matches(name[:80], names, n=1, cutoff=0.6)
    hint = f"did you mean {close[0]}?" if close else "see the names: hardstone target list"
    if not names:
        hint = "add it: hardstone target add NAME ssh://USER@HOST"
    return InputError(f"no target is called '{printable(name)[:60]}'", hint)


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and text.lower() not in _RESERVED


def _content(path: Path) -> bytes:
    """Empty where the file is missing. A link is followed: people keep such files elsewhere."""
    try:
        return read_regular(followed(path), _MOST_BYTES)
    except FileNotFoundError:
        return b""
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"the file of targets {path} cannot be read: {reason}", remedy_of(error, _ELSEWHERE)
        ) from error


def _parsed(data: bytes, path: Path) -> dict[str, Any]:
    try:
        return parse_toml(data)
    except (ValueError, RecursionError) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        if isinstance(error, RecursionError):
            reason = "it is nested too deep"
        cause = f"the file of targets {path} is no TOML: {printable(reason)[:160]}"
        raise InputError(cause, "correct that line, or " + _ELSEWHERE) from error


def _targets_in(document: Mapping[str, Any], path: Path) -> dict[str, NamedTarget]:
    """InputError for what is none of the settings: a word that is ignored would mislead."""
    for key in document:
        if key != _TABLE:
            raise _wrong(path, printable(key)[:60], "is unknown", "write [targets.NAME]")
    tables = document.get(_TABLE, {})
    if not isinstance(tables, dict):
        raise _wrong(path, _TABLE, "is not a table", "write [targets.NAME]")
    if len(tables) > _MOST_TARGETS:
        raise _wrong(path, _TABLE, f"has more than {_MOST_TARGETS} targets", "remove some of them")
    return {name: _settings_of(name, table, path) for name, table in tables.items()}


def _settings_of(name: str, table: Any, path: Path) -> NamedTarget:
    key = f"{_TABLE}.{printable(name)[:60]}"
    try:
        check_name(name)
    except InputError as error:
        raise _wrong(path, key, "has a wrong name", error.remedy) from None
    if not isinstance(table, dict):
        raise _wrong(path, key, "is not a table", f"write [{key}]")
    for word, value in table.items():
        shown = f"{key}.{printable(word)[:60]}"
        if word not in _KINDS:
            hint = f"known: {', '.join(_KINDS)}"
            if isinstance(value, dict):
                hint += f'; a name with a dot is quoted: [{_TABLE}."{name}.{printable(word)[:60]}"]'
            raise _wrong(path, shown, "is unknown", hint)
        if type(value) is not _KINDS[word]:
            raise _wrong(path, shown, f"must be {_KIND_WORDS[_KINDS[word]]}", f"correct {word}")
    if "url" not in table:
        raise _wrong(path, key, "has no url", 'add url = "ssh://USER@HOST"')
    try:
        reached = parse_url(table["url"])
    except InputError as error:
        raise _wrong(path, f"{key}.url", f"is wrong: {error.cause}", error.remedy) from None
    if "folder" in table:
        check_folder(table["folder"], f"{path}: {key}.folder")
    rest = {word: value for word, value in table.items() if word != "url"}
    if isinstance(reached, ConsoleSettings):
        for word in rest:
            shown = f"{key}.{word}"
            raise _wrong(
                path, shown, "is for a target over SSH", "settings of a console are in url"
            )
    return replace(reached, name=name, **rest)


def _wrong(path: Path, key: str, problem: str, remedy: str) -> InputError:
    return InputError(f"the file of targets {path}: {key} {problem}", remedy)


def _table_of(settings: SshSettings) -> dict[str, Any]:
    """What the file says of `settings`: no word for what is the default."""
    defaults = {one.name: one.default for one in fields(SshSettings)}
    rest = {word: getattr(settings, word) for word in _KINDS if word != "url"}
    return {"url": settings.url} | {
        word: value for word, value in rest.items() if value != defaults[word]
    }


_Targets = dict[str, NamedTarget]


def _rewrite(decide: Callable[[Mapping[str, NamedTarget]], _Targets], wait_s: float) -> _Targets:
    """Makes the file hold what `decide` makes of its targets; gives those of before.

    Nothing is written where `decide` raises or changes nothing.
    """
    path = targets_file()
    try:
        with _locked(path, wait_s) as (place, mode):
            data = _content(place)
            before = _targets_in(_parsed(data, path), path)
            after = decide(before)
            if after != before:
                replace_file(place, _edited(data, before, after, path), mode, is_durable=True)
            return before
    except OSError as error:
        reason = error.strerror or str(error)
        cause = f"the file of targets {path} cannot be written: {reason}"
        raise InputError(cause, remedy_of(error, _ELSEWHERE)) from error


@contextlib.contextmanager
def _locked(path: Path, wait_s: float) -> Iterator[tuple[Path, int]]:
    """The file at the end of the links at `path`, and its mode, while nobody else writes it.

    The lock is on the file itself, which the writer before may have replaced meanwhile. What this
    makes is empty, and so holds no targets.
    """
    place = followed(path)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    end_s = time.monotonic() + wait_s
    while True:
        descriptor = open_checked(place, os.O_RDWR | os.O_CREAT)
        try:
            if take_lock(descriptor):
                state = os.fstat(descriptor)
                if _is_at(place, state):
                    yield place, stat.S_IMODE(state.st_mode)
                    return
            elif time.monotonic() > end_s:
                raise InputError(
                    f"another program has locked the file of targets {path}",
                    "end it, and try again",
                )
        finally:
            os.close(descriptor)
        pause(_POLL_S)


def _is_at(place: Path, state: os.stat_result) -> bool:
    try:
        return os.path.samestat(place.lstat(), state)
    except FileNotFoundError:
        return False


def _edited(data: bytes, before: _Targets, after: _Targets, path: Path) -> bytes:
    """The text with the targets of `after`; all else in it stays. InputError where a text is
    written in a way that cannot be changed without a loss."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        text = data.decode("utf-8")
        for name in before:
            if name not in after:
                text = _without(tomlkit.parse(text), name)
        document = tomlkit.parse(text)
        for name, settings in after.items():
            if settings != before.get(name):
                _put(document, name, settings)
        edited = tomlkit.dumps(document).encode("utf-8")
        is_right = len(edited) <= _MOST_BYTES and _targets_in(_parsed(edited, path), path) == after
    except (TOMLKitError, ValueError, InputError, RecursionError):
        is_right = False
    if not is_right:
        raise InputError(f"the file of targets {path} cannot be changed safely", "edit it yourself")
    return edited


def _put(document: TOMLDocument, name: str, settings: NamedTarget) -> None:
    """A word for what is the default only where the file has one already, with its comment."""
    import tomlkit
    from tomlkit.items import InlineTable

    is_separate = document.as_string().endswith(("\n\n", "\n\r\n")) or not document
    if _TABLE not in document:
        document[_TABLE] = tomlkit.table(is_super_table=True)
    targets: Any = document[_TABLE]
    if name not in targets:
        is_inline = isinstance(targets, InlineTable)
        targets[name] = tomlkit.inline_table() if is_inline else tomlkit.table()
        targets[name].trivia.indent = "" if is_inline or is_separate else "\n"
    table = targets[name]
    after = _items_after_keys(table)
    for word in _KINDS:
        value = getattr(settings, word, None)
        if value is None:
            table.pop(word, None)
        elif word not in table:
            if value is not False:
                table[word] = value
        elif table[word] != value:
            table[word] = value
    for item in after:
        table.add(item)


def _without(document: TOMLDocument, name: str) -> str:
    """The text without the target `name`. Comments at its end, after an empty line, are about what
    follows, and stay."""
    from tomlkit.items import Table

    targets: Any = document[_TABLE]
    names = list(targets)
    following = [targets[one] for one in names[names.index(name) + 1 :]]
    after = "".join(item.as_string() for item in _items_after_keys(targets[name]))
    gap = re.search(r"^[ \t\r]*\n", after, re.MULTILINE)
    kept = after[gap.start() :] if gap is not None and "#" in after[gap.end() :] else ""
    del targets[name]
    if following and isinstance(following[0], Table):
        following[0].trivia.indent = kept + following[0].trivia.indent
        kept = ""
    return document.as_string() + kept


def _items_after_keys(table: Any) -> list[Any]:
    """Takes the comments and empty lines at the end of `table` out of it. One of dotted keys has no
    end of its own."""
    from tomlkit.items import AbstractTable

    body: list[Any] = table.value.body if isinstance(table, AbstractTable) else []
    items = []
    while body and body[-1][0] is None:
        items.append(body.pop()[1])
    return items[::-1]
