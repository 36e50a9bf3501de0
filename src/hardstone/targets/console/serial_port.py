"""Serial ports, by pyserial; also those of a server that speaks RFC 2217."""

from __future__ import annotations

import contextlib
import fcntl
import termios
import time
from typing import TYPE_CHECKING, Any

from hardstone.errors import InputError, PrivilegeError, TargetError
from hardstone.targets.console.line import busy, cannot_open, lost, stuck

if TYPE_CHECKING:
    from types import ModuleType

_WRITE_S = 15.0
_CHUNK_BYTES = 1 << 14


class SerialLine:
    """A port that pyserial has opened."""

    def __init__(self, port: Any, name: str, baud: int, serial: ModuleType) -> None:
        self.bytes_per_s: float | None = baud / 10  # 8 bits, a start and a stop bit
        self._port = port
        self._name = name
        self._serial = serial

    def read(self, timeout_s: float) -> bytes:
        try:
            self._port.timeout = max(0.0, timeout_s)
            first = self._port.read(1)
            waiting = min(self._port.in_waiting, _CHUNK_BYTES) if first else 0
            return bytes(first + (self._port.read(waiting) if waiting else b""))
        except (OSError, TypeError) as error:  # pyserial: TypeError after its close
            raise lost(self._name, str(error)) from error

    def write(self, data: bytes) -> None:
        try:
            self._port.write(data)
            until = time.monotonic() + _WRITE_S
            while getattr(self._port, "out_waiting", 0) and time.monotonic() < until:
                time.sleep(0.001)
        except self._serial.SerialTimeoutException as error:
            raise stuck(self._name) from error
        except (OSError, TypeError) as error:
            raise lost(self._name, str(error)) from error

    def close(self) -> None:
        with contextlib.suppress(OSError, termios.error):
            self._port.close()


def open_serial(path: str, baud: int, flow: str) -> SerialLine:
    """The port at `path`, for this program alone. TargetError or PrivilegeError where it cannot be
    opened, InputError for a baud rate that it does not have."""
    serial = _library(path)
    try:
        port = serial.Serial(
            path,
            baudrate=baud,
            rtscts=flow == "rtscts",
            xonxoff=flow == "xonxoff",
            write_timeout=_WRITE_S,
            exclusive=True,
        )
    except (ValueError, termios.error) as error:
        raise _wrong_baud(path, baud) from error
    except OSError as error:
        raise _cannot_open(path, error, serial) from error
    with contextlib.suppress(OSError):
        fcntl.ioctl(port.fileno(), termios.TIOCEXCL)
    return SerialLine(port, path, baud, serial)


def open_rfc2217(host: str, port: int, baud: int) -> SerialLine:
    """A port of a server that speaks RFC 2217, as an exporter of labgrid does."""
    name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    serial = _library(name)
    try:
        # Some servers refuse to answer what a port's settings are.
        line = serial.serial_for_url(f"rfc2217://{name}?ign_set_control&timeout=5", baudrate=baud)
    except (OSError, ValueError) as error:
        raise TargetError(
            f"{name} cannot be opened: {error}",
            "check that it is reached from here and that nobody else has it",
        ) from error
    return SerialLine(line, name, baud, serial)


def _library(what: str) -> ModuleType:
    try:
        import serial
    except ImportError:
        raise InputError(
            f"{what} needs the library pyserial, which is not installed",
            "install it: pip install 'hardstone[console]'",
        ) from None
    return serial  # type: ignore[no-any-return,unused-ignore]


def _cannot_open(path: str, error: OSError, serial: ModuleType) -> TargetError | PrivilegeError:
    if error.errno is not None:
        return cannot_open(path, error)
    if "lock" in str(error):
        return busy(path)
    if isinstance(error.__context__, termios.error):
        return TargetError(
            f"{path} is no serial port", "see the names: ls /dev/serial/by-id /dev/ttyUSB*"
        )
    return TargetError(f"{path} cannot be opened: {error}", "check the port and its driver")


def _wrong_baud(path: str, baud: int) -> InputError:
    return InputError(f"{path} does not take the baud rate {baud}", "give one that it has: baud=")
