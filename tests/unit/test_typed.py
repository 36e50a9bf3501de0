"""What hardstone and its documents say is to be typed works when it is typed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hardstone.calling import as_typed, grant_commands
from hardstone.cli.main import run
from lint_docs import BY_SUDO, as_words, commands_of, fenced
from lint_tree import File
from tests.conftest import ROOT
from tests.process.cli.bad_documents import BAD, packed, put, whole
from tests.process.targets import sample

DOCUMENTS = [
    File(ROOT, str(path.relative_to(ROOT)))
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
]


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def check_probe(probe: Path, words: list[str]) -> None:
    """The probe reads its options in order: it must come as far as one that nobody has."""
    odd = "--no-such-option"
    known = {"TEST": "TMR-P-LAT", "LOAD": "heavy", "MODEL": "full"}
    words = [known.get(word, word) for word in words]
    if words[0] in ("list", "facts", "dump") or "--" in words or odd in words:
        words = words[:1]
    done = subprocess.run([probe, *words, odd], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and odd in done.stderr, (words, done.stderr)


def test_every_command_of_the_documents_for_the_probe_is_understood(probe: Path) -> None:
    """Those for hardstone are tried by tools/lint.py."""
    found = {tuple(as_words(command)) for file in DOCUMENTS for command, _ in commands_of(file)}
    mine = sorted(words for words in found if words[0] == "hardstone-probe")
    assert mine
    for _, *words in mine:
        check_probe(probe, words)
    with pytest.raises(AssertionError):
        check_probe(probe, ["run", "TMR-P-LAT", "--frob"])


def measuring_commands() -> list[str]:
    found = [command for file in DOCUMENTS for command in fenced(file.text)]
    measuring = (one for one in found if one.startswith(("hardstone run ", "hardstone evaluate")))
    # the lab needs its kernels, --resume a run that was cut off, and a name an SSH target
    elsewhere = re.compile(r" lab:| --resume|--target (?!local|fake:)")
    return sorted({one for one in measuring if not elsewhere.search(one)})


@pytest.fixture(scope="module")
def remembering_probe(tmp_path_factory: pytest.TempPathFactory, probe: Path) -> Path:
    """Says the facts of once again: the probe takes a second to measure its counter."""
    folder = tmp_path_factory.mktemp("remembering")
    facts, own = folder / "facts", folder / "hardstone-probe"
    facts.write_bytes(subprocess.check_output([probe, "facts", "--json"]))
    words = f"exec cat {shlex.quote(str(facts))}"
    other = f'exec {shlex.quote(str(probe))} "$@"'
    return script(own, f'#!/bin/sh\n[ "$1" != facts ] || {words}\n{other}\n')


@pytest.mark.slow
@pytest.mark.parametrize("command", measuring_commands())
def test_what_measures_can_be_planned_here(
    command: str, remembering_probe: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HARDSTONE_PROBE", str(remembering_probe))
    monkeypatch.chdir(tmp_path)
    assert run([*shlex.split(command)[1:], "--dry-run", "--json"]) == 0


SECURE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# `--hint` prints what a command of that store would say is to be typed.
SCRIPT = """#!{python}
import sys
from pathlib import Path
if sys.argv[1:] == ["--hint"]:
    from hardstone.calling import as_typed, stay_in
    stay_in(Path("a store"))
    print(as_typed("hardstone runs"))
else:
    from hardstone.__main__ import main
    main()
"""


@pytest.fixture
def shell(tmp_path: Path) -> Path:
    """A folder with a space, hardstone in its .venv, and a sudo that has a PATH of its own."""
    clone = tmp_path / "a clone"
    script(clone / ".venv" / "bin" / "hardstone", SCRIPT.format(python=sys.executable))
    sudo = f'#!/bin/sh\nPATH={SECURE_PATH}\nexport PATH\nexec "$@"\n'
    script(tmp_path / "sudo" / "sudo", sudo)
    return clone


def typed(
    clone: Path, command: str, *, activated: bool = False, folder: Path | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """`command` in a shell of a person who stands in `folder`, default: the clone."""
    own = f"{clone / '.venv/bin'}:" if activated else ""
    where = folder or clone
    env = {"PATH": f"{clone.parent / 'sudo'}:{own}/usr/bin:/bin", "PWD": str(where)}
    env |= {"PYTHONPATH": str(ROOT / "src"), "HOME": str(clone.parent), "COLUMNS": "40", **more}
    words = ["sh", "-c", command]
    return subprocess.run(words, cwd=where, env=env, capture_output=True, text=True, check=False)


def to_type(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.startswith("    ")]


@pytest.mark.slow
@pytest.mark.parametrize("user", [{}, {"SUDO_UID": "1000"}], ids=["themselves", "by sudo"])
@pytest.mark.parametrize("activated", [False, True], ids=["plain", "activated"])
@pytest.mark.parametrize("folder", [".", ".."], ids=["in the clone", "elsewhere"])
def test_hints_work_as_typed(
    shell: Path, user: dict[str, str], activated: bool, folder: str
) -> None:
    if user and os.geteuid() != 0:
        pytest.skip("who became root is asked of root only")
    where = (shell / folder).resolve()
    put(where / "a store" / "runs" / f"{BAD}.json.gz", packed(whole()))
    ours = shlex.quote(str(shell / ".venv/bin/hardstone"))
    hint = typed(shell, f"{ours} --hint", activated=activated, folder=where, **user).stdout
    assert hint.startswith("sudo " if user else "hardstone " if activated else ""), hint
    done = typed(shell, hint, activated=activated, folder=where, **user)
    assert done.returncode == 0, (hint, done.stderr)
    assert BAD in done.stdout


@pytest.mark.slow
def test_the_hint_after_a_run_works_as_typed(shell: Path, tmp_path: Path) -> None:
    scenario = sample.scenario(tmp_path, {"SEM-P-SIG": [*sample.stream("SEM-P-SIG")]})
    command = f"hardstone run SEM-P-SIG --target fake:{scenario} --store 'a store'"
    done = typed(shell, command, activated=True, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    label = "all of it "
    (hint,) = [line for line in done.stdout.splitlines() if line.startswith(label)]
    again = typed(shell, hint.removeprefix(label), activated=True, folder=tmp_path)
    assert again.returncode == 0 and "SEM-P-SIG" in again.stdout, again.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "activated"),
    [
        ("run TMR-P-LATT", False),
        ("show last --store 'a store'", True),
        ("doctor --explain zzzz", False),
        ("list --frob", True),
        ("show", False),
    ],
)
def test_hints_of_errors_work_as_typed(
    shell: Path, remembering_probe: Path, wrong: str, activated: bool
) -> None:
    more = {"HARDSTONE_PROBE": str(remembering_probe)}
    ours = "hardstone" if activated else ".venv/bin/hardstone"
    done = typed(shell, f"{ours} {wrong}", activated=activated, **more)
    assert done.returncode == 2
    hints = to_type(done.stderr)
    assert len(hints) == 1 and hints[0].startswith(ours)
    ready = f"{hints[0]} --dry-run" if "evaluate" in hints[0] else hints[0]
    again = typed(shell, ready, activated=activated, **more)
    assert again.returncode in (0, 5), (hints, again.stderr)  # 5: doctor, of this machine


@pytest.mark.slow
def test_the_documents_way_to_root_is_found_where_sudo_searches_elsewhere(
    shell: Path, probe: Path
) -> None:
    more = {"HARDSTONE_PROBE": str(probe)}
    assert typed(shell, "sudo hardstone --version", activated=True).returncode == 127
    for name in BY_SUDO:
        if name.startswith("sudo"):
            argument = "--version" if "command -v" in name else "list"
            done = typed(shell, f"{name} {argument}", activated=True, **more)
            assert done.returncode == 0, done.stderr


def test_the_command_that_grants_rights_works_as_typed(
    shell: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setcap, getcap = (shutil.which(name, path=SECURE_PATH) for name in ("setcap", "getcap"))
    if os.geteuid() != 0 or not (setcap and getcap):
        pytest.skip("granting capabilities takes root, setcap and getcap")
    probe = shell / "the probe's"
    shutil.copy("/bin/true", probe)
    monkeypatch.chdir(shell)
    monkeypatch.setenv("PWD", str(shell))
    monkeypatch.setenv("SUDO_UID", "1000")
    monkeypatch.setenv("PATH", f"{tmp_path / 'sudo'}:/usr/bin:/bin")
    (command,) = grant_commands(str(probe))
    assert command.startswith("sudo setcap ")
    done = typed(shell, command)
    if "not supported" in done.stderr:
        pytest.skip(f"no capabilities of files here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    shown = subprocess.run([getcap, probe], capture_output=True, text=True, check=True).stdout
    assert "cap_sys_nice" in shown and "cap_ipc_lock" in shown


def test_where_setcap_is_missing_its_package_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    for name in ("sudo", "apt-get"):
        script(tools / name, "#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setenv("SUDO_UID", "1000")
    first, second = grant_commands("/opt/probe", search=str(tools))
    assert first.endswith("apt-get install libcap2-bin")
    assert " setcap " in f" {second}"


@pytest.mark.parametrize("user", [0, 1000])
def test_a_pipe_into_sudo_works_where_there_is_no_sudo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int
) -> None:
    """As of the advice of `doctor`. `su` is one that asks for no password."""
    if shutil.which("sudo", path="/usr/bin:/bin"):
        tools = tmp_path / "without sudo"
        tools.mkdir()
        for name in ("sh", "tee"):
            (tools / name).symlink_to(str(shutil.which(name)))
    else:
        tools = Path("/usr/bin")
    script(tmp_path / "su", '#!/bin/sh\nexec sh "$@"\n')
    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:{tools}" if user else str(tools))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    file = tmp_path / "a file"
    command = f"printf '%s - rtprio 98\\n' me | sudo tee {shlex.quote(str(file))} && echo done"
    typed_here = as_typed(command)
    done = subprocess.run(["sh", "-c", typed_here], capture_output=True, text=True, check=False)
    assert done.returncode == 0, typed_here + done.stderr
    assert file.read_text() == "me - rtprio 98\n"
