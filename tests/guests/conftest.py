"""A few boots of a kernel serve all tests in it: one CPU that counts instructions, two CPUs, two
CPUs with tracepoints held, and two CPUs with much on the boot line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hardstone.doctor import Diagnosis, diagnose
from hardstone.errors import InputError
from hardstone.lab.extra_device import check_device
from hardstone.lab.kernels import Kernel
from hardstone.targets.lab import LabTarget, LabTransport, lab_transport
from tests.guests.boot_lines import tuned as tuned_line
from tests.guests.called import close_all, opened, shell
from tests.guests.held_tracepoints import HOLD
from tests.guests.kernels import BUILDS, Build, found_kernel, names_of
from tests.guests.path_lengths import deterministic_run

HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After the last test in guests all are closed: an idle guest that counts instructions takes a
    whole CPU, and fixtures of the session would keep it beside all other tests."""
    if nextitem is None or HERE not in nextitem.path.parents:
        close_all()


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


@pytest.fixture(scope="session")
def document(kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The run that counts instructions, under the kernel's strongest preemption model."""
    return deterministic_run(kernel.name, tmp_path_factory.mktemp("deterministic"))


@pytest.fixture(scope="session")
def guest(kernel: Kernel) -> Iterator[LabTransport]:
    """Two CPUs, and nothing on the boot line but what the lab puts there."""
    with opened(f"{kernel.name},cpus=2") as guest:
        yield guest


@pytest.fixture(scope="session")
def device(kernel: Kernel) -> str:
    """Words of a target for QEMU's edu; none where the kernel was stored without its driver."""
    try:
        check_device(kernel, "edu")
    except InputError:
        return ""
    return ",device=edu"


@pytest.fixture(scope="session")
def counting(kernel: Kernel, build: Build, device: str) -> Iterator[LabTransport]:
    """One CPU that counts instructions: nothing that the host does is in a figure."""
    with opened(f"{kernel.name},deterministic{device}{build.most_preemptible}") as guest:
        yield guest


@pytest.fixture(scope="session")
def held(kernel: Kernel, device: str) -> Iterator[LabTransport]:
    """Two CPUs at the same time, and tracepoints of interrupts that are on."""
    with opened(f"{kernel.name},cpus=2{device}") as guest:
        if kernel.arch == "x86_64":
            assert shell(guest, HOLD).strip() == "0-1"
        yield guest


@pytest.fixture(scope="session")
def plain(guest: LabTransport) -> Diagnosis:
    return diagnose(LabTarget(guest).facts().facts)


@pytest.fixture(scope="session")
def tuned(kernel: Kernel, build: Build) -> Iterator[Diagnosis]:
    """The same machine with the words of `boot_lines` on the boot line."""
    model = f",preempt={build.models[0]}" if build.models else ""
    with_guest = lab_transport(f"{kernel.name},cpus=2{model},append={tuned_line(kernel.arch)}")
    try:
        yield diagnose(LabTarget(with_guest).facts().facts)
    finally:
        with_guest.close()
