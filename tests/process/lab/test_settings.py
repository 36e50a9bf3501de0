"""`lab:NAME[,KEY=VALUE...]`: read, written back in one form, refused with a reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.errors import InputError
from hardstone.lab.settings import LabSettings, parse_settings, with_settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("debian", LabSettings(kernel="debian")),
        (
            "debian-rt@6.12,cpus=4,memory=2G,preempt=full,accel=tcg",
            LabSettings(
                kernel="debian-rt@6.12", cpus=4, memory_mib=2048, preempt="full", accel="tcg"
            ),
        ),
        ("k,memory=512", LabSettings(kernel="k", memory_mib=512)),
        ("k,deterministic", LabSettings(kernel="k", is_deterministic=True)),
        ("k,device=edu", LabSettings(kernel="k", device="edu")),
        ("k,append=isolcpus=1,2 quiet", LabSettings(kernel="k", append="isolcpus=1,2 quiet")),
    ],
)
def test_a_target_is_read(text: str, expected: LabSettings) -> None:
    assert parse_settings(text) == expected


settings = st.builds(
    LabSettings,
    kernel=st.sampled_from(["debian", "a.b@6.1+x-1"]),
    memory_mib=st.none() | st.integers(128, 4096),
    preempt=st.none() | st.sampled_from(["none", "full", "lazy"]),
    is_deterministic=st.booleans(),
    device=st.none() | st.just("edu"),
    append=st.sampled_from(["", "a=1,2", "deterministic,cpus=9", "append=x"]),
)


@given(settings)
def test_the_name_is_read_back(given_settings: LabSettings) -> None:
    assert parse_settings(given_settings.name) == given_settings


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no name of a kernel"),
        ("../etc", "no name of a kernel"),
        ("a\x1b[31m", "no name of a kernel"),
        ("k,cpus=0", "cpus=0"),
        ("k,cpus=x", "cpus=x"),
        ("k,cpus=99999999999999999999", "not a count"),
        ("k,memory=12T", "memory=12T"),
        ("k,memory=1M", "not a size"),
        ("k,preempt=rt", "none, voluntary, full, lazy"),
        ("k,accel=hax", "auto, kvm, tcg"),
        ("k,deterministic=yes", "no value"),
        ("k,device=e1000", "known: edu"),
        ("k,device=edu,device=edu", "twice"),
        ("k,deterministic,cpus=2", "one CPU"),
        ("k,deterministic,accel=kvm", "counts instructions"),
        ("k,cpus=1,cpus=2", "twice"),
        ("k,speed=9", "known: cpus"),
        ("k,append=a\nb", "printable ASCII"),
        ("k,append=quiet hardstone.lab=kvm", "hardstone. are the lab's"),
        ("k,", "unknown setting"),
    ],
)
def test_a_wrong_target_is_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_settings(text)
    assert reason in str(refused.value)
    assert "\x1b" not in str(refused.value)


def test_options_are_merged_into_the_target() -> None:
    merged = with_settings(parse_settings("k,cpus=2"), cpus="2", preempt="full", append=None)
    assert merged.name == "k,cpus=2,preempt=full"


def test_an_option_that_contradicts_the_target_is_refused() -> None:
    with pytest.raises(InputError, match="differ"):
        with_settings(parse_settings("k,preempt=none"), preempt="full")
