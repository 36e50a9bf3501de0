"""A few boots of a kernel serve all tests in it: one CPU that counts instructions, two CPUs that
take turns, two CPUs with tracepoints held, and two CPUs with much on the boot line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hardstone.doctor.diagnose import Diagnosis, diagnose
from hardstone.errors import InputError
from hardstone.lab.initramfs import check_device
from hardstone.lab.kernels import Kernel
from hardstone.lab.qemu import emulator
from hardstone.lab.settings import BOOT_VARIABLE
from hardstone.targets.lab import LabTarget, LabTransport
from tests.guest.called import GUEST_S, TRACING, opened, shell
from tests.guest.kernels import BUILDS, Build, found_kernel, kernel_of, names_of, tuned_line
from tests.guest.path_lengths import Counted, deterministic_run

HERE = Path(__file__).resolve().parent
# Starts QEMU with one thread for all CPUs.
ONE_THREAD = """#!/bin/sh
for word; do
    shift
    [ "$word" = tcg,thread=multi ] && word=tcg,thread=single
    set -- "$@" "$word"
done
exec {qemu} "$@"
"""
# The kernel changes its code to switch a tracepoint on, and QEMU's threads are not safe against
# that. So the tracepoints are switched on before, by two instances that record nothing, while there
# is one CPU: the probe's instance then changes no code.
HOLD = f"""
cd {TRACING} || exit 1
echo 0 >/sys/devices/system/cpu/cpu1/online || exit 1
for one in a b; do
    mkdir instances/held-$one && echo 0 >instances/held-$one/tracing_on || exit 1
    for event in irq/irq_handler_entry irq/irq_handler_exit \\
        irq_vectors/call_function_entry irq_vectors/call_function_exit \\
        irq_vectors/call_function_single_entry irq_vectors/call_function_single_exit \\
        irq_vectors/reschedule_entry irq_vectors/reschedule_exit \\
        irq_vectors/local_timer_entry irq_vectors/local_timer_exit; do
        echo 1 >instances/held-$one/events/$event/enable || exit 1
    done
done
echo 1 >/sys/devices/system/cpu/cpu1/online && cat /sys/devices/system/cpu/online
"""


@pytest.fixture(scope="session", autouse=True)
def ample_time() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(BOOT_VARIABLE, str(GUEST_S))  # all answers follow
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of each kernel what needs the guest that counts instructions comes last: between two
    commands that guest takes a CPU."""
    here = [item for item in items if HERE in item.path.parents]
    for item in here:
        item.add_marker(pytest.mark.slow)
    places = [at for at, item in enumerate(items) if HERE in item.path.parents]
    for at, item in zip(places, sorted(here, key=place), strict=True):
        items[at] = item


def place(item: pytest.Item) -> tuple[str, bool]:
    return kernel_of(item.nodeid), "counting" in getattr(item, "fixturenames", ())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kernel" in metafunc.fixturenames:
        names = names_of(metafunc.config.getoption("--kernels"))
        metafunc.parametrize("kernel", names, indirect=True, scope="session")


@pytest.fixture(scope="session")
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """Of the lab of the person who runs the tests: no test has its own home yet."""
    return found_kernel(request.param)


@pytest.fixture(scope="session")
def build(kernel: Kernel) -> Build:
    return BUILDS[kernel.name]


@pytest.fixture(scope="package")
def counted(counting: LabTransport) -> Counted:
    """The run that counts instructions, under the kernel's strongest preemption model."""
    return deterministic_run(counting)


@pytest.fixture(scope="package")
def guest(kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabTransport]:
    """Two CPUs that take turns, and nothing on the boot line but what the lab puts there. QEMU's
    threads are not safe against a kernel that changes its code, as it does to switch a tracepoint
    on: a CPU may see no event, or trap for ever."""
    qemu = emulator(kernel.arch)
    one = tmp_path_factory.mktemp("one-thread") / Path(qemu).name
    one.write_text(ONE_THREAD.format(qemu=qemu))
    one.chmod(0o755)
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", f"{one.parent}:{os.environ['PATH']}")
            started = stack.enter_context(opened(f"{kernel.name},cpus=2"))
        yield started


@pytest.fixture(scope="package")
def device(kernel: Kernel) -> str:
    """Words of a target for QEMU's edu; none where the kernel was stored without its driver."""
    try:
        check_device(kernel, "edu")
    except InputError:
        return ""
    return ",device=edu"


@pytest.fixture(scope="package")
def counting(kernel: Kernel, build: Build, device: str) -> Iterator[LabTransport]:
    """One CPU that counts instructions: nothing that the host does is in a figure."""
    with opened(f"{kernel.name},deterministic{device}{build.most_preemptible}") as guest:
        yield guest


@pytest.fixture(scope="package")
def held(kernel: Kernel, device: str) -> Iterator[LabTransport]:
    """Two CPUs at the same time, and tracepoints of interrupts that are on."""
    with opened(f"{kernel.name},cpus=2{device}") as guest:
        if kernel.arch == "x86_64":
            assert shell(guest, HOLD).strip() == "0-1"
        yield guest


@pytest.fixture(scope="package")
def plain(guest: LabTransport) -> Diagnosis:
    return diagnose(LabTarget(guest).facts().facts)


@pytest.fixture(scope="package")
def with_words(kernel: Kernel, build: Build) -> Iterator[LabTransport]:
    """The same machine with the words of `boot_lines` on the boot line."""
    model = f",preempt={build.models[0]}" if build.models else ""
    target = f"{kernel.name},cpus=2{model},append={tuned_line(kernel.arch)}"
    with opened(target) as guest:
        yield guest


@pytest.fixture(scope="package")
def tuned(with_words: LabTransport) -> Diagnosis:
    return diagnose(LabTarget(with_words).facts().facts)
