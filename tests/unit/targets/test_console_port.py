"""Names of consoles, and what opens them: terminals, TCP, serial ports, places of labgrid."""

from __future__ import annotations

import os
import pty
import socket
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hardstone.errors import HardstoneError, InputError, PrivilegeError, TargetError
from hardstone.targets import find_target, find_transport
from hardstone.targets.console.address import ConsoleSettings, parse_console
from hardstone.targets.console.console_target import ConsoleTarget, ConsoleTransport
from hardstone.targets.console.labgrid import network_port, open_labgrid
from hardstone.targets.console.line import cannot_open, open_line, open_pty, open_tcp
from hardstone.targets.console.serial_port import open_serial
from hardstone.targets.named import (
    add_target,
    check_name,
    named_console,
    named_targets,
    parse_url,
    remove_targets,
    ssh_settings,
)

BY_ID = "/dev/serial/by-id/usb-FTDI_FT232R_USB_UART_A50285BI-if00-port0"


def settings(text: str, kind: str, place: str, **how: object) -> ConsoleSettings:
    return ConsoleSettings(name=text, kind=kind, place=place, **how)  # type: ignore[arg-type]


# ---- names ----

RIGHT = {
    f"console:{BY_ID}": settings("", "serial", BY_ID, baud=115200),
    f"console:{BY_ID},baud=3000000,flow=rtscts": settings(
        "", "serial", BY_ID, baud=3_000_000, flow="rtscts"
    ),
    "console:/dev/ttyS0,program=/usr/bin/hardstone-probe,prompt=nsh>": settings(
        "", "serial", "/dev/ttyS0", baud=115200, program="/usr/bin/hardstone-probe", prompt="nsh>"
    ),
    "console:pty:/dev/pts/3": settings("", "pty", "/dev/pts/3"),
    "console:tcp:192.0.2.7:2001,baud=9600": settings("", "tcp", "192.0.2.7", port=2001, baud=9600),
    "console:tcp:[2001:db8::1]:23": settings("", "tcp", "[2001:db8::1]", port=23),
    "console:labgrid:lab/board-1": settings("", "labgrid", "lab/board-1"),
    "console:qemu:/tmp/nuttx,machine=rv-virt": settings(
        "", "qemu", "/tmp/nuttx", machine="rv-virt"
    ),
}
WRONG = {
    "console:": "names no kind",
    "console:ttyUSB0": "names no kind",
    "console:usb:/dev/x": "names no kind",
    "console:/dev/../etc/passwd": "not the path",
    "console:/dev/tty USB0": "not the path",
    "console:pty:dev/pts/3": "not the path",
    "console:tcp:host": "not HOST:PORT",
    "console:tcp::23": "not HOST:PORT",
    "console:tcp:-oX:23": "not HOST:PORT",
    "console:tcp:host:0": "not a TCP port",
    "console:tcp:host:65536": "not a TCP port",
    "console:tcp:host:2 3": "not a TCP port",
    "console:labgrid:": "not the name of a labgrid place",
    "console:labgrid:--help": "not the name of a labgrid place",
    "console:labgrid:a;b": "not the name of a labgrid place",
    "console:/dev/ttyS0,baud=299": "not a baud rate",
    "console:/dev/ttyS0,baud=4000001": "not a baud rate",
    "console:/dev/ttyS0,baud=fast": "not a baud rate",
    "console:/dev/ttyS0,flow=dtr": "not a kind of flow control",
    "console:pty:/dev/pts/3,flow=rtscts": "no setting of a console of this kind",
    "console:/dev/ttyS0,baud": "no setting",
    "console:/dev/ttyS0,speed=9600": "no setting",
    "console:/dev/ttyS0,time=instructions": "no setting",
    "console:/dev/ttyS0,baud=9600,baud=9600": "given twice",
    "console:/dev/ttyS0,program=a;b": "cannot be the name of the program",
    "console:/dev/ttyS0,program=-x": "cannot be the name of the program",
    "console:/dev/ttyS0,prompt=": "cannot be the end of a prompt",
    "console:/dev/ttyS0,prompt=\x1b[m>": "cannot be the end of a prompt",
    "console:" + "/x" * 300: "is not the name of a console",
}


@pytest.mark.parametrize("text", RIGHT)
def test_each_name_is_read_and_written_again(text: str) -> None:
    found = parse_console(text)
    assert found.name == text and found.url == text
    assert {**vars(found), "name": ""} == vars(RIGHT[text])


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_name_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_console(text)
    assert WRONG[text] in caught.value.cause and caught.value.remedy
    assert caught.value.cause.isprintable()


def test_a_target_is_found_by_its_console() -> None:
    assert isinstance(find_target("console:/dev/ttyS0"), ConsoleTarget)
    assert isinstance(find_transport("console:/dev/ttyS0"), ConsoleTransport)
    with pytest.raises(InputError):
        find_target("console:nothing")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "targets.toml"
    monkeypatch.setenv("HARDSTONE_TARGETS_FILE", str(path))
    return path


def named(name: str, url: str) -> ConsoleSettings:
    found = parse_url(url)
    assert isinstance(found, ConsoleSettings)
    return ConsoleSettings(**{**vars(found), "name": name})


def test_consoles_are_named_beside_targets_over_ssh(file: Path) -> None:
    file.write_text('# mine\n[targets.arm]\nurl = "ssh://root@192.0.2.7"\nsudo = true\n')
    nuttx = named("nuttx", "console:/dev/ttyACM0,baud=921600,flow=rtscts")
    assert add_target(nuttx) is None
    assert file.read_text().endswith(
        '\n[targets.nuttx]\nurl = "console:/dev/ttyACM0,baud=921600,flow=rtscts"\n'
    )
    assert named_targets()["nuttx"] == nuttx == named_console("nuttx")
    assert ssh_settings("nuttx") is None and named_console("arm") is None
    assert find_target("nuttx").name == "nuttx"
    with pytest.raises(InputError, match="exists: console:/dev/ttyACM0"):
        add_target(named("nuttx", "console:/dev/ttyACM1"))
    assert add_target(named("nuttx", "console:/dev/ttyACM1"), replaces=True) == nuttx
    assert add_target(named("arm", "console:/dev/ttyS0"), replaces=True) is not None
    assert "sudo" not in file.read_text()
    first, _ = remove_targets(["nuttx", "arm"])
    assert first.url == "console:/dev/ttyACM1"
    assert file.read_text().startswith("# mine\n")


def test_the_file_refuses_settings_of_ssh_for_a_console(file: Path) -> None:
    for text, problem in (
        ('url = "console:/dev/ttyS0"\nsudo = true\n', "targets.a.sudo is for a target over SSH"),
        ('url = "console:/dev/ttyS0,x=1"\n', "targets.a.url is wrong"),
    ):
        file.write_text(f"[targets.a]\n{text}")
        with pytest.raises(InputError) as caught:
            named_targets()
        assert problem in caught.value.cause and caught.value.remedy
    with pytest.raises(InputError):
        check_name("console")


# ---- terminals ----


@pytest.fixture
def pair() -> Iterator[tuple[int, str]]:
    """The master of a terminal, and the path of its slave."""
    master, slave = pty.openpty()
    yield master, os.ttyname(slave)
    os.close(master)
    os.close(slave)


def refused(call: object) -> HardstoneError:
    with pytest.raises(HardstoneError) as caught:
        call()  # type: ignore[operator]
    assert caught.value.cause and caught.value.remedy
    return caught.value


def test_a_terminal_carries_bytes_as_they_are_and_is_put_back(pair: tuple[int, str]) -> None:
    master, path = pair
    descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY)
    before = termios.tcgetattr(descriptor)
    line = open_line(parse_console(f"console:pty:{path}"))
    assert termios.tcgetattr(descriptor) != before
    os.write(master, b"\x03\x00\r\n\xff")
    assert line.read(5.0) == b"\x03\x00\r\n\xff"
    assert line.read(0.0) == b""
    line.write(b"a\r\n")
    assert os.read(master, 10) == b"a\r\n"
    line.close()
    line.close()
    assert termios.tcgetattr(descriptor) == before
    os.close(descriptor)


def test_a_terminal_that_another_program_has_is_busy(pair: tuple[int, str]) -> None:
    with closing(open_pty(pair[1])):
        error = refused(lambda: open_pty(pair[1]))
        assert "another program uses" in error.cause and "fuser" in error.remedy
    open_pty(pair[1]).close()


def test_what_is_no_terminal_is_refused(tmp_path: Path) -> None:
    assert "is no terminal" in refused(lambda: open_pty("/dev/null")).cause
    assert "there is no port" in refused(lambda: open_pty(str(tmp_path / "x"))).cause
    error = cannot_open("/dev/ttyS0", PermissionError(13, "Permission denied"))
    assert isinstance(error, PrivilegeError) and "usermod -aG" in error.remedy


def test_a_terminal_whose_other_side_is_gone_is_lost() -> None:
    master, slave = pty.openpty()
    with closing(open_pty(os.ttyname(slave))) as line:
        os.close(master)
        assert "is lost" in refused(lambda: line.read(5.0)).cause
    os.close(slave)


# ---- TCP ----


def test_tcp_carries_bytes_as_they_are() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with closing(open_line(parse_console(f"console:tcp:127.0.0.1:{port},baud=9600"))) as line:
            peer, _ = server.accept()
            assert line.bytes_per_s == 960.0
            line.write(b"\r")
            assert peer.recv(10) == b"\r"
            peer.sendall(b"nsh> ")
            assert line.read(5.0) == b"nsh> "
            peer.close()
            assert "the other side closed it" in refused(lambda: line.read(5.0)).cause
    error = refused(lambda: open_tcp("127.0.0.1", port, None))
    assert isinstance(error, TargetError) and "nothing listens on" in error.cause


# ---- serial ports ----


def test_a_serial_port_carries_bytes_as_they_are(pair: tuple[int, str]) -> None:
    pytest.importorskip("serial")
    master, path = pair
    tty.setraw(master)
    with closing(open_serial(path, 115200, "none")) as line:
        assert line.bytes_per_s == 11520.0
        os.write(master, b"\x03\x00\r\n\xff")
        assert line.read(5.0) == b"\x03\x00\r\n\xff"
        assert line.read(0.0) == b""
        line.write(b"a\r\n")
        assert os.read(master, 10) == b"a\r\n"
        assert "another program uses" in refused(lambda: open_serial(path, 9600, "none")).cause


def test_a_serial_port_that_is_none_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("serial")
    assert "there is no port" in refused(lambda: open_serial("/dev/ttyNONE", 9600, "none")).cause
    plain = tmp_path / "plain"
    plain.write_text("")
    assert "is no serial port" in refused(lambda: open_serial(str(plain), 9600, "none")).cause


class MadeSerial:
    """pyserial, as far as it is asked to open a port."""

    SerialTimeoutException = TimeoutError

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.asked: list[tuple[str, dict[str, object]]] = []

    def Serial(self, path: str, **how: object) -> object:
        self.asked.append((path, how))
        if self.error is not None:
            raise self.error
        return open(os.devnull, "rb")  # noqa: PTH123


@pytest.mark.parametrize("flow", ["none", "rtscts", "xonxoff"])
def test_a_serial_port_is_opened_as_it_was_named(
    flow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = MadeSerial()
    monkeypatch.setitem(sys.modules, "serial", made)
    line = open_line(parse_console(f"console:/dev/ttyS9,baud=9600,flow={flow}"))
    line.close()
    assert line.bytes_per_s == 960.0
    ((path, how),) = made.asked
    assert (path, how["baudrate"], how["exclusive"]) == ("/dev/ttyS9", 9600, True)
    assert (how["rtscts"], how["xonxoff"]) == (flow == "rtscts", flow == "xonxoff")


def test_a_folder_is_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = IsADirectoryError(21, "Is a directory")
    monkeypatch.setitem(sys.modules, "serial", MadeSerial(folder))
    error = refused(lambda: open_line(parse_console("console:/tmp")))
    assert "/tmp is a folder and no port" in error.cause and "by-id" in error.remedy


def test_without_pyserial_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "serial", None)
    error = refused(lambda: open_line(parse_console("console:/dev/ttyS0")))
    assert isinstance(error, InputError) and "hardstone[console]" in error.remedy


# ---- labgrid ----

ENV = """targets:
  board:
    resources:
    - NetworkPowerPort:
        host: 192.0.2.9
        index: 1
        model: gude
    - NetworkSerialPort:
        host: rack-{}
        name: console
        port: 40001
        speed: 921600
    - NetworkService:
        address: 192.0.2.10
"""


def test_a_place_of_labgrid_says_where_its_console_is() -> None:
    asked: list[list[str]] = []

    def ask(words: object) -> str:
        asked.append(list(words))  # type: ignore[call-overload]
        return ENV.format(1)

    assert network_port("board", ask) == ("rack-1", 40001, 921600, "rfc2217")
    assert asked == [["labgrid-client", "-p", "board", "env"]]
    raw = ENV.format(1).replace("speed: 921600", "speed: 921600\n        protocol: raw")
    assert network_port("board", lambda words: raw)[3] == "raw"


@pytest.mark.parametrize(
    "text", ["", "targets:\n  board:\n    resources: []\n", ENV.format("$(x)"), ENV[:150]]
)
def test_a_place_without_a_console_is_refused(text: str) -> None:
    assert "show" in refused(lambda: network_port("board", lambda words: text)).remedy


def test_without_the_client_of_labgrid_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    error = refused(lambda: open_labgrid(parse_console("console:labgrid:board")))
    assert isinstance(error, InputError) and "labgrid" in error.remedy


def test_what_the_client_of_labgrid_says_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = tmp_path / "labgrid-client"
    client.write_text("#!/bin/sh\necho place board is not acquired >&2\nexit 1\n")
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    error = refused(lambda: open_labgrid(parse_console("console:labgrid:board")))
    assert "place board is not acquired" in error.cause
    assert error.remedy.endswith("labgrid-client -p board acquire")
