"""The file of named targets: what it may hold, and how it is changed."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hardstone.errors import InputError
from hardstone.files import take_lock
from hardstone.targets import find_target, find_transport
from hardstone.targets.named import (
    SshSettings,
    add_target,
    check_name,
    named_targets,
    parse_ssh_url,
    remove_targets,
    ssh_settings,
    targets_file,
    unknown_target,
)

HAND_WRITTEN = """\
# Boards of the lab
# (keys are on the laptop)

[targets.arm]  # the quiet one
url = "ssh://root@192.0.2.7"  # by the window
sudo = false  # root anyway
# nothing more on arm

# the rack needs sudo
[targets."rack.left"]
url = 'ssh://anna@rack:2222'
sudo=true
folder = "/mnt/data"   # large

# the end
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "targets.toml"
    monkeypatch.setenv("HARDSTONE_TARGETS_FILE", str(path))
    return path


def target(name: str, url: str = "ssh://root@board", **how: Any) -> SshSettings:
    return replace(parse_ssh_url(url), name=name, **how)


def refusal(call: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(InputError) as caught:
        call()
    return caught.value.cause, caught.value.remedy


# ---- where it is ----


def test_the_file_is_in_the_configuration_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HARDSTONE_TARGETS_FILE", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert targets_file() == tmp_path / "config" / "hardstone" / "targets.toml"
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert targets_file() == tmp_path / ".config" / "hardstone" / "targets.toml"
    monkeypatch.setenv("HARDSTONE_TARGETS_FILE", str(tmp_path / "mine.toml"))
    assert targets_file() == tmp_path / "mine.toml"


def test_without_a_file_there_are_no_names(file: Path) -> None:
    assert named_targets() == {}
    assert ssh_settings("arm") is None
    assert not file.exists()


# ---- what it may hold ----


def test_each_setting_is_read(file: Path) -> None:
    file.write_text(
        '[targets.arm]\nurl = "ssh://root@192.0.2.7:22"\nsudo = true\nkeep_probe = true\n'
        'folder = "/mnt/data"\nbuild_there = true\n[targets.rack]\nurl = "ssh://rack"\n'
    )
    arm = SshSettings(
        name="arm",
        host="192.0.2.7",
        user="root",
        port=22,
        sudo=True,
        keep_probe=True,
        folder="/mnt/data",
        build_there=True,
    )
    assert named_targets() == {"arm": arm, "rack": SshSettings(name="rack", host="rack")}
    assert ssh_settings("arm") == arm
    assert ssh_settings("local") is ssh_settings("lab:debian") is ssh_settings("rac") is None
    url = ssh_settings("ssh://root@192.0.2.7")
    assert url is not None and url.name == "ssh://root@192.0.2.7" and not url.sudo


WRONG = {
    "[targets.a\n": ("is no TOML", "at line 1"),
    "[targets.a]\nurl = 1\n": ("targets.a.url must be a text in quotes",),
    '[targets.a]\nurl = "ssh://a"\nsudo = 1\n': ("targets.a.sudo must be true or false",),
    '[targets.a]\nurl = "ssh://a"\nsudo = "yes"\n': ("targets.a.sudo must be true or false",),
    '[targets.a]\nurl = "ssh://a"\nfolder = true\n': ("targets.a.folder must be a text",),
    '[targets.a]\nurl = "ssh://a"\nport = 22\n': ("targets.a.port is unknown", "known: url, sudo"),
    '[targets.a.b]\nurl = "ssh://a"\n': ("targets.a.b is unknown", '[targets."a.b"]'),
    "[targets.a]\n": ("targets.a has no url", 'add url = "ssh://USER@HOST"'),
    '[targets.a]\nurl = "http://a"\n': ("targets.a.url is wrong", "write ssh://"),
    '[targets.a]\nurl = "ssh://-oProxyCommand=x"\n': ("targets.a.url is wrong",),
    '[targets.a]\nurl = "ssh://a;b"\n': ("targets.a.url is wrong",),
    '[targets.local]\nurl = "ssh://a"\n': ("targets.local has a wrong name", "not local, lab"),
    '[targets."a:b"]\nurl = "ssh://a"\n': ("targets.a:b has a wrong name",),
    '[targets."\\u001b[2J"]\nurl = "ssh://a"\n': ("targets.?[2J has a wrong name",),
    '[targets.a]\nurl = "ssh://a"\nfolder = "data"\n': ("targets.a.folder: 'data'", "absolute"),
    '[targets.a]\nurl = "ssh://a"\nfolder = "/a/../b"\n': ("is not a folder",),
    '[targets.a]\nurl = "ssh://a"\nfolder = "/a b"\n': ("is not a folder",),
    '[targets.a]\nurl = "ssh://a"\nfolder = "/$(x)"\n': ("is not a folder",),
    f'[targets.a]\nurl = "ssh://a"\nfolder = "/{"x" * 64}"\n': ("is not a folder",),
    '[target.a]\nurl = "ssh://a"\n': ("target is unknown", "write [targets.NAME]"),
    "targets = 1\n": ("targets is not a table",),
    "[targets]\na = 1\n": ("targets.a is not a table", "write [targets.a]"),
    '[targets.a]\nurl = "ssh://a"\n[targets.a]\n': ("is no TOML", "line 3"),
}


@pytest.mark.parametrize("text", WRONG)
def test_anything_else_is_refused_with_the_line_or_the_key(file: Path, text: str) -> None:
    file.write_text(text)
    cause, remedy = refusal(named_targets)
    assert str(file) in cause and remedy
    assert all(part in f"{cause}; {remedy}" for part in WRONG[text]), (cause, remedy)
    assert cause.isprintable()
    for change in (lambda: add_target(target("b")), lambda: remove_targets(["a"])):
        assert refusal(change)[0] == cause
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'[targets.a]\nurl = "\xff"\n', "it is not UTF-8"),
        (b"#" * (1 << 18) + b"#", "larger than"),
        (b"x" + b".x" * 100 + b" = 1\n", "more than 64 parts (at line 1)"),
        (b"x = " + b"[" * 50_000, "is no TOML"),
    ],
)
def test_a_file_made_to_do_harm_is_refused(file: Path, data: bytes, words: str) -> None:
    file.write_bytes(data)
    assert words in refusal(named_targets)[0]
    assert words in refusal(lambda: add_target(target("b")))[0]
    assert file.read_bytes() == data


def test_what_is_no_file_is_not_touched(file: Path) -> None:
    os.mkfifo(file)
    assert "it is a pipe, not a file" in refusal(named_targets)[0]
    assert "it is a pipe, not a file" in refusal(lambda: add_target(target("b")))[0]
    file.unlink()
    file.mkdir()
    assert "a folder, not a file" in refusal(named_targets)[0]
    file.rmdir()
    file.symlink_to("/dev/zero")
    assert "it is a device, not a file" in refusal(named_targets)[0]


@pytest.mark.parametrize(
    "name", ["local", "lab", "fake", "ssh", "Local", "", "a:b", "a b", "-a", ".a", "ä", "x" * 65]
)
def test_a_wrong_name_is_refused(file: Path, name: str) -> None:
    assert "use letters, digits and . _ -" in refusal(lambda: check_name(name))[1]
    refusal(lambda: add_target(target(name)))
    assert not file.exists()


# ---- how it is changed ----


def test_what_is_added_is_found(file: Path) -> None:
    board = target("board", sudo=True, folder="/mnt")
    assert add_target(board) is None
    assert add_target(target("rack", "ssh://rack")) is None
    assert file.read_text() == (
        '[targets.board]\nurl = "ssh://root@board"\nsudo = true\nfolder = "/mnt"\n\n'
        '[targets.rack]\nurl = "ssh://rack"\n'
    )
    assert list(named_targets().values()) == [board, target("rack", "ssh://rack")]
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_name_is_replaced_only_where_that_is_asked_for(file: Path) -> None:
    add_target(target("board"))
    state = file.stat()
    assert add_target(target("board")) == target("board")
    assert file.stat().st_mtime_ns == state.st_mtime_ns  # the same again changes nothing
    other = target("board", "ssh://other")
    cause, remedy = refusal(lambda: add_target(other))
    assert "board exists: ssh://root@board" in cause and "--replace" in remedy
    assert add_target(other, replaces=True) == target("board")
    assert named_targets() == {"board": other}


def test_comments_and_order_stay(file: Path) -> None:
    file.write_text(HAND_WRITTEN)
    add_target(target("new"))
    assert file.read_text() == f'{HAND_WRITTEN}\n[targets.new]\nurl = "ssh://root@board"\n'
    remove_targets(["new"])
    assert file.read_text().rstrip() == HAND_WRITTEN.rstrip()
    add_target(target("arm", "ssh://root@192.0.2.8", keep_probe=True), replaces=True)
    changed = HAND_WRITTEN.replace("192.0.2.7", "192.0.2.8")
    changed = changed.replace("# root anyway\n", "# root anyway\nkeep_probe = true\n")
    assert file.read_text().rstrip() == changed.rstrip()
    remove_targets(["arm"])
    left = file.read_text()
    assert "# Boards of the lab\n# (keys are on the laptop)\n" in left
    assert '# the rack needs sudo\n[targets."rack.left"]\n' in left
    assert "arm" not in left and left.rstrip().endswith("# the end")
    add_target(target("rack.left", "ssh://anna@rack:2222", sudo=True), replaces=True)
    assert "folder" not in file.read_text() and "sudo=true" in file.read_text()
    remove_targets(["rack.left"])
    assert named_targets() == {} and "# the end" in file.read_text()


@pytest.mark.parametrize(
    "text",
    [
        'targets = {a = {url = "ssh://a"}}',
        'targets.a.url = "ssh://a"',
        '[targets]\na.url = "ssh://a"\n',
        '[targets]\na = {url = "ssh://a"}\n',
        '[targets]\n\n[targets.a]\nurl = "ssh://a"',
        '[targets.a]\r\nurl = "ssh://a"\r\n',
        '["targets"."a"]\n"url" = """ssh://a"""\n',
    ],
)
def test_each_way_to_write_a_target_can_be_changed(file: Path, text: str) -> None:
    file.write_bytes(text.encode())
    assert add_target(target("b", sudo=True)) is None
    add_target(target("a", "ssh://c", folder="/x"), replaces=True)
    assert set(tomllib.loads(file.read_text())["targets"]) == {"a", "b"}
    assert named_targets()["a"] == target("a", "ssh://c", folder="/x")
    remove_targets(["a", "b"])
    assert named_targets() == {}


def test_adding_and_removing_many_times_adds_no_empty_lines(file: Path) -> None:
    file.write_text("# mine\n")
    add_target(target("b"))
    once = file.read_text()
    for _ in range(3):
        remove_targets(["b"])
        add_target(target("b"))
    assert file.read_text() == once == '# mine\n\n[targets.b]\nurl = "ssh://root@board"\n'


def test_all_names_are_removed_or_none(file: Path) -> None:
    file.write_text(HAND_WRITTEN)
    cause, remedy = refusal(lambda: remove_targets(["arm", "rack.lef"]))
    assert cause == "no target is called 'rack.lef'" and remedy == "did you mean rack.left?"
    assert file.read_text() == HAND_WRITTEN
    assert [one.name for one in remove_targets(["rack.left", "arm", "arm"])] == ["rack.left", "arm"]
    assert "target add" in refusal(lambda: remove_targets(["arm"]))[1]


def test_mode_and_link_stay(file: Path, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles" / "targets.toml"
    kept.parent.mkdir()
    kept.write_text("# mine\n")
    kept.chmod(0o640)
    file.symlink_to(kept)
    add_target(target("board"))
    assert file.is_symlink() and kept.stat().st_mode & 0o777 == 0o640
    assert kept.read_text().startswith("# mine\n") and "board" in named_targets()
    assert sorted(path.name for path in kept.parent.iterdir()) == ["targets.toml"]


def test_of_writers_at_once_none_is_lost(file: Path) -> None:
    names = [f"board{number}" for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda name: add_target(target(name)), names))
    assert sorted(named_targets()) == sorted(names)


def test_a_file_that_stays_locked_is_told(file: Path) -> None:
    file.write_text("")
    with file.open("rb") as held:
        assert take_lock(held.fileno())
        cause, remedy = refusal(lambda: add_target(target("board"), wait_s=0.0))
    assert "another program has locked" in cause and remedy
    assert add_target(target("board")) is None


def test_reading_does_not_load_the_library_that_writes(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_target(target("board"))
    monkeypatch.delitem(sys.modules, "tomlkit")
    assert "board" in named_targets()
    assert "tomlkit" not in sys.modules


# ---- names that mean nothing ----


def test_an_unknown_target_is_told_with_the_names_there_are(file: Path) -> None:
    assert "hardstone target add NAME" in refusal(lambda: find_target("mars"))[1]
    file.write_text(HAND_WRITTEN)
    assert refusal(lambda: find_transport("arn")) == (
        "unknown target 'arn'",
        "did you mean arm?",
    )
    cause, remedy = refusal(lambda: find_transport("mars\x1b"))
    assert cause == "unknown target 'mars?'"
    assert remedy.startswith("known targets: arm, rack.left, local, lab:NAME")
    assert unknown_target("ssh:board").remedy == "write ssh://[USER@]HOST[:PORT]"
    assert unknown_target("locla").remedy == "did you mean local?"
