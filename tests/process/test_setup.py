"""make setup at its door: a clone that is moved or copied, and the true cause of failures."""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

import pytest

import moved
import pip_failure
import setup
from tests.conftest import ROOT
from tests.programs import ran, script

# A package without dependencies that says where its source is, in place of the real one:
# nothing is fetched.
PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
BACKEND = """
import pathlib, zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    name = "hardstone-0-py3-none-any.whl"
    info = "hardstone-0.dist-info"
    files = {
        "hardstone.pth": str(pathlib.Path.cwd() / "src"),
        f"{info}/METADATA": "Metadata-Version: 2.1\\nName: hardstone\\nVersion: 0\\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        f"{info}/entry_points.txt": "[console_scripts]\\nhardstone = where:main\\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(pathlib.Path(folder, name), "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
    return name
"""
WHERE = "def main():\n    print(__file__)\n"


def make_checkout(folder: Path) -> Path:
    """The doors of this checkout, and the package that says where it is."""
    for part in ("tools", "Makefile"):
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, folder / part)
    (folder / "requirements").mkdir()
    (folder / "src").mkdir()
    (folder / "requirements" / "run.txt").touch()
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "backend.py").write_text(BACKEND)
    (folder / "src" / "where.py").write_text(WHERE)
    return folder


def set_up(checkout: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`tools/setup.py` without the probe."""
    return ran(
        [sys.executable, checkout / "tools" / "setup.py", "--no-probe"],
        env=os.environ | {"PIP_NO_INDEX": "1"} | environment,
    )


def told_by_set_up(checkout: Path, **environment: str) -> str:
    done = set_up(checkout, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def runs_from(checkout: Path) -> Path:
    """The file that the checkout's own hardstone runs."""
    command = [checkout / ".venv" / "bin" / "hardstone"]
    done = ran(command, check=True)
    return Path(done.stdout.strip())


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "a clone").mkdir()
    return make_checkout(tmp_path / "a clone")


@pytest.fixture
def ready(checkout: Path) -> Path:
    """A checkout that seems set up: its Python is that of the tests."""
    python = checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    script(python, f'exec {shlex.quote(sys.executable)} "$@"')
    moved.write_stamp(checkout / ".venv", checkout)
    inputs = [checkout / "requirements" / "run.txt", checkout / "pyproject.toml"]
    digest = sha256(b"".join(file.read_bytes() for file in inputs)).hexdigest()
    (checkout / ".venv" / "run.stamp").write_text(digest)
    return checkout


@pytest.mark.full
def test_a_clone_that_is_copied_or_moved_runs_its_own_code(checkout: Path, tmp_path: Path) -> None:
    told_by_set_up(checkout)
    assert runs_from(checkout) == checkout / "src" / "where.py"
    assert told_by_set_up(checkout) == ""
    copy = tmp_path / "a copy"
    shutil.copytree(checkout, copy, symlinks=True)
    assert f".venv was made for {checkout}" in told_by_set_up(copy)
    assert runs_from(copy) == copy / "src" / "where.py"
    assert told_by_set_up(copy) == ""
    assert runs_from(checkout) == checkout / "src" / "where.py"
    here = copy.rename(tmp_path / "elsewhere")
    link = tmp_path / "bin" / "hardstone"
    link.parent.mkdir()
    link.symlink_to(copy / ".venv" / "bin" / "hardstone")
    told = told_by_set_up(here, PATH=f"{link.parent}{os.pathsep}{os.environ['PATH']}")
    assert runs_from(here) == here / "src" / "where.py"
    (command,) = re.findall("to this folder: (ln .*)", told)
    subprocess.run(["sh", "-c", command], check=True)
    done = ran([link], check=True)
    assert done.stdout == f"{here}/src/where.py\n"


def test_an_installation_says_first_what_it_takes_and_keeps_no_more(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    packages = checkout / ".venv" / "lib" / "python3.11" / "site-packages"
    kept, dropped = packages / "numpy" / "testing", packages / "scipy" / "stats" / "tests"
    for folder in (kept, dropped):
        folder.mkdir(parents=True)
    commands: list[list[str]] = []
    said: list[str] = []

    def run(command: list[str], *_: object) -> None:
        said.append(capsys.readouterr().out)
        commands.append(command)

    for name, value in {"ROOT": checkout, "VENV": checkout / ".venv", "run_logged": run}.items():
        monkeypatch.setattr(setup, name, value)
    monkeypatch.setattr(setup, "PYTHON", Path("/bin/true"))
    setup.install("run")
    assert re.search("requirements/run.txt: about [0-9]+ MB in .venv, [0-9]+ MB", said[0])
    assert {"--no-cache-dir", "--no-compile"} <= {*commands[0]}
    assert kept.exists() and not dropped.exists()


def test_what_is_set_up_is_left_and_not_in_a_copy(ready: Path, tmp_path: Path) -> None:
    assert told_by_set_up(ready) == ""
    copy = tmp_path / "a copy"
    shutil.copytree(ready, copy, symlinks=True)
    assert moved.former_folder(copy / ".venv", copy) == str(ready)
    assert moved.former_folder(ready / ".venv", ready) == ""
    (copy / ".venv" / moved.STAMP).unlink()
    assert moved.former_folder(copy / ".venv", copy) == "an unknown folder"


def test_of_links_only_those_to_the_former_clone_are_named_and_quoted(tmp_path: Path) -> None:
    place = tmp_path / "a; touch b"
    place.mkdir()
    link = place / "hardstone"
    link.symlink_to("/bin/true")
    assert moved.links_to_former(str(place), "/former", place / ".venv") == []
    link.unlink()
    link.symlink_to("/former/.venv/bin/hardstone")
    (line,) = moved.links_to_former(str(place), "/former", place / ".venv")
    assert shlex.split(line.partition("to this folder: ")[2])[-1] == str(link)


def test_a_build_folder_that_was_configured_elsewhere_goes(ready: Path) -> None:
    build = ready / "build"
    configure(build / "ours", as_folder=build / "ours")
    configure(build / "theirs", as_folder=Path("/elsewhere/build/theirs"))
    configure(build / "broken", as_folder=build / "broken")
    (build / "broken" / "meson-info" / "meson-info.json").write_text('{"directories": 1}')
    (build / "kept").mkdir()
    told_by_set_up(ready)
    assert sorted(path.name for path in build.iterdir()) == ["kept", "ours"]


def configure(folder: Path, as_folder: Path) -> None:
    """What Meson leaves in a build folder and setup reads."""
    (folder / "meson-private").mkdir(parents=True)
    (folder / "meson-info").mkdir()
    told = f'{{"directories": {{"build": "{as_folder}"}}}}'
    (folder / "meson-info" / "meson-info.json").write_text(told)


def test_a_real_build_folder_is_known_as_this_checkouts(probe: Path) -> None:
    assert moved.configured_as(probe.parent) == str(probe.parent)


def test_a_folder_that_cannot_be_written_is_the_cause(checkout: Path) -> None:
    (checkout / ".venv").write_text("a file is in the way")
    done = set_up(checkout)
    assert done.returncode == 1
    assert done.stderr.startswith("setup: cannot make .venv: ")
    assert done.stderr.count("\n") == 1
    assert "python3-venv" not in done.stderr


def test_an_index_that_cannot_be_reached_is_the_cause(ready: Path) -> None:
    """Nothing listens on port 9 of this machine: no network is asked."""
    lock = ready / "requirements" / "run.txt"
    lock.write_text(f"nothing==1 --hash=sha256:{'0' * 64}\n")
    done = ran([sys.executable, ready / "tools" / "setup.py", "--no-probe"], env=without_index())
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "the package index cannot be reached (Connection refused)" in done.stderr


def without_index() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    local = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1", "NO_PROXY": "*"}
    return kept | local | {"PIP_CONFIG_FILE": os.devnull}


def start(*command: str | Path) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)


def new_checkout(folder: Path) -> Path:
    folder.mkdir()
    return make_checkout(folder)


def test_a_folder_whose_name_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    checkout = new_checkout(tmp_path / os.fsdecode(b"caf\xe9"))
    setup = start(sys.executable, checkout / "tools" / "setup.py", "--no-probe")
    assert setup.communicate() == (
        "",
        "setup: the path of this clone is not UTF-8: rename its folder\n",
    )
    assert setup.returncode == 1


def test_a_folder_of_somebody_else_is_told_with_what_to_type(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a folder of somebody else's")
    user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3")
    if shutil.which("setpriv") is None or not Path(user[-1]).exists():
        pytest.skip("needs setpriv and /usr/bin/python3")
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        checkout = new_checkout(Path(place, "a clone"))
        (checkout / ".venv").mkdir()
        os.chown(checkout, 65534, 65534)
        command = f"chown -R 65534 {shlex.quote(str(checkout / '.venv'))}"
        told = []
        for path in ("bin", "empty"):  # with sudo, and without
            (Path(place) / path).mkdir()
            if path == "bin":
                (Path(place) / path / "sudo").symlink_to("/bin/true")
            env = ("env", f"PATH={place}/{path}")
            setup = start(*user[:-1], *env, user[-1], checkout / "tools" / "setup.py", "--no-probe")
            told.append(setup.communicate()[1])
            assert setup.returncode == 1
    begin = f"setup: {checkout}/.venv cannot be written, it belongs to root: "
    quoted = shlex.quote(f"PATH=$PATH:/usr/sbin:/sbin {command}")
    assert told == [f"{begin}sudo {command}\n", f"{begin}su -c {quoted}\n"]


def test_ctrl_c_is_one_line(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While .venv is made, which here never ends."""
    os.mkfifo(tmp_path / "begun")
    begins = f"open({str(tmp_path / 'begun')!r}, 'w').close()"
    (tmp_path / "venv.py").write_text(f"import time\n{begins}\ntime.sleep(600)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    setup = start(sys.executable, checkout / "tools" / "setup.py", "--no-probe")
    (tmp_path / "begun").read_text()  # a pipe with a name: waits for its writer
    setup.send_signal(signal.SIGINT)
    assert setup.communicate() == ("setup: making .venv\n", "setup: interrupted\n")
    assert setup.returncode == 130


def test_two_set_ups_of_one_clone_wait_for_each_other(ready: Path) -> None:
    folder = os.open(ready, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        setup = start(sys.executable, ready / "tools" / "setup.py", "--no-probe")
        assert setup.stdout is not None
        told = setup.stdout.readline()
    finally:
        os.close(folder)
    assert setup.communicate() == ("", "")
    assert told == "setup: another set-up of this clone is running; waiting for it to finish\n"
    assert setup.returncode == 0


BROKEN = "WARNING: Retrying (Retry(total=0)) after connection broken by '{}': /simple/click/\n"
NOT_FOUND = "ERROR: Could not find a version\nERROR: No matching distribution found for click\n"


@pytest.mark.parametrize(
    ("exception", "why"),
    [
        (
            "NewConnectionError('<pip.HTTPSConnection object at 0x7f>: Failed to establish a new "
            "connection: [Errno -3] Temporary failure in name resolution')",
            "Temporary failure in name resolution",
        ),
        (
            "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate "
            "verify failed: unable to get local issuer certificate (_ssl.c:1002)'))",
            "unable to get local issuer certificate",
        ),
        (
            "ConnectTimeoutError(<pip.HTTPSConnection object at 0x7f>, 'Connection to example.org "
            "timed out. (connect timeout=15)')",
            "connect timeout=15",
        ),
    ],
)
def test_pip_retries_name_the_cause(exception: str, why: str) -> None:
    told = pip_failure.cause(BROKEN.format(exception) + NOT_FOUND)
    assert told == f"the package index cannot be reached ({why})"


def test_a_connection_that_came_back_is_not_the_cause() -> None:
    output = BROKEN.format("X('a long reason')") + "Collecting click\nERROR: Hashes differ\n"
    assert pip_failure.cause(output) == "Hashes differ"
    assert pip_failure.cause(NOT_FOUND) == "No matching distribution found for click"
    assert pip_failure.cause("Killed\n") == ""


OLD = 'case "$2" in *platform*) echo 3.9.2 ;; *) exit 1 ;; esac'
BARE = 'case "$2" in *ensurepip*) exit 1 ;; esac'
BOTH = "apt-get install python3 python3-venv"
AS_ROOT = f"su -c 'PATH=$PATH:/usr/sbin:/sbin {BOTH}'"


@pytest.mark.parametrize(
    ("python", "user", "has_sudo", "told"),
    [
        (OLD, 1000, True, r"setup: .+, python3 is 3\.9\.2: sudo apt-get install .+"),
        (BARE, 1000, True, r"setup: .+: sudo apt-get install python3-venv"),
        ("", 0, False, re.escape(f"setup: there is no python3: {BOTH}")),
        ("", 0, True, re.escape(f"setup: there is no python3: {BOTH}")),
        ("", 1000, True, re.escape(f"setup: there is no python3: sudo {BOTH}")),
        ("", 1000, False, re.escape(f"setup: there is no python3: {AS_ROOT}")),
    ],
)
def test_what_installs_python_is_one_line_as_it_is_typed_there(
    tmp_path: Path, python: str, user: int, has_sudo: bool, told: str
) -> None:
    programs = {"id": f"echo {user}", "sudo": "" if has_sudo else None, "python3": python or None}
    for name, body in programs.items():
        if body is not None:
            script(tmp_path / name, body)
    command = ["/bin/sh", str(ROOT / "tools/find-python.sh")]
    env = {"PATH": str(tmp_path)}
    done = ran(command, env=env)
    assert done.returncode == 1
    assert re.fullmatch(f"{told}\n", done.stderr), done.stderr
