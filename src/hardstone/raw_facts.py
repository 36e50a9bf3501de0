"""Facts about a Linux machine from the raw text of their sources, as the probe sends them.

Pure, so that the sources that a run keeps can be read again by a later version: `read_again`. The
texts come from a target, which is not trusted. A source that is missing gives no fact.
`facts.toml` says which fact is read from which sources; the probe's are in port/linux/sources.c.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from hardstone.model import Facts, RunDocument, Scalar, Source
from hardstone.sources import MOST_BYTES, Found, Known, Raw, bytes_of, lines_of, number_of
from hardstone.virtual import emulation_by_board, virtual_facts

_CPU = "/sys/devices/system/cpu"
_PACKED = "/proc/config.gz"
# What is kept of the kernel's configuration: options that begin so. sources.c sends the same of a
# plain one; a packed one, which it cannot read, comes whole.
OPTIONS = (
    "CONFIG_HZ",
    "CONFIG_NO_HZ",
    "CONFIG_PREEMPT",
    "CONFIG_RCU_",
    "CONFIG_PROVE_",
    "CONFIG_RT_GROUP_SCHED",
)
_MOST_CONFIG_BYTES = 1 << 21  # unpacked; that of a distribution has 300 KB
_MOST_LIST = 511  # characters of a list in one fact


def with_raw_facts(facts: Facts) -> Facts:
    """What the probe sent, with the facts that are read from its sources.

    Of a packed configuration only the lines of OPTIONS stay. A probe that is no port to Linux, or
    that sends no sources, has sent all of its facts itself; but an image does not know whether the
    machine that it was built for is an emulator's.
    """
    if not _is_of_linux(facts.facts):
        found = dict(emulation_by_board(facts.facts))
        return msgspec.structs.replace(facts, facts={**found, **facts.facts})
    if facts.sources is None:
        return facts
    sources = [_kept(one) for one in facts.sources]
    found = read_facts(sources, facts.facts)
    return msgspec.structs.replace(facts, facts={**facts.facts, **found}, sources=sources)


def read_again(document: RunDocument) -> dict[str, Scalar]:
    """The facts of a stored run, those that have a source as this version reads it."""
    if not document.sources or not _is_of_linux(document.system):
        return document.system
    return {**document.system, **read_facts(document.sources, document.system)}


def _is_of_linux(known: Known) -> bool:
    return known.get("probe.port") == "linux"


def read_facts(sources: Iterable[Source], known: Known) -> dict[str, Scalar]:
    """The facts that `sources` tell; `known` are those that the probe sent as facts."""
    raw = Raw(sources)
    return {
        name: value
        for topic in (
            _system,
            _processor,
            _isolation,
            _preemption,
            _kernel,
            _debugging,
            _memory,
            _frequencies,
            _heat,
            _idle,
            virtual_facts,
            _granted,
        )
        for name, value in topic(raw, known)
        if not isinstance(value, int) or -(2**63) <= value < 2**63
    }


def _list(words: Iterable[str], separator: str = ", ") -> str | None:
    """The words, those that fit; None: there are none."""
    text = ""
    for word in words:
        longer = f"{text}{separator}{word}" if text else word
        text = longer if len(longer) <= _MOST_LIST else text
    return text or None


# ---- the kernel's configuration ----


def _kept(source: Source) -> Source:
    """The lines of OPTIONS of a packed configuration; all else as it came."""
    data = bytes_of(source) if source.source == _PACKED else None
    text = None if data is None else unpacked(data)
    if text is None:
        return source
    lines = [line for line in lines_of(text) if line.removeprefix("# ").startswith(OPTIONS)]
    kept = "".join(f"{line}\n" for line in lines)[:MOST_BYTES]  # more could not be stored
    return Source(source=_PACKED, text=kept)


def unpacked(data: bytes) -> str | None:
    """The text of a gzip file; None: it is damaged, or would be longer than any configuration."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        text = unpacker.decompress(data, _MOST_CONFIG_BYTES)
    except zlib.error:
        return None
    return text.decode("utf-8", "replace") if unpacker.eof else None


class Config:
    """The configuration that the kernel was built with, of the first source that can be read."""

    def __init__(self, raw: Raw, known: Known) -> None:
        release = known.get("kernel.release")
        places = (_PACKED, f"/boot/config-{release}", f"/lib/modules/{release}/config")
        self._text = next((text for one in places if (text := _config(raw, one))), None)

    def value(self, name: str) -> str | None:
        """ "y", "250"; "n" if it is not set; None: the configuration cannot be read."""
        if self._text is None:
            return None
        match = re.search(rf"^{re.escape(name)}=(.*)$", self._text, re.MULTILINE)
        return match[1] if match else "n"


def _config(raw: Raw, source: str) -> str | None:
    data = raw.data(source)
    if data is None:
        return None
    return unpacked(data) if data.startswith(b"\x1f\x8b") else raw.text(source)


# ---- system and processor ----


def _texts(raw: Raw, sources: Mapping[str, str]) -> Found:
    for name, source in sources.items():
        if (text := raw.text(source)) is not None:
            yield name, text


def _numbers(raw: Raw, sources: Mapping[str, str]) -> Found:
    for name, source in sources.items():
        if (number := raw.number(source)) is not None:
            yield name, number


def _cpu_list(raw: Raw, source: str) -> tuple[bool, str | None]:
    """Whether there is such a list of CPUs, and the list. Older kernels print "(null)" for none,
    after as many spaces as make it as wide as the machine has CPUs."""
    text = raw.any(source)
    return text is not None, None if text is None or text.strip() in ("", "(null)") else text


def _cpus(raw: Raw, name: str, source: str) -> Found:
    is_known, text = _cpu_list(raw, source)
    if is_known:
        yield name, text


def _system(raw: Raw, _known: Known) -> Found:
    for line in lines_of(raw.any("/etc/os-release")):
        if line.startswith("PRETTY_NAME="):
            yield "os.name", line[12:].removeprefix('"').partition('"')[0] or None
            break
    yield from _texts(raw, {"os.boot_id": "/proc/sys/kernel/random/boot_id"})
    tools = ("/usr/sbin/grubby", "/usr/bin/grubby", "/usr/sbin/update-grub")
    tool = next((one for one in tools if one in raw), None)
    if tool:
        yield "os.boot_tool", tool.rpartition("/")[2]


def _processor(raw: Raw, _known: Known) -> Found:
    names = ("Model", "uarch", "cpu model", "Hardware")
    tree = raw.text("/proc/device-tree/model")
    told = (raw.cpuinfo("model name"), _arm_model(raw), *map(raw.cpuinfo, names), tree)
    model = next((one for one in told if one is not None), None)
    if model is not None:
        yield "machine.cpu_model", model or None
    for name, file in (("machine.product", "product_name"), ("machine.board", "board_name")):
        text = raw.text(f"/sys/class/dmi/id/{file}") or tree
        if text:
            yield name, text
    yield from _cpus(raw, "cpu.online", f"{_CPU}/online")
    yield from _texts(raw, {"cpu.possible": f"{_CPU}/possible"})
    yield from _smt(raw)
    weaknesses = f"{_CPU}/vulnerabilities"
    if weaknesses in raw:
        active = [one for one, text in raw.below(weaknesses).items() if "Mitigation" in text]
        yield "kernel.mitigations_count", len(active)
        yield "kernel.mitigations", _list(active)


def _smt(raw: Raw) -> Found:
    siblings = raw.each(f"{_CPU}/cpu*/topology/thread_siblings_list")
    online, control = raw.online(), f"{_CPU}/smt"
    is_shared = any("," in siblings.get(cpu, "") or "-" in siblings.get(cpu, "") for cpu in online)
    active = raw.number(f"{control}/active")
    if is_shared or (online and all(cpu in siblings for cpu in online)):
        yield "cpu.smt", is_shared
    elif active is not None:
        yield "cpu.smt", active != 0
    yield from _texts(raw, {"cpu.smt_control": f"{control}/control"})


# Implementer and part of MIDR_EL1, as the vendors' manuals give them.
# fmt: off
_ARM_PARTS = {
    (0x00, 0x051): "QEMU max", (0x41, 0xD01): "Cortex-A32", (0x41, 0xD02): "Cortex-A34",
    (0x41, 0xD03): "Cortex-A53", (0x41, 0xD04): "Cortex-A35", (0x41, 0xD05): "Cortex-A55",
    (0x41, 0xD06): "Cortex-A65", (0x41, 0xD07): "Cortex-A57", (0x41, 0xD08): "Cortex-A72",
    (0x41, 0xD09): "Cortex-A73", (0x41, 0xD0A): "Cortex-A75", (0x41, 0xD0B): "Cortex-A76",
    (0x41, 0xD0C): "Neoverse N1", (0x41, 0xD0D): "Cortex-A77", (0x41, 0xD0E): "Cortex-A76AE",
    (0x41, 0xD40): "Neoverse V1", (0x41, 0xD41): "Cortex-A78", (0x41, 0xD42): "Cortex-A78AE",
    (0x41, 0xD44): "Cortex-X1", (0x41, 0xD46): "Cortex-A510", (0x41, 0xD47): "Cortex-A710",
    (0x41, 0xD48): "Cortex-X2", (0x41, 0xD49): "Neoverse N2", (0x41, 0xD4B): "Cortex-A78C",
    (0x41, 0xD4D): "Cortex-A715", (0x41, 0xD4E): "Cortex-X3", (0x41, 0xD4F): "Neoverse V2",
    (0x41, 0xD80): "Cortex-A520", (0x41, 0xD81): "Cortex-A720", (0x41, 0xD82): "Cortex-X4",
    (0x43, 0x0A1): "ThunderX", (0x43, 0x0AF): "ThunderX2", (0x46, 0x001): "A64FX",
    (0x48, 0xD01): "Kunpeng 920", (0x4E, 0x004): "Carmel", (0x61, 0x022): "Apple M1 Icestorm",
    (0x61, 0x023): "Apple M1 Firestorm", (0x61, 0x032): "Apple M2 Blizzard",
    (0x61, 0x033): "Apple M2 Avalanche", (0xC0, 0xAC3): "Ampere-1",
}
# fmt: on


def _arm_model(raw: Raw) -> str | None:
    """The models of the CPUs, each once. Linux before 4.8 has no register files; /proc/cpuinfo
    then tells of the first CPU."""
    registers = raw.each(f"{_CPU}/cpu*/regs/identification/midr_el1")
    midrs = [_hexadecimal(registers[cpu]) for cpu in raw.online() if cpu in registers]
    parts = [(one >> 24 & 0xFF, one >> 4 & 0xFFF) for one in midrs]
    implementer, part = raw.cpuinfo("CPU implementer"), raw.cpuinfo("CPU part")
    if not parts and implementer is not None and part is not None:
        parts = [(_hexadecimal(implementer), _hexadecimal(part))]
    return _list(dict.fromkeys(_arm_name(*one) for one in parts))


def _arm_name(implementer: int, part: int) -> str:
    other = f"ARM implementer 0x{implementer:02x} part 0x{part:03x}"
    return _ARM_PARTS.get((implementer, part), other)


def _hexadecimal(text: str) -> int:
    match = re.match(r"\s*(?:0[xX])?([0-9a-fA-F]{1,16})", text)
    return int(match[1], 16) if match else 0


# ---- kernel ----


def _isolation(raw: Raw, known: Known) -> Found:
    is_known, isolated = _cpu_list(raw, f"{_CPU}/isolated")
    if is_known:
        yield "kernel.isolated_cpus", isolated
    # a kernel without CONFIG_NO_HZ_FULL has no such file; both came with Linux 4.1
    has_nohz, cpus = _cpu_list(raw, f"{_CPU}/nohz_full")
    if has_nohz or is_known:
        yield "kernel.nohz_full_cpus", cpus
        yield "kernel.has_nohz_full", has_nohz
    offloads = Config(raw, known).value("CONFIG_RCU_NOCB_CPU")
    if offloads is not None:
        yield "kernel.has_rcu_nocbs", offloads == "y"
    yield from _cpus(raw, "kernel.partition_cpus", "/sys/fs/cgroup/cpuset.cpus.isolated")


def _kernel(raw: Raw, _known: Known) -> Found:
    clock = "/sys/devices/system/clocksource/clocksource0"
    settings = "/proc/sys/kernel"
    yield from _texts(
        raw,
        {
            "kernel.cmdline": "/proc/cmdline",
            "kernel.clocksource": f"{clock}/current_clocksource",
            "kernel.clocksources": f"{clock}/available_clocksource",
        },
    )
    yield from _numbers(
        raw,
        {
            "kernel.rt_runtime_us": f"{settings}/sched_rt_runtime_us",
            "kernel.rt_period_us": f"{settings}/sched_rt_period_us",
            "kernel.tainted": f"{settings}/tainted",
            "kernel.timer_migration": f"{settings}/timer_migration",
        },
    )
    yield from _fair_server(raw)


def _fair_server(raw: Raw) -> Found:
    """The fair server's budget for starving ordinary tasks, if it is the same on every CPU."""
    budgets = []
    for what in ("runtime", "period"):
        each = raw.each_number(f"debugfs:sched/fair_server/cpu*/{what}")
        values = {each.get(cpu, -1) for cpu in raw.online()}
        budgets.append(values.pop() if len(values) == 1 else -1)
    if min(budgets) >= 0:
        yield "kernel.fair_server_runtime_ns", budgets[0]
        yield "kernel.fair_server_period_ns", budgets[1]


def _debugging(raw: Raw, known: Known) -> Found:
    yield from _texts(raw, {"tracing.tracer": "tracefs:current_tracer"})
    if (recording := raw.text("tracefs:tracing_on")) is not None:
        yield "tracing.is_recording", recording != "0"
    if (events := raw.text("tracefs:events/enable")) is not None:  # X: some
        yield "tracing.events", {"0": "none", "1": "all"}.get(events, "some")
    is_checking, option = "/proc/lockdep" in raw, Config(raw, known).value("CONFIG_PROVE_LOCKING")
    if is_checking or option is not None:
        yield "kernel.lock_checking", is_checking or option == "y"
    settings = "/proc/sys/kernel"
    yield from _numbers(
        raw,
        {
            "kernel.watchdog": f"{settings}/watchdog",
            "kernel.soft_watchdog": f"{settings}/soft_watchdog",
            "kernel.nmi_watchdog": f"{settings}/nmi_watchdog",
            "kernel.watchdog_threshold_s": f"{settings}/watchdog_thresh",
        },
    )


# ---- the preemption model in force ----

_MODELS = ("none", "voluntary", "full", "lazy", "laziest")
_BUILT = {
    "CONFIG_PREEMPT_NONE": "none",
    "CONFIG_PREEMPT_VOLUNTARY": "voluntary",
    "CONFIG_PREEMPT": "full",
    "CONFIG_PREEMPT_LAZY": "lazy",
    "CONFIG_PREEMPT_LAZIEST": "laziest",
}
_SWITCH = "debugfs:sched/preempt"


def _preemption(raw: Raw, known: Known) -> Found:
    version = known.get("kernel.version")
    if not isinstance(version, str):
        return
    is_realtime = "PREEMPT_RT" in version or "PREEMPT RT" in version
    is_realtime = is_realtime or raw.number("/sys/kernel/realtime") == 1
    yield "kernel.realtime", is_realtime
    choices = raw.text(_SWITCH) or ""
    model, before = _marked(choices), "rt, " if is_realtime else ""
    if model is not None:
        yield from _visible(choices, model, before)
        return
    state = "mounted" if _SWITCH in raw else raw.text("debugfs")
    if state is not None:
        yield "kernel.debugfs", state
    config = Config(raw, known)
    if is_realtime:
        yield from _realtime(raw, known, config)
    elif "PREEMPT_DYNAMIC" in version:
        yield from _hidden(raw, config, before)
    else:
        yield from _constant(known, config, version)


def _marked(words: str) -> str | None:
    """The active word of a list such as "none [voluntary] full" or "none (voluntary) full"."""
    between = re.split(r"[\[(]", words, maxsplit=1)[1:]
    word, *closed = re.split(r"[\])]", between[0], maxsplit=1) if between else [""]
    return word if closed and word else None


def _visible(words: str, model: str, before: str) -> Found:
    """The model that debugfs marks is the one in force, whatever the kernel is called: one with
    PREEMPT_RT and PREEMPT_DYNAMIC names only the former."""
    choices = re.findall(r"[^ ()\[\]\n]+", words)
    is_dynamic = len(choices) > 1
    yield "kernel.preemption_model", model
    yield "kernel.preemption_is_dynamic", is_dynamic
    yield "kernel.preemption_choices", _list(choices)
    yield "kernel.preemption", f"{before}{model}{' (dynamic)' if is_dynamic else ''}"


def _built(config: Config) -> str | None:
    """The model of the configuration; None: it cannot be read, or says none of them."""
    return next((model for name, model in _BUILT.items() if config.value(name) == "y"), None)


def _hidden(raw: Raw, config: Config, before: str) -> Found:
    """The model that a dynamic kernel boots with, by its boot line, else by its configuration."""
    asked, built = raw.boot_option("preempt"), _built(config)
    model, told_by = (asked, "boot line") if asked in _MODELS else (built, "configuration")
    yield "kernel.preemption_is_dynamic", True
    if model is None:
        yield "kernel.preemption", f"{before}dynamic (active model not visible)"
        return
    yield "kernel.preemption_default", model
    yield "kernel.preemption", f"{before}{model} (dynamic, {told_by})"


def _constant(known: Known, config: Config, version: str) -> Found:
    model = "none or voluntary"
    if "PREEMPT" in version:
        model = "full or lazy" if _is_from(known, (6, 13)) else "full"
    if " or " in model:
        model = _built(config) or model
    yield "kernel.preemption_is_dynamic", False
    yield "kernel.preemption", model
    yield "kernel.preemption_model", model


def _realtime(raw: Raw, known: Known, config: Config) -> Found:
    """In a PREEMPT_RT kernel a model says only when ordinary tasks preempt each other. Those older
    than 6.12 have no choice of models, and debugfs shows a choice where there is one."""
    yield "kernel.preemption_model", "rt"
    option: str | None = "n"
    if _is_from(known, (6, 12)) and raw.text("debugfs:sched/features") is None:
        option = config.value("CONFIG_PREEMPT_DYNAMIC")
    if option == "y":
        yield from _hidden(raw, config, "rt, ")
        return
    if option is not None:
        yield "kernel.preemption_is_dynamic", False
    yield "kernel.preemption", "rt"


def _is_from(known: Known, version: tuple[int, int]) -> bool:
    match = re.match(r"\s*(\d{1,9})(?:\.(\d{1,9}))?", str(known.get("kernel.release")), re.ASCII)
    return match is not None and (int(match[1]), int(match[2] or 0)) >= version


# ---- memory ----


def _memory(raw: Raw, _known: Known) -> Found:
    lines = dict(line.partition(":")[::2] for line in lines_of(raw.any("/proc/meminfo")))
    total, rest = (number_of(lines.get(name)) for name in ("SwapTotal", "SwapFree"))
    if total is not None and rest is not None:
        yield "memory.swap_bytes", total * 1024
        yield "memory.swap_used_bytes", (total - rest) * 1024
    huge = "/sys/kernel/mm/transparent_hugepage"
    active = _marked(raw.text(f"{huge}/enabled") or "")
    if active is not None:
        yield "memory.transparent_hugepage", active
    elif "/sys/kernel/mm" in raw and huge not in raw:  # a kernel without them
        yield "memory.transparent_hugepage", None
    numbers = {
        "memory.ksm": "/sys/kernel/mm/ksm/run",
        "memory.numa_balancing": "/proc/sys/kernel/numa_balancing",
    }
    yield from _numbers(raw, numbers)
    nodes = "/sys/devices/system/node/node"
    if f"{nodes}0" in raw:
        yield "memory.has_nodes", f"{nodes}1" in raw


# ---- frequency, battery, heat ----


def _frequencies(raw: Raw, _known: Known) -> Found:
    """Of all CPUs: a single CPU with another governor is enough to be late."""
    folder, online = f"{_CPU}/cpu*/cpufreq", raw.online()
    governors = raw.each(f"{folder}/scaling_governor")
    if 0 in governors:
        yield "power.governor", governors[0]
    if online and all(cpu in governors for cpu in online):
        yield "power.governors", _list(dict.fromkeys(governors[cpu] for cpu in online))
        least = raw.each_number(f"{folder}/scaling_min_freq")
        most = raw.each_number(f"{folder}/scaling_max_freq")
        fixed = [cpu in least and least[cpu] == most.get(cpu) for cpu in online]
        yield "power.frequency_is_fixed", all(fixed)
    yield from _battery(raw)


def _battery(raw: Raw) -> Found:
    """A mouse has a battery too: its scope is "Device"."""
    folder = "/sys/class/power_supply"
    if folder not in raw:
        return
    files = raw.below(folder)
    states = [
        files.get(f"{one}/status", "Unknown")
        for one in dict.fromkeys(name.partition("/")[0] for name in files)
        if files.get(f"{one}/type") == "Battery" and files.get(f"{one}/scope") != "Device"
    ]
    if "Discharging" in states or "Unknown" not in states:
        yield "power.on_battery", "Discharging" in states


def _heat(raw: Raw, _known: Known) -> Found:
    """All CPUs of a package show the package's count, and SMT siblings may show their core's: each
    package and core counts once."""
    throttles, topology = f"{_CPU}/cpu*/thermal_throttle", f"{_CPU}/cpu*/topology"
    cores = raw.each_number(f"{throttles}/core_throttle_count")
    packages = raw.each_number(f"{throttles}/package_throttle_count")
    first = raw.each_number(f"{topology}/thread_siblings_list")  # the core's first CPU
    package = raw.each_number(f"{topology}/physical_package_id")
    online = raw.online()
    if online and all(cpu in cores for cpu in online):
        of_cores = _most((first.get(cpu, cpu), cores[cpu]) for cpu in online)
        of_packages = _most(
            (package.get(cpu, -1), packages[cpu]) for cpu in online if cpu in packages
        )
        yield "power.thermal_throttles", sum(of_cores.values()) + sum(of_packages.values())
    yield from _cooling(raw)


def _most(counts: Iterable[tuple[int, int]]) -> dict[int, int]:
    """The largest count of each group."""
    groups: dict[int, int] = {}
    for group, count in counts:
        groups[group] = max(count, groups.get(group, count))
    return groups


def _cooling(raw: Raw) -> Found:
    """Whether a cooling device slows the processor down now."""
    files = raw.below("/sys/class/thermal")
    kinds = {name.removesuffix("/type"): kind for name, kind in files.items() if "/type" in name}
    states = [
        state
        for name, kind in kinds.items()
        if kind == "Processor" or "cpufreq" in kind or "cpu-" in kind
        if (state := number_of(files.get(f"{name}/cur_state"))) is not None
    ]
    if states:
        yield "power.is_cooling", max(states) > 0


# ---- idle states: how long a CPU may take to leave them ----

_STATES = 16


class State(NamedTuple):
    """An idle state, by CPU: exit latency, name, and whether it is switched off."""

    latency_us: dict[int, int]
    name: dict[int, str]
    is_disabled: dict[int, int]


def _idle(raw: Raw, known: Known) -> Found:
    folder, driver = f"{_CPU}/cpuidle", raw.text(f"{_CPU}/cpuidle/current_driver")
    yield from _texts(raw, {"power.idle_governor": f"{folder}/current_governor"})
    if driver is not None:
        yield "power.idle_driver", driver
    if (asked := raw.boot_option("idle")) is not None:
        yield "power.idle_boot", asked or None
    places = [f"{_CPU}/cpu*/cpuidle/state{number}" for number in range(_STATES)]
    states = [
        State(
            raw.each_number(f"{one}/latency"),
            raw.each(f"{one}/name"),
            raw.each_number(f"{one}/disable"),
        )
        for one in places
    ]
    names = _list(_names(states))
    if names or driver == "none":
        yield "power.idle_states", names
    yield from _deepest(states, raw, known)


def _names(states: Sequence[State]) -> Iterator[str]:
    for state in states:
        if 0 not in state.name:
            return
        yield state.name[0]


def _deepest(states: Sequence[State], raw: Raw, known: Known) -> Found:
    """The deepest state that any online CPU may enter."""
    latency_us, name = -1, ""
    limits = raw.each(f"{_CPU}/cpu*/power/pm_qos_resume_latency_us")
    of_all = known.get("power.dma_latency_us")
    for cpu in raw.online():
        own = _own_limit(limits.get(cpu))
        bounds = [one for one in (of_all, own) if isinstance(one, int)]
        for state in states:
            latency = state.latency_us.get(cpu)
            if latency is None:
                break
            is_allowed = not state.is_disabled.get(cpu) and all(latency <= one for one in bounds)
            if is_allowed and latency > latency_us:
                latency_us, name = latency, state.name.get(cpu, "")
    if latency_us >= 0:
        yield "power.idle_latency_us", latency_us
        yield "power.idle_deepest", name or None


def _own_limit(text: str | None) -> int | None:
    """The limit of one CPU alone: "n/a" means 0 us (no idle state), "0" that there is none."""
    number = number_of(text)
    return 0 if text == "n/a" else number if number is not None and number > 0 else None


# ---- who gets real-time priorities from pam_limits ----


def _granted(raw: Raw, _known: Known) -> Found:
    folder = "/etc/security"
    files = [f"{folder}/limits.conf", *(f"{folder}/{one}" for one in raw.below(folder))]
    texts = [text for one in dict.fromkeys(files) if (text := raw.any(one)) is not None]
    if texts or any(one in raw for one in files):
        lines = [line for text in texts for line in lines_of(text)]
        yield "limits.granted_rtprio", _list(filter(None, map(_grant, lines)))


def _grant(line: str) -> str | None:
    """ "@audio=95" of a line "@audio - rtprio 95"."""
    words = re.findall(r"\S+", line.partition("#")[0], re.ASCII)
    if len(words) < 4 or words[2] != "rtprio" or words[1] == "soft":
        return None
    return f"{words[0][:60]}={words[3][:20]}"
