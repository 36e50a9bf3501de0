"""The first process of a board: sets its folders up, starts the SSH server when told to, and waits
for whoever ends, without a wake-up of its own. The board ends with it, and it with its input.

    python init.py SETTINGS.json

Standard input: a line starts the server (again). Standard output: a line once the board is set up.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def set_up(settings: dict[str, Any]) -> None:
    """The source of a bind may be in a folder that is covered afterwards: /var/tmp and /tmp come
    last."""
    # Else commands typed on the board would reach the files of this machine.
    mount("-t", "tmpfs", "-o", "mode=755", "board", "/run")
    folders = {"lock": 0o1777, "sshd": 0o755, "user": 0o755, "board": 0o755}
    for name, mode in folders.items():
        Path("/run", name).mkdir()
        Path("/run", name).chmod(mode)
    for source, target in settings["binds"]:
        mount("--bind", source, target)
    faults = settings["faults"]
    for folder in [*sorted({"/dev/shm", *faults, "/var/tmp"} - {"/tmp"}), "/tmp"]:
        fault = faults.get(folder, "")
        if folder == "/var/tmp" and not fault:
            mount("--bind", settings["var_tmp"], folder)
            continue
        more = f"mode={settings['modes'].get(folder, '1777')}"
        more += {"full": ",size=64k", "noexec": ",noexec", "small": ",size=32m"}.get(fault, "")
        mount("-t", "tmpfs", "-o", more, "board", folder)
        if fault == "full":
            with suppress(OSError), Path(folder, "full").open("wb", buffering=0) as file:
                while file.write(bytes(4096)):
                    pass
        if fault == "read-only":
            mount("-o", "remount,ro", folder)
    mount("-o", "remount,bind,ro", "/")
    subprocess.run(["hostname", settings["name"]], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def serve(words: list[str]) -> None:
    """Until the input ends."""
    ended, ends = os.pipe()
    os.set_blocking(ended, False)
    os.set_blocking(ends, False)
    signal.set_wakeup_fd(ends, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    with selectors.DefaultSelector() as selector:
        selector.register(ended, selectors.EVENT_READ)
        selector.register(0, selectors.EVENT_READ)
        while True:
            ready = {key.fd for key, _ in selector.select()}
            if 0 in ready:
                if not os.read(0, 100):
                    return
                subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=2, start_new_session=True)
            with suppress(BlockingIOError):
                os.read(ended, 4096)
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


if __name__ == "__main__":
    chosen = json.loads(Path(sys.argv[1]).read_text())
    set_up(chosen)
    print("made", flush=True)
    serve(chosen["server"])
