"""Tracepoints of interrupts that a guest of two CPUs has on before a probe asks for them."""

from __future__ import annotations

TRACING = "/sys/kernel/tracing"
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
