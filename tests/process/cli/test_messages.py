"""Messages to people hold untrusted text; it neither steers the terminal nor makes lines."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hardstone.calling import as_typed
from hardstone.cli.messages import message_lines, tell, visible
from hardstone.store import Store
from tests.process.cli.conftest import Done

Hardstone = Callable[..., Done]
NASTY = "a\nhardstone: all is well\r\x1b[2J\u202e\u2028b\x9b1m"


def test_what_cannot_be_shown_is_escaped() -> None:
    assert visible(NASTY) == ("a\\nhardstone: all is well\\r\\x1b[2J\\u202e\\u2028b\\x9b1m")


def test_untrusted_text_makes_no_line_of_its_own(capfd: pytest.CaptureFixture[str]) -> None:
    tell(f"series {NASTY} is odd", f"hardstone show '{NASTY}'")
    told, typed = capfd.readouterr().err.splitlines()
    assert told.startswith("hardstone: series a\\nhardstone") and told.isprintable()
    assert typed.startswith("    ") and typed.isprintable()


def test_what_a_text_ends_in_is_typed_only_if_it_is_a_plain_command_of_ours() -> None:
    for text in ("x; sudo rm -rf /", "x: hardstone run $(reboot)", "hardstone show x"):
        assert message_lines(text) == [f"hardstone: {text}"]
    told, typed = message_lines("odd; rebuild it: hardstone probe build")
    assert told == "hardstone: odd; rebuild it:"
    assert typed.endswith("hardstone probe build")


def test_the_name_of_a_series_in_a_damaged_document_stays_in_its_line(
    hardstone: Hardstone, tmp_path: Path, target: str
) -> None:
    import gzip
    import json

    store = tmp_path / "store"
    assert hardstone("run", "SEM-P-SIG", "--target", target, "--store", store).code == 0
    path = Store(store).path_of(Store(store).load("last").id)
    document = json.loads(gzip.decompress(path.read_bytes()))
    series = document["results"][0]["series"][0]
    series["name"] = "x\nhardstone: all is well\x1b[2J"
    series["histogram"]["buckets"] = [[5, 1], [3, 1]]
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    done = hardstone("show", document["id"], "--store", store)
    assert done.code == 2
    assert "\x1b" not in done.err
    assert not any(line.startswith("hardstone: all is well") for line in done.err.splitlines())


def test_a_group_without_its_command_is_told_in_plain_lines(hardstone: Hardstone) -> None:
    done = hardstone("probe")
    assert done.code == 2
    assert len(done.told) == 1 and "\\n" not in done.err
    assert done.typed == [as_typed("hardstone probe --help")]


READ_ONLY = """
set -e
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
shift
"$@"
"""


def test_a_store_that_cannot_be_written_advises_no_mkdir(
    hardstone: Hardstone, tmp_path: Path, target: str, root: Path
) -> None:
    """In a mount namespace of its own, which goes with the process."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("mounting takes root, and unshare")
    store = tmp_path / "store"
    assert hardstone("run", "SEM-P-SIG", "--target", target, "--store", store).code == 0
    program = "from hardstone.cli.main import main; main()"
    tool = [sys.executable, "-c", program, "report", "last", "--store", store]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", READ_ONLY, "sh", store, *tool],
        env=os.environ | {"PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()[-80:]}")
    assert done.returncode == 2, done.stderr
    assert "its file system is read-only; name a file elsewhere with -o FILE" in done.stderr
    assert "mkdir" not in done.stderr
