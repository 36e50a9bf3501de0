"""Targets over SSH: their URL, and the settings that go with it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hardstone.errors import InputError, printable

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
    """The SSH target that `text` means, a URL or a name; None where it is neither."""
    return parse_ssh_url(text) if text.startswith(_SCHEME) else None
