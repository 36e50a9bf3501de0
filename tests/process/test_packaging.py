"""The wheel: its tag, the probe inside, and what it says where it cannot be built."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from hardstone.model import Register
from hatch_build import obstacle

ROOT = Path(__file__).resolve().parents[2]
PROBE_IN_WHEEL = "hardstone/_probe/hardstone-probe"
PARTS = ["pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "src", "probe", "schema"]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the wheel is made of, so that building leaves no trace here."""
    copy = tmp_path_factory.mktemp("source")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / part, copy / part)
    return copy


def build_wheel(
    source: Path, out: Path, prefix: Sequence[str] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    return subprocess.run(
        [*prefix, *pip, "--wheel-dir", str(out), str(source)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = os.environ.get("CC", "cc").split()[0]
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no C compiler ({compiler}): sudo apt-get install build-essential")
    out = tmp_path_factory.mktemp("wheel")
    done = build_wheel(source, out, CFLAGS="-O0")  # how fast its probe is, no test here asks
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("*.whl")
    return built


@pytest.mark.slow
def test_the_tag_names_the_platform_and_no_python_version(wheel: Path) -> None:
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    assert wheel.name.endswith(f"-py3-none-{platform}.whl")


@pytest.mark.slow
def test_the_probe_inside_runs(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        info = archive.getinfo(PROBE_IN_WHEEL)
        assert info.external_attr >> 16 & 0o111, "the probe is not executable"
        probe = Path(archive.extract(info, tmp_path))
    probe.chmod(0o755)
    done = subprocess.run([probe, "list", "--json"], capture_output=True, check=True)
    assert msgspec.json.decode(done.stdout, type=Register).tests


@pytest.mark.slow
def test_each_program_that_is_installed_is_inside(wheel: Path) -> None:
    build = (ROOT / "probe/meson.build").read_text()
    programs = re.findall(
        r"executable\('(hardstone-\w+)'[^()]*(?:\([^()]*\)[^()]*)*install: true", build
    )
    assert "hardstone-probe" in programs
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if name.startswith("hardstone/_probe/")}
        assert inside == {f"hardstone/_probe/{name}" for name in programs}
        modes = {archive.getinfo(name).external_attr >> 16 & 0o111 for name in inside}
    assert 0 not in modes


@pytest.mark.slow
def test_the_data_of_the_toolkit_is_inside(wheel: Path) -> None:
    data = {".toml", ".json", ".html", ".css", ".js", ".svg", ".j2", ".jinja"}
    wanted = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src/hardstone").rglob("*")
        if path.suffix in data
    }
    with zipfile.ZipFile(wheel) as archive:
        assert wanted <= set(archive.namelist())


@pytest.mark.slow
def test_without_a_compiler_it_fails_and_says_so(source: Path, tmp_path: Path) -> None:
    done = build_wheel(source, tmp_path, CC="/nonexistent/cc")
    assert done.returncode != 0
    assert "needs a C compiler (/nonexistent/cc): " in the_line(done)
    assert list(tmp_path.glob("*.whl")) == []


def the_line(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of the build hook in what pip tells; a traceback has more."""
    told = done.stdout + done.stderr
    assert "Traceback" not in told
    (line,) = re.findall("hardstone: .*", told)
    return line


def test_a_compiler_that_does_not_build_is_told_with_its_words(
    source: Path, tmp_path: Path
) -> None:
    done = build_wheel(source, tmp_path, CC="false")
    assert done.returncode != 0
    assert "the probe does not build: probe/meson.build:1:0: ERROR: " in done.stdout + done.stderr


def test_without_ninja_the_compiler_is_not_blamed(tmp_path: Path) -> None:
    compiler = shutil.which(os.environ.get("CC", "cc").split()[0])
    if compiler is None:
        pytest.skip("there is no C compiler: sudo apt-get install build-essential")
    (tmp_path / Path(compiler).name).symlink_to(compiler)
    told = obstacle(tmp_path, path=str(tmp_path))
    assert "ninja" in told
    assert "C compiler" not in told
    (tmp_path / "samu").symlink_to("/bin/true")
    assert obstacle(tmp_path, path=str(tmp_path)) == ""


def test_a_noexec_tmpdir_is_the_cause(source: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("mounting needs root and unshare")
    mount = 'mount -t tmpfs -o noexec none "$TMPDIR" && exec "$@"'
    prefix = ("unshare", "--mount", "sh", "-c", mount, "sh")
    done = build_wheel(source, tmp_path, prefix, TMPDIR=str(tmp_path))
    assert f"no program may run in {tmp_path} (noexec)" in the_line(done)
