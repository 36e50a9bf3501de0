"""The port to NuttX, held against the probe: its options, its list of files, and the tool that
builds it. What NuttX itself makes of them: tests/host/test_nuttx.py."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import get_args

import pytest

import nuttx
import nuttx_sizes
from hardstone.model import Status
from tests.conftest import ROOT

PORT = ROOT / "probe" / "src" / "port" / "nuttx"
# What nuttx-apps gives to a Makefile of an application; this one says what would be compiled.
MAKE_DEFS = "DELIM = /\nOBJEXT = .o\nINCDIR_PREFIX = -I\n"
APPLICATION = "all:\n\t@echo $(MAINSRC)\n\t@for one in $(PARTS) $(EXTOBJS); do echo $$one; done\n"


@pytest.fixture
def listed(tmp_path: Path) -> list[str]:
    """What the Makefile would compile, and the objects, in their order."""
    (tmp_path / "Make.defs").write_text(MAKE_DEFS)
    (tmp_path / "Application.mk").write_text(APPLICATION)
    output = subprocess.run(
        ["make", "-s", "-C", str(PORT), "--no-print-directory", f"APPDIR={tmp_path}", "all"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return output.split()


def test_the_makefile_compiles_the_whole_probe_but_load_shield_and_agent(listed: list[str]) -> None:
    root = ROOT / "probe" / "src"
    assert listed[0] == "main.c"
    files = [one for one in listed[1:] if one.endswith(".c")]
    found = {Path(PORT, one).resolve().relative_to(root) for one in files}
    wanted = {path.relative_to(root) for path in root.rglob("*.c")}
    out = {"load", "shield", "agent", "port", "main.c"}
    parts = {path for path in wanted if path.parts[0] not in out}
    own = {path.name for path in PORT.glob("*.c")}
    posix = {path.name for path in (root / "port" / "posix").glob("*.c")}
    port = {Path("port/nuttx", name) for name in own}
    assert found == parts | port | {Path("port/posix", name) for name in posix - own}


def test_no_two_objects_have_one_name(listed: list[str]) -> None:
    objects = [one for one in listed if one.endswith(".o")]
    assert len(objects) == len(set(objects)) == len([one for one in listed[1:] if ".c" in one])
    assert not any("/" in one for one in objects)


def test_a_fragment_that_the_configuration_lacks_is_reported() -> None:
    wanted = nuttx.wishes("# a word\nCONFIG_A=y\nCONFIG_B=12\nCONFIG_C=n\nCONFIG_D=n\n")
    lost = nuttx.refused(wanted, "CONFIG_A=y\nCONFIG_B=10\n# CONFIG_C is not set\nCONFIG_D=y\n")
    assert lost == ["CONFIG_B=12", "CONFIG_D=n"]


def test_a_copy_has_nothing_that_a_build_left(tmp_path: Path) -> None:
    source, target = tmp_path / "apps", tmp_path / "copy" / "apps"
    (source / "one").mkdir(parents=True)
    for name in ("one.c", "one.o", ".built", "Kconfig"):
        (source / "one" / name).write_text("")
    (source / "Kconfig").write_text(f"# {nuttx.GENERATED}.\nsource /where/it/was\n")
    (source / "board").symlink_to("/where/it/was")
    nuttx.copy_sources("apps", source, target)
    assert sorted(path.name for path in target.rglob("*")) == ["Kconfig", "one", "one.c"]
    (target / "kept").write_text("")
    nuttx.copy_sources("apps", source, target)
    assert (target / "kept").exists()


def test_another_commit_of_a_checkout_is_copied_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source, target = tmp_path / "apps", tmp_path / "copy" / "apps"
    source.mkdir()
    for commit in ("one", "two"):
        monkeypatch.setattr(nuttx, "commit_of", lambda _, commit=commit: commit)
        nuttx.copy_sources("apps", source, target)
        assert not list(target.iterdir())
        (target / "left").write_text("")


def test_only_a_killed_build_leaves_its_mark(tmp_path: Path) -> None:
    (tmp_path / "nuttx").mkdir()
    log = tmp_path / "log"
    nuttx.make(["true"], tmp_path, log)
    assert not nuttx.building(tmp_path).exists()
    with pytest.raises(nuttx.Failure):
        nuttx.make(["false"], tmp_path, log)
    assert not nuttx.building(tmp_path).exists()
    with pytest.raises(FileNotFoundError):  # anything else that ends the tool
        nuttx.make(["/no/such/make"], tmp_path, log)
    assert nuttx.building(tmp_path).exists()


def test_without_a_checkout_the_tool_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.delenv("NUTTX_DIR", raising=False)
    assert nuttx.main([]) == 1
    assert "NUTTX_DIR is not set: clone https://github.com/apache/nuttx" in capsys.readouterr().err
    assert nuttx.main(["--nuttx", str(tmp_path), "--apps", str(tmp_path)]) == 1
    assert "is no checkout: it has no Makefile" in capsys.readouterr().err


# ---- tables of what the probe takes, from a linker's map and from answers of `free` ----

MAP = """Archive member included
 .text 0x00 0x10 before.o

Linker script and memory map

.text           0x00000000    0x900
 .text.run      0x00000000       0x400 staging/libapps.a(hs_run_run.hardstone_2.o)
 .text.a_long_name
                0x00000400       0x200 staging/libapps.a(hs_family_mutex_inversion.hardstone_2.o)
 .text          0x00000600       0x100 staging/libapps.a(main.c.hardstone.o)
 .text          0x00000700       0x200 staging/libsched.a(sem_holder.o)

.bss            0x40000000    0x800
 .bss           0x40000000       0x800 staging/libapps.a(hs_run_run.hardstone_2.o)
"""
FREE = """free
      total       used       free    maxused    maxfree  nused  nfree name
     471040      31480     439560      32944     438472     51      2 Umem
nsh> """


def test_flash_is_of_rooms_families_and_the_system_without_memory() -> None:
    found = nuttx_sizes.flash_by_part(MAP)
    assert found == {"run": 0x400, "family/mutex": 0x200, "main": 0x100, "NuttX": 0x200}
    assert nuttx_sizes.flash_table({"a-small": MAP}) == [
        "| flash, KB | a-small |",
        "| --- | ---: |",
        "| run | 1.0 |",
        "| family/mutex | 0.5 |",
        "| main | 0.2 |",
        "| **the probe** | 1.8 |",
        "| NuttX and its libraries | 0.5 |",
        "| **image** | 2.2 |",
    ]


def test_memory_is_what_free_says_and_no_answer_is_no_figure() -> None:
    assert nuttx_sizes.used(FREE) == (31480, 32944)
    with pytest.raises(ValueError, match="free answered"):
        nuttx_sizes.used("nsh: free: command not found")


def test_a_test_that_takes_too_much_is_tried_with_less() -> None:
    less = nuttx_sizes.Memory("SEM-P-ARC", 3072, "measured")
    row = {"a": nuttx_sizes.Memory("SEM-P-ARC", 1024, "denied", "threads", less)}
    assert nuttx_sizes.why_none(row) == (
        "denied: threads; `-D 2s -p waiters=1,4`: a measured with 3.0 KB"
    )


def _measured(test: str) -> nuttx_sizes.Memory:
    return nuttx_sizes.Memory(test, 2048, "measured")


def test_each_status_is_told_of_the_image_that_has_it_and_counted() -> None:
    refused = nuttx_sizes.Memory("A-P-X", 1024, "denied", "a ring: | memory")
    silent = nuttx_sizes.Memory("B-P-X", None, "no answer")
    lacking = nuttx_sizes.Memory("C-P-X", 512, "unsupported", "no fork")
    found = {
        "a-small": [refused, silent, lacking, _measured("D-P-X")],
        "b-small": [_measured("A-P-X"), silent, lacking, _measured("D-P-X")],
    }
    assert nuttx_sizes.memory_table(found) == [
        "a-small: 1 measured, 1 unsupported, 1 denied, 0 failed, 1 no answer; "
        "b-small: 2 measured, 1 unsupported, 0 denied, 0 failed, 1 no answer.",
        "",
        "| heap at most, KB | a-small | b-small | status other than measured |",
        "| --- | ---: | ---: | --- |",
        r"| A-P-X | 1.0 | 2.0 | a-small: denied: a ring: \| memory; b-small: measured |",
        "| B-P-X | no answer | no answer | no answer |",
        "| C-P-X | 0.5 | 0.5 | unsupported: no fork |",
        "| D-P-X | 2.0 | 2.0 |  |",
    ]


@pytest.mark.parametrize("status", get_args(Status))
def test_a_status_is_read_whatever_it_is(status: str) -> None:
    line = f'{{"type":"result","status":"{status}","reason":"why: \\"x\\"","remedy":null}}'
    said = f'hardstone run A --json\n{{"type":"header"}}\n{line}\n{{"type":"footer"}}\nnsh> '
    assert nuttx_sizes.status_of(said) == (status, 'why: "x"')
    with pytest.raises(ValueError, match="no result among"):
        nuttx_sizes.status_of("nsh: hardstone: command not found\nnsh> ")
