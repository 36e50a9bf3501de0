"""What a release checks of its files. A check that this machine cannot do fails, and names what to
install, or the part to leave out.
"""

from __future__ import annotations

import os
import platform
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import docs_site
import picture
from docs_site import StepError, run_logged
from release_work import MACHINES, SUMS, Work, debian_version, digests, native, unpacked

# What a wheel has a static probe for, by the names of `uname -m`: the number in the head of an ELF
# program, and the name of QEMU's emulator.
BOARDS = {
    "x86_64": (62, "qemu-x86_64-static"),
    "aarch64": (183, "qemu-aarch64-static"),
    "armv7l": (40, "qemu-arm-static"),
    "riscv64": (243, "qemu-riscv64-static"),
}
INTERPRETER = 3  # PT_INTERP of a program header


def check_source(work: Work) -> str:
    """The rules about the repository, for the commit of the release."""
    environment = work.environment(PYTHONPATH=str(work.source / "src"))
    lint = [sys.executable, "tools/lint.py"]
    run_logged(lint, work.log("check-source"), cwd=work.source, environment=environment)
    return "tools/lint.py has no complaint"


def check_sums(work: Work) -> str:
    """Reads the file as sha256sum does, and looks that it names every file."""
    listed = dict(
        reversed(line.split("  ", 1)) for line in (work.dist / SUMS).read_text().splitlines()
    )
    found = digests(work.dist)
    found.pop(SUMS)
    for name in sorted(listed.keys() | found.keys()):
        if listed.get(name) != found.get(name):
            raise StepError(f"{name} is not as {SUMS} says: repeat with ARGS=--anew")
    return f"{len(found)} files"


def check_contents(work: Work) -> str:
    """Packages say this version, and each wheel has a static probe for each board."""
    with tarfile.open(work.sdist) as tar:
        member = tar.extractfile(f"hardstone-{work.version}/PKG-INFO")
        texts = {work.sdist.name: member.read().decode() if member else ""}
    for wheel in sorted(work.dist.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            info = f"hardstone-{work.version}.dist-info/METADATA"
            texts[wheel.name] = archive.read(info).decode()
        lacking = BOARDS.keys() - probes_in(wheel)
        if lacking:
            told = f"{wheel.name} has no static probe for {', '.join(sorted(lacking))}"
            raise StepError(f"{told}: see the log of its build")
    expected = {name: str(work.version) for name in texts}
    for package in work.dist.glob("*.dsc"):
        form = (work.source / "debian" / "source" / "format").read_text()
        texts[package.name] = package.read_text()
        expected[package.name] = debian_version(work.version, form)
    for name, text in texts.items():
        if f"\nVersion: {expected[name]}\n" not in text:
            raise StepError(f"{name} has another version")
    return f"version {work.version} in {len(texts)} files"


def probes_in(wheel: Path) -> dict[str, bytes]:
    """The static probes of a wheel, by the machine that their head names. StepError where one is
    for another machine than its place says."""
    own = next((one for one in MACHINES.values() if wheel.stem.endswith(f"_{one}")), "")
    found = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            place = Path(name)
            if place.name != "hardstone-probe":
                continue
            program = archive.read(name)
            machine, is_static = machine_of(program)
            if machine != (own if place.parent.name == "_probe" else place.parent.name):
                raise StepError(f"{wheel.name}: {name} is for {machine}")
            if is_static:
                found[machine] = program
    return found


def machine_of(program: bytes) -> tuple[str, bool]:
    """What an ELF program runs on, and whether it needs no loader of shared libraries."""
    if program[:4] != b"\x7fELF" or len(program) < 64:
        return "no machine", False
    (number,) = struct.unpack_from("<H", program, 18)
    is_64 = program[4] == 2
    (at,) = struct.unpack_from("<Q" if is_64 else "<I", program, 32 if is_64 else 28)
    size, count = struct.unpack_from("<HH", program, 54 if is_64 else 42)
    kinds = [struct.unpack_from("<I", program, at + i * size)[0] for i in range(count)]
    known = {known: name for name, (known, _) in BOARDS.items()}
    return known.get(number, f"machine {number}"), INTERPRETER not in kinds


def download(work: Work, log: Path) -> Path:
    """The pinned packages that hardstone and its build need, fetched once: what is installed later
    comes from this folder alone."""
    lock, folder = work.source / "requirements" / "run.txt", work.downloads
    stamp = folder / "stamp"
    if not stamp.exists() or stamp.read_text() != docs_site.digest(lock):
        shutil.rmtree(folder, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "download", "--no-input", "--quiet"]
        run_logged([*pip, "--require-hashes", "-r", lock, "-d", folder], log)
        stamp.write_text(docs_site.digest(lock))
    return folder


def check_installed(work: Work, name: str, package: Path) -> str:
    """Installs a package in an environment of its own, without an index, and asks its version."""
    log, folder = work.log(name), work.scratch(name)
    packages = download(work, log)
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(packages), "PIP_CONFIG_FILE": os.devnull}
    environment = work.environment(
        **offline, PIP_NO_CACHE_DIR="1", HOME=str(folder), XDG_DATA_HOME=str(folder / "data")
    )
    run_logged([sys.executable, "-m", "venv", folder / "venv"], log)
    pip = [folder / "venv" / "bin" / "python", "-m", "pip", "install", "--no-input"]
    run_logged([*pip, package], log, cwd=folder, environment=environment)
    program = folder / "venv" / "bin" / "hardstone"
    said = answer([program, "--version"], log, folder, environment)
    probe = answer([program, "probe", "path"], log, folder, environment)
    measured = answer([probe, "--version"], log, folder, environment)
    for what, told in (("hardstone", said), ("hardstone-probe", measured)):
        if told.split()[-1:] != [str(work.version)]:
            raise StepError(f"{what} --version says {told!r}, not {work.version}: see {log}")
    run_logged([program, "list"], log, cwd=folder, environment=environment)
    shutil.rmtree(folder)
    return f"{package.name}: hardstone --version is {work.version}, of the probe too"


def answer(
    command: Sequence[str | Path], log: Path, cwd: Path, environment: Mapping[str, str]
) -> str:
    words = [str(word) for word in command]
    log.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    with log.open("a") as output:
        output.write(f"\n$ {' '.join(words)}\n{done.stdout}{done.stderr}")
    if done.returncode:
        raise StepError(f"{Path(words[-2]).name} {words[-1]} failed: see {log}")
    return done.stdout.strip()


def check_wheel(work: Work) -> str:
    wheel = work.wheel(native())
    if wheel is None:
        raise StepError(f"there is no wheel for this machine ({platform.machine()})")
    return check_installed(work, "check-wheel", wheel)


def check_other_wheel(work: Work, arch: str) -> str:
    """The wheel for a machine that this is not. pip refuses a wrong tag, and unpacks it; hardstone
    itself does not run here."""
    log, folder = work.log(f"check-wheel-{arch}"), work.scratch(f"check-wheel-{arch}")
    wheel = work.wheel(arch)
    if wheel is None:
        raise StepError(f"there is no wheel for {arch}")
    pip = [sys.executable, "-m", "pip", "install", "--no-input", "--quiet", "--no-compile"]
    pip += ["--no-deps", "--no-index", "--only-binary=:all:", "--target", str(folder / "installed")]
    run_logged([*pip, "--platform", f"manylinux_2_17_{MACHINES[arch]}", wheel], log, cwd=folder)
    own = work.wheel(native())
    if own is not None:
        here, there = contents(own), contents(wheel)
        for name in sorted(here.keys() | there.keys()):
            if here.get(name) != there.get(name):
                raise StepError(f"{name} is not the same in {own.name} and {wheel.name}")
    shutil.rmtree(folder)
    same = "not compared" if own is None else f"the same files as {own.name}, but for the probes"
    return f"{wheel.name} unpacks; {same}"


def contents(wheel: Path) -> dict[str, int]:
    """Checksums of all that is the same in the wheel for another machine."""
    with zipfile.ZipFile(wheel) as archive:
        entries = [(one.filename, one.CRC) for one in archive.infolist()]
    built = ("hardstone-probe", "hardstone-guest", "WHEEL", "RECORD")
    return {name: crc for name, crc in entries if Path(name).name not in built}


def check_probes(work: Work) -> str:
    """Each probe of each wheel says its version and passes its self-test, under QEMU where it is
    for another machine."""
    log, folder = work.log("check-probes"), work.scratch("check-probes")
    count = 0
    for wheel in sorted(work.dist.glob("*.whl")):
        for machine, content in probes_in(wheel).items():
            emulator = BOARDS[machine][1] if machine != platform.machine() else ""
            if emulator and shutil.which(emulator) is None:
                told = f"{emulator} is missing: sudo apt-get install qemu-user-static"
                raise StepError(f"{told}, or leave it out with ARGS='--without emulation'")
            probe = folder / f"{wheel.stem}-{machine}"
            probe.write_bytes(content)
            probe.chmod(0o755)
            command = [*([emulator] if emulator else []), probe]
            said = answer([*command, "--version"], log, folder, work.environment())
            if said.split()[-1:] != [str(work.version)]:
                raise StepError(f"{probe.name} --version says {said!r}, not {work.version}")
            answer([*command, "selftest"], log, folder, work.environment())
            count += 1
    shutil.rmtree(folder)
    return f"{count} probes have their version and pass their self-test"


def check_sdist(work: Work) -> str:
    return check_installed(work, "check-sdist", work.sdist)


def check_documents(work: Work) -> str:
    site = unpacked(work.documents, work.scratch("documents"))
    found = docs_site.faults(work.source, site)
    if found:
        work.log("check-documents").write_text("\n".join(found) + "\n")
        raise StepError(f"{found[0]}, {len(found)} in all: see {work.log('check-documents')}")
    return "every link leads somewhere, nothing is loaded from another host"


def check_browser(work: Work) -> str:
    browser = picture.find_browser()
    if browser is None:
        told = "there is no Chromium: sudo apt-get install chromium"
        raise StepError(f"{told}, or leave it out with ARGS='--without browser'")
    site = unpacked(work.documents, work.scratch("browser"))
    found = list(docs_site.opening_faults(site, browser))
    if found:
        work.log("browser").write_text("\n".join(found) + "\n")
        raise StepError(f"{found[0]}, {len(found)} in all: see {work.log('browser')}")
    return f"{sum(1 for _ in site.rglob('*.html'))} pages opened"


def check_debian(work: Work) -> str:
    """Unpacks the source package as its users do."""
    log, folder = work.log("check-debian"), work.scratch("check-debian")
    (package,) = work.dist.glob("*.dsc")
    run_logged(["dpkg-source", "--extract", package, folder / "tree"], log, cwd=folder)
    return f"{package.name} unpacks"


def check_lintian(work: Work) -> str:
    (package,) = work.dist.glob("*.dsc")
    if shutil.which("lintian") is None:
        told = "lintian is missing: sudo apt-get install lintian"
        raise StepError(f"{told}, or leave it out with ARGS='--without lintian'")
    lintian = ["lintian", "--fail-on", "error", "--allow-root", package]
    run_logged(lintian, work.log("check-lintian"), cwd=work.dist)
    return f"lintian has no error in {package.name}"


def check_fresh(work: Work) -> str:
    """The wheel by pipx and uv in roots without a compiler, and the Debian packages in roots of
    their own. tools/fresh.sh tries the clone that it is in."""
    log, wheel = work.log("check-fresh"), work.wheel(native())
    if wheel is None:
        raise StepError(f"there is no wheel for this machine ({platform.machine()})")
    fresh = ["sh", work.source / "tools" / "fresh.sh"]
    run_logged([*fresh, "--only", "wheel", "--wheel", wheel], log, cwd=work.source)
    if "debian" not in work.without:
        run_logged([*fresh, "--only", "debian"], log, cwd=work.source)
    return "minimal Debian 12 and 13"
