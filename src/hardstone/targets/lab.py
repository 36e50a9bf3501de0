"""A kernel of the lab as a target: the probe runs in a guest."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import IO

from hardstone.errors import HardstoneError, InputError, printable
from hardstone.lab.initramfs import Programs, check_device, initramfs_for
from hardstone.lab.kernels import Kernel, find_kernel, unpacked_kernel
from hardstone.lab.lab_folder import console_log
from hardstone.lab.qemu import (
    RECORDING_BYTES,
    TURNS_BYTES,
    Guest,
    GuestLostError,
    Machine,
    SilentGuestError,
    boot_line_of,
    cpu_count,
    emulator,
)
from hardstone.lab.settings import (
    DEFAULT_MEMORY_MIB,
    LabSettings,
    boot_limit_s,
    choose_accel,
    kvm_obstacle,
    parse_settings,
)
from hardstone.model import ClockCheck, Facts
from hardstone.targets.alone import measuring_alone
from hardstone.targets.base import (
    SILENT,
    Notices,
    OnIdle,
    ProbeError,
    Stop,
    WrongModelError,
    no_sign,
)
from hardstone.targets.build import programs_for
from hardstone.targets.framed import FramedCommand, call
from hardstone.targets.host_memory import HostMemory, memory_folder, remove_guests
from hardstone.targets.local import LocalTransport, local_target
from hardstone.targets.probe_target import ProbeTarget, decode_facts
from hardstone.targets.transport import Limits, collect

_PROBE = "/bin/hardstone-probe"
_RECORDING = "memory:/run/recording"
_HEAD_BYTES = 4096
_FACTS_S = 60.0
_MOST_BOOT_LINE = 2047  # COMMAND_LINE_SIZE of x86 and arm64, with a 0 byte
# A second of counted instructions is half a thousand million of them: 3 to 10 s of this machine
# when it has nothing else to do.
_SLOWEST = 20.0
_ROOM_BYTES = RECORDING_BYTES + TURNS_BYTES + (1 << 20)


class LabMemory(HostMemory):
    """The recording is memory that guest and host share: a file here, whatever the guest's end."""

    def copy(self, path: str) -> Iterator[bytes] | None:
        """Only what the probe's arena has: its second word says how much."""
        chunks = super().copy(path)
        return None if chunks is None else _cut(chunks)


class LabTransport:
    """Boots the guest at the first command, unless it is open."""

    is_noisy = False

    def __init__(
        self,
        settings: LabSettings,
        obstacle_of: Callable[[str], str | None] = kvm_obstacle,
        limit_of: Callable[[str], float] = boot_limit_s,
    ) -> None:
        """`obstacle_of` says why KVM cannot run a guest of an architecture here, `limit_of` how
        many seconds a boot by "kvm", "tcg" or "icount" may take."""
        self._settings = settings
        self._obstacle_of = obstacle_of
        self._limit_of = limit_of
        self.name = f"lab:{settings.name}"
        self.preempt = settings.preempt
        self._guest: Guest | None = None
        self._programs: Programs | None = None

    def open(self, notices: Notices = SILENT) -> None:
        """A boot takes the CPUs of this machine, and waits for a measurement on it to finish."""
        wait_s = notices.wait_s
        with measuring_alone(lambda: False, notices.warn, lambda why: None, wait_s=wait_s):
            self._booted(notices)

    def close(self) -> None:
        guest, self._guest = self._guest, None
        if guest is not None:
            guest.close()

    def alone(
        self,
        stop: Stop,
        on_wait: Callable[[str], None],
        on_unlocked: Callable[[str], None],
        wait_s: float | None = None,
    ) -> AbstractContextManager[None]:
        """A guest measures with the CPUs of this machine."""
        return measuring_alone(stop.is_set, on_wait, on_unlocked, wait_s=wait_s)

    def clock_check(self) -> ClockCheck | None:
        guest = self._booted()
        try:
            guest.read_clock()
        except GuestLostError:
            if guest.clocks() is None:
                raise
        found = guest.clocks()
        if found is None:
            return None
        first, last = found
        return ClockCheck(
            host_ns=last.before_ns - first.before_ns,
            target_ns=last.guest_ns - first.guest_ns,
            uncertainty_ns=sum(one.after_ns - one.before_ns for one in found),
        )

    def probe_path(self) -> str | None:
        return _PROBE

    def probe_sha256(self) -> str | None:
        if self._programs is None:
            return None
        with self._programs.probe.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def memory(self, run_id: str, journal: Path) -> LabMemory:
        """In the file system of the guest's recording, which is linked to its place there."""
        place = None if self._guest is None else self._guest.folder.parent
        return LabMemory(run_id, journal, place)

    def chunks(
        self,
        arguments: Sequence[str],
        limits: Limits,
        stop: Stop,
        on_idle: OnIdle = no_sign,
    ) -> Generator[bytes]:
        if arguments and arguments[0] == "dump":  # the recording is here, also without a guest
            yield from LocalTransport().chunks(arguments, limits, stop, on_idle)
            return
        guest = self._booted()
        if arguments[:1] == ["load"] and "--list" not in arguments:
            self._check_model()
        words = [_PROBE, *self._with_recording(guest, arguments)]
        counts = not guest.can_interrupt
        limits = limits.in_slow_time(guest.slowness * (_SLOWEST if counts else 1.0))
        yield from FramedCommand(guest, words, limits, stop).chunks(on_idle)
        with contextlib.suppress(GuestLostError):  # the next command finds it lost
            guest.read_clock()  # now: the guest may not live to the end of the run

    def call(
        self, arguments: Sequence[str], stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes]
    ) -> int:
        guest = self._booted()
        self._check_model()
        return call(guest, [_PROBE, *arguments], stdin, stdout, stderr)

    def _booted(self, notices: Notices = SILENT) -> Guest:
        if self._guest is None:
            kernel = find_kernel(self._settings.kernel)
            emulator(kernel.arch)  # without it nothing needs to be built
            self._programs = programs_for(kernel.arch, notices.step)
            self._guest = self._boot(kernel, self._programs, notices)
        return self._guest

    def _check_model(self) -> None:
        """Checks the preemption model for commands that ask for no facts."""
        if self.preempt is not None:
            facts = decode_facts(collect(self, ["facts", "--json"], _FACTS_S))
            _check_model(self.name, self.preempt, facts)

    def _boot(self, kernel: Kernel, programs: Programs, notices: Notices) -> Guest:
        machine = Machine(
            kernel=kernel,
            initramfs=initramfs_for(kernel, programs, self._settings.device),
            accel=choose_accel(self._settings, kernel.arch, self._obstacle_of),
            cpus=cpu_count(self._settings),
            memory_mib=self._settings.memory_mib or DEFAULT_MEMORY_MIB,
            append=boot_line_of(self._settings),
            device=self._settings.device,
        )
        try:
            return self._boot_once(machine, notices)
        except GuestLostError as error:
            if machine.accel != "kvm" or self._settings.accel == "kvm":
                raise
            notices.warn(
                f"{error.cause}; the guest is emulated instead, and its figures are not those of "
                "hardware"
            )
        return self._boot_once(replace(machine, accel="tcg"), notices)

    def _boot_once(self, machine: Machine, notices: Notices) -> Guest:
        kernel = machine.kernel
        limit_s = self._limit_of(machine.accel)
        remove_guests()
        base = memory_folder(_ROOM_BYTES)
        cpus = f"{machine.cpus} CPU{'' if machine.cpus == 1 else 's'}"
        notices.step(f"booting {self.name} ({kernel.release}, {machine.accel}, {cpus})")
        if machine.has_host_tsc:
            machine = replace(machine, host_tsc_khz=host_tsc_khz(local_target()))
        # A real processor unpacks a kernel in no time.
        unpacked = None if machine.accel == "kvm" else unpacked_kernel(kernel)
        try:
            return self._started(replace(machine, unpacked=unpacked), base, limit_s)
        except SilentGuestError:
            if unpacked is None:
                raise
        # This QEMU cannot enter it, or the kernel cannot be entered so.
        return self._started(machine, base, limit_s)

    def _started(self, machine: Machine, base: Path, limit_s: float) -> Guest:
        over = len(machine.boot_line) - _MOST_BOOT_LINE
        if over > 0:  # the kernel would drop the rest without a word
            raise InputError(
                f"the kernel's command line is {over} characters too long",
                (
                    f"the limit is {_MOST_BOOT_LINE}: shorten append, here or in the lab's kernel "
                    "entry"
                ),
            )
        guest = Guest(machine, base, self.name, console_log(machine.kernel.name))
        try:
            guest.wait_until_ready(limit_s)
        except BaseException:
            guest.close()
            raise
        return guest

    def _with_recording(self, guest: Guest, arguments: Sequence[str]) -> list[str]:
        """Arguments with the guest's own name for the recording, which is linked to its place."""
        words = list(arguments)
        guest.check()
        if "--backing" not in words:
            return words
        at = words.index("--backing") + 1
        place = Path(words[at])
        try:
            # Else a probe that dies at once would leave the figures of an earlier test.
            with guest.recording.open("r+b") as file:
                file.write(bytes(_HEAD_BYTES))
            place.unlink(missing_ok=True)
            os.link(guest.recording, place)
        except OSError as error:
            raise ProbeError(f"the recording cannot be kept: {error.strerror or error}") from error
        words[at] = _RECORDING
        return words


class LabTarget(ProbeTarget):
    """The probe in a guest, whose kernel must have understood its command line."""

    def __init__(self, transport: LabTransport) -> None:
        super().__init__(transport)
        self._preempt = transport.preempt

    def facts(self, *, with_counter: bool = True) -> Facts:
        facts = super().facts(with_counter=with_counter)
        _check_model(self.name, self._preempt, facts)
        return facts


def lab_target(
    text: str,
    obstacle_of: Callable[[str], str | None] = kvm_obstacle,
    limit_of: Callable[[str], float] = boot_limit_s,
) -> LabTarget:
    """The guest that `text` names, what follows `lab:`; it does not boot yet."""
    return LabTarget(lab_transport(text, obstacle_of, limit_of))


def lab_transport(
    text: str,
    obstacle_of: Callable[[str], str | None] = kvm_obstacle,
    limit_of: Callable[[str], float] = boot_limit_s,
) -> LabTransport:
    """The way to the guest that `text` names, what follows `lab:`; it does not boot yet."""
    settings = parse_settings(text)
    check_device(find_kernel(settings.kernel), settings.device)
    return LabTransport(settings, obstacle_of, limit_of)


def _check_model(name: str, asked: str | None, facts: Facts) -> None:
    """A kernel takes no notice of a preemption model that it does not have."""
    model = facts.facts.get("kernel.preemption_model")
    if asked not in (None, model):
        raise WrongModelError(
            f"{name}: the kernel's preemption model is {printable(str(model))[:40]}, and not "
            f"{asked} as asked",
            "use a kernel that can switch to it, or leave out preempt",
            facts.facts,
        )


def _cut(chunks: Iterator[bytes]) -> Iterator[bytes]:
    left: int | None = None
    for chunk in chunks:
        if left is None:
            left = int.from_bytes(chunk[8:16], "little")
        if left <= 0:
            return
        yield chunk[:left]
        left -= len(chunk)


def host_tsc_khz(target: ProbeTarget) -> int | None:
    """As the probe of `target`, which is this machine, measured it; as a rule within 1 ppm. None
    where it is no TSC, or where the probe or the kernel does not trust it. Takes a second."""
    try:
        clock = target.facts().instrument
    except HardstoneError:
        return None
    if clock.clock != "tsc" or not clock.trusted or clock.counter_hz is None:
        return None
    return round(clock.counter_hz / 1000)
