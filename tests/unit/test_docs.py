"""What is generated in the documents is new, and what was measured is worded as it is today."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import docs_output
from hardstone.present.key_figures import LIMIT_OF_MAXIMA
from hardstone.stats.trust import grade_run
from tests.unit.stats.test_trust import CASES as TRUST_CASES

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


ONE = r"[A-Z]{3}-[A-Z]-[A-Z]+(?: \[[^\]]+\])?"


def reason_patterns() -> list[re.Pattern[str]]:
    """What the rules of trust say now, with any figures, tests and names in it."""
    said = {reason for _, _, document in TRUST_CASES for reason in grade_run(document).reasons}
    loose = (
        (r"[A-Z]{3}\\-[A-Z]\\-[A-Z]+", rf"{ONE}(?:, {ONE})*(?: and \d+ more)?"),
        (r"\\\(kvm\\\)", r"\\(\\w+\\)"),
        (r"less\\ than\\ 1\\ ms|[0-9]+\\ ms", r"(?:less than [0-9]+|[0-9]+) ms"),
    )
    patterns = []
    for reason in said:
        pattern = re.escape(reason)
        for old, new in loose:
            pattern = re.sub(old, lambda _, new=new: new.replace("\\\\", "\\"), pattern)
        patterns.append(re.compile(pattern))
    return patterns


def test_measured_output_is_worded_as_it_is_today() -> None:
    """Its figures differ from run to run, so that it is not made anew by every check."""
    patterns = reason_patterns()
    blocks = [one for path in DOCUMENTS for one in docs_output.BLOCK.findall(path.read_text())]
    measured = [(command, block) for kind, command, block in blocks if kind == "measured"]
    assert measured
    for command, block in measured:
        for section in re.findall(r"^trust: \w+\n((?: +\S.*\n)*)", block, re.MULTILINE):
            rest = " ".join(section.split())
            for pattern in patterns:
                rest = pattern.sub("", rest, count=1)
            assert rest.strip() == "", f"{command}: make docs ARGS=--measure"
        if "worst observed:" in block:
            assert LIMIT_OF_MAXIMA in " ".join(block.split()), (
                f"{command}: make docs ARGS=--measure"
            )


@pytest.mark.slow
def test_generated_documents_are_up_to_date(probe: Path) -> None:
    command = [sys.executable, "tools/gen_docs.py", "--check"]
    done = subprocess.run(
        command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"make docs\n{done.stdout}{done.stderr}"
