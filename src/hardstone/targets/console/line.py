"""What carries a console: bytes in and out, of a terminal or over TCP."""

from __future__ import annotations

import errno
import os
import select
import socket
import stat
import termios
import time
import tty
from collections.abc import Callable
from typing import Protocol

from hardstone.errors import PrivilegeError, TargetError
from hardstone.files import take_lock
from hardstone.targets.console.address import ConsoleSettings

_CHUNK_BYTES = 1 << 14
_WRITE_S = 15.0
_CONNECT_S = 10.0


class Line(Protocol):
    """An open console. Errors are TargetError, with cause and remedy."""

    bytes_per_s: float | None
    """What it carries at most; None where that is not known."""

    def read(self, timeout_s: float) -> bytes:
        """What comes within that time, at the latest when something has come; empty: nothing."""

    def write(self, data: bytes) -> None:
        """Sends all of `data`."""

    def close(self) -> None:
        """May be called twice, and never fails."""


def open_line(settings: ConsoleSettings) -> Line:
    """Opens what `settings` name. TargetError or PrivilegeError where that fails."""
    if settings.kind == "pty":
        return open_pty(settings.place)
    if settings.kind == "tcp":
        return open_tcp(settings.place, settings.port or 0, settings.baud)
    if settings.kind == "labgrid":
        from hardstone.targets.console.labgrid import open_labgrid

        return open_labgrid(settings)
    if settings.kind == "qemu":
        from hardstone.targets.console.emulated_guest import open_emulated

        return open_emulated(settings)
    from hardstone.targets.console.serial_port import open_serial

    return open_serial(settings.place, settings.baud or 0, settings.flow)


def lost(name: str, why: str) -> TargetError:
    """What to say of a line that ends while it is used."""
    return TargetError(
        f"the connection to {name} is lost: {why}",
        "check the cable, the adapter's power and the other side, and run it again",
    )


class DescriptorLine:
    """A terminal or socket by its file descriptor; `at_close` puts back what opening changed."""

    def __init__(
        self,
        descriptor: int,
        name: str,
        baud: int | None,
        at_close: Callable[[], None],
    ) -> None:
        self.bytes_per_s = None if baud is None else baud / 10
        self._descriptor = descriptor
        self._name = name
        self._at_close = at_close
        self._is_open = True

    def read(self, timeout_s: float) -> bytes:
        try:
            if not select.select([self._descriptor], [], [], max(0.0, timeout_s))[0]:
                return b""
            data = os.read(self._descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return b""
        except (OSError, ValueError) as error:
            raise lost(self._name, getattr(error, "strerror", None) or str(error)) from error
        if not data:
            raise lost(self._name, "the other side closed it")
        return data

    def write(self, data: bytes) -> None:
        until = time.monotonic() + _WRITE_S
        while data:
            left = until - time.monotonic()
            try:
                if left <= 0 or not select.select([], [self._descriptor], [], left)[1]:
                    raise stuck(self._name)
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:
                continue
            except (OSError, ValueError) as error:
                raise lost(self._name, getattr(error, "strerror", None) or str(error)) from error

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._at_close()


def stuck(name: str) -> TargetError:
    """What to say where nothing can be sent."""
    return TargetError(
        f"{name} takes nothing that is sent: its flow control holds it back",
        "check flow=none|rtscts|xonxoff and the cable's RTS and CTS lines",
    )


def cannot_open(path: str, error: OSError) -> TargetError | PrivilegeError:
    """Why a port cannot be opened, and what to do."""
    number = error.errno or 0
    if number in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        return TargetError(
            f"there is no port {path}",
            "connect it, and see the names: ls /dev/serial/by-id /dev/ttyUSB* /dev/ttyACM*",
        )
    if number == errno.EISDIR:
        return TargetError(
            f"{path} is a folder and no port",
            "name a port in it, and see the names: ls /dev/serial/by-id /dev/ttyUSB*",
        )
    if number in (errno.EACCES, errno.EPERM):
        return PrivilegeError(
            f"no right to open {path}",
            f"join the group that owns it ({_group_of(path)}), then log in again: "
            f"sudo usermod -aG {_group_of(path)} $USER",
        )
    if number in (errno.EBUSY, errno.EAGAIN):
        return busy(path)
    return TargetError(
        f"{path} cannot be opened: {error.strerror or error}", "check the port and its driver"
    )


def busy(path: str) -> TargetError:
    """What to say of a port that another program has."""
    return TargetError(
        f"another program uses {path}",
        f"end it (a terminal program, a modem manager, another hardstone); who it is: fuser {path}",
    )


def _group_of(path: str) -> str:
    import grp

    try:
        return grp.getgrgid(os.stat(path).st_gid).gr_name  # noqa: PTH116
    except (OSError, KeyError):
        return "dialout"


def open_pty(path: str) -> DescriptorLine:
    """The terminal at `path`, raw and for this program alone; it is as before when closed."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise cannot_open(path, error) from error
    try:
        if not os.isatty(descriptor):
            kind = "a folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "no terminal"
            raise TargetError(f"{path} is {kind}", "name a pty, such as console:pty:/dev/pts/3")
        if not take_lock(descriptor):
            raise busy(path)
        before = termios.tcgetattr(descriptor)
        tty.setraw(descriptor, termios.TCSANOW)
    except termios.error as error:
        os.close(descriptor)
        raise TargetError(f"{path} cannot be set up: {error.args[-1]}", "check the port") from error
    except BaseException:
        os.close(descriptor)
        raise

    def put_back() -> None:
        try:
            termios.tcsetattr(descriptor, termios.TCSANOW, before)
        except termios.error:
            pass  # its other side is gone
        finally:
            os.close(descriptor)

    return DescriptorLine(descriptor, path, None, put_back)


def open_tcp(host: str, port: int, baud: int | None) -> DescriptorLine:
    """A TCP connection that carries the console's bytes as they are."""
    name = f"{host}:{port}"
    try:
        connection = socket.create_connection((host.strip("[]"), port), timeout=_CONNECT_S)
    except socket.gaierror as error:
        raise TargetError(
            f"the host {host} is not known: {error.strerror}", "check its name"
        ) from error
    except ConnectionRefusedError as error:
        raise TargetError(
            f"nothing listens on {name}",
            "start the serial server or the emulator there, or correct the port; some servers "
            "refuse a second connection",
        ) from error
    except OSError as error:
        why = "no answer" if isinstance(error, TimeoutError) else error.strerror or str(error)
        raise TargetError(
            f"{name} cannot be reached: {why}", "check the host, the port and the network"
        ) from error
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setblocking(False)
    return DescriptorLine(connection.fileno(), name, baud, connection.close)
