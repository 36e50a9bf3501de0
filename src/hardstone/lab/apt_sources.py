"""Where this machine takes Debian's packages from: apt's sources, in both of their formats."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hardstone.errors import TargetError
from hardstone.files import followed, read_regular

_MOST_BYTES = 1 << 20
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_PUBLIC_ARCHIVE = "http://deb.debian.org/debian"
_PUBLIC_SECURITY = "http://deb.debian.org/debian-security"
_ONE_LINE = re.compile(r"deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+(.*)")
# Fields that the lab says itself, or that would leave out what it needs.
_REPLACED = {
    "types", "uris", "suites", "components", "enabled", "architectures", "languages", "targets",
    "arch", "lang", "target",
}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """An entry of apt's sources; `options` are those of its signature and dates, as they stand."""

    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)

    def stanza(self) -> str:
        """The entry as a paragraph of a .sources file, for package lists alone."""
        fields = {
            "Types": "deb",
            "URIs": " ".join(self.uris),
            "Suites": " ".join(self.suites),
            "Components": "main",
            "Targets": "Packages",
            **self.options,
        }
        return "".join(f"{name}: {value}\n" for name, value in fields.items())


def host_sources(main_list: Path, parts: Path) -> list[Source]:
    """All enabled binary sources of this machine; files that cannot be read are left out."""
    files = [main_list]
    with contextlib.suppress(OSError):
        files += sorted(parts.iterdir())
    found: list[Source] = []
    for path in files:
        read = {".list": one_line_sources, ".sources": stanza_sources}.get(path.suffix)
        if read is not None:
            with contextlib.suppress(OSError):
                text = read_regular(followed(path), _MOST_BYTES).decode("utf-8", "replace")
                found += read(text)
    return found


def one_line_sources(text: str) -> list[Source]:
    """The entries of a file in the format `deb [OPTION=VALUE ...] URI SUITE COMPONENT...`."""
    sources = []
    for line in text.splitlines():
        if entry := _ONE_LINE.fullmatch(line.partition("#")[0].strip()):
            pairs = (pair.partition("=") for pair in (entry[1] or "").split())
            options = {name: value.replace(",", " ") for name, _, value in pairs}
            sources.append(
                Source((entry[2],), (entry[3],), tuple(entry[4].split()), _kept(options))
            )
    return sources


def stanza_sources(text: str) -> list[Source]:
    """The entries of a file in the format deb822; a value may go on in indented lines."""
    sources = []
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    for paragraph in re.split(r"\n(?:[ \t]*\n)+", "\n".join(lines)):
        fields = _fields(paragraph)
        words = {name: fields.get(name, "").split() for name in _REPLACED}
        is_off = fields.get("enabled", "yes").strip().lower() in ("no", "false", "0", "off")
        if "deb" in words["types"] and not is_off:
            uris, suites, components = (
                tuple(words[name]) for name in ("uris", "suites", "components")
            )
            sources.append(Source(uris, suites, components, _kept(fields)))
    return sources


def debian_sources(
    sources: Iterable[Source],
    release: Mapping[str, str],
    *,
    backports: bool,
    keyring: Path = KEYRING,
) -> list[Source]:
    """Those of `sources` that hold Debian's packages for this machine, else Debian's own addresses.

    `release` is that of /etc/os-release; `keyring` has the keys of Debian's archive: TargetError
    if they are needed and missing.
    """
    codename = release.get("VERSION_CODENAME", "")
    if release.get("ID") == "debian" and codename:
        own = [found for one in sources if (found := _of_release(one, codename, backports))]
        if any(codename in source.suites for source in own):
            return own
    if not keyring.exists():
        raise TargetError(
            "the keys of Debian's archive are not installed, so its kernels cannot be verified",
            "install them: sudo apt-get install debian-archive-keyring",
        )
    name = codename if release.get("ID") == "debian" and codename else "stable"
    suites = _archive_suites(name, backports)
    signed = {"Signed-By": str(keyring)}
    archive = Source((_PUBLIC_ARCHIVE,), suites, ("main",), signed)
    return [archive, Source((_PUBLIC_SECURITY,), (f"{name}-security",), ("main",), signed)]


def _of_release(source: Source, codename: str, backports: bool) -> Source | None:
    """The part of `source` that is Debian's `codename`; its archive gets the suites beside."""
    uris = tuple(uri for uri in source.uris if not uri.startswith("cdrom:"))
    if not uris or "main" not in source.components:
        return None
    if codename in source.suites:
        suites = _archive_suites(codename, backports)
    else:
        known = (f"{codename}-updates", f"{codename}-security", f"{codename}-backports")
        suites = tuple(suite for suite in source.suites if suite in known)
    return Source(uris, suites, ("main",), source.options) if suites else None


def _archive_suites(codename: str, backports: bool) -> tuple[str, ...]:
    return (codename, f"{codename}-updates", *([f"{codename}-backports"] if backports else []))


def _fields(paragraph: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    name = ""
    for line in paragraph.splitlines():
        if line[:1] in (" ", "\t"):
            fields[name] = f"{fields.get(name, '')}\n{line}"
        else:
            name, _, value = line.partition(":")
            name = name.strip().lower()
            fields[name] = value.strip()
    return fields


def _kept(fields: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in fields.items() if name.lower() not in _REPLACED}
