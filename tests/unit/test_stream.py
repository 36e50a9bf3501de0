from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardstone.model import STREAM_SCHEMA, Event, Result
from hardstone.schema import FOLDER
from hardstone.store.documents import parse_document
from hardstone.stream import NO_FOOTER, StreamReader
from tests.unit.stats import make

TEST = "TMR-P-LAT"
GOLDEN = (FOLDER / "golden" / "stream-1-tmr-p-lat.jsonl").read_bytes().splitlines()
HEADER, INSTRUMENT, EVENT, WAKEUP, RELEASE, RESULT, FOOTER = GOLDEN
VERDICT = b'{"type":"verdict","name":"v","pass":true,"evidence":"e"}'
FLOOD_OF_VALUES = b'{"type":"event","name":[' + b"1," * 6_000_001
Line = dict[str, Any]
BAD_PAIR = {"count": 9, "min": 5, "median": 6, "p99": 7, "max": 8, "mean": 500.0}


def fed(lines: list[bytes], **how: Any) -> StreamReader:
    reader = StreamReader(TEST, **how)
    for line in lines:
        reader.feed(line)
    return reader


def read(lines: list[bytes], **how: Any) -> Result:
    reader = fed(lines, **how)
    assert reader.is_complete == reader.finish().complete
    return reader.finish()


def changed(line: bytes, change: Callable[[Line], object]) -> bytes:
    value = msgspec.json.decode(line)
    change(value)
    return msgspec.json.encode(value)


def with_field(line: bytes, **fields: object) -> bytes:
    return changed(line, lambda value: value.update(fields))


def with_buckets(change: Callable[[Line], object]) -> bytes:
    return changed(WAKEUP, lambda value: change(value["histogram"]))


def test_a_whole_stream_gives_a_complete_result() -> None:
    result = read(GOLDEN)
    assert (result.status, result.complete, result.reason) == ("measured", True, None)
    assert [series.name for series in result.series] == ["wakeup", "release"]
    assert result.started_utc == "2026-11-21T03:22:00Z"
    assert result.params["interval_ns"] == 1_000_000
    assert result.conditions.policy == "fifo"
    assert result.instrument is not None and result.instrument.pair.median == 19
    decoded = msgspec.json.decode(msgspec.json.encode(result))  # without the types of lines
    assert "type" not in decoded["series"][0] and "type" not in decoded["instrument"]
    assert read([b"\r\n", *[line + b"\r\n" for line in GOLDEN], b""]) == result


def test_the_command_of_a_remedy_is_its_own() -> None:
    denied = with_field(RESULT, status="denied", remedy="grant it", command="hardstone doctor")
    result = read([HEADER, denied])
    assert (result.remedy, result.command) == ("grant it", "hardstone doctor")
    assert read([HEADER, RESULT]).command is None


@pytest.mark.slow
def test_a_flood_of_series_is_ended_and_what_came_before_is_kept() -> None:
    empty = {"count": 0, "min": None, "mean": None, "stddev": None, "max": None, "worst": []}
    empty |= {"histogram": {"layout": "log-linear/7", "buckets": []}, "maxima_per_s": []}
    one = with_field(RELEASE, name="NAME", **empty)
    flood = (one.replace(b"NAME", b"s%d" % number) for number in range(16_400))
    result = read([HEADER, WAKEUP, *flood])
    assert (result.status, result.complete) == ("failed", False)
    assert result.reason == "line 16386: more than 16384 lines of the kind series"
    assert len(result.series) == 16_384 and result.series[0].name == "wakeup"


@pytest.mark.slow
def test_what_a_stream_may_hold_can_be_stored() -> None:
    loads = (LOAD.replace(b'"cpu"', b'"e%d"' % number) for number in range(5000))
    floods = [[EVENT] * 20_000, loads, [with_field(RESULT, reason="x" * 65_536)]]
    for flood in floods:
        document = make.document(results=[read([HEADER, *flood])])
        document.results[0].events.append(Event(name="conditions_differ", text="of our own"))
        assert parse_document(msgspec.json.encode(document), "it").id == document.id


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([b"\r\n"] * 70_000, "line 0: more than 65536 empty lines"),
        # before they are decoded
        ([HEADER, FLOOD_OF_VALUES], "line 2: the stream holds more than 6000000 values"),
    ],
    ids=["lines", "values"],
)
def test_a_flood_is_ended(lines: list[bytes], problem: str) -> None:
    assert fed(lines).problem == problem


@pytest.mark.parametrize("kept", range(len(GOLDEN)))
def test_a_stream_that_ends_early_is_incomplete_and_kept(kept: int) -> None:
    result = read(GOLDEN[:kept])
    assert not result.complete
    assert result.reason == NO_FOOTER
    assert len(result.series) == sum(line in (WAKEUP, RELEASE) for line in GOLDEN[:kept])
    assert result.status == ("measured" if result.series else "failed")
    late = read([HEADER, with_field(RESULT, status="timeout", reason="took too long")])
    assert (late.status, late.reason) == ("timeout", f"took too long; {NO_FOOTER}")


BROKEN: list[tuple[list[bytes], str]] = [
    ([INSTRUMENT], "line 1: the header must come first"),
    ([HEADER, HEADER], "line 2: a second header"),
    ([with_field(HEADER, schema="hardstone.stream/2")], (
        "line 1: its schema is 'hardstone.stream/2'"
    )),
    ([with_field(HEADER, test="CLK-B-RES")], "test 'CLK-B-RES'; TMR-P-LAT was requested"),
    ([with_field(HEADER, started_utc_ns=10**30)], "<= 9223372036854775807 - at `$.started_utc_ns`"),
    ([with_field(HEADER, started_utc_ns=-(2**63))], "line 1: the start time -9223372036854775"),
    ([with_field(HEADER, started_utc_ns=2**63 - 1)], "line 1: the start time 9223372036854775807"),
    ([HEADER, with_field(RESULT, duration_ns=2**62)], "- at `$.duration_ns`"),
    ([HEADER, with_field(EVENT, text="x" * 70_000)], "length <= 65536 - at `$.text`"),
    ([HEADER, with_field(WAKEUP, name="x" * 5000)], "length <= 4096 - at `$.name`"),
    ([HEADER, INSTRUMENT, INSTRUMENT], "line 3: a second instrument"),
    ([HEADER, with_field(INSTRUMENT, pair=BAD_PAIR)], "line 2: the mean of the time-stamp pairs"),
    ([HEADER, b"Kernel panic"], "line 2: not JSON"),
    ([HEADER, b"\xff\xfe"], "line 2: not"),
    ([HEADER, EVENT.replace(b"release", b"\xff")], "line 2: not UTF-8"),
    ([HEADER, b'{"type":"event","x":' + b"[" * 99_999], "line 2: nested too deeply"),
    ([HEADER, b'{"type":"opinion"}'], "line 2: not a line of hardstone.stream/1"),
    ([HEADER, WAKEUP[:-20]], "line 2: not JSON"),
    ([HEADER, WAKEUP, WAKEUP], "line 3: a second series 'wakeup'"),
    ([HEADER, with_field(WAKEUP, count=7)], "holds 400 values but the count is 7"),
    ([HEADER, with_field(WAKEUP, max=None)], "exactly when there are values"),
    ([HEADER, with_field(WAKEUP, stddev=None)], "when there are several values"),
    ([HEADER, with_field(WAKEUP, min=10**9)], "is above the maximum"),
    ([HEADER, with_field(WAKEUP, max=2**64)], "<= 9223372036854775807 - at `$.max`"),
    ([HEADER, with_field(WAKEUP, maxima_interval_ns=0)], "not a time"),
    ([HEADER, with_buckets(lambda h: h["buckets"].reverse())], "does not ascend"),
    ([HEADER, with_buckets(lambda h: h.update(layout="linear"))], "layout 'linear' is not known"),
    ([HEADER, with_buckets(lambda h: h.update(overflow=-1))], "negative"),
    ([HEADER, RESULT, RESULT], "line 3: only the footer may follow the result"),
    ([HEADER, RESULT, WAKEUP], "line 3: only the footer may follow the result"),
    ([HEADER, with_field(RESULT, duration_ns=-1)], "a duration of -1 ns"),
    ([HEADER, VERDICT, FOOTER], "line 3: a footer without a result"),
    ([HEADER, RESULT, FOOTER], "the footer counts 6 lines, 1 events, 2 series, 0 verdicts, but "
                               "2 lines, 0 events, 0 series, 0 verdicts were received"),
    ([*GOLDEN, EVENT], "line 8: a line after the footer"),
    ([*GOLDEN, FOOTER], "line 8: a line after the footer"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "reason"), BROKEN, ids=[case[1][:50] for case in BROKEN])
def test_what_breaks_the_contract_is_named_with_its_line(lines: list[bytes], reason: str) -> None:
    result = read(lines)
    assert (result.status, result.complete) == ("failed", False)
    assert result.reason is not None and reason in result.reason


def test_what_was_valid_before_garbage_is_kept_and_what_comes_after_is_not() -> None:
    result = read([HEADER, INSTRUMENT, EVENT, WAKEUP, b"garbage", RELEASE, RESULT, FOOTER])
    assert [series.name for series in result.series] == ["wakeup"]
    assert result.instrument is not None
    assert len(result.events) == 1


def test_the_same_series_under_other_labels_is_another_series() -> None:
    other = changed(WAKEUP, lambda value: value["labels"].update(cpu=2))
    assert len(read([HEADER, WAKEUP, other]).series) == 2


LOAD = (
    b'{"type":"load","element":"cpu","degree":"10ms/100ms","asked":0.1,"reached":0.08,'
    b'"unit":"share","processes":2,"counters":{"busy_ns":5}}'
)
SEARCH = LOAD.replace(b'"cpu"', b'"search"').replace(b"0.1,", b"null,")


def test_what_the_load_reached_is_kept() -> None:
    footer = with_field(FOOTER, lines=8)
    lines = [HEADER, INSTRUMENT, EVENT, LOAD, SEARCH, WAKEUP, RELEASE, RESULT, footer]
    result = read(lines)
    assert result.complete
    assert [(one.element, one.asked, one.reached) for one in result.load] == [
        ("cpu", 0.1, 0.08),
        ("search", None, 0.08),
    ]
    assert result.load[0].counters == {"busy_ns": 5}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (LOAD, "a second load line of 'cpu'"),
        (SEARCH.replace(b"0.08", b"-1"), "below nothing"),
        (SEARCH.replace(b"null", b"-0.5"), "below nothing"),
        (SEARCH.replace(b":2,", b":-2,"), "below nothing"),
        (SEARCH.replace(b"0.08", b"1e999"), "not a line of|not JSON|below"),
        (SEARCH.replace(b'{"busy_ns":5}', b'{"busy_ns":0.5}'), "not a line of"),
    ],
)
def test_a_load_that_cannot_be_breaks_the_stream(line: bytes, words: str) -> None:
    result = read([HEADER, LOAD, line])
    assert not result.complete and len(result.load) == 1
    assert re.search(words, result.reason or "")


def test_long_lines_and_long_streams_are_refused() -> None:
    line = read([HEADER, WAKEUP], line_limit_bytes=1000).reason
    assert line == "line 2: longer than 1000 bytes"
    stream = read([HEADER, WAKEUP, RELEASE], stream_limit_bytes=5000).reason
    assert stream == "line 3: the stream is longer than 5000 bytes"


def test_a_reason_is_short_and_cannot_steer_a_terminal() -> None:
    reason = read([with_field(HEADER, test="\x1b[2J" + "x" * 10_000)]).reason
    assert reason is not None
    assert reason.isprintable()
    assert len(reason) < 250


MUTATIONS = st.one_of(
    st.tuples(st.just("cut"), st.integers(0, 6), st.integers(0, 5000), st.just(b"")),
    st.tuples(st.just("splice"), st.integers(0, 6), st.integers(0, 5000), st.binary(max_size=6)),
    st.tuples(st.just("drop"), st.integers(0, 6), st.just(0), st.just(b"")),
    st.tuples(st.just("double"), st.integers(0, 6), st.just(0), st.just(b"")),
    st.tuples(st.just("add"), st.integers(0, 6), st.just(0), st.binary(max_size=80)),
)


def mutated(mutations: list[tuple[str, int, int, bytes]]) -> list[bytes]:
    lines = list(GOLDEN)
    for kind, at, offset, extra in mutations:
        place = at % max(len(lines), 1)
        line = lines[place] if lines else b""
        cut = offset % (len(line) + 1)
        new = {
            "cut": [line[:cut]],
            "splice": [line[:cut] + extra + line[cut + len(extra) :]],
            "drop": [],
            "double": [line, line],
            "add": [line, extra],
        }[kind]
        lines[place : place + 1] = new
    return lines


def check_sound(result: Result) -> None:
    assert result.test == TEST
    assert msgspec.json.decode(msgspec.json.encode(result), type=Result) == result
    assert result.complete or result.reason


@pytest.mark.slow
@settings(max_examples=400)
@given(
    st.lists(MUTATIONS, min_size=1, max_size=4).map(mutated)
    | st.lists(st.binary(max_size=60) | st.sampled_from(GOLDEN), max_size=12)
)
def test_no_damage_to_a_stream_and_no_bytes_raise(lines: list[bytes]) -> None:
    check_sound(read(lines))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@pytest.mark.slow
@settings(max_examples=300)
@given(st.integers(0, 6), st.data())
def test_no_value_in_any_field_raises(at: int, data: st.DataObject) -> None:
    line = msgspec.json.decode(GOLDEN[at])
    field = data.draw(st.sampled_from(sorted(line)))
    line[field] = data.draw(JSON)
    try:
        raw = msgspec.json.encode(line)
    except OverflowError:
        return
    check_sound(read([*GOLDEN[:at], raw, *GOLDEN[at + 1 :]]))


def noisy(*lines: bytes) -> Result:
    return read([*lines], is_noisy=True)


BOOT = b"[    0.000000] Linux version 6.12\x1b[0m\r\n"


def test_lines_of_others_on_a_console_are_kept_apart_and_counted() -> None:
    result = noisy(BOOT, *GOLDEN[:3], b"login: \n", *GOLDEN[3:], b"[  9.0] reboot: Power down\n")
    assert result.complete and result.status == "measured"
    assert result.foreign_count == 3
    assert result.foreign_lines[1:] == ["login: ", "[  9.0] reboot: Power down"]
    assert "\x1b" not in result.foreign_lines[0]
    assert not read([BOOT, *GOLDEN]).complete  # nobody else writes there


def test_what_others_left_without_a_line_end_is_parted_from_a_line_of_the_probe() -> None:
    result = noisy(*GOLDEN[:2], b"[  1.0] no line end " + GOLDEN[2], *GOLDEN[3:])
    assert (result.complete, result.foreign_count) == (True, 1)
    assert result.foreign_lines == ["[  1.0] no line end"]


@pytest.mark.parametrize(("line", "words"), [(3, "the footer counts"), (6, "before its footer")])
def test_a_line_of_the_probe_that_others_broke_is_missed(line: int, words: str) -> None:
    cut = GOLDEN[line][:9] + b"[  1.0] hello\n"
    result = noisy(*GOLDEN[:line], cut, GOLDEN[line][9:], *GOLDEN[line + 1 :])
    assert not result.complete and result.foreign_count == 2
    assert words in (result.reason or "")


def test_only_the_first_lines_of_others_are_kept_and_the_begin_of_each() -> None:
    result = noisy(b"\x80\xff" * 2000, *[BOOT] * 49, *GOLDEN)
    assert (result.complete, result.foreign_count, len(result.foreign_lines)) == (True, 50, 20)
    assert len(result.foreign_lines[0]) == 200 and result.foreign_lines[0].isprintable()
    many = noisy(*[b"," * 100_000 + b"\n"] * 70, *GOLDEN)  # nor do they count for its limits
    assert many.complete and many.foreign_count == 70


def with_checksum(lines: list[bytes]) -> list[bytes]:
    """The golden stream as a probe of today sends it."""
    head = with_field(lines[0], schema=STREAM_SCHEMA).rstrip(b"\r\n")
    body = [head, *(line.rstrip(b"\r\n") for line in lines[1:-1])]
    crc32 = 0
    for line in body:
        crc32 = zlib.crc32(line, crc32)
    return [*(line + b"\r\n" for line in body), with_field(lines[-1], crc32=crc32)]


@pytest.mark.parametrize(
    ("found", "broken"),
    [(b'"steal_ns"', b'"steal[  1.0] x_ns"'), (b'"fifo"', b'"fi[  1.0] hello fo"')],
)
def test_what_others_wrote_into_a_key_or_a_text_is_noticed(found: bytes, broken: bytes) -> None:
    """The line is JSON all the same, and a name that is not known is left out."""
    lines = with_checksum(GOLDEN)
    assert found in lines[-2]
    lines[-2] = lines[-2].replace(found, broken)
    result = noisy(*lines)
    assert not result.complete
    assert "checksum" in (result.reason or "")


def test_a_stream_with_its_checksum_is_complete_also_where_a_console_ends_lines_its_way() -> None:
    assert read(with_checksum(GOLDEN)).complete
    assert noisy(BOOT, *with_checksum(GOLDEN)).complete
    lines = [line.rstrip(b"\n") + b"\x1b[0m\r\n" for line in with_checksum(GOLDEN)]
    assert noisy(*lines).complete


WINDOW = (
    b'{"type":"window","begin_ns":%d,"end_ns":%d,"distance_ns":[%d],"length_ns":[100],'
    b'"counted_ns":null,"interrupts_count":null,"timer_interrupts_count":null}'
)


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (WINDOW % (999, 2000, 10), "starts before the previous one ended"),
        (WINDOW % (1000, 2000, 901), "after its window"),
        (WINDOW % (1000, 2000, -1), "starts before"),
    ],
)
def test_windows_are_kept_in_their_order_and_an_impossible_one_breaks_the_stream(
    second: bytes, words: str
) -> None:
    possible = [WINDOW % (0, 1000, 10), WINDOW % (1000, 2000, 900)]
    reader = fed([HEADER, possible[0], second])
    assert reader.problem is not None
    assert reader.problem.startswith("line 3") and words in reader.problem
    assert len(reader.finish().windows) == 1
    both = fed([HEADER, *possible])
    assert both.problem is None
    assert [one.distance_ns for one in both.finish().windows] == [[10], [900]]


@pytest.mark.slow
def test_a_flood_of_gaps_is_ended() -> None:
    many = {"distance_ns": [1] * 600_000, "length_ns": [1] * 600_000}
    windows = [
        with_field(WINDOW % (begin_ns, begin_ns + 600_001, 1), **many) for begin_ns in (0, 700_000)
    ]
    reader = fed([HEADER, *windows])
    assert reader.problem == "line 3: more than 1048576 gaps"
    assert len(reader.finish().windows) == 1


def test_the_answer_to_another_request_is_not_taken() -> None:
    """Its checksums are right: only what it states tells that it is not what was asked for."""
    stated = read(GOLDEN).params
    assert read(GOLDEN, params=stated, policy="fifo").complete
    assert read(GOLDEN, params=stated | {"not_stated": []}).complete
    found = read(GOLDEN, params=stated | {"interval_ns": 5_000_000})
    assert (found.status, found.complete, found.series) == ("failed", False, [])
    assert found.reason is not None
    assert "measured with interval_ns=1000000; interval_ns=5000000 was requested" in found.reason
    other = msgspec.json.decode(RESULT)["conditions"] | {"policy": "rr"}
    lines = [*GOLDEN[:-2], with_field(RESULT, conditions=other), FOOTER]
    found = read(lines, policy="fifo")
    assert found.status == "failed" and not found.complete
    assert "policy 'rr'; 'fifo' was requested" in str(found.reason)


def test_a_refused_policy_is_a_condition_and_no_other_request() -> None:
    refused = msgspec.json.decode(RESULT)["conditions"] | {"policy": "other", "realtime": False}
    without_sum = changed(FOOTER, lambda value: value.pop("crc32", None))
    lines = [*GOLDEN[:-2], with_field(RESULT, conditions=refused), without_sum]
    assert read(lines, policy="fifo").complete
