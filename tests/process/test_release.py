"""A release: versions, changelog, what is kept, and the checkout that stays as it was."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest
from packaging.version import Version

import docs_site
import hatch_build
import picture
import release
import release_checks as checks
import release_work
from docs_site import StepError
from hardstone.targets import arches
from release_work import Step, Work
from tests.conftest import ROOT
from tests.programs import script

FILES = {
    "src/hardstone/__init__.py": '"""Text."""\n\n__version__ = "0.1.0"\n',
    "probe/meson.build": "project('hardstone-probe', 'c', version: '0.1.0', license: 'X',\n",
    "probe/src/run/stream.h": '#define PROBE_VERSION "0.1.0"\n',
    "share/man/man1/hardstone.1": '.TH HARDSTONE 1 "" "hardstone 0.1.0" "User Commands"\n',
    "debian/changelog": "hardstone (0.1.0-1) UNRELEASED; urgency=medium\n\n  * Begin.\n\n"
    " -- Anna Doe <anna@example.org>  Mon, 30 Nov 2026 09:00:00 +0000\n",
    "debian/source/format": "3.0 (quilt)\n",
    "CHANGELOG.md": "# Changelog\n\n## Unreleased\n\n- Measure.\n",
    ".gitignore": "build/\ndist/\n",
}
EPOCH_S = "1800000000"  # 2027-01-15


@pytest.fixture(autouse=True)
def stranger(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings of the user's git."""
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Anna Doe")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "anna@example.org")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", EPOCH_S)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small repository with every place of the version."""
    folder = tmp_path / "checkout"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    release_work.git(tmp_path, "init", "--quiet", "--initial-branch=main", str(folder))
    release_work.git(folder, "add", "--all")
    release_work.git(folder, "commit", "--quiet", "-m", "Begin")
    return folder


def look(folder: Path) -> tuple[str, ...]:
    """What a release must leave as it was."""
    words = (("rev-parse", "HEAD"), ("status", "--porcelain"), ("tag",), ("branch", "-a"))
    return tuple(release_work.git(folder, *one) for one in words)


def made(name: str, text: str = "content") -> Callable[[Work], str]:
    def run(work: Work) -> str:
        (work.dist / name).write_text(text)
        return name

    return run


def fail(work: Work) -> str:
    (work.source / "CHANGELOG.md").write_text("damaged")
    raise StepError("no space left")


SOURCE = Step("source", "", release.make_source)
SUMS = [
    Step("checksums", "", release.write_sums, release_work.SUMS),
    Step("check checksums", "", checks.check_sums),
]
ENDING = [*SUMS, Step("place", "", release.place)]


# ---- version and changelog ----


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no version is given"),
        ("one", "'one' is no version of PEP 440"),
        ("1.0", "has not three numbers"),
        ("1.0.0-rc1", "not in its normal form: make release VERSION=1.0.0rc1"),
        ("v1.0.0", "not in its normal form"),
        ("1.0.0+local", "local or a development version"),
        ("1.0.0.dev1", "local or a development version"),
        ("1.1.0", "1.1.0 is not newer than 1.1.0"),
        ("1.1.0rc1", "not newer than 1.1.0"),
        ("0.9.0", "not newer than 1.1.0"),
        ("1.0.0; rm -rf ~", "is no version of PEP 440"),
    ],
)
def test_a_wrong_version_is_refused_with_what_to_type(text: str, reason: str) -> None:
    with pytest.raises(StepError, match=re.escape(reason)):
        release.checked_version(text, [Version("1.0.0"), Version("1.1.0")])


@pytest.mark.parametrize("text", ["1.1.1", "1.2.0rc1", "2.0.0"])
def test_a_newer_version_is_taken(text: str) -> None:
    assert str(release.checked_version(text, [Version("1.1.0")])) == text


def test_versions_were_released_by_a_dated_section_or_a_tag() -> None:
    changes = "## Unreleased\n\n## 1.0.0 - 2026-12-01\n\n## 0.9.0\n"
    found = release.released_versions(changes, ["v1.1.0", "very-old"])
    assert found == [Version("1.0.0"), Version("1.1.0")]


def test_the_section_unreleased_gets_number_and_date_and_nothing_else_changes() -> None:
    text = "# C\n\n## Unreleased\n\n### Measure\n\n- One.\n\n## 0.9.0 - 2026-01-01\n\n- Old.\n"
    assert release.released_changelog(text, Version("1.0.0"), "2026-12-01") == text.replace(
        "## Unreleased", "## 1.0.0 - 2026-12-01"
    )
    for empty in ("# C\n", "# C\n\n## Unreleased\n\n## 0.9.0 - 2026-01-01\n"):
        with pytest.raises(StepError, match="no section Unreleased, or an empty one"):
            release.released_changelog(empty, Version("1.0.0"), "2026-12-01")


def test_a_release_candidate_is_older_than_its_release_in_debian_too() -> None:
    assert release_work.debian_version(Version("1.0.0rc1"), "3.0 (quilt)\n") == "1.0.0~rc1-1"
    assert release_work.debian_version(Version("1.0.0"), "3.0 (native)\n") == "1.0.0"


def test_the_changelog_of_debian_has_an_entry_for_each_release() -> None:
    moment = datetime(2027, 1, 15, 8, tzinfo=UTC)
    begun = FILES["debian/changelog"]
    signed = " -- Anna Doe <anna@example.org>  Fri, 15 Jan 2027 08:00:00 +0000\n"
    first = release.debian_changelog(begun, "1.0.0-1", moment)
    assert first == f"hardstone (1.0.0-1) unstable; urgency=medium\n\n  * Begin.\n\n{signed}"
    assert release.debian_changelog(first, "1.0.0-1", moment) == first
    second = release.debian_changelog(first, "1.0.1-1", moment)
    assert second == (
        "hardstone (1.0.1-1) unstable; urgency=medium\n\n"
        f"  * New upstream release: see CHANGELOG.md.\n\n{signed}\n{first}"
    )


# ---- the steps ----


def test_the_commit_of_a_release_has_the_version_in_every_place(checkout: Path) -> None:
    work = Work(checkout, Version("1.0.0rc1"))
    before = look(checkout)
    release.carry_out(work, [SOURCE])
    assert look(checkout) == before
    for name in FILES:
        text = (work.source / name).read_text()
        assert "0.1.0" not in text, name
    assert "## 1.0.0rc1 - 2027-01-15\n\n- Measure.\n" in (work.source / "CHANGELOG.md").read_text()
    debian = (work.source / "debian/changelog").read_text()
    assert debian.startswith("hardstone (1.0.0~rc1-1) unstable; urgency=medium\n")
    assert " -- Anna Doe <anna@example.org>  Fri, 15 Jan 2027 08:00:00 +0000\n" in debian
    assert work.epoch_s == int(EPOCH_S)


def test_a_place_of_the_version_that_is_gone_is_named(checkout: Path) -> None:
    (checkout / "probe/src/run/stream.h").write_text("\n")
    release_work.git(checkout, "commit", "--quiet", "--all", "-m", "Break")
    with pytest.raises(StepError, match=r"source FAILED .*probe/src/run/stream.h has no version"):
        release.carry_out(Work(checkout, Version("1.0.0")), [SOURCE])


def test_a_failing_step_is_named_and_leaves_the_checkout_as_it_was(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = look(checkout)
    work = Work(checkout, Version("1.0.0"))
    steps = [SOURCE, Step("one", "", made("one"), "one"), Step("two", "", fail, "two"), *ENDING]
    with pytest.raises(StepError, match=r"^two FAILED after \d\.\d s: no space left$"):
        release.carry_out(work, steps)
    assert look(checkout) == before
    assert not (checkout / "dist").exists()
    assert re.search(r"^release: one +0\.\d s  one$", capsys.readouterr().out, re.MULTILINE)


def test_the_same_command_goes_on_with_what_is_missing(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = Step("one", "", made("one"), "one")
    check = Step("check one", "", lambda work: "right")
    with pytest.raises(StepError):
        release.carry_out(
            Work(checkout, Version("1.0.0")), [SOURCE, one, *SUMS, check, Step("two", "", fail)]
        )
    capsys.readouterr()
    never = Step("one", "", fail, "one")
    release.carry_out(Work(checkout, Version("1.0.0")), [SOURCE, never, *SUMS, check, *ENDING])
    said = capsys.readouterr().out
    assert said.count("kept from before") == 2
    assert (checkout / "dist/1.0.0/one").read_text() == "content"
    # A file that is not as it was made is made again; the checks passed on what it is now.
    work = Work(checkout, Version("1.0.0"))
    (work.dist / "one").write_text("damaged")
    release.carry_out(work, [SOURCE, one, *SUMS, check, *ENDING])
    assert capsys.readouterr().out.count("kept from before") == 1
    assert (work.dist / "one").read_text() == "content"
    # Another commit: nothing is kept.
    (checkout / "CHANGELOG.md").write_text("## Unreleased\n\n- More.\n")
    release_work.git(checkout, "commit", "--quiet", "--all", "-m", "More")
    with pytest.raises(StepError, match="one FAILED"):
        release.carry_out(Work(checkout, Version("1.0.0")), [SOURCE, never])


def test_a_part_that_is_left_out_is_not_in_the_release(checkout: Path) -> None:
    steps = [SOURCE, Step("debian", "", made("one.dsc"), "*.dsc", ("debian",)), *ENDING]
    release.carry_out(Work(checkout, Version("1.0.0")), steps)
    assert (checkout / "dist/1.0.0/one.dsc").exists()
    release.carry_out(Work(checkout, Version("1.0.0"), frozenset({"debian"})), steps)
    assert [one.name for one in (checkout / "dist/1.0.0").iterdir()] == [release_work.SUMS]


@pytest.mark.parametrize("fault", ["changed", "missing", "more"])
def test_checksums_find_what_is_changed_missing_or_not_listed(checkout: Path, fault: str) -> None:
    work = Work(checkout, Version("1.0.0"))
    release.carry_out(work, [SOURCE, Step("one", "", made("one"), "one"), *SUMS])
    path = work.dist / ("two" if fault == "more" else "one")
    path.unlink() if fault == "missing" else path.write_text("other")
    with pytest.raises(StepError, match=f"{path.name} is not as SHA256SUMS says"):
        checks.check_sums(work)


def test_a_tag_takes_over_the_commit_and_a_second_time_changes_nothing(checkout: Path) -> None:
    steps = [SOURCE, Step("tag", "", release.tag)]
    work = Work(checkout, Version("1.0.0"))
    release.carry_out(work, steps)
    assert (
        release_work.git(checkout, "rev-parse", "HEAD", "v1.0.0^{commit}").split()
        == [work.commit] * 2
    )
    before = look(checkout)
    assert release.begin(checkout, "1.0.0", "main") == Version("1.0.0")
    again = Work(checkout, Version("1.0.0"))
    release.carry_out(again, steps)
    assert again.commit == work.commit and look(checkout) == before
    with pytest.raises(StepError, match=r"0\.9\.0 is not newer than 1\.0\.0"):
        release.begin(checkout, "0.9.0", "main")
    release_work.git(checkout, "commit", "--quiet", "--allow-empty", "-m", "Go on")
    with pytest.raises(StepError, match=r"1\.0\.0 is not newer than 1\.0\.0"):
        release.begin(checkout, "1.0.0", "main")


# ---- the checks ----


def program(machine: str, *, is_static: bool = True) -> bytes:
    """The head of an ELF program, with one program header."""
    number = checks.BOARDS[machine][0]
    if machine == "armv7l":
        head = struct.pack("<16sHHIIIIIHHHHHH", b"\x7fELF\x01\x01", 2, number, 1, 0, 52, 0, 0, 52,
                           32, 1, 0, 0, 0)  # fmt: skip
    else:
        head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01", 2, number, 1, 0, 64, 0, 0, 64,
                           56, 1, 0, 0, 0)  # fmt: skip
    return head + struct.pack("<I", 1 if is_static else checks.INTERPRETER) + bytes(60)


@pytest.fixture
def work(tmp_path: Path) -> Work:
    """A release with made-up wheels: see `wheel`."""
    work = Work(tmp_path, Version("1.0.0"))
    work.dist.mkdir(parents=True)
    with tarfile.open(work.sdist, "w:gz") as tar:
        info = tarfile.TarInfo("hardstone-1.0.0/PKG-INFO")
        info.size = len(METADATA)
        tar.addfile(info, BytesIO(METADATA))
    return work


METADATA = b"Metadata-Version: 2.1\nName: hardstone\nVersion: 1.0.0\n\n"


def wheel(work: Work, own: str, files: Mapping[str, bytes] | None = None) -> Path:
    """A wheel for the machine `own` with all probes; `files` are put in place of its own, and empty
    ones left out."""
    info = "hardstone-1.0.0.dist-info"
    places = {name: name for name in checks.BOARDS if name != own} | {own: "."}
    entries = {
        "hardstone/__init__.py": b"",
        f"{info}/METADATA": METADATA,
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nTag: py3-none-manylinux_2_17_{own}\n".encode(),
        f"{info}/RECORD": b"",
        **{
            str(Path("hardstone/_probe", place, "hardstone-probe")): program(name)
            for name, place in places.items()
        },
        **(files or {}),
    }
    path = work.dist / f"hardstone-1.0.0-py3-none-manylinux_2_17_{own}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            if content or not name.endswith("hardstone-probe"):
                archive.writestr(name, content)
    return path


def test_a_wheel_has_a_static_probe_for_each_board(work: Work) -> None:
    for own in release_work.MACHINES.values():
        assert checks.probes_in(wheel(work, own)).keys() == checks.BOARDS.keys()
    assert checks.check_contents(work) == "version 1.0.0 in 3 files"
    assert {arch.name for arch in arches.ARCHES} == checks.BOARDS.keys()
    machines = {arch.option: arch.name for arch in arches.ARCHES}
    assert machines.items() >= release_work.MACHINES.items()


@pytest.mark.parametrize(
    ("place", "content", "fault"),
    [
        ("armv7l/hardstone-probe", b"", "no static probe for armv7l"),
        ("hardstone-probe", b"", "no static probe for x86_64"),
        ("hardstone-probe", program("x86_64", is_static=False), "no static probe for x86_64"),
        ("armv7l/hardstone-probe", program("riscv64"), "armv7l/hardstone-probe is for riscv64"),
        ("hardstone-probe", program("aarch64"), "_probe/hardstone-probe is for aarch64"),
        ("hardstone-probe", b"#!/bin/sh", "is for no machine"),
    ],
)
def test_a_wheel_without_a_right_probe_is_no_release(
    work: Work, place: str, content: bytes, fault: str
) -> None:
    wheel(work, "x86_64", {f"hardstone/_probe/{place}": content})
    with pytest.raises(StepError, match=fault):
        checks.check_contents(work)


def test_each_package_has_the_version(work: Work) -> None:
    place = work.source / "debian" / "source" / "format"
    place.parent.mkdir(parents=True)
    place.write_text("3.0 (quilt)\n")
    package = work.dist / "hardstone_1.0.0-1.dsc"
    package.write_text("Source: hardstone\nVersion: 1.0.0-1\n")
    assert checks.check_contents(work) == "version 1.0.0 in 2 files"
    package.write_text("Source: hardstone\nVersion: 0.9.0-1\n")
    with pytest.raises(StepError, match=r"dsc has another version"):
        checks.check_contents(work)
    package.unlink()
    wheel(work, "x86_64", {"hardstone-1.0.0.dist-info/METADATA": b"\nVersion: 0.9.0\n"})
    with pytest.raises(StepError, match=r"whl has another version"):
        checks.check_contents(work)


def other() -> tuple[str, str]:
    """The architecture of the wheels that this machine is not, and its name of `uname -m`."""
    return next(one for one in release_work.MACHINES.items() if one[0] != release_work.native())


@pytest.mark.slow
def test_the_wheel_for_another_machine_has_its_tag_and_the_same_files(work: Work) -> None:
    arch, machine = other()
    path = wheel(work, machine)
    assert checks.check_other_wheel(work, arch) == f"{path.name} unpacks; not compared"
    wheel(work, release_work.MACHINES[release_work.native()])
    assert "the same files as" in checks.check_other_wheel(work, arch)
    wheel(work, machine, {"hardstone/__init__.py": b"other"})
    with pytest.raises(StepError, match=r"hardstone/__init__.py is not the same in"):
        checks.check_other_wheel(work, arch)
    path.rename(path.with_name(path.name.replace("manylinux_2_17", "manylinux_2_99")))
    with pytest.raises(StepError, match="failed"):
        checks.check_other_wheel(work, arch)


def wheel_of_others(work: Work) -> Path:
    """Without a probe that runs here."""
    here = release_work.MACHINES[release_work.native()]
    return wheel(work, other()[1], {f"hardstone/_probe/{here}/hardstone-probe": b""})


def emulators(work: Work, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Programs in the places of QEMU's."""
    folder = work.root / "programs"
    folder.mkdir(exist_ok=True)
    for _, name in checks.BOARDS.values():
        script(folder / name, text)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_each_probe_runs_or_the_release_fails(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    path = wheel_of_others(work)
    emulators(work, monkeypatch, '[ "$2" = selftest ] || echo 1.0.0')
    found = checks.check_probes(work)
    assert found == "3 probes have their version and pass their self-test"
    emulators(work, monkeypatch, "echo 0.9.0")
    with pytest.raises(StepError, match=r"--version says '0\.9\.0', not 1\.0\.0"):
        checks.check_probes(work)
    emulators(work, monkeypatch, '[ "$2" != selftest ] && echo 1.0.0')
    with pytest.raises(StepError, match=rf"{path.stem}-\w+ selftest failed: see "):
        checks.check_probes(work)


def test_a_check_that_cannot_be_done_fails_and_names_what_to_leave_out(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work.dist / "hardstone_1.0.0-1.dsc").touch()
    wheel_of_others(work)
    monkeypatch.setenv("PATH", str(work.root / "empty"))
    for check, part in (
        (checks.check_lintian, "lintian"),
        (checks.check_probes, "emulation"),
        (checks.check_browser, "browser"),
    ):
        with pytest.raises(StepError, match=rf"apt-get install .*ARGS='--without {part}'"):
            check(work)
        assert part in release_work.PARTS


def test_the_pinned_compiler_of_a_release_is_that_of_the_build_hook() -> None:
    assert f"\n{hatch_build.ZIG} " in (ROOT / "requirements" / "release.txt").read_text()


# ---- the command ----


def test_the_command_refuses_before_it_makes_anything(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*words: str) -> str:
        assert release.main(words, checkout) == 1
        assert not (checkout / "build").exists()
        return capsys.readouterr().err

    assert "release: this is main, not the branch stable" in said("1.0.0", "--branch", "stable")
    assert "'1' has not" not in said("1.0.0.dev0")
    (checkout / "note").touch()
    assert "changes that are not committed (note)" in said("1.0.0")


def test_a_dry_run_only_lists_the_steps(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a package that is left out too; and each part is known to a step."""
    before = look(checkout)
    assert release.main(["1.0.0", "--dry-run", "--tag", "--without", "debian"], checkout) == 0
    said = capsys.readouterr().out
    assert said.count("would make") == len(release.all_steps(has_fresh=False, is_tagging=True))
    left_out = re.findall(r"would make ([a-z ]+?)  .*\(left out\)", said)
    assert left_out == ["debian", "check debian", "check lintian"]
    assert look(checkout) == before and not (checkout / "build").exists()
    steps = release.all_steps(has_fresh=True, is_tagging=True)
    assert {part for one in steps for part in one.parts} == set(release_work.PARTS)


# ---- the site ----


@dataclass
class Site:
    root: Path
    folder: Path

    def write(self, html: str, markdown: str = "text\n") -> list[str]:
        (self.folder / "index.html").write_text(f"<article>{html}</article>")
        (self.root / "README.md").write_text(markdown)
        return docs_site.faults(self.root, self.folder)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    (tmp_path / "site" / "docs").mkdir(parents=True)
    (tmp_path / "site" / "docs" / "index.html").write_text('<p id="here"></p>')
    return Site(tmp_path, tmp_path / "site")


@pytest.mark.parametrize(
    ("html", "fault"),
    [
        ('<a href="docs/index.html#here">a</a><a href="https://example.org">b</a>', ""),
        ('<a href="docs/">a</a><a href="#x" id="x">b</a>', ""),
        ('<a href="missing.html">a</a>', "index.html: missing.html is not there"),
        ('<a href="../README.md">a</a>', "index.html: ../README.md is not there"),
        ('<a href="docs/index.html#gone">a</a>', "docs/index.html has no anchor gone"),
        ('<script src="https://example.org/a.js"></script>', "from another host"),
        ('<script src="//example.org/a.js"></script>', "from another host"),
    ],
)
def test_links_of_the_site_lead_somewhere_and_nothing_is_loaded_from_elsewhere(
    site: Site, html: str, fault: str
) -> None:
    found = [one for one in site.write(html) if "on the site" not in one]
    assert [fault in one for one in found] == ([True] if fault else [])


def test_a_style_sheet_loads_nothing_from_elsewhere(site: Site) -> None:
    (site.folder / "a.css").write_text("a { background: url('https://example.org/a.png') }")
    assert site.write("") == ["a.css: loads https://example.org/a.png from another host"]


def test_a_list_that_the_site_shows_otherwise_is_found(site: Site) -> None:
    assert site.write("<ul><li>a</li><li>b</li></ul>", "- a\n- b\n") == []
    (fault,) = site.write("<ul><li>a - b</li></ul>", "- a\n- b\n")
    assert fault.startswith("README.md: 1 <li> on the site, not 2")


@pytest.mark.full
@pytest.mark.browser
def test_a_page_that_asks_another_host_fails_or_is_wider_than_a_phone_is_found(site: Site) -> None:
    browser = picture.find_browser()
    if browser is None:
        pytest.skip("there is no chromium on the path")
    script = "fetch('http://192.0.2.1/x').catch(() => 0); missing()"
    wide = '<div style="width: 500px">wide</div><img src="gone.png">'
    site.write(f"{wide}<script>{script}</script>")
    found = set(docs_site.opening_faults(site.folder, browser, ["index.html", "docs/index.html"]))
    assert "index.html: loads http://192.0.2.1/x from another host" in found
    assert any("error of a script: missing is not defined" in one for one in found)
    assert any("gone.png is not there" in one for one in found)
    assert any("px wider than a phone" in one for one in found)
    assert not any(one.startswith("docs/") for one in found)


# ---- the whole ----


@pytest.mark.full
def test_a_second_build_elsewhere_has_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Source distribution, wheel and documents of two clones, in folders of unequal depth."""
    head = release_work.git(ROOT, "rev-parse", "HEAD")
    # Meson refuses files that are newer than its clock.
    monkeypatch.setenv("SOURCE_DATE_EPOCH", release_work.git(ROOT, "log", "-1", "--format=%ct"))
    found = []
    for place in ("one", "another/and/deeper"):
        clone = tmp_path / place
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        release_work.git(clone, "checkout", "--quiet", "-B", "main", head)
        work = Work(clone, Version("99.0.0"))
        steps = release.all_steps(has_fresh=False, is_tagging=False)
        chosen = ("source", "sdist", f"wheel {release_work.native()}", "documents")
        release.carry_out(work, [one for one in steps if one.name in chosen])
        found.append(release_work.digests(work.dist))
    assert len(found[0]) == 3
    assert found[0] == found[1]


@pytest.mark.full
def test_the_whole_release_of_this_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    release_work.git(clone, "checkout", "--quiet", "-B", "main")
    before = look(clone)
    without = []
    if shutil.which("dpkg-source") is None:
        without += ["--without", "debian"]
    if picture.find_browser() is None:
        without += ["--without", "browser"]
    if shutil.which("lintian") is None:
        without += ["--without", "lintian"]
    if not all(shutil.which(emulator) for _, emulator in checks.BOARDS.values()):
        without += ["--without", "emulation"]
    code = release.main(["99.0.0", *without], clone)
    said = capsys.readouterr()
    assert code == 0, said.out + said.err
    assert look(clone) == before
    files = release_work.digests(clone / "dist" / "99.0.0")
    listed = (clone / "dist" / "99.0.0" / release_work.SUMS).read_text().splitlines()
    assert len(listed) == len(files) - 1
    with tarfile.open(clone / "dist" / "99.0.0" / "hardstone-99.0.0-docs.tar.gz") as tar:
        assert "hardstone-99.0.0-docs/index.html" in tar.getnames()
