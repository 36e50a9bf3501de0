"""The config of a kernel: which options it was built with."""

from __future__ import annotations

import re

from hardstone.errors import InputError

MOST_CONFIG_BYTES = 4 << 20
_LINE = re.compile(r"(CONFIG_[A-Z0-9_]+)=(.*)", re.ASCII)
# Without them no kernel starts the lab's guest.
_DEMANDED = ("CONFIG_BLK_DEV_INITRD", "CONFIG_DEVTMPFS")


def read_config(data: bytes, name: str) -> dict[str, str]:
    """Option to value ("y", "m", ...) of the config in `data`; options that are off are missing.

    InputError if there is no option in it, or a kernel built so cannot run in the lab.
    """
    lines = data.decode("utf-8", "replace").splitlines()
    options = {found[1]: found[2] for line in lines if (found := _LINE.fullmatch(line))}
    if not options:
        raise InputError(f"{name} is not the config of a kernel", "want lines as CONFIG_PCI=y")
    for option in _DEMANDED:
        if options.get(option) != "y":
            raise InputError(f"the kernel is built without {option}", f"switch on {option}=y")
    return options
