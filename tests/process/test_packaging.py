"""The wheel: its tag, the probe inside, and what it says where it cannot be built."""

from __future__ import annotations

import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import msgspec
import pytest
from hatchling.build import get_requires_for_build_wheel
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement

import containerfile
from hardstone import __version__
from hardstone.errors import EXIT_PRIVILEGE
from hardstone.lab.initramfs import check_static
from hardstone.model import Register
from hatch_build import (
    ARCHES,
    ELF_HEAD,
    GUEST,
    PROBE,
    WHEEL_ARCH,
    ZIG,
    BuildError,
    arches,
    boards,
    build_programs,
    obstacle,
    platform_tag,
    wheel_programs,
)
from tests.conftest import ROOT
from tests.process.lab import made_up
from tests.process.test_tools import with_noexec_tmpdir
from tests.programs import ran

DATA = {".toml", ".json", ".html", ".css", ".js", ".svg", ".j2", ".jinja"}
PARTS = ["pyproject.toml", "hatch_build.py", "README.md", "LICENSE"]
PARTS += ["src", "probe", "schema", "share"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of what the wheel is made of, so that building leaves no trace here."""
    copy = tmp_path / "source"
    copy.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / part, copy / part)
    return copy


def build_wheel(source: Path, out: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    return ran([*pip, "--wheel-dir", str(out), str(source)], env=os.environ | environment)


@pytest.mark.full
def test_a_wheel_that_pip_builds_holds_the_probe_which_runs(source: Path, tmp_path: Path) -> None:
    if shutil.which(os.environ.get("CC", "cc").split()[0]) is None:
        pytest.skip("there is no C compiler: sudo apt-get install build-essential")
    # no test here asks how fast its probe is
    done = build_wheel(source, tmp_path, CFLAGS="-O0", **{ARCHES: ""})
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith(f"-py3-none-manylinux_2_17_{platform.machine()}.whl")
    with zipfile.ZipFile(wheel) as archive:
        inside = {one for one in archive.infolist() if "/_probe/" in one.filename}
        programs = {one for one in inside if "/_probe/source/" not in one.filename}
        assert {one.filename for one in programs} == {
            f"hardstone/_probe/{name}" for name in installed_programs()
        }
        assert all(one.external_attr >> 16 & 0o111 for one in programs)
        assert {one.filename for one in inside - programs} == {
            f"hardstone/_probe/source/probe/{name}" for name in source_of_the_probe()
        }
        assert data_files() <= set(archive.namelist())
        shared = [one for one in archive.namelist() if ".data/data/share/" in one]
        found = {one.partition(".data/data/")[2] for one in shared}
        assert found == {str(one.relative_to(ROOT)) for one in shared_files()}
        probe = Path(archive.extract(f"hardstone/_probe/{PROBE}", tmp_path))
    probe.chmod(0o755)
    listed = subprocess.run([probe, "list", "--json"], capture_output=True, check=True)
    assert msgspec.json.decode(listed.stdout, type=Register).tests


@pytest.mark.full
def test_a_wheel_for_another_machine_brings_static_programs(source: Path, tmp_path: Path) -> None:
    """And a probe for boards: each takes two minutes of CPU time."""
    if not arches().has_zig():
        pytest.skip("there is no ziglang here: pip install ziglang")
    names = {one.name: one.option for one in arches().ARCHES}
    other = "x86_64" if arches().own_arch() == "aarch64" else "aarch64"
    done = build_wheel(source, tmp_path, **{ARCHES: "riscv64", WHEEL_ARCH: names[other]})
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob(f"*-py3-none-manylinux_2_17_{other}.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "in")
    packed = tmp_path / "in" / "hardstone" / "_probe"
    check_static(packed / PROBE, other)
    check_static(packed / GUEST, other)
    check_static(packed / "riscv64" / PROBE, "riscv64")
    assert not (packed / "armv7l").exists()


@pytest.mark.full
def test_without_a_compiler_pip_fails_and_tells_one_line(source: Path, tmp_path: Path) -> None:
    done = build_wheel(source, tmp_path, CC="/nonexistent/cc")
    told = done.stdout + done.stderr
    assert done.returncode != 0 and "Traceback" not in told
    (line,) = re.findall("hardstone: .*", told)
    assert "needs a C compiler (/nonexistent/cc): " in line
    assert list(tmp_path.glob("*.whl")) == []


@pytest.mark.full
def test_the_package_of_the_probe_builds_and_lintian_finds_no_error(tmp_path: Path) -> None:
    for name, package in {"dh": "debhelper", "lintian": "lintian"}.items():
        if shutil.which(name) is None:
            pytest.skip(f"there is no {name}: sudo apt-get install {package}")
    # -d: Meson is that of this environment. -B: the toolkit's dependencies are Debian 13's.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = ran(
        ["sh", ROOT / "tools/debian.sh", tmp_path, "-B", "-d"],
        env=os.environ | {"PATH": path, "PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    packages = list(tmp_path.glob("*.changes"))
    lint = ["lintian", "--fail-on", "error", *packages]
    done = ran(lint)
    assert len(packages) == 1 and done.returncode == 0, done.stdout + done.stderr


def installed_programs() -> set[str]:
    build = (ROOT / "probe/meson.build").read_text()
    return set(
        re.findall(r"executable\('(hardstone-\w+)'[^()]*(?:\([^()]*\)[^()]*)*install: true", build)
    )


def shared_files() -> list[Path]:
    """Manual pages and completion."""
    return [path for path in (ROOT / "share").rglob("*") if path.is_file()]


def elf(*kinds: int) -> bytes:
    """An ELF program of 64 bits with program headers of these kinds."""
    head = ELF_HEAD.pack(
        b"\x7fELF\x02\x01\x01".ljust(16, b"\0"), 2, 62, 1, 0, 64, 0, 0, 64, 56, len(kinds), 0, 0, 0
    )
    return head + b"".join(struct.pack("<I52x", kind) for kind in kinds)


def test_the_tag_promises_each_linux_only_where_no_program_needs_a_library(tmp_path: Path) -> None:
    load, loader = 1, 3
    static, dynamic, other = (tmp_path / name for name in ("static", "dynamic", "other"))
    static.write_bytes(elf(load, load))
    dynamic.write_bytes(elf(loader, load))
    other.write_bytes(b"\xcf\xfa\xed\xfe")
    for arch in ("x86_64", "aarch64"):
        assert platform_tag([static], f"linux-{arch}") == f"manylinux_2_17_{arch}"
        assert platform_tag([static, dynamic], f"linux-{arch}") == f"linux_{arch}"
        assert platform_tag([other], f"linux-{arch}") == f"linux_{arch}"
    assert platform_tag([static], "macosx-14.0-arm64") == "macosx_14_0_arm64"
    assert platform_tag([other]) == sysconfig.get_platform().replace("-", "_").replace(".", "_")


def source_of_the_probe() -> set[str]:
    parts = (path for part in ("src", "guest") for path in (ROOT / "probe" / part).rglob("*"))
    return {"build.sh", *(str(one.relative_to(ROOT / "probe")) for one in parts if one.is_file())}


def data_files() -> set[str]:
    found = (path for path in (ROOT / "src/hardstone").rglob("*") if path.suffix in DATA)
    return {str(path.relative_to(ROOT / "src")) for path in found}


def test_each_program_that_is_installed_and_the_data_go_into_the_wheel() -> None:
    assert installed_programs() == {PROBE, GUEST}
    packed = WheelBuilder(str(ROOT)).recurse_included_files()
    assert data_files() <= {one.distribution_path for one in packed}


def test_a_compiler_that_does_not_build_is_told_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "false")
    with pytest.raises(BuildError) as caught:
        build_programs(ROOT / "probe", tmp_path)
    *_, line = str(caught.value).splitlines()
    # Meson names the file as seen from the place of the build.
    assert line.startswith("the probe does not build: ")
    assert "probe/meson.build:1:0: ERROR: " in line


def test_without_ninja_the_compiler_is_not_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CC", raising=False)
    assert "needs a C compiler (cc): sudo apt-get install" in obstacle(tmp_path, str(tmp_path))
    (tmp_path / "cc").symlink_to("/bin/true")
    told = obstacle(tmp_path, path=str(tmp_path))
    assert "ninja" in told and "C compiler" not in told
    (tmp_path / "samu").symlink_to("/bin/true")
    assert obstacle(tmp_path, path=str(tmp_path)) == ""


def test_a_noexec_tmpdir_is_the_cause(tmp_path: Path) -> None:
    ask = (
        "import hatch_build, pathlib, sys\n"
        "folder = pathlib.Path(sys.argv[1], 'build')\n"
        "folder.mkdir()\n"
        "print(hatch_build.obstacle(folder, ''))"
    )
    done = with_noexec_tmpdir(tmp_path, sys.executable, "-c", ask, str(tmp_path))
    assert done.stdout.startswith(f"no program may run in {tmp_path} (noexec)"), done.stderr


def test_debian_demands_each_dependency_that_debian_has() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    demanded = {Requirement(one) for one in project["dependencies"]}
    missing = (ROOT / "debian/py3dist-overrides").read_text().split()
    control = (ROOT / "debian/control").read_text()
    (toolkit,) = re.findall(
        r"^Package: hardstone$.*?^Description", control, re.MULTILINE | re.DOTALL
    )
    depends = dict(
        re.findall(r"^ python3-([a-z0-9-]+)(?: \(>= (?:1:)?([\d.]+)\))?,$", toolkit, re.M)
    )
    assert {one.name for one in demanded} == depends.keys() | set(missing)
    for one in demanded:
        if one.name not in missing:
            assert not depends[one.name] or depends[one.name] in one.specifier, one
    version = (ROOT / "debian/changelog").read_text().partition("(")[2].partition("-")[0]
    assert version.replace("~", "") == __version__


def test_the_container_is_given_what_its_page_says() -> None:
    """The options of the Containerfile's first lines are those of the README and of both pages."""
    text = containerfile.CONTAINERFILE.read_text()
    comment = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    options = re.findall(r"--(?:cap-add|ulimit)[ =]\S+", comment)
    assert len(options) == 4
    pages = ["README.md", "docs/how-to/install.md", "docs/how-to/containers-and-groups.md"]
    for page in pages:
        words = " ".join((ROOT / page).read_text().split())
        assert [one for one in options if one not in words] == [], page
    assert pages[-1] in comment


def test_only_instructions_that_can_be_tried_are_in_the_containerfile() -> None:
    found = containerfile.instructions(containerfile.CONTAINERFILE.read_text())
    assert found[0] == ("FROM", "debian:trixie-slim")
    (installed,) = [text for name, text in found if name == "RUN" and "pip install" in text]
    assert "\\" not in installed and installed.count("&&") == 4
    with pytest.raises(containerfile.ContainerfileError, match="'ADD' is not known"):
        containerfile.instructions("FROM x\nADD http://127.0.0.1/ /\n")
    with pytest.raises(containerfile.ContainerfileError, match="not FROM"):
        containerfile.instructions("RUN true\n")


def test_an_installation_without_the_renderer_of_charts_says_what_to_type() -> None:
    """As Debian's package is one: Debian has no vl-convert."""
    hide = (
        "import importlib.metadata as metadata, sys\n"
        "sys.modules['vl_convert'] = None\n"
        "known = metadata.version\n"
        "def version(name):\n"
        "    if name == 'vl-convert-python': raise metadata.PackageNotFoundError(name)\n"
        "    return known(name)\n"
        "metadata.version = version\n"
        "from hardstone.cli.main import main\n"
        "main(['compare', 'published:qnx', 'published:ce7', '-o', sys.argv[1]])\n"
    )
    done = ran([sys.executable, "-c", hide, "/nonexistent.html"])
    assert done.returncode == EXIT_PRIVILEGE
    assert "reports need vl-convert-python" in done.stderr
    assert "pipx install hardstone" in done.stderr


@pytest.fixture
def own(tmp_path: Path) -> list[Path]:
    (tmp_path / PROBE).write_bytes(made_up.program())
    return [tmp_path / PROBE]


def test_probes_of_other_machines_are_a_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: list[Path]
) -> None:
    monkeypatch.setitem(sys.modules, "ziglang", None)
    monkeypatch.delenv(ARCHES, raising=False)
    assert boards(ROOT / "probe", tmp_path, own, "x86_64") == []
    monkeypatch.setenv(ARCHES, "")
    assert boards(ROOT / "probe", tmp_path, own, "x86_64") == []
    monkeypatch.setenv(ARCHES, "x86-64")  # which the wheel has anyway
    assert boards(ROOT / "probe", tmp_path, own, "x86_64") == []
    for names in ("all", "arm64 riscv64"):
        monkeypatch.setenv(ARCHES, names)
        with pytest.raises(BuildError, match=f"arm64, is missing: pip install {ZIG}"):
            boards(ROOT / "probe", tmp_path, own, "x86_64")
    monkeypatch.setenv(ARCHES, "arm64 vax")
    with pytest.raises(BuildError, match="HARDSTONE_ARCHES names 'vax': known are x86-64, arm64"):
        boards(ROOT / "probe", tmp_path, own, "x86_64")
    monkeypatch.setenv(WHEEL_ARCH, "vax")
    with pytest.raises(BuildError, match="HARDSTONE_WHEEL_ARCH='vax': known are"):
        wheel_programs(ROOT / "probe", tmp_path)


def test_ziglang_is_a_requirement_only_of_a_build_that_asks_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    for name in (ARCHES, WHEEL_ARCH):
        monkeypatch.delenv(name, raising=False)
    assert get_requires_for_build_wheel() == []
    monkeypatch.setenv(ARCHES, "all")
    assert get_requires_for_build_wheel() == [ZIG]
    assert ZIG.startswith("ziglang==")
