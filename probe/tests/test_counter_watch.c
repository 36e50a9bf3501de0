/* Why a value was late, by the counters of a kernel that is made up: a folder stands for /, the
 * linker wraps the clocks and the affinity of the caller. */
#include "linux_machine.h"
#include "new_arena.h"
#include "record/tables.h"
#include "run/stream.h"
#include "run/watch.h"
#include "tap.h"

#include "record_file.h"
#include <sched.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define BEGIN_NS (1000 * SECOND_NS)

enum { CPUS = 8, THREADS = 3, FILE_BYTES = 4096, WHOLE = -1 };

struct made_up_thread {
    bool is_there;
    int cpu;
    long delay_ns, minor, major, migrations, involuntary; /* migrations -1: not counted */
    int bound_cpu; /* that it may use alone; 0: it may use several */
};

static struct {
    int64_t monotonic_ns, asleep_ns, wall_ns;
    int64_t reading_ns; /* that a reading of a clock takes */
    int allowed;        /* CPUs from 0 on */
    cpu_set_t bound;
    const char *online;
    int gone; /* CPU that /proc/stat lacks; 0: none */
    bool lacks_files;
    enum cpu_config config;
    long steal_ticks[CPUS], timer[CPUS], device[CPUS], others[CPUS];
    bool has_new_device; /* a line before the others */
    long throttled, throttled_us, outer_throttled;
    struct made_up_thread main_thread;      /* the supervisor */
    struct made_up_thread threads[THREADS]; /* with the ids from getpid() + 1 on */
    enum watch_held held;
    struct arena *arena;
    struct counter_watch *watch;
    _Atomic pid_t second;
} world;

WRAP(int, clock_gettime, clockid_t id, struct timespec *time)
{
    int64_t ns = world.monotonic_ns;
    ns += id == CLOCK_MONOTONIC ? 0 : world.asleep_ns;
    ns += id == CLOCK_REALTIME ? world.wall_ns : 0;
    *time = (struct timespec){ns / SECOND_NS, ns % SECOND_NS};
    world.monotonic_ns += world.reading_ns;
    return 0;
}

WRAP(int, sched_getaffinity, pid_t thread, size_t bytes, cpu_set_t *set)
{
    int place = thread - getpid() - 1;
    memset(set, 0, bytes);
    *set = world.bound;
    if (place < 0 || place >= THREADS || world.threads[place].bound_cpu == 0)
        return 0;
    CPU_ZERO(set);
    CPU_SET((size_t)world.threads[place].bound_cpu, set);
    return 0;
}

WRAP(int, sched_setaffinity, pid_t thread, size_t bytes, const cpu_set_t *set)
{
    (void)thread, (void)bytes;
    world.bound = *set;
    return 0;
}

/* ---- the kernel's files ---- */

static size_t put_line(char *text, size_t used, const char *id, const long *counts,
                       const char *name)
{
    used += (size_t)snprintf(text + used, FILE_BYTES - used, "%s:", id);
    for (int i = 0; i < CPUS; i++)
        used += (size_t)snprintf(text + used, FILE_BYTES - used, " %10ld", counts[i]);
    return used + (size_t)snprintf(text + used, FILE_BYTES - used, "%s\n", name);
}

static void put_interrupts(void)
{
    static const long none[CPUS];
    char text[FILE_BYTES];
    size_t used = 0;
    for (int i = 0; i < CPUS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%*sCPU%d", 7, "", i);
    used += (size_t)snprintf(text + used, sizeof text - used, "\n");
    if (world.has_new_device)
        used = put_line(text, used, "  9", none, "  IO-APIC   9-edge      new");
    used =
        put_line(text, used, " 24", world.device, "  PCI-MSIX-0000:00:05.0   0-edge      net0-rx");
    used = put_line(text, used, "LOC", world.timer, "   Local timer interrupts");
    used = put_line(text, used, "RES", world.others, "   Rescheduling interrupts");
    snprintf(text + used, sizeof text - used, "ERR:          7\n");
    machine_put("/proc/interrupts", text);
}

static void put_stat(void)
{
    char text[FILE_BYTES] = "cpu  1 1 1 1 1 1 1 77 0 0\n";
    size_t used = strlen(text);
    for (int i = 0; i < CPUS; i++)
        if (i == 0 || i != world.gone)
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "cpu%d 5 5 5 5 5 5 5 %ld 0 0\n", i, world.steal_ticks[i]);
    snprintf(text + used, sizeof text - used, "intr 12345\n");
    machine_put("/proc/stat", text);
}

static void put_thread_file(pid_t thread, const char *file, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/%s", (long)getpid(), (long)thread, file);
    machine_put(path, text);
}

static void put_thread(pid_t id, const struct made_up_thread *thread)
{
    char text[512];
    if (!thread->is_there) {
        snprintf(text, sizeof text, "/proc/%ld/task/%ld", (long)getpid(), (long)id);
        if (access(machine_path(text), F_OK) == 0)
            machine_remove(text);
        return;
    }
    snprintf(text, sizeof text,
             "%ld (a) (b) S 1 1 1 0 -1 64 %ld 0 %ld 0 0 0 0 0 20 0 1 0 100 0 0 "
             "0 0 0 0 0 0 0 0 0 0 0 0 0 17 %d 50 1 0 0 0",
             (long)id, thread->minor, thread->major, thread->cpu);
    put_thread_file(id, "stat", text);
    snprintf(text, sizeof text, "5000 %ld 9\n", thread->delay_ns);
    put_thread_file(id, "schedstat", text);
    snprintf(text, sizeof text, "voluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t%ld\n",
             thread->involuntary);
    put_thread_file(id, "status", text);
    snprintf(text, sizeof text,
             "a (1, #threads: 1)\nse.nr_migrations   :   %ld\n"
             "nr_involuntary_switches : %ld\n",
             thread->migrations, thread->involuntary);
    if (thread->migrations >= 0)
        put_thread_file(id, "sched", text);
}

/* Besides world.threads; they do nothing. */
static void put_idle_threads(int count)
{
    static const struct made_up_thread idle = {.is_there = true, .cpu = 1};
    for (int i = 0; i < count; i++)
        put_thread(getpid() + 1 + THREADS + i, &idle);
}

static void put_group(const char *path, long count, long us)
{
    char text[128];
    snprintf(text, sizeof text,
             "usage_usec 9\nnr_periods 3\nnr_throttled %ld\nthrottled_usec %ld\n", count, us);
    machine_put(path, text);
}

static void put_kernel(void)
{
    if (world.lacks_files)
        return;
    put_interrupts();
    put_stat();
    put_thread(getpid(), &world.main_thread);
    for (int i = 0; i < THREADS; i++)
        put_thread(getpid() + 1 + i, &world.threads[i]);
    machine_put("/sys/devices/system/cpu/online", world.online);
    machine_put("/proc/self/cgroup", "0::/outer/own\n");
    put_group("/sys/fs/cgroup/outer/own/cpu.stat", world.throttled, world.throttled_us);
    put_group("/sys/fs/cgroup/outer/cpu.stat", world.outer_throttled, 0);
    machine_put("/sys/fs/cgroup/cpu.stat", "usage_usec 1\n");
}

static bool open_world(void)
{
    if (!tap_is_wrapped())
        return false;
    memset(&world, 0, sizeof world);
    machine_open();
    world.allowed = CPUS;
    world.online = "0-7\n";
    world.monotonic_ns = BEGIN_NS;
    world.wall_ns = 1700000000 * SECOND_NS;
    world.threads[0] = world.main_thread = (struct made_up_thread){.is_there = true, .cpu = 1};
    return true;
}

/* One series for each CPU of `cpus`, with that label; measuring begins. */
static void begin(const char *cpus)
{
    struct arena_plan plan = {.duration_ns = 300 * SECOND_NS};
    static const atomic_int left;
    struct counter_watch_setup setup = {
        .second = &world.second, .held = world.held, .left = &left, .config = world.config};
    cpus_parse_list(cpus, &setup.measured);
    for (int cpu = cpus_first(&setup.measured); cpu >= 0; cpu = cpus_next(&setup.measured, cpu)) {
        int series = arena_plan_series(&plan, "wakeup", "ns", NULL);
        arena_plan_label_number(&plan, series, "cpu", cpu);
    }
    arena_plan_series(&plan, "unlabelled", "ns", NULL);
    setup.arena = world.arena = new_arena(&plan, NULL);
    CPU_ZERO(&world.bound);
    for (int cpu = 0; cpu < world.allowed; cpu++)
        CPU_SET((size_t)cpu, &world.bound);
    put_kernel();
    world.watch = counter_watch_open(&setup);
    counter_watch_begin(world.watch);
    world.arena->started_ns = world.monotonic_ns;
}

static void pass_second(void)
{
    put_kernel();
    world.monotonic_ns += SECOND_NS;
    counter_watch_look(world.watch);
}

static void record(int series, int64_t value_ns, int64_t at_ms)
{
    record_value(arena_record(world.arena, series), value_ns, at_ms * 1000000);
}

/* With a value of this series in its middle. */
static void pass_second_with_value(int series)
{
    record(series, 5000, (world.monotonic_ns - BEGIN_NS) / 1000000 + 500);
    pass_second();
}

static struct counter_totals end(void)
{
    struct counter_totals totals;
    counter_watch_end(world.watch, &totals);
    counter_watch_close(world.watch);
    world.watch = NULL;
    return totals;
}

static void close_world(void)
{
    if (world.watch)
        end();
    arena_free(world.arena);
    machine_close();
}

/* The interval of a CPU that began in this second, or the whole one; NULL: it is not kept. */
static const struct arena_interval *kept(int cpu, int second)
{
    for (int i = 0; i < ARENA_INTERVALS; i++) {
        const struct arena_interval *entry = &world.arena->intervals[i];
        if (counter_table_has(entry) && entry->is_whole == (second == WHOLE) && entry->cpu == cpu &&
            (second == WHOLE || entry->at_ns == BEGIN_NS + second * SECOND_NS))
            return entry;
    }
    return NULL;
}

/* Counters of a kept interval, each with what it must be. */
static void check_counted(int cpu, int second, const int64_t (*wanted)[2], size_t count)
{
    const struct arena_interval *interval = kept(cpu, second);
    for (size_t i = 0; i < count; i++) {
        char what[64];
        snprintf(what, sizeof what, "counter %d of CPU %d", (int)wanted[i][0], cpu);
        tap_same(interval ? interval->counters[wanted[i][0]] : -2, wanted[i][1], what, __FILE__,
                 __LINE__);
    }
}
#define CHECK_COUNTED(cpu, second, ...)                                                            \
    check_counted(cpu, second, (const int64_t[][2]){__VA_ARGS__},                                  \
                  sizeof((const int64_t[][2]){__VA_ARGS__}) / sizeof(int64_t[2]))

static void check_busiest(int cpu, int second, const char *source)
{
    CHECK_TEXT(kept(cpu, second) ? kept(cpu, second)->busiest : "", source);
}

static int kept_count(void)
{
    int count = 0;
    for (int i = 0; i < ARENA_INTERVALS; i++)
        count +=
            counter_table_has(&world.arena->intervals[i]) && !world.arena->intervals[i].is_whole;
    return count;
}

static const struct arena_event *event(const char *name)
{
    return event_of(world.arena, name);
}

static void expect_event(const char *name, const char *part)
{
    CHECK_HOLDS(event(name) ? event(name)->text : NULL, part);
}

/* CPU that the looks found lost; -1: none. */
static int lost_cpu(void)
{
    struct cpu_taken taken = counter_watch_taken(world.watch);
    return taken.is_found ? taken.cpu : -1;
}

/* ---- counters ---- */

#define WORLD_TEST(what) TEST_IN(open_world(), close_world(), what)

WORLD_TEST(differences_of_each_cpu)
{
    world.steal_ticks[1] = 500;
    world.timer[1] = 1000000;
    world.device[2] = 77;
    begin("1-2");
    world.steal_ticks[1] += 3;
    world.timer[1] += 40;
    world.others[1] += 2;
    world.device[2] += 9;
    record(0, 5000, 400);
    record(1, 5000, 400);
    pass_second();
    int64_t tick_ns = SECOND_NS / sysconf(_SC_CLK_TCK);
    CHECK_COUNTED(1, 0, {ARENA_STEAL_NS, 3 * tick_ns}, {ARENA_INTERRUPTS, 42},
                  {ARENA_TIMER_INTERRUPTS, 40});
    CHECK_COUNTED(2, 0, {ARENA_STEAL_NS, 0}, {ARENA_INTERRUPTS, 9}, {ARENA_TIMER_INTERRUPTS, 0});
    check_busiest(2, 0, "24: net0-rx");
    CHECK_SAME(kept(2, 0) ? kept(2, 0)->span_ns : 0, SECOND_NS);
    world.timer[1] += 60;
    pass_second();
    CHECK_COUNTED(1, WHOLE, {ARENA_TIMER_INTERRUPTS, 100}, {ARENA_STEAL_NS, 3 * tick_ns});
    CHECK_SAME(kept(1, WHOLE) ? kept(1, WHOLE)->span_ns : 0, 2 * SECOND_NS);
}

/* The timer comes a thousand times in each second; in the last one a device comes 200 times. */
WORLD_TEST(the_busiest_is_beyond_usual)
{
    begin("1");
    for (int second = 0; second < 4; second++) {
        world.timer[1] += 1000 + second;
        world.others[1] += 5;
        world.device[1] += second == 3 ? 200 : 3;
        record(0, 5000 + second, 1000 * second + 500);
        pass_second();
    }
    check_busiest(1, 0, "LOC: Local timer interrupts");
    check_busiest(1, 3, "24: net0-rx");
    CHECK_COUNTED(1, 3, {ARENA_BUSIEST, 200});
    check_busiest(1, WHOLE, "LOC: Local timer interrupts");
    CHECK_COUNTED(1, WHOLE, {ARENA_BUSIEST, 4006});
}

/* A line before the others moves them: their counts are not those of another line. */
WORLD_TEST(a_line_that_appears)
{
    world.device[1] = 900000;
    begin("1");
    pass_second_with_value(0);
    world.has_new_device = true;
    world.others[1] += 4;
    pass_second_with_value(0);
    CHECK_COUNTED(1, 1, {ARENA_INTERRUPTS, 4});
    CHECK(kept(1, 1) && kept(1, 1)->counters[ARENA_BUSIEST] <= 4);
}

WORLD_TEST(threads)
{
    world.threads[0] = (struct made_up_thread){true, 1, 7000, 20, 3, 5, 9};
    world.threads[1] = (struct made_up_thread){true, 2, 100, 1, 1, 1, 1};
    world.threads[2] = (struct made_up_thread){true, 5, 100, 1, 1, 1, 1}; /* not measured there */
    begin("1-2");
    world.threads[0] = (struct made_up_thread){true, 2, 7500, 31, 5, 6, 13};
    world.main_thread.minor = 4000;
    world.threads[1].delay_ns += 11;
    world.threads[2].minor += 1000;
    record(0, 5000, 500);
    pass_second_with_value(1);
    /* the CPU that the thread has left */
    CHECK_COUNTED(1, 0, {ARENA_RUN_DELAY_NS, 500}, {ARENA_MINOR_FAULTS, 11},
                  {ARENA_MAJOR_FAULTS, 2}, {ARENA_MIGRATIONS, 1}, {ARENA_INVOLUNTARY, 4});
    CHECK_COUNTED(2, 0, {ARENA_RUN_DELAY_NS, 11}, {ARENA_MINOR_FAULTS, 0});
    world.threads[1].delay_ns += 4;
    pass_second_with_value(1);
    CHECK_COUNTED(2, 1, {ARENA_RUN_DELAY_NS, 4});
    struct counter_totals totals = end();
    CHECK_SAME(totals.run_delay_ns, 500 + 11 + 4);
    CHECK_SAME(totals.migrations, 1);
}

/* Where the kernel does not count migrations, a change of the CPU is one. */
WORLD_TEST(migrations_that_are_seen)
{
    world.threads[0].migrations = -1;
    begin("1");
    world.threads[0].cpu = 3;
    world.threads[0].involuntary = 2;
    pass_second_with_value(0);
    CHECK_COUNTED(1, 0, {ARENA_MIGRATIONS, 1}, {ARENA_INVOLUNTARY, 2});
}

/* A thread came or went in the first second, and none in the next: a 0 is told of that one alone,
 * and of no sum. */
static void expect_a_change(void)
{
    pass_second_with_value(0);
    CHECK_COUNTED(1, 0, {ARENA_MAJOR_FAULTS, -1});
    pass_second_with_value(0);
    CHECK_COUNTED(1, 1, {ARENA_MAJOR_FAULTS, 0});
    CHECK_SAME(end().migrations, -1);
}

/* What it did after it was seen last is not known. */
WORLD_TEST(a_thread_that_ends)
{
    world.threads[1] = (struct made_up_thread){.is_there = true, .cpu = 1};
    begin("1");
    world.threads[1].is_there = false;
    world.threads[0].minor = 4;
    expect_a_change();
    CHECK_COUNTED(1, 0, {ARENA_MINOR_FAULTS, 4});
}

WORLD_TEST(a_thread_that_comes)
{
    begin("1");
    world.threads[1] = (struct made_up_thread){.is_there = true, .cpu = 1, .major = 9};
    expect_a_change();
}

/* A look on request just before it ends, and one before it begins: all is known. */
WORLD_TEST(a_thread_that_asks)
{
    begin("1");
    world.threads[1] = (struct made_up_thread){.is_there = true, .cpu = 1, .minor = 50};
    put_kernel();
    counter_watch_look_at_threads(world.watch);
    world.threads[1].minor = 52;
    put_kernel();
    counter_watch_look_at_threads(world.watch);
    world.threads[1].is_there = false;
    pass_second_with_value(0);
    CHECK_COUNTED(1, 0, {ARENA_MINOR_FAULTS, 2}, {ARENA_MAJOR_FAULTS, 0});
    CHECK_SAME(end().migrations, 0);
}

/* What a thread that is not watched did is not known, and so no 0 is told. */
static void check_many_threads(int count, bool is_known)
{
    if (!open_world())
        return;
    put_idle_threads(count - 1);
    begin("1");
    pass_second_with_value(0);
    CHECK_COUNTED(1, 0, {ARENA_MAJOR_FAULTS, is_known ? 0 : -1});
    CHECK_SAME(end().migrations, is_known ? 0 : -1);
    CHECK(is_known == !event("threads_not_watched"));
    close_world();
}

TEST(more_threads_than_are_watched)
{
    check_many_threads(WATCH_THREADS, true); /* the main thread has no place among them */
    check_many_threads(WATCH_THREADS + 1, false);
}

WORLD_TEST(throttling)
{
    world.throttled = 4;
    begin("1");
    world.throttled += 2;
    world.throttled_us += 30000;
    world.outer_throttled += 5;
    pass_second_with_value(0);
    CHECK_COUNTED(1, 0, {ARENA_THROTTLED, 7}, {ARENA_THROTTLED_NS, 30000000});
    struct counter_totals totals = end();
    CHECK_SAME(totals.throttled, 7);
    CHECK_SAME(totals.throttled_ns, 30000000);
}

static void put_heat(const char *level, long count, long ms)
{
    char path[96], number[24];
    const char *const files[] = {"count", "total_time_ms"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu1/thermal_throttle/%s_throttle_%s",
                 level, files[i]);
        snprintf(number, sizeof number, "%ld\n", i ? ms : count);
        machine_put(path, number);
    }
}

/* Core and package at once: of their times the longer one. A CPU of which nothing is told has no
 * such counter. */
WORLD_TEST(slowed_down_for_heat)
{
    static const char count_only[] = "/sys/devices/system/cpu/cpu2/thermal_throttle/"
                                     "core_throttle_count"; /* kernels before 5.5 */
    put_heat("core", 2, 100);
    put_heat("package", 7, 1000);
    machine_put(count_only, "2\n");
    begin("1,3,2");
    machine_put(count_only, "4\n");
    put_heat("core", 3, 400);
    put_heat("package", 9, 1200);
    record(1, 5000, 400);
    pass_second_with_value(0);
    pass_second_with_value(2);
    CHECK_COUNTED(1, 0, {ARENA_HEAT, 3}, {ARENA_HEAT_NS, 300000000});
    CHECK_COUNTED(2, 0, {ARENA_HEAT, 2}, {ARENA_HEAT_NS, -1});
    CHECK_COUNTED(1, WHOLE, {ARENA_HEAT, 3});
    CHECK_COUNTED(3, 1, {ARENA_HEAT, -1}, {ARENA_HEAT_NS, -1});
}

WORLD_TEST(unknown_counters_are_left_out)
{
    world.lacks_files = true;
    begin("1");
    pass_second_with_value(0);
    for (int i = 0; i < ARENA_COUNTERS; i++)
        CHECK_COUNTED(1, 0, {i, -1});
    struct counter_totals totals = end();
    CHECK_SAME(totals.run_delay_ns, -1);
    CHECK_SAME(totals.throttled, -1);
    CHECK_HOLDS(sent_of(world.arena, true),
                "{\"type\":\"interval\",\"at_ns\":0,\"span_ns\":1000000000,\"cpu\":1,"
                "\"whole\":false,\"counters\":{},\"busiest\":null}");
}

/* ---- which seconds are kept ---- */

WORLD_TEST(only_seconds_with_a_worst_value)
{
    begin("1-2");
    pass_second_with_value(0);
    pass_second();
    pass_second_with_value(1);
    CHECK(kept(1, 0) && kept(2, 2));
    CHECK(!kept(2, 0) && !kept(1, 2) && !kept(1, 1) && !kept(2, 1));
}

WORLD_TEST(a_series_without_a_cpu_counts_for_all)
{
    begin("1-2");
    pass_second_with_value(2);
    CHECK(kept(1, 0) && kept(2, 0));
}

WORLD_TEST(a_value_across_two_seconds)
{
    begin("1");
    pass_second();
    pass_second();
    record(0, 1200000000, 2500); /* began at 1.3 s */
    pass_second();
    CHECK(kept(1, 1) && kept(1, 2) && !kept(1, 0));
}

WORLD_TEST(a_value_that_is_recorded_after_the_look)
{
    begin("1");
    pass_second();
    CHECK(!kept(1, 0));
    record(0, 5000, 999);
    pass_second();
    CHECK(kept(1, 0) && !kept(1, 1));
}

WORLD_TEST(no_worst_value_any_more)
{
    begin("1");
    pass_second_with_value(0);
    CHECK(kept(1, 0) != NULL);
    for (int i = 0; i < RECORD_WORST; i++)
        record(0, 6000 + i, 1500);
    pass_second();
    CHECK(!kept(1, 0) && kept(1, 1));
    CHECK_SAME(kept_count(), 1);
}

/* Values grow by `step` from second to second. The largest keep their seconds, the others are
 * counted. */
static void check_full_table(int64_t step, int largest)
{
    enum { MEASURED = 7, SECONDS = RECORD_WORST };
    if (!open_world())
        return;
    begin("0-6");
    for (int second = 0; second < SECONDS; second++) {
        for (int series = 0; series < MEASURED; series++)
            record(series, 50000 + step * second, 1000 * second + 500);
        pass_second();
    }
    CHECK_SAME(kept_count(), ARENA_INTERVALS - MEASURED);
    CHECK_SAME(world.arena->interval_lost, MEASURED * SECONDS - (ARENA_INTERVALS - MEASURED));
    for (int cpu = 0; cpu < MEASURED; cpu++)
        CHECK(kept(cpu, largest) && !kept(cpu, SECONDS - 1 - largest));
    close_world();
}

TEST(a_full_table)
{
    check_full_table(100, RECORD_WORST - 1);
    check_full_table(-100, 0);
}

/* ---- where it looks from ---- */

WORLD_TEST(looks_from_another_cpu)
{
    world.allowed = 4;
    begin("1,3");
    CHECK(!event("not_watched"));
    CHECK_SAME(CPU_COUNT(&world.bound), 2);
    CHECK(CPU_ISSET(0, &world.bound) && CPU_ISSET(2, &world.bound));
    CHECK_SAME(counter_watch_due_ns(world.watch), BEGIN_NS + SECOND_NS);
    world.monotonic_ns += 1400000000;
    counter_watch_look(world.watch);
    CHECK_SAME(counter_watch_due_ns(world.watch), BEGIN_NS + 2 * SECOND_NS);
    end();
    CHECK_SAME(CPU_COUNT(&world.bound), 4);
}

/* The looks that a pause left out are not made up for. */
WORLD_TEST(the_next_look_is_ahead)
{
    begin("1");
    pass_second(); /* at the very moment when it is due */
    CHECK_SAME(counter_watch_due_ns(world.watch), BEGIN_NS + 2 * SECOND_NS);
    world.monotonic_ns += 4700000000;
    counter_watch_look(world.watch);
    CHECK_SAME(counter_watch_due_ns(world.watch), BEGIN_NS + 6 * SECOND_NS);
}

/* Nothing is read each second, and what is read at begin and end has its totals. */
WORLD_TEST(where_every_cpu_measures)
{
    world.allowed = 2;
    begin("0-1");
    CHECK_SAME(CPU_COUNT(&world.bound), 2);
    CHECK_SAME(counter_watch_due_ns(world.watch), INT64_MAX);
    expect_event("not_watched", "no spare CPU to read the counters: leave one out with --cpu");
    record(0, 5000, 500);
    world.threads[0].delay_ns += 70;
    put_kernel();
    CHECK_SAME(end().run_delay_ns, 70);
    CHECK_SAME(kept_count(), 0);
    CHECK(!kept(0, WHOLE));
}

TEST(where_one_cpu_is_allowed)
{
    static const struct {
        const char *online, *reason;
        enum cpu_config config;
    } rows[] = {
        {"0-1\n", "(this process may use only one CPU: allow it a second one (taskset, cpuset))",
         CPU_CONFIG_SHARED},
        /* a second CPU is not what the user can allow it */
        {"0-1\n", "(the shield leaves the probe no spare CPU to read the counters: hardstone run",
         CPU_CONFIG_SHIELDED},
        {"0\n", "(--cpu-config single leaves no spare CPU to read the counters)",
         CPU_CONFIG_SINGLE},
        {"0\n", "(this system has one CPU)", CPU_CONFIG_SHARED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && open_world(); i++) {
        tap_row(rows[i].reason);
        world.allowed = 1;
        world.online = rows[i].online;
        world.config = rows[i].config;
        begin("0");
        expect_event("not_watched", rows[i].reason);
        close_world();
    }
}

/* ---- what happens to the machine ---- */

WORLD_TEST(a_cpu_that_goes_offline)
{
    world.online = "0-6\n";
    begin("1,7"); /* CPU 7 was never there */
    pass_second();
    CHECK_SAME(lost_cpu(), -1);
    world.online = "0,2-6\n";
    world.gone = 1;
    world.steal_ticks[2] = 1;
    pass_second_with_value(0);
    CHECK_SAME(lost_cpu(), 1);
    CHECK_COUNTED(1, 1, {ARENA_STEAL_NS, -1});
}

WORLD_TEST(suspend)
{
    begin("1");
    pass_second();
    CHECK(!event("suspended"));
    world.asleep_ns += 3500000000;
    pass_second();
    expect_event("suspended", "suspended for 3.500 s");
    CHECK_SAME(event("suspended") ? event("suspended")->at_ns : 0, 2 * SECOND_NS);
    CHECK(!event("wall_clock_set"));
    for (int i = 0; i < 9; i++) {
        world.asleep_ns += SECOND_NS;
        pass_second();
    }
    end();
    CHECK_SAME(world.arena->event_count, 4); /* three, and how often more */
    CHECK_HOLDS(world.arena->events[3].text, "7 more times, for 7.000 s in total");
}

WORLD_TEST(the_wall_clock_is_set)
{
    begin("1");
    world.wall_ns -= 60 * SECOND_NS;
    pass_second();
    expect_event("wall_clock_set", "set by -60.000 s");
    CHECK(!event("suspended"));
    pass_second();
    end();
    CHECK_SAME(world.arena->event_count, 1);
}

/* 500 ppm of the time since the look before may be a slew. Of slow readings three pass from the
 * first to the last one. */
TEST(the_least_suspend_and_the_least_step)
{
    static const struct {
        const char *name;
        int64_t reading_ns, since_look_s, asleep_ns, step_ns;
        bool is_told;
    } rows[] = {
        {"no suspend", 0, 1, 5000000, 0, false},
        {"a suspend", 0, 1, 5000001, 0, true},
        {"no suspend, slow readings", 1000000, 1, 8000000, 0, false},
        {"a suspend, slow readings", 1000000, 1, 8000001, 0, true},
        {"no step", 0, 1, 0, 2500000, false},
        {"no step back", 0, 1, 0, -2500000, false},
        {"a step", 0, 1, 0, 2500001, true},
        {"a step back", 0, 1, 0, -2500001, true},
        {"no step in 10 s", 0, 10, 0, 7000000, false},
        {"no step, slow readings", 1000000, 1, 0, 5500000, false},
        {"a step, slow readings", 1000000, 1, 0, 5600000, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && open_world(); i++) {
        tap_row(rows[i].name);
        world.reading_ns = rows[i].reading_ns;
        begin("1");
        pass_second();
        world.asleep_ns += rows[i].asleep_ns;
        world.wall_ns += rows[i].step_ns;
        world.monotonic_ns += (rows[i].since_look_s - 1) * SECOND_NS;
        pass_second();
        CHECK_SAME(world.arena->event_count, rows[i].is_told);
        close_world();
    }
}

/* Where no look is made each second, the clocks are compared at the end. */
WORLD_TEST(clocks_without_looks)
{
    world.allowed = 1;
    begin("0");
    world.wall_ns += 5 * SECOND_NS;
    world.monotonic_ns += 10 * SECOND_NS;
    end();
    CHECK(event("wall_clock_set") && !event("suspended"));
}

/* ---- where the threads are ---- */

static void begin_bound(enum watch_held held)
{
    world.held = held;
    world.threads[0].bound_cpu = 1;
    begin("1");
}

TEST(threads_that_are_moved_or_not)
{
    static const struct {
        const char *name;
        enum watch_held held;
        int looks; /* before it is as it is `then` */
        struct made_up_thread then;
        int lost_cpu;
    } rows[] = {
        {"stays", WATCH_HOLDS_ALL, 1, {true, 1, .bound_cpu = 1}, -1},
        {"is bound no more", WATCH_HOLDS_ALL, 0, {true, 1}, 1},
        /* Linux 6.2 and later take it back when the cpuset has the CPU again */
        {"was away", WATCH_HOLDS_ALL, 1, {true, 1, .migrations = 2, .bound_cpu = 1}, 1},
        {"has ended", WATCH_HOLDS_ALL, 1, {.is_there = false}, -1},
        {"may change its CPU", WATCH_HOLDS_NONE, 1, {true, 1, .bound_cpu = 2}, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && open_world(); i++) {
        tap_row(rows[i].name);
        begin_bound(rows[i].held);
        for (int look = 0; look < rows[i].looks; look++)
            pass_second();
        world.threads[0] = rows[i].then;
        pass_second();
        CHECK_SAME(lost_cpu(), rows[i].lost_cpu);
        close_world();
    }
}

/* What the kernel does when the CPU is taken from the cpuset, or goes offline. */
WORLD_TEST(a_thread_that_is_bound_elsewhere)
{
    begin_bound(WATCH_HOLDS_ALL);
    pass_second();
    int64_t sure_ns = world.monotonic_ns;
    world.threads[0].bound_cpu = world.threads[0].cpu = 2;
    pass_second();
    struct cpu_taken taken = counter_watch_taken(world.watch);
    CHECK_SAME(lost_cpu(), 1);
    CHECK_SAME(taken.sure_ns, sure_ns);
    CHECK_SAME(taken.found_ns, sure_ns + SECOND_NS);
    CHECK(!taken.is_offline);
}

/* It is seen first with the affinity of its creator, then binds itself. */
WORLD_TEST(a_new_thread_is_held_from_the_second_look_on)
{
    begin_bound(WATCH_HOLDS_ALL);
    world.threads[1] =
        (struct made_up_thread){.is_there = true, .cpu = 1, .bound_cpu = 1, .migrations = 1};
    pass_second();
    world.threads[1].bound_cpu = world.threads[1].cpu = 2;
    world.threads[1].migrations++;
    pass_second();
    CHECK_SAME(lost_cpu(), -1);
    world.threads[1].bound_cpu = world.threads[1].cpu = 1;
    world.threads[1].migrations++;
    pass_second();
    pass_second();
    CHECK_SAME(lost_cpu(), -1);
    world.threads[1].bound_cpu = 2;
    pass_second();
    CHECK_SAME(lost_cpu(), 1);
}

/* The measuring thread visits the CPUs on which it starts others. */
WORLD_TEST(threads_that_start_later)
{
    begin_bound(WATCH_HOLDS_LATER);
    world.threads[0].migrations += 2;
    pass_second();
    pass_second();
    CHECK_SAME(lost_cpu(), -1);
    world.threads[0].migrations++;
    pass_second();
    CHECK_SAME(lost_cpu(), 1);
}
