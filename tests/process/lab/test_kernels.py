"""Kernels of the lab are stored as a whole, found again, and refused when they are damaged."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from hardstone.errors import HardstoneError, InputError, TargetError
from hardstone.lab.debian import read_kernel
from hardstone.lab.kernels import (
    add_kernel,
    all_kernels,
    damaged_kernels,
    find_kernel,
    remove_kernel,
)
from hardstone.lab.lab_folder import console_log, lab_folder, work_folder
from tests.process.killed import killed_at_call
from tests.process.lab import made_up
from tests.process.store.faults import SmallDisk, files_up_to, mounted


def stored(tmp_path: Path, name: str = "mine", **more: str) -> None:
    add_kernel(name, read_kernel(**made_up.make_kernel(tmp_path / "made"), **more))


def test_a_kernel_is_found_as_it_was_added_until_it_is_replaced(tmp_path: Path) -> None:
    stored(tmp_path, append="quiet", package="linux-image-6.1.0-7-amd64=6.1.1-1")
    kernel = find_kernel("mine")
    assert (kernel.name, kernel.arch, kernel.release) == ("mine", "x86_64", made_up.RELEASE)
    assert (kernel.append, kernel.package) == ("quiet", "linux-image-6.1.0-7-amd64=6.1.1-1")
    assert kernel.image.read_bytes() == made_up.bzimage()
    assert kernel.busybox.read_bytes() == made_up.program()
    assert kernel.busybox.stat().st_mode & 0o111
    assert kernel.config is not None and kernel.config.read_bytes() == made_up.CONFIG
    assert [path.name[3:-3] for path in kernel.modules] == made_up.ORDER
    assert all_kernels() == [kernel]
    other = read_kernel(**made_up.make_kernel(tmp_path / "other", "6.2.0"))
    second, before = add_kernel("mine", other)
    assert before == kernel
    assert find_kernel("mine") == second and second.release == "6.2.0"


def test_a_removed_kernel_is_gone(tmp_path: Path) -> None:
    stored(tmp_path)
    console_log("mine").parent.mkdir()
    console_log("mine").write_text("said")
    remove_kernel("mine")
    assert all_kernels() == [] and damaged_kernels() == {}
    left = {path.name for path in lab_folder().rglob("*")}
    assert left == {"lock", "work", "kernels", "consoles"}
    with pytest.raises(InputError, match="no kernel 'mine'"):
        remove_kernel("mine")


@pytest.mark.parametrize("name", ["../mine", "", ".mine", "Mine", "a/b", "a" * 62, "mine\n", "-m"])
def test_a_bad_name_is_refused(name: str, tmp_path: Path) -> None:
    files = read_kernel(**made_up.make_kernel(tmp_path / "made"))
    for call in (find_kernel, remove_kernel, lambda name: add_kernel(name, files)):
        with pytest.raises(InputError, match="cannot be the name of a kernel"):
            call(name)
    assert not lab_folder().exists()


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("kernel.json", b"", "kernel.json: "),
        ("kernel.json", b"\xff", "kernel.json: "),
        ("kernel.json", b"[" * 100_000, "kernel.json: "),
        ("kernel.json", b'{"version": 2}', "kernel.json: "),
        ("kernel.json", None, "kernel.json is missing"),
        ("image", None, "image is missing"),
        ("image", b"x", "image has 1 bytes instead of 1536"),
        ("busybox", None, "busybox is missing"),
        ("modules/02-virtio.ko", None, "modules/02-virtio.ko is missing"),
    ],
)
def test_a_damaged_entry_is_told_and_can_be_removed(
    tmp_path: Path, file: str, content: bytes | None, reason: str
) -> None:
    stored(tmp_path)
    path = find_kernel("mine").image.parent / file
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=f"'mine' is damaged: {reason}") as caught:
        find_kernel("mine")
    assert caught.value.remedy.endswith("hardstone lab remove mine")
    assert all_kernels() == [] and reason in damaged_kernels()["mine"]
    remove_kernel("mine")
    assert damaged_kernels() == {}


def test_a_changed_file_of_the_same_size_is_found(tmp_path: Path) -> None:
    stored(tmp_path)
    image = find_kernel("mine").image
    image.write_bytes(image.read_bytes()[:-1] + b"x")
    with pytest.raises(InputError, match="image has changed since it was stored"):
        find_kernel("mine")


@pytest.mark.parametrize("field", ["modules", "arch", "append", "release", "image"])
def test_an_entry_cannot_name_files_elsewhere(tmp_path: Path, field: str) -> None:
    stored(tmp_path)
    path = find_kernel("mine").image.parent / "kernel.json"
    entry = json.loads(path.read_text())
    file = {"size": 1, "sha256": "0" * 64}
    entry[field] = {
        "modules": {"../../../../etc/passwd": file},
        "arch": "../x",
        "append": "a\nb",
        "release": "\x1b[2J",
        "image": {**file, "path": "/etc/passwd"},
    }[field]
    path.write_text(json.dumps(entry))
    with pytest.raises(InputError, match=r"damaged: kernel\.json: "):
        find_kernel("mine")


@pytest.mark.parametrize("file", ["image", "kernel.json"])
def test_a_link_in_an_entry_is_not_followed(tmp_path: Path, file: str) -> None:
    stored(tmp_path)
    path = find_kernel("mine").image.parent / file
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert "a link" in damaged_kernels()["mine"]
    with pytest.raises(HardstoneError, match="a link"):
        find_kernel("mine")


def test_what_is_no_entry_is_left_alone(tmp_path: Path) -> None:
    stored(tmp_path)
    folder = lab_folder() / "kernels"
    (folder / "Not A Name").mkdir()
    (folder / ".hidden").write_text("")
    (folder / "a-file").write_text("")
    assert [kernel.name for kernel in all_kernels()] == ["mine"]
    assert list(damaged_kernels()) == ["a-file"]
    remove_kernel("a-file")
    assert not (folder / "a-file").exists() and (folder / "Not A Name").exists()


@pytest.mark.parametrize("limit", [0, 100, 1000, 1700, 2500])
def test_a_failing_disk_leaves_the_kernel_that_was_there(tmp_path: Path, limit: int) -> None:
    """The limit ends the writing in the image, in a driver, or in kernel.json."""
    stored(tmp_path)
    before = find_kernel("mine")
    files = read_kernel(**made_up.make_kernel(tmp_path / "other", "6.2.0"))
    files = replace(files, image=files.image + bytes(1000), config=made_up.CONFIG * 20)
    with files_up_to(limit), pytest.raises(TargetError, match="cannot store a kernel") as caught:
        add_kernel("mine", files)
    assert "HARDSTONE_LAB_DIR" in caught.value.remedy and caught.value.exit_code == 4
    assert find_kernel("mine") == before
    assert list((lab_folder() / "work").iterdir()) == []


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    files = read_kernel(**made_up.make_kernel(tmp_path / "made"))
    monkeypatch.setenv("HARDSTONE_LAB_DIR", str(folder / "lab"))
    with mounted(folder, "tmpfs", "size=1m"):
        disk = SmallDisk(folder)
        add_kernel("mine", files)
        disk.fill()
        with pytest.raises(TargetError, match="No space left on device; free some space there"):
            add_kernel("other", files)
        assert [kernel.name for kernel in all_kernels()] == ["mine"]
        remove_kernel("mine")
        disk.free()
        add_kernel("other", files)


def test_a_folder_that_cannot_be_made_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HARDSTONE_LAB_DIR", str(tmp_path / "file" / "lab"))
    files = read_kernel(**made_up.make_kernel(tmp_path / "made"))
    with pytest.raises(TargetError, match=r"cannot read .*Not a directory"):
        add_kernel("mine", files)
    with pytest.raises(TargetError, match=r"cannot read .*Not a directory"):
        all_kernels()


def test_a_kill_at_any_moment_leaves_one_whole_kernel(tmp_path: Path) -> None:
    """A process ends at its Nth rename, removal or sync, and so runs nothing that cleans up."""
    stored(tmp_path)
    first = read_kernel(**made_up.make_kernel(tmp_path / "made"))
    second = read_kernel(**made_up.make_kernel(tmp_path / "other", "6.2.0"))
    releases = []
    for call in range(1, 100):
        add_kernel("mine", first)
        was_killed = killed_at_call(call, lambda: add_kernel("mine", second))
        releases.append(find_kernel("mine").release)
        with work_folder() as work:
            assert [work] == list(work.parent.iterdir())
        assert [path.name for path in (lab_folder() / "kernels").iterdir()] == ["mine"]
        if not was_killed:
            break
    assert releases[0] == made_up.RELEASE and releases[-1] == "6.2.0"
    assert len(releases) > 20


def test_two_at_once_leave_one_whole_kernel(tmp_path: Path) -> None:
    versions = ["6.1.0", "6.2.0"]
    all_files = [
        read_kernel(**made_up.make_kernel(tmp_path / version, version)) for version in versions
    ]
    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(add_kernel, "mine", files) for files in all_files * 10]
    assert all(one.result()[0].name == "mine" for one in done)
    assert find_kernel("mine").release in versions
    assert list((lab_folder() / "work").iterdir()) == []
