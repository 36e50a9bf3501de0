"""Programs of a guest that are made up: no more than the header of an executable."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

MACHINES = {"x86_64": 62, "aarch64": 183, "riscv64": 243}


def elf(arch: str, *, is_static: bool = True) -> bytes:
    """An ELF header and one segment: of code, or the name of a loader of shared libraries."""
    kind = 1 if is_static else 3
    head = struct.Struct("<16sHHIQQQIHHHHHH").pack(
        *(b"\x7fELF\x02\x01\x01", 2, MACHINES[arch], 1),
        *(0, 64, 0),  # entry, offset of the segments, offset of the sections
        *(0, 64, 56, 1, 0, 0, 0),  # one segment of 56 bytes
    )
    return head + struct.pack("<I52x", kind)


def write_compiler(path: Path, output: bytes, version: str = "made up 1", code: int = 0) -> Path:
    """A compiler that writes `output` and logs its arguments, one call a line, to PATH.log."""
    path.write_text(f"""#!{sys.executable}
import sys
words = sys.argv[1:]
if "--version" in words:
    print({version!r})
    sys.exit(0)
open({str(path) + ".log"!r}, "a").write(" ".join(words) + "\\n")
if {code}:
    sys.exit("made up error: no room")
open(words[words.index("-o") + 1], "wb").write({output!r})
""")
    path.chmod(0o755)
    return path
