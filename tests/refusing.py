"""Starts a command for which the kernel refuses calls, as the filter of a container does.

    python tests/refusing.py clone3=EPERM clock_nanosleep=ENOSYS -- COMMAND

`=0`: the call does nothing, and says that it did. A seccomp filter stays with the command and its
children. It takes no right: no_new_privs is set.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

NUMBERS = {  # of each call, by machine; and the machine's name in linux/audit.h
    "x86_64": {
        "": 0xC000003E,
        "clone3": 435,
        "clock_nanosleep": 230,
        "nanosleep": 35,
        "sched_setscheduler": 144,
        "sched_setaffinity": 203,
        "mlockall": 151,
        "pipe2": 293,
        "timer_settime": 223,
        "sched_yield": 24,
        "mmap": 9,
    },
    "aarch64": {
        "": 0xC00000B7,
        "clone3": 435,
        "clock_nanosleep": 115,
        "nanosleep": 101,
        "sched_setscheduler": 119,
        "sched_setaffinity": 122,
        "mlockall": 230,
        "pipe2": 59,
        "timer_settime": 110,
        "sched_yield": 124,
        "mmap": 222,
    },
}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2
LOAD, EQUALS, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000


def here() -> str | None:
    """Why no filter can be made here; None if one can."""
    is_known = sys.platform == "linux" and platform.machine() in NUMBERS
    return None if is_known else "no numbers of system calls for this machine"


def program(refused: dict[str, int]) -> bytes:
    """The filter in the kernel's instructions: (code, jump if true, jump if false, value)."""
    numbers = NUMBERS[platform.machine()]
    steps = [(LOAD, 0, 0, 4), (EQUALS, 1, 0, numbers[""]), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    for name, error in refused.items():
        steps += [(EQUALS, 0, 1, numbers[name]), (RETURN, 0, 0, ERRNO | error)]
    steps.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def refuse(refused: dict[str, int]) -> None:
    """Of this process and all that it starts."""
    code = ctypes.create_string_buffer(program(refused))
    head = struct.pack("HxxxxxxP", (len(code) - 1) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    for call in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, MODE_FILTER, head, 0, 0)):
        if libc.prctl(*call) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def main(words: list[str]) -> None:
    split = words.index("--")
    pairs = (word.split("=") for word in words[:split])
    refuse({name: 0 if code == "0" else getattr(errno, code) for name, code in pairs})
    os.execvp(words[split + 1], words[split + 1 :])  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
