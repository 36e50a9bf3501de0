"""The parts of the page one by one: texts, commands, tables, safety."""

from __future__ import annotations

import json
import shlex

import msgspec
import numpy as np
import pytest

from hardstone.figure_text import quantile_cell, share_text
from hardstone.model import RunDocument
from hardstone.present import overview
from hardstone.report import opening
from hardstone.report.page_frame import can_be_inlined, content_security_policy, json_for_script
from hardstone.report.tables import table_of
from hardstone.stats.consistency import MARK_NOTE
from hardstone.stats.quantiles import Quantile
from hardstone.wording import clean, format_value, label_text, parameter_text, range_text, shorten
from tests.unit.report import sample


def test_the_commands_of_a_run_from_before_loads_name_its_load() -> None:
    """Such a plan has one load for all tests, and lists of none."""
    tests = sample.document(count=300).plan.tests
    document = sample.document(count=300)
    old = document.plan = msgspec.structs.replace(
        document.plan,
        load="storm",
        cpu_config="single",
        loads=[],
        cpu_configs=[],
        tests=[msgspec.structs.replace(one, load="none", cpu_config="shared") for one in tests],
    )
    for command in (overview.run_command(old), *overview.test_commands(document)):
        assert "--load storm --cpu-config single" in command


def test_cleaning_keeps_words_and_drops_what_deceives() -> None:
    assert clean("Grüße, 中文, é") == "Grüße, 中文, é"
    assert clean("a\x00b\x1b[31m\u202ec\ud800") == "a\ufffdb\ufffd[31m\ufffdc\ufffd"
    assert shorten("a \n\U0001f600") == "a \ufffd"
    assert shorten("x" * 100) == "x" * 47 + "…"


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (label_text("period_ns", 10_000_000), "period 10 ms"),
        (label_text("size_bytes", 64), "size 64 B"),
        (label_text("size_bytes", 8192), "size 8 192 B"),  # names a variant
        (label_text("cpu", 1), "cpu 1"),
        (label_text("kind", "posix"), "posix"),
        # no digit below the quantum
        (format_value(27.34, "ns", 0.83), "27.3 ns"),
        (format_value(27.34, "ns", 1.0), "27 ns"),
        (format_value(27.34, "ns", 16.0), "30 ns"),
        (format_value(2_500_000, "bytes_per_s"), "2.5 MB/s"),
        (format_value(None, "ns"), "-"),
        # a share is never rounded in favour of the system
        (share_text(0.95), "95 %"),
        (share_text(0.632), "64 %"),
        (share_text(0.0033), "1 in 303"),
        (share_text(9.985e-5), "1 in 10 000"),
        # parameters and ranges share their unit
        (parameter_text("periods_ns", [1_000_000, 10_000_000]), "periods 1 ms, 10 ms"),
        (parameter_text("kinds", ["posix", "named"]), "kinds posix, named"),
        (range_text("17.9 us", "18.1 us"), "17.9 to 18.1 us"),
        (range_text("990 ns", "1.02 us"), "990 ns to 1.02 us"),
        (range_text("unbounded", "1.02 us"), "unbounded to 1.02 us"),
    ],
)
def test_values_in_words(found: str, text: str) -> None:
    assert found.replace("\N{NO-BREAK SPACE}", " ") == text


def test_quantiles_are_printed_only_with_ten_values_beyond() -> None:
    rng = np.random.default_rng(1)
    many = sample.series("a", sample.latencies(rng, 10_000, 5_000))
    few = sample.series("b", sample.latencies(rng, 100, 5_000))
    table = table_of([many, few], None, 0.999, {})
    assert table.levels == ["median", "p90", "p99", "p99.9"]
    assert [cell.value for cell in table.rows[1].quantiles[2:]] == ["-", "-"]


def test_overflow_underflow_and_empty_series_are_said() -> None:
    odd = sample.series("a", np.array([-5, 7, 2**45]))
    empty = sample.series("b", np.array([], dtype=np.int64))
    table = table_of([odd, empty], None, 0.999, {})
    (first,) = table.rows
    assert first.notes == [
        MARK_NOTE,
        "1 values below 0, not drawn",
        "1 values past the last bucket: not drawn, but included in count and maximum",
    ]
    assert table.empty == ["b"]


def test_one_value_has_no_average_and_of_a_throughput_the_least_is_the_worst() -> None:
    lone, two = sample.series("a", np.array([7])), sample.series("b", np.array([7, 9]))
    first, second = table_of([lone, two], None, 0.999, {}).rows
    assert (first.mean, first.stddev, first.worst) == ("-", "-", "7 ns")
    assert (second.mean, second.stddev) == ("8 ns", "1 ns")
    windows = sample.series("throughput", np.array([2_000_000, 3_000_000]), unit="bytes_per_s")
    assert table_of([windows], None, 0.999, {}).rows[0].worst == "2 MB/s"


def test_facts_are_grouped_by_what_stands_before_the_dot() -> None:
    groups = opening.fact_groups({"cpu.count": 2, "alone": None, "cpu.0.hz": 5, "vm.kvm": True})
    assert groups == [
        ("cpu", [("count", "2", "CPUs that are online"), ("0.hz", "5", "")]),
        ("other", [("alone", "not known", "")]),
        ("vm", [("kvm", "yes", "")]),
    ]


def test_the_plan_becomes_commands_that_a_shell_reads_back(run: RunDocument) -> None:
    words = shlex.split(overview.run_command(run.plan))
    assert words[:2] == ["hardstone", "run"]
    assert words[words.index("--priority") + 1] == "98"
    assert "TMR-P-LAT" in words
    target = "x; rm -rf $HOME '\"`id`"  # stays one word
    hostile = msgspec.structs.replace(run.plan, target=target)
    assert target in shlex.split(overview.run_command(hostile))
    line = next(one for one in overview.test_commands(run) if "TMR-P-LAT" in one)
    assert "--duration 30000000000ns -p interval_ns=1000000" in line
    held = msgspec.structs.replace(run.plan, dma_latency_us=0)
    for line in overview.test_commands(msgspec.structs.replace(run, plan=held)):
        assert "--dma-latency 0 " in line


def test_json_for_a_script_cannot_leave_it() -> None:
    value = {"</script><!--": "\u2028\u2029&<>"}
    text = str(json_for_script(value))
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == value


def test_the_policy_names_scripts_by_digest_and_allows_nothing_else() -> None:
    policy = content_security_policy(["a"], ["b"])
    assert policy.startswith("default-src 'none'; script-src 'sha256-ypeBEsobvcr6wjGzmiPcTae")
    assert "unsafe" not in policy
    assert not can_be_inlined("x</SCRIPT>")


def test_a_cell_has_the_quantile_and_not_the_end_of_its_interval() -> None:
    cell = quantile_cell(Quantile(q=0.5, value=1200, low=1100, high=1900), "ns")
    assert (cell.value, cell.interval) == ("1.20 us", "1.10 to 1.90 us")
