/* When the Linux port trusts the TSC, on processors and kernels made up as files; and that reading
 * it uses only instructions that were checked for. */
#include "base/clock.h"
#include "linux_machine.h"
#include "port/port.h"

#define SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

#if defined(__x86_64__) || defined(__i386__)

enum { MOST_CODE_BYTES = 48, REASON_BYTES = 200 };

/* "" when it is trusted, else why not. */
static const char *distrust(const char *flags, const char *source)
{
    static char reason[REASON_BYTES];
    char text[400];
    machine_open();
    snprintf(text, sizeof text, "processor\t: 0\nflags\t\t: %s\nbugs\t\t:\n", flags);
    machine_put("/proc/cpuinfo", text);
    machine_put(SOURCE, source);
    reason[0] = '\0';
    bool is_trusted = port_counter_is_trusted(reason, sizeof reason);
    CHECK(is_trusted == (reason[0] == '\0'));
    machine_close();
    return reason;
}

TEST(flags_and_clock_source)
{
    CHECK_TEXT(distrust("fpu tsc sse2 rdtscp constant_tsc nonstop_tsc", "tsc\n"), "");
    /* hypervisors mask rdtscp: nothing here needs it */
    CHECK_TEXT(distrust("fpu tsc sse2 constant_tsc nonstop_tsc", "tsc\n"), "");
    CHECK_HOLDS(distrust("fpu tsc sse2 constant_tsc", "tsc\n"), "nonstop_tsc");
    CHECK_HOLDS(distrust("fpu tsc sse2 nonstop_tsc", "tsc\n"), "constant_tsc");
    CHECK_HOLDS(distrust("fpu tsc sse2 constant_tsc nonstop_tsc_s3", "tsc\n"), "nonstop_tsc");
    CHECK_HOLDS(distrust("fpu tsc sse constant_tsc nonstop_tsc", "tsc\n"), "(sse2)");
    CHECK_HOLDS(distrust("fpu tsc ssse2 constant_tsc nonstop_tsc", "tsc\n"), "(sse2)");
    CHECK_HOLDS(distrust("fpu tsc sse2 constant_tsc nonstop_tsc", "hpet\n"),
                "does not use the TSC");
}

static __attribute__((noinline)) uint64_t stamp(void)
{
    return counter_end() - counter_begin() + counter_read();
}

/* Reads it as bytes; what stands behind a short function is no rdtscp either. */
TEST(instructions)
{
    static const unsigned char rdtsc[] = {0x0f, 0x31}, rdtscp[] = {0x0f, 0x01, 0xf9};
    uint64_t (*function)(void) = stamp;
    const void *code;
    memcpy(&code, &function, sizeof code);
    if (memmem(code, MOST_CODE_BYTES, rdtsc, sizeof rdtsc) == NULL)
        tap_skip("the reads were not inlined");
    CHECK(memmem(code, MOST_CODE_BYTES, rdtscp, sizeof rdtscp) == NULL);
}

#else

TEST(flags_and_clock_source)
{
    tap_skip("no x86");
}

#endif
