"""The parts of the page one by one: texts, commands, safety, the kept scripts."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import msgspec
import numpy as np
import pytest

from hardstone.model import RunDocument
from hardstone.present import reproduce
from hardstone.present.quantile_text import quantile_cell, share_text
from hardstone.present.wording import (
    clean,
    format_value,
    label_text,
    parameter_text,
    range_text,
    shorten,
)
from hardstone.report import bundle, machine
from hardstone.report.charts.scale import ticks
from hardstone.report.figures_table import table_of
from hardstone.report.own_cache import own_cache
from hardstone.report.safe import can_be_inlined, content_security_policy, json_for_script
from hardstone.stats.quantiles import Quantile
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
    for command in (reproduce.run_command(old), *reproduce.test_commands(document)):
        assert "--load storm --cpu-config single" in command


def test_cleaning_keeps_words_and_drops_what_deceives() -> None:
    assert clean("Grüße, 中文, é") == "Grüße, 中文, é"
    assert clean("a\x00b\x1b[31m\u202ec\ud800") == "a\ufffdb\ufffd[31m\ufffdc\ufffd"
    assert shorten("a \n\U0001f600") == "a \ufffd"
    assert shorten("x" * 100) == "x" * 47 + "…"


def test_labels_read_with_their_units() -> None:
    assert label_text("period_ns", 10_000_000) == "period 10 ms"
    assert label_text("size_bytes", 64) == "size 64 B"
    assert label_text("size_bytes", 8192) == "size 8\N{NO-BREAK SPACE}192 B"  # names a variant
    assert label_text("cpu", 1) == "cpu 1"
    assert label_text("kind", "posix") == "posix"


def test_no_digit_below_the_quantum_is_printed() -> None:
    assert format_value(27.34, "ns", 0.83) == "27.3 ns"
    assert format_value(27.34, "ns", 1.0) == "27 ns"
    assert format_value(27.34, "ns", 16.0) == "30 ns"
    assert format_value(2_500_000, "bytes_per_s") == "2.5 MB/s"
    assert format_value(None, "ns") == "-"


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.95, "95 %"), (0.632, "64 %"), (0.0033, "1 in 303"), (9.985e-5, "1 in 10 000")],
)
def test_a_share_is_never_rounded_in_favour_of_the_system(share: float, text: str) -> None:
    assert share_text(share).replace("\N{NO-BREAK SPACE}", " ") == text


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
        "1 values below 0, not drawn",
        "1 values past the last bucket: not drawn, but included in count and maximum",
    ]
    assert table.empty == ["b"]


def test_one_value_has_no_average_and_no_deviation() -> None:
    lone, two = sample.series("a", np.array([7])), sample.series("b", np.array([7, 9]))
    first, second = table_of([lone, two], None, 0.999, {}).rows
    assert (first.mean, first.stddev, first.worst) == ("-", "-", "7 ns")
    assert (second.mean, second.stddev) == ("8 ns", "1 ns")


def test_of_a_throughput_the_least_is_the_worst() -> None:
    windows = sample.series("throughput", np.array([2_000_000, 3_000_000]), unit="bytes_per_s")
    assert table_of([windows], None, 0.999, {}).rows[0].worst == "2 MB/s"


def test_parameters_and_ranges_share_their_unit() -> None:
    assert parameter_text("periods_ns", [1_000_000, 10_000_000]) == "periods 1 ms, 10 ms"
    assert parameter_text("kinds", ["posix", "named"]) == "kinds posix, named"
    assert range_text("17.9 us", "18.1 us") == "17.9 to 18.1 us"
    assert range_text("990 ns", "1.02 us") == "990 ns to 1.02 us"
    assert range_text("unbounded", "1.02 us") == "unbounded to 1.02 us"


def test_facts_are_grouped_by_what_stands_before_the_dot() -> None:
    groups = machine.fact_groups({"cpu.count": 2, "alone": None, "cpu.0.hz": 5, "vm.kvm": True})
    assert groups == [
        ("cpu", [("count", "2", "CPUs that are online"), ("0.hz", "5", "")]),
        ("other", [("alone", "not known", "")]),
        ("vm", [("kvm", "yes", "")]),
    ]


def test_the_plan_becomes_commands_that_a_shell_reads_back(run: RunDocument) -> None:
    words = shlex.split(reproduce.run_command(run.plan))
    assert words[:2] == ["hardstone", "run"]
    assert words[words.index("--priority") + 1] == "98"
    assert "TMR-P-LAT" in words
    line = next(one for one in reproduce.test_commands(run) if "TMR-P-LAT" in one)
    assert "--duration 30000000000ns -p interval_ns=1000000" in line


def test_the_command_of_one_test_holds_the_bound_of_idle_states(run: RunDocument) -> None:
    plan = msgspec.structs.replace(run.plan, dma_latency_us=0)
    for line in reproduce.test_commands(msgspec.structs.replace(run, plan=plan)):
        assert "--dma-latency 0 " in line


def test_a_storm_of_before_is_no_load_of_today(run: RunDocument) -> None:
    plan = run.plan
    assert reproduce.has_commands(plan)
    storm = "heavy@cpu+storm=240 (nice 19)"
    assert not reproduce.has_commands(msgspec.structs.replace(plan, loads=["none", storm]))
    foreign = "stress-ng:--temp-path a (nice 19)"
    assert reproduce.has_commands(msgspec.structs.replace(plan, loads=[foreign]))


def test_hostile_names_stay_one_word_in_commands(run: RunDocument) -> None:
    target = "x; rm -rf $HOME '\"`id`"
    run = sample.document(count=200)
    plan = type(run.plan)(name="n", profile="quick", target=target, tests=[])
    assert target in shlex.split(reproduce.run_command(plan))


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


class Build:
    """Builds a script that is long enough to be believed, and counts how often."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        return "x" * 200_000


def test_the_scripts_are_built_once(tmp_path: Path) -> None:
    build = Build()
    first = bundle.load_bundle(tmp_path / "cache", build)
    assert bundle.load_bundle(tmp_path / "cache", build) == first
    assert build.count == 1
    assert len(list((tmp_path / "cache").iterdir())) == 1


@pytest.mark.parametrize("harm", ["truncate", "change", "empty"])
def test_kept_scripts_that_were_changed_are_built_again(tmp_path: Path, harm: str) -> None:
    build = Build()
    bundle.load_bundle(tmp_path, build)
    (path,) = tmp_path.iterdir()
    data = path.read_bytes()
    harmed = {"truncate": data[:-5], "change": data[:-1] + b"y", "empty": b""}[harm]
    path.write_bytes(harmed)
    assert bundle.load_bundle(tmp_path, build) == "x" * 200_000
    assert build.count == 2
    assert path.read_bytes() == data


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    build = Build()
    (tmp_path / "file").write_text("")
    assert bundle.load_bundle(tmp_path / "file" / "cache", build)
    assert build.count == 1


def test_scripts_that_cannot_be_built_leave_static_charts(tmp_path: Path) -> None:
    assert bundle.load_bundle(tmp_path, lambda: None) is None


def test_the_cache_is_where_the_desktop_keeps_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache/me")
    assert own_cache() == Path("/var/cache/me/hardstone")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/me")
    assert own_cache() == Path("/home/me/.cache/hardstone")


def test_ticks_of_an_empty_range() -> None:
    assert ticks(2, 1.6) == []
    assert ticks(3, 3) == []


def test_a_cell_has_the_quantile_and_not_the_end_of_its_interval() -> None:
    cell = quantile_cell(Quantile(q=0.5, value=1200, low=1100, high=1900), "ns")
    assert (cell.value, cell.interval) == ("1.20 us", "1.10 to 1.90 us")
