/* A kernel with more CPUs than cpu_set_t has bits: it refuses smaller sets. The affinity of all
 * threads, and the files, are made up. */
#include "linux_machine.h"
#include "port/linux/cpus.h"
#include "port/port.h"
#include "tap.h"

#include <errno.h>
#include <sched.h>

enum { WORD_BITS = 8 * sizeof(unsigned long), MOST_CPUS = 131072, FILE_BYTES = 400000 };

static struct {
    int possible; /* CPUs of the kernel */
    unsigned long set[MOST_CPUS / WORD_BITS];
    size_t largest; /* set that was asked for */
} kernel;

static size_t kernel_bytes(void)
{
    return (size_t)kernel.possible / 8;
}

WRAP(int, sched_getaffinity, pid_t thread, size_t bytes, cpu_set_t *set)
{
    (void)thread;
    kernel.largest = bytes > kernel.largest ? bytes : kernel.largest;
    errno = EINVAL;
    if (bytes < kernel_bytes())
        return -1;
    memcpy(set, kernel.set, kernel_bytes());
    return 0;
}

WRAP(int, sched_setaffinity, pid_t thread, size_t bytes, const cpu_set_t *set)
{
    (void)thread;
    memset(kernel.set, 0, sizeof kernel.set);
    memcpy(kernel.set, set, bytes < kernel_bytes() ? bytes : kernel_bytes());
    return 0;
}

static void allow(int cpu)
{
    kernel.set[cpu / WORD_BITS] |= 1UL << cpu % WORD_BITS;
}

static bool boot(int possible)
{
    memset(&kernel, 0, sizeof kernel);
    kernel.possible = possible;
    return tap_is_wrapped();
}

static bool is_bound_to(int cpu)
{
    struct cpus cpus;
    return port_thread_cpus(0, &cpus) && cpus_count(&cpus) == 1 && cpus_has(&cpus, cpu);
}

TEST_IN(boot(8192), (void)0, cpus_beyond_1023)
{
    struct cpus allowed, before;
    allow(3), allow(1024), allow(5000), allow(8191);
    CHECK_SAME(port_allowed_cpus(&allowed), 4);
    CHECK(cpus_has(&allowed, 1024) && cpus_has(&allowed, 8191));
    CHECK_SAME(port_pin_for_now(5000, &before), 0);
    CHECK(is_bound_to(5000) && !is_bound_to(5000 - 1024));
    CHECK_SAME(port_pin_back(&before), 0);
    CHECK_SAME(port_allowed_cpus(&allowed), 4);
    CHECK_SAME(port_pin_self(8191), 0);
    CHECK(is_bound_to(8191));
    CHECK_SAME(port_pin_self(PORT_CPUS), EINVAL);
}

/* What has no bit here is not seen; the thread keeps it. */
TEST_IN(boot(65536), (void)0, more_than_this_build_can_name)
{
    struct cpus allowed;
    allow(7), allow(60000);
    CHECK_SAME(port_allowed_cpus(&allowed), 1);
    CHECK_SAME(cpus_first(&allowed), 7);
    CHECK_SAME(linux_affinity_set_again(0), 0);
    CHECK(kernel.set[60000 / WORD_BITS] != 0);
}

TEST_IN(boot(MOST_CPUS), (void)0, one_that_refuses_every_size)
{
    struct cpus allowed;
    CHECK_SAME(port_allowed_cpus(&allowed), -1);
    CHECK_SAME(kernel.largest, 65536 / 8);
}

/* ---- a column for each CPU ---- */

enum { COLUMNS = 3000 };

static void put_table(const char *path, const char *id, const char *rest)
{
    static char text[FILE_BYTES];
    size_t used = 0;
    for (int cpu = 0; cpu < COLUMNS; cpu++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %*sCPU%d", 6, "", cpu);
    used += (size_t)snprintf(text + used, sizeof text - used, "\n%s", id);
    for (int cpu = 0; cpu < COLUMNS; cpu++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %10d", 100000 + cpu);
    snprintf(text + used, sizeof text - used, "%s\nERR:          7\n", rest);
    machine_put(path, text);
}

struct seen {
    int lines;
    int64_t counts[2];
    char name[80];
};

static void see(void *context, const struct port_interrupt_line *line)
{
    struct seen *seen = context;
    seen->lines++;
    memcpy(seen->counts, line->counts, sizeof seen->counts);
    snprintf(seen->name, sizeof seen->name, "%s", line->name);
}

MACHINE_TEST(columns_of_all_cpus)
{
    struct seen seen = {0};
    struct cpus asked;
    struct port_softirqs softirqs;
    put_table("/proc/interrupts", " 24:", "  PCI-MSIX-0000:00:05.0   0-edge      net0-rx");
    put_table("/proc/softirqs", "      NET_RX:", "");
    cpus_parse_list("5,2999", &asked);
    CHECK(port_interrupt_lines(&asked, see, &seen));
    CHECK_SAME(seen.lines, 1);
    CHECK_SAME(seen.counts[0], 100005);
    CHECK_SAME(seen.counts[1], 102999);
    CHECK_TEXT(seen.name, "24: net0-rx");
    port_softirqs(2999, &softirqs);
    CHECK_SAME(softirqs.packets, 102999);
    CHECK_SAME(softirqs.disk, -1);
    port_softirqs(3000, &softirqs);
    CHECK_SAME(softirqs.packets, -1);
}
