"""Tables of what the probe takes on NuttX, from a linker's map and from answers of `free`."""

from __future__ import annotations

from typing import get_args

import pytest

import nuttx_sizes
from hardstone.model import Status

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


def test_the_tests_are_those_of_the_register() -> None:
    assert nuttx_sizes.tests()[:2] == ["CLK-B-RES", "CLK-P-DUR"]
    assert len(nuttx_sizes.tests()) == 48
