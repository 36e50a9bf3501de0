"""Options with which every test of the register is over at once."""

from __future__ import annotations

FEW = ("--samples", "200")
OPTIONS: dict[str, tuple[str, ...]] = {
    "CLK-B-RES": ("--samples", "20000"),
    "CLK-P-DUR": ("--samples", "0", "--duration-ns", "300000000"),
    "TMR-P-JIT": ("--samples", "20", "-p", "periods_ns=1ms,2ms"),
    "TMR-B-EDGE": ("-p", "mechanisms=nanosleep"),  # all of them: test_verdicts.py
    "THR-B-NEW": ("--samples", "2"),
    "THR-B-RR": ("--samples", "6"),
    "THR-B-PRI": ("--samples", "1"),
    "MUT-B-INV": ("-p", "medium_ns=1ms"),
    "MUT-P-INV": ("--samples", "20", "-p", "medium_ns=1ms"),
    "MEM-B-LCK": ("--samples", "256", "-p", "size_bytes=1048576"),
    "IRQ-S-SUS": ("--samples", "200", "-p", "period_max_ns=2us"),
    "MSG-P-THR": ("--samples", "2", "-p", "window_ns=10ms"),
    "SIG-B-QUE": ("--samples", "1", "-p", "burst=1000"),
    "PRV-B-GRP": ("--samples", "1"),
    "RSP-P-FIX": ("--samples", "3", "-p", "block_ns=1ms"),
    "SIM-S-RT": ("--samples", "5"),
    "SIM-P-RF": ("--samples", "1", "-p", "simulated_s=2"),
}


def options(test: str) -> tuple[str, ...]:
    return OPTIONS.get(test, FEW)
