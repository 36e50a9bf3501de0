"""Builds the probe for small systems: `python tools/small_build.py [TARGET...]`.

The check `probe small` and tests of pytest run beside each other and use one build, in
build/probe-small: whoever comes second waits, and finds it done. Without a TARGET everything is
built, tests too.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "probe-small"
PROGRAM = FOLDER / "hardstone-probe"
CHOICES = ["-Dport=posix", "-Dload=false", "-Dshield=false", "-Dcpus=8"]
FAST = ["-Doptimization=1", "-Ddebug=false"]
OPTIONS = [*CHOICES, *FAST, "-Dwerror=true", "-Db_sanitize=none"]


def build(targets: list[str]) -> int:
    FOLDER.parent.mkdir(exist_ok=True)
    with FOLDER.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Configured anew by the check alone, which is the only one to run Meson's tests there.
        is_configured = (FOLDER / "build.ninja").exists()
        if not is_configured or not targets:
            again = ["--reconfigure"] if is_configured else []
            setup = ["meson", "setup", *again, *OPTIONS, str(FOLDER), str(ROOT / "probe")]
            if code := subprocess.run(setup, check=False).returncode:
                return code
        return subprocess.run(["ninja", "-C", str(FOLDER), *targets], check=False).returncode


if __name__ == "__main__":
    sys.exit(build(sys.argv[1:]))
