"""Facts from raw texts: damaged and hostile ones, and those of a stored run."""

from __future__ import annotations

import base64
import time
import zlib
from collections.abc import Mapping

import msgspec
import pytest

from hardstone.facts import load_facts
from hardstone.model import Facts, RunDocument, Scalar, Source
from hardstone.raw_facts import read_again, read_facts, unpacked, with_raw_facts
from hardstone.sources import cpus_of
from hardstone.stats.consistency import KindOfTime, kind_of_time
from hardstone.store.documents import parse_document
from tests.process.targets import sample
from tests.unit.stats import make
from tests.unit.test_facts import check_value

CPU = "/sys/devices/system/cpu"


def sources(texts: Mapping[str, str]) -> list[Source]:
    return [Source(source=name, text=text) for name, text in texts.items()]


def packed(text: bytes, level: int = 9, strategy: int = zlib.Z_DEFAULT_STRATEGY) -> bytes:
    packer = zlib.compressobj(level, wbits=31, strategy=strategy)
    return packer.compress(text) + packer.flush()


@pytest.mark.parametrize("level", [0, 1, 9])
@pytest.mark.parametrize("strategy", [zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED, zlib.Z_HUFFMAN_ONLY])
def test_a_packed_configuration(level: int, strategy: int) -> None:
    text = b"".join(b"CONFIG_%d=%d\n" % (n, n * n % 97) for n in range(20_000))
    data = packed(text, level, strategy)
    assert unpacked(data) == text.decode()
    assert unpacked(data[: len(data) // 2]) is None


@pytest.mark.slow
def test_a_damaged_configuration_is_none_and_none_fills_the_memory() -> None:
    data = bytearray(packed(b"CONFIG_A=y\n" * 3000))
    for at in range(len(data)):
        spoilt = bytearray(data)
        spoilt[at] ^= 0x55
        unpacked(bytes(spoilt))
    assert unpacked(packed(bytes(1 << 26))) is None
    assert unpacked(b"") is None


def facts(*more: Source, port: str = "linux", **known: Scalar) -> Facts:
    told = {"probe.port": port} | {name.replace("__", "."): one for name, one in known.items()}
    return msgspec.structs.replace(sample.facts(), facts=told, sources=list(more))


def test_of_a_packed_configuration_what_facts_are_read_from_is_kept() -> None:
    text = b"# a comment\nCONFIG_PREEMPT_RT=y\n# CONFIG_PROVE_LOCKING is not set\nCONFIG_USB=y\n"
    data = base64.b64encode(packed(text)).decode()
    found = with_raw_facts(facts(Source(source="/proc/config.gz", base64=data)))
    assert found.facts["kernel.lock_checking"] is False
    assert found.sources is not None
    (kept,) = found.sources
    assert kept.text == "CONFIG_PREEMPT_RT=y\n# CONFIG_PROVE_LOCKING is not set\n"
    assert kept.base64 is None
    assert read_facts(found.sources, found.facts)["kernel.lock_checking"] is False


def test_a_packed_configuration_of_a_hostile_target_can_be_stored() -> None:
    data = base64.b64encode(packed(b"CONFIG_HZ=9\n" * 100_000)).decode()
    told = with_raw_facts(facts(Source(source="/proc/config.gz", base64=data)))
    document = make.document(system=told.facts)
    document.sources = told.sources or []
    assert parse_document(msgspec.json.encode(document), "a run").sources == document.sources


def test_only_a_port_that_sends_sources_has_facts_read_from_them() -> None:
    tainted = Source(source="/proc/sys/kernel/tainted", text="0\n")
    assert with_raw_facts(facts(tainted)).facts["kernel.tainted"] == 0
    assert set(with_raw_facts(facts(tainted, port="posix")).facts) == {"probe.port"}
    older = msgspec.structs.replace(facts(), sources=None)
    assert with_raw_facts(older) is older


def test_what_is_missing_is_no_fact() -> None:
    told = {"virtual.emulated", "virtual.emulated_reason", "virtual.time"}  # "not known"
    assert set(read_facts([], {})) == told
    assert read_facts([], {})["virtual.emulated"] is None


def test_the_facts_of_a_stored_run_can_be_read_again() -> None:
    told = with_raw_facts(facts(Source(source="/proc/cmdline", text="quiet idle=poll\n")))
    document = make.document(system=told.facts)
    document.sources = told.sources or []
    stored = msgspec.json.decode(msgspec.json.encode(document), type=RunDocument)
    assert read_again(stored) == stored.system
    del stored.system["power.idle_boot"]  # as if the version that stored it had not known it
    assert read_again(stored)["power.idle_boot"] == "poll"
    shown = parse_document(msgspec.json.encode(stored), "a run")
    assert shown.system["power.idle_boot"] == "poll"
    assert read_again(make.document()) == make.document().system
    document.system = with_raw_facts(facts(*document.sources, port="board")).facts
    assert read_again(document) == {"probe.port": "board"}


LONG = "9" * 65_536
HOSTILE = {
    "long": LONG,
    "brackets": "(" * 65_536,
    "tabs": "CPU part" + "\t" * 60_000,
    "CPUs": "0-65535 1\n" * 6_000,
    "list": ",".join(["0-65535"] * 8_000),
    "negative": "-9223372036854775808\n",
    "large": "cpu 9223372036854775807 9 9 9 9 9 9 9223372036854775807\n",
    "swap": "SwapTotal: 9223372036854775807 kB\nSwapFree: -9223372036854775807 kB\n",
    "zero": "\0",
    "empty": "",
    "blank": " \n\n \n",
    "letters": "\u2028\x1b[31mé\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_give_facts_of_their_type_that_can_be_stored(text: str) -> None:
    names = {one for fact in load_facts().values() for one in fact.sources}
    names = {one.replace("state*", "state0").replace("config-*", "config-6.12.1") for one in names}
    known: dict[str, Scalar] = {
        "kernel.version": "#1 SMP PREEMPT_DYNAMIC",
        "kernel.release": "6.12.1",
        "power.dma_latency_us": 0,
    }
    begin = time.process_time()
    for texts in (
        [Source(source=name, text=text) for name in names],
        [Source(source=name, base64=text) for name in names],
        [*sources(dict.fromkeys(names, text)), *sources({f"{CPU}/online": "0-3\n"})],
    ):
        found = read_facts(texts, known)
        for name, value in found.items():
            check_value(name, value)
        document = make.document(system={**known, **found})
        document.sources = texts
        msgspec.json.decode(msgspec.json.encode(document), type=RunDocument)
    assert time.process_time() - begin < 10.0


@pytest.mark.parametrize("end", "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
def test_only_a_line_feed_ends_a_line(end: str) -> None:
    """str.splitlines() splits at each of these: the rest of a comment granted a priority."""
    texts = {
        "/etc/os-release": f"NAME=a{end}PRETTY_NAME=b\n",
        "/etc/security/limits.conf": f"# x{end}@audio - rtprio 95\n",
        "/proc/cpuinfo": f"flags\t: a{end}model name\t: b\n",
        "/proc/meminfo": f"Cached: 1 kB{end}SwapTotal: 2 kB\nSwapFree: 1 kB\n",
        f"{CPU}/online": "0-1\n",
        f"{CPU}/cpu*/cpufreq/scaling_governor": f"0 a{end}1 b\n",
    }
    found = read_facts(sources(texts), {})
    assert found["limits.granted_rtprio"] is None
    wrong = {"os.name", "machine.cpu_model", "memory.swap_bytes", "power.governors"}
    assert not wrong & set(found)
    text = f"CONFIG_USB=y{end}CONFIG_PREEMPT=y\n".encode()
    config = Source(source="/proc/config.gz", base64=base64.b64encode(packed(text)).decode())
    (kept,) = with_raw_facts(facts(config)).sources or []
    assert kept.text == ""


def test_a_grant_in_a_file_with_carriage_returns() -> None:
    """For pam_limits they are white space."""
    limits = {"/etc/security/limits.conf": "@audio - rtprio 95\r\n@video - rtprio 96\r\n"}
    assert read_facts(sources(limits), {})["limits.granted_rtprio"] == "@audio=95, @video=96"


def test_a_list_of_cpus_that_is_too_long_is_none() -> None:
    assert cpus_of("0-65536") == list(range(65_537))
    assert cpus_of("0-40000,0-40000") == []


@pytest.mark.parametrize(
    ("board", "chip", "kind"),
    [
        ("rv-virt", "qemu-rv", KindOfTime.UNKNOWN),
        ("qemu-armv7a", "qemu", KindOfTime.UNKNOWN),
        ("stm32f4discovery", "stm32", KindOfTime.HARDWARE),
    ],
)
def test_an_image_for_a_machine_of_qemu_may_be_emulated(
    board: str, chip: str, kind: KindOfTime
) -> None:
    known = {"machine.board": board, "machine.chip": chip}
    found = with_raw_facts(facts(port="nuttx", **known)).facts
    assert kind_of_time(found) is kind
    assert (board in str(found.get("virtual.emulated_reason"))) is (kind is KindOfTime.UNKNOWN)
    told = {"virtual.emulated": True, "virtual.emulated_reason": "told"}
    assert with_raw_facts(facts(port="nuttx", **known, **told)).facts.items() >= told.items()
