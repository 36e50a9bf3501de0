"""The programs of docs/findings/ say on this system what their pages show for Linux."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.programs import needed

FOLDER = ROOT / "docs/findings"
PROGRAMS = sorted(FOLDER.glob("*/*.c"))
COMMAND = "$ sudo taskset -c 0 ./"


def shown(name: str) -> str:
    """What the pages show for the program on Linux: the lines between its command and the fence."""
    pages = "".join(page.read_text("utf-8") for page in sorted(FOLDER.glob("*.md")))
    return pages.split(f"{COMMAND}{name}\n")[1].split("```")[0]


@pytest.mark.skipif(sys.platform != "linux", reason="the pages show the output of Linux")
@pytest.mark.parametrize("source", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_of_a_finding_prints_what_its_page_shows(source: Path, tmp_path: Path) -> None:
    compiler, pin = needed("cc"), needed("taskset")
    program = tmp_path / source.stem
    warnings = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *warnings, "-pthread", "-o", program, source], check=True)
    cpu = str(min(os.sched_getaffinity(0)))
    ended = subprocess.run(
        [pin, "-c", cpu, program], stdout=subprocess.PIPE, text=True, timeout=300, check=False
    )
    if ended.stdout.startswith("not possible here"):
        pytest.skip(ended.stdout.strip())
    assert (ended.returncode, ended.stdout) == (0, shown(source.stem))


def test_each_finding_has_a_program_and_each_program_a_page() -> None:
    pages = [page for page in FOLDER.glob("*.md") if page.name != "README.md"]
    linked = {source for source in PROGRAMS for page in pages if source.name in page.read_text()}
    assert PROGRAMS and linked == set(PROGRAMS)
    assert all(f"({page.name})" in (FOLDER / "README.md").read_text() for page in pages)
