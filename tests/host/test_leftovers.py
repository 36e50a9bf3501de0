"""Nothing stays behind in shared memory, whatever is run and however it ends."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="only root can have a /dev/shm of its own, with unshare",
)

SCRIPT = """
mount -t tmpfs tmpfs /dev/shm || exit 77
probe=$1
for test in CLK-B-RES CLK-P-BIN TMR-P-JIT TMR-P-LAT RSP-P-FIX \\
    SEM-B-LCK SEM-P-NEW SEM-P-SIG SEM-P-RTP SEM-P-SHF \\
    SIG-P-LAT SIG-B-QUE PRV-B-GRP PWR-B-SIG; do
    "$probe" run $test --samples 5 --deadline-ns 500ms --clock monotonic --priority 30 >/dev/null
done
"$probe" run TMR-P-LAT --samples 1000000 --clock monotonic --priority 30 >/dev/null &
sleep 0.3
kill -KILL $!
ls -A /dev/shm
"""


def test_shared_memory_is_empty_after_all_tests(probe: Path) -> None:
    """In a place of its own: other programs use the common one."""
    words = ["unshare", "--mount", "sh", "-c", SCRIPT, "sh", str(probe)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode == 77:
        pytest.skip(f"no /dev/shm of its own: {done.stderr.strip()}")
    assert (done.returncode, done.stdout) == (0, "")
