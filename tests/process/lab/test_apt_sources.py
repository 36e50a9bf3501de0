"""Debian's addresses are those of this machine's own sources, in both formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from hardstone.errors import TargetError
from hardstone.lab.apt_sources import (
    Source,
    debian_sources,
    host_sources,
    one_line_sources,
    stanza_sources,
)

BOOKWORM = {"ID": "debian", "VERSION_CODENAME": "bookworm"}
ONE_LINE = """\
# deb http://old.example/debian bookworm main
deb [signed-by=/k.gpg arch=amd64,arm64 trusted=yes] http://m.example/debian bookworm main contrib
deb-src http://m.example/debian bookworm main
deb http://s.example/debian-security bookworm-security main  # updates
deb cdrom:[Debian]/ bookworm main
"""
STANZAS = """\
# a comment
Types: deb deb-src
URIs: http://m.example/debian
Suites: bookworm
 bookworm-updates
Components: main
# another
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb
Enabled: no
URIs: http://off.example/debian
Suites: bookworm
Components: main

Types: deb-src
URIs: http://source.example/debian
Suites: bookworm
Components: main
"""


def test_one_line_sources() -> None:
    main, security, _ = one_line_sources(ONE_LINE)
    assert main.uris == ("http://m.example/debian",)
    assert (main.suites, main.components) == (("bookworm",), ("main", "contrib"))
    assert main.options == {"signed-by": "/k.gpg", "trusted": "yes"}
    assert security.suites == ("bookworm-security",)


def test_stanzas() -> None:
    [source] = stanza_sources(STANZAS)
    assert source.suites == ("bookworm", "bookworm-updates")
    assert [*source.options] == ["signed-by"]
    assert source.options["signed-by"].splitlines()[1:3] == [
        " -----BEGIN PGP PUBLIC KEY BLOCK-----",
        " .",
    ]


@pytest.mark.parametrize("text", [ONE_LINE, STANZAS])
def test_what_is_written_is_read_back(text: str) -> None:
    read = one_line_sources if text == ONE_LINE else stanza_sources
    sources = debian_sources(read(text), BOOKWORM, backports=True)
    written = "\n".join(source.stanza() for source in sources)
    assert stanza_sources(written) == sources
    assert "cdrom" not in written
    assert sources[0].suites == ("bookworm", "bookworm-updates", "bookworm-backports")


def test_others_archives_are_left_out() -> None:
    text = f"{ONE_LINE}deb http://x.example/ bookworm stable\ndeb http://y.example/ nodistro main\n"
    sources = debian_sources(one_line_sources(text), BOOKWORM, backports=False)
    assert [source.uris[0] for source in sources] == [
        "http://m.example/debian",
        "http://s.example/debian-security",
    ]


@pytest.mark.parametrize(
    ("release", "name"),
    [(BOOKWORM, "bookworm"), ({"ID": "ubuntu", "VERSION_CODENAME": "noble"}, "stable")],
)
def test_without_own_sources_debian_s_public_addresses_are_used(
    release: dict[str, str], name: str, tmp_path: Path
) -> None:
    keyring = tmp_path / "keyring.gpg"
    keyring.touch()
    ubuntu = Source(("http://archive.ubuntu.com/ubuntu",), ("noble",), ("main",))
    archive, security = debian_sources([ubuntu], release, backports=True, keyring=keyring)
    assert archive.uris == ("http://deb.debian.org/debian",)
    assert archive.suites == (name, f"{name}-updates", f"{name}-backports")
    assert security.suites == (f"{name}-security",)
    assert archive.options == security.options == {"Signed-By": str(keyring)}


def test_files_are_read_where_apt_reads_them(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    (tmp_path / "sources.list").write_text("deb http://a.example/ bookworm main\n")
    (parts / "b.list").write_text("deb http://b.example/ bookworm main\n")
    (parts / "c.sources").write_text("Types: deb\nURIs: http://c.example\nSuites: x\n")
    (parts / "d.list.disabled").write_text("deb http://d.example/ bookworm main\n")
    (parts / "e.list").mkdir()
    found = host_sources(tmp_path / "sources.list", parts)
    assert [source.uris[0][7] for source in found] == ["a", "b", "c"]
    assert host_sources(tmp_path / "missing", tmp_path / "none") == []


def test_without_the_keys_their_package_is_told(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="cannot be verified") as caught:
        debian_sources([], {}, backports=False, keyring=tmp_path / "missing.gpg")
    assert caught.value.remedy.endswith("apt-get install debian-archive-keyring")
