"""Tables of what the probe takes on NuttX, from a linker's map and from answers of `free`."""

from __future__ import annotations

import pytest

import nuttx_sizes

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
    rows = [nuttx_sizes.Memory("A-P-X", 2048, ""), nuttx_sizes.Memory("B-P-X", None, "silent")]
    table = nuttx_sizes.memory_table({"a-small": rows})
    assert table[2:] == ["| A-P-X | 2.0 |", "| B-P-X | no answer |"]


def test_the_tests_are_those_of_the_register() -> None:
    assert nuttx_sizes.tests()[:2] == ["CLK-B-RES", "CLK-P-DUR"]
    assert len(nuttx_sizes.tests()) == 48
