"""Compiling the probe on a target: what is sent, and what runs there."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import msgspec
import pytest

import hardstone
from hardstone.targets.build import THERE_SCRIPT, source_archive
from tests.conftest import PROBE, ROOT
from tests.programs import script

SHELLS = [["/bin/sh"], ["busybox", "sh"]]
BUILD = ROOT / "probe" / "build.sh"


def files(archive: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {one.name: extracted(tar, one) for one in tar.getmembers()}


def extracted(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None
    return file.read()


def test_the_source_is_the_same_bytes_each_time_and_all_of_linux() -> None:
    archive = source_archive()
    assert archive == source_archive()
    inside = files(archive)
    assert inside["source/VERSION"].decode().strip() == hardstone.__version__
    assert inside["source/build.sh"] == BUILD.read_bytes()
    parts = (ROOT / "probe" / "src").rglob("*.[ch]")
    assert {f"source/{path.relative_to(ROOT / 'probe')}" for path in parts} < inside.keys()
    assert not any("guest" in name for name in inside)
    assert len(archive) < 1 << 20


def test_the_line_passes_each_login_shell() -> None:
    assert not re.search(r"['\\\\!\n]", THERE_SCRIPT)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small source tree."""
    for name in ("main.c", "record/arena.c", "port/linux/name.c", "port/posix/name.c"):
        file = tmp_path / "tree" / "probe" / "src" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("int main(void) { return 0; }\n")
    shutil.copy(BUILD, tmp_path / "tree" / "probe")
    return tmp_path / "tree"


def there(
    shell: list[str], folder: Path, compiler: str, root: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    if shutil.which(shell[0]) is None:
        pytest.skip(f"there is no {shell[0]} here: apt-get install busybox-static")
    return subprocess.run(
        [*shell, "-c", f"d=$1; {{ {THERE_SCRIPT}; }}", "sh", str(folder)],
        input=source_archive(root),
        env=os.environ | {"CC": compiler},
        capture_output=True,
        check=False,
    )


@pytest.fixture
def compiler(tmp_path: Path) -> Path:
    """Writes "built" for each output; refuses the file in the variable REFUSED."""
    return script(
        tmp_path / "mycc",
        """
case "$*" in *-static*) [ -z "$NO_STATIC" ] || exit 1 ;; esac
case "$*" in *"$REFUSED"*) echo "$REFUSED:1: error: made up" >&2; exit 1 ;; esac
while [ "$1" != -o ]; do shift; done
echo built >"$2"
""",
    )


@pytest.mark.parametrize("shell", SHELLS, ids=["sh", "busybox"])
def test_the_source_is_compiled_and_removed(
    tmp_path: Path, tree: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch, shell: list[str]
) -> None:
    folder = tmp_path / "D"
    folder.mkdir()
    monkeypatch.setenv("REFUSED", "record/arena.c")
    done = there(shell, folder, str(compiler), tree)
    assert done.returncode != 0
    assert b"record/arena.c:1: error: made up" in done.stderr
    assert b"record/arena.c does not compile" in done.stderr
    assert list(folder.iterdir()) == []
    monkeypatch.setenv("REFUSED", "port/posix")  # which Linux's stands for
    done = there(shell, folder, str(compiler), tree)
    assert (done.returncode, done.stderr) == (0, b"")
    assert [path.name for path in folder.iterdir()] == ["hardstone-probe"]


def test_without_a_compiler_it_says_what_to_install(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("dirname", "gzip", "mkdir", "rm", "tar"):
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    done = there(["/bin/sh"], tmp_path, "nonexistent-cc", tree)
    assert b"there is no C compiler: install gcc" in done.stderr


def test_a_library_without_archives_is_linked_with_as_it_is(
    tmp_path: Path, tree: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUSED", "nothing")
    monkeypatch.setenv("NO_STATIC", "1")
    done = there(["/bin/sh"], tmp_path, str(compiler), tree)
    assert done.returncode == 0
    assert (tmp_path / "hardstone-probe").read_text() == "built\n"


# ---- the same probe as Meson's ----


def features(words: list[str]) -> dict[str, str]:
    """What base/options.h makes of the options in `words`; the first is the compiler."""
    options = [word for word in words[1:] if word.startswith(("-D", "-std="))]
    ask = ["-dM", "-E", f"-I{ROOT / 'probe' / 'src'}", "-include", "base/options.h"]
    done = subprocess.run(
        [words[0], *options, *ask, "-x", "c", "/dev/null"], capture_output=True, check=True
    )
    return dict(re.findall(r"#define (HS_\w+) (\S+)", done.stdout.decode()))


def test_the_script_and_meson_find_the_same_features(tmp_path: Path, tree: Path) -> None:
    commands = PROBE.parent / "compile_commands.json"
    if shutil.which("cc") is None or not commands.exists():
        pytest.skip("there is no build by Meson here")
    made = {Path(one["file"]).name: one for one in msgspec.json.decode(commands.read_bytes())}
    shown = script(tmp_path / "cc", 'echo "$*" >>"$0.log"; exit 1')
    there(["/bin/sh"], tmp_path, str(shown), tree)
    ours = ["cc", *Path(f"{shown}.log").read_text().splitlines()[0].split()]
    theirs = made["main.c"]["command"].split()
    sizes = "HS_LOAD", "HS_SHIELD"
    both = [
        {name: value for name, value in features(words).items() if name not in sizes}
        for words in (ours, ["cc", *theirs[1:]])
    ]
    assert both[0] == both[1]
    assert {"-ffp-contract=off", "-O2", "-ffunction-sections"} <= set(ours) & set(theirs)


@pytest.mark.full
@pytest.mark.parametrize("shell", SHELLS, ids=["sh", "busybox"])
def test_what_is_compiled_there_runs(tmp_path: Path, shell: list[str]) -> None:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler: sudo apt-get install build-essential")
    done = there(shell, tmp_path, "cc")
    assert done.stderr == b"" and done.returncode == 0
    probe = tmp_path / "hardstone-probe"
    told = subprocess.run([probe, "--version"], capture_output=True, text=True, check=True)
    own = subprocess.run([PROBE, "--version"], capture_output=True, text=True, check=True)
    assert told.stdout == own.stdout
    subprocess.run([probe, "selftest"], capture_output=True, check=True)
    listed = subprocess.run([probe, "list", "--json"], capture_output=True, check=True)
    theirs = subprocess.run([PROBE, "list", "--json"], capture_output=True, check=True)
    assert listed.stdout == theirs.stdout
