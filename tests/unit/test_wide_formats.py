"""Formats hold where uint32_t is unsigned long, as on 32-bit systems with newlib or NuttX."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "probe" / "src"
TYPES = """
#include <inttypes.h>
#undef PRId32
#undef PRIu32
#undef PRIx32
#define PRId32 "ld"
#define PRIu32 "lu"
#define PRIx32 "lx"
#define int32_t long
#define uint32_t unsigned long
"""


def complaints(types: Path, files: list[str]) -> str:
    compiler = os.environ.get("CC", "cc").split()
    options = ["-std=c11", "-D_GNU_SOURCE", f"-I{SOURCES}", "-Werror=format", "-fsyntax-only"]
    command = [*compiler, *options, "-include", str(types), *files]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip(f"{compiler[0]} is not here")
    return done.stderr if done.returncode else ""


@pytest.fixture
def types(tmp_path: Path) -> Path:
    path = tmp_path / "types.h"
    path.write_text(TYPES)
    return path


@pytest.mark.slow
def test_formats_hold_where_uint32_is_long(types: Path) -> None:
    is_linux = sys.platform == "linux"
    files = [str(file) for file in sorted(SOURCES.rglob("*.c"))]
    assert len(files) > 100
    assert not complaints(types, [file for file in files if is_linux or "/linux" not in file])


def test_a_format_of_an_int_is_found(types: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.c").write_text(
        '#include <stdio.h>\nvoid tell(uint32_t n);\nvoid tell(uint32_t n) { printf("%u", n); }\n'
    )
    assert "format" in complaints(types, [str(tmp_path / "wrong.c")])
