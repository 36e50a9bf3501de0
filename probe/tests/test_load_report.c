/* Events of a load, from made-up figures. */
#include "base/posix_source.h"

#include "load/element.h"
#include "load/report.h"
#include "load/spec.h"
#include "tap.h"
#include "work/kernel_operations.h"

#include <sys/mman.h>

enum { MOST_SLOTS = 4, EVENTS = 8 };

#define S INT64_C(1000000000)

static struct load load;
static struct load_spec spec;
static struct load_sample from[MOST_SLOTS], to[MOST_SLOTS];
static struct {
    int count;
    char names[EVENTS][40], texts[EVENTS][400], data[EVENTS][EMIT_BYTES];
} told;

static void tell(void *context, const char *name, int64_t at_ns, const struct datum *data,
                 const char *text)
{
    (void)context, (void)at_ns;
    if (!CHECK(told.count < EVENTS))
        return;
    static struct emit emit;
    char room[400];
    data_pack(room, sizeof room, data);
    emit_open(&emit, -1);
    data_emit(&emit, room, sizeof room);
    memcpy(told.data[told.count], emit.buffer, emit.used);
    snprintf(told.names[told.count], sizeof told.names[0], "%s", name);
    snprintf(told.texts[told.count++], sizeof told.texts[0], "%s", text);
}

/* A load of one element in a window of `seconds`: `slots` processes, each on a CPU. */
static void make_up(const char *text, int slots, int seconds)
{
    char error[LOAD_ERROR_BYTES];
    memset(&load, 0, sizeof load);
    memset(from, 0, sizeof from);
    memset(to, 0, sizeof to);
    load.map_bytes = sizeof *load.map + MOST_SLOTS * sizeof load.map->slots[0];
    load.map = port_shared_memory(load.map_bytes);
    if (!CHECK_SAME(load_spec_parse(text, &spec, error, sizeof error), 0) || !load.map)
        abort();
    load.map->slot_count = slots;
    load.setup.spec = &spec;
    load.is_measured = true;
    load.begin = (struct load_snapshot){5 * S, -1, -1, -1, -1, from};
    load.end = (struct load_snapshot){(5 + seconds) * S, -1, -1, -1, -1, to};
    for (int i = 0; i < slots; i++) {
        load.map->slots[i].cpu = i;
        from[i].state = to[i].state = WORKER_WORKS;
        from[i].seen = to[i].seen = -1;
    }
}

static void tell_all(void)
{
    memset(&told, 0, sizeof told);
    load_events(&load, tell, NULL);
    munmap(load.map, load.map_bytes);
}

/* The only event; NULL: there is none. */
static void tell_only(const char *name, const char *text, const char *json)
{
    tell_all();
    CHECK_SAME(told.count, text ? 1 : 0);
    if (!text || told.count == 0)
        return;
    CHECK_TEXT(told.names[0], name);
    CHECK_TEXT(told.texts[0], text);
    if (json)
        CHECK_TEXT(told.data[0], json);
}

static void see_interrupts(int slot, int sent, int seen)
{
    from[slot].counters[COUNTER_OWN] = 50;
    to[slot].counters[COUNTER_OWN] = 50 + (uint64_t)sent;
    from[slot].seen = 1000;
    to[slot].seen = 1000 + seen;
}

#define UNSEEN ": one interrupt served several timers, or another CPU served them"

/* The kernel's counters are read around the window: there is nothing to allow for. What one CPU has
 * too much of does not hide what another lacks. */
TEST(interrupts_that_the_kernel_did_not_see)
{
    static const struct {
        int slots, seen[3];
        const char *text;
    } rows[] = {
        {2, {12500, 8000}, NULL},
        {1, {8000}, NULL},
        {1,
         {7999},
         "interrupt: 10000 timers expired on CPU 0, but the kernel counted 7999 interrupts there "
         "(80 %)" UNSEEN},
        {3,
         {30000, 7000, 2500},
         "interrupt: 10000 timers expired on CPU 2, but the kernel counted 2500 interrupts there "
         "(25 %)" UNSEEN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        make_up("interrupt=1000/s", rows[i].slots, 10);
        for (int slot = 0; slot < rows[i].slots; slot++)
            see_interrupts(slot, 10000, rows[i].seen[slot]);
        tell_only("load_unseen", rows[i].text, NULL);
    }
    CHECK_TEXT(told.data[0], "{\"element\":\"interrupt\",\"asked\":10000,\"reached\":2500,"
                             "\"unit\":\"interrupts\",\"cpu\":2}");
    make_up("interrupt=1000/s", 1, 10);
    load.map->slots[0].cpu = -1; /* of the whole load: it may arm timers on any of its CPUs */
    see_interrupts(0, 10000, 2500);
    tell_only("load_unseen",
              "interrupt: 10000 timers expired on the CPUs of the load, but the kernel counted "
              "2500 interrupts there (25 %)" UNSEEN,
              NULL);
}

TEST(packets_that_the_kernel_did_not_see)
{
    static const struct {
        int64_t segments;
        const char *text;
    } rows[] = {
        {16000, NULL},
        {15999, "network: 20000 packets sent, but the kernel counted 15999 TCP segments (80 %)"}};
    for (int i = 0; i < 2; i++) {
        make_up("network=1000/s", 2, 10);
        to[0].counters[COUNTER_OWN] = to[1].counters[COUNTER_OWN] = 10000;
        load.begin.tcp_segments = 7;
        load.end.tcp_segments = 7 + rows[i].segments;
        tell_only("load_unseen", rows[i].text, NULL);
    }
}

#define MIB (INT64_C(1) << 20)

static void write_to_device(int64_t counted_bytes, int64_t device_bytes)
{
    from[0].counters[DISK_WRITTEN_BYTES] = from[1].counters[DISK_WRITTEN_BYTES] = 9 * MIB;
    for (int i = 0; i < 2; i++)
        to[i].counters[DISK_WRITTEN_BYTES] = (uint64_t)(9 * MIB + counted_bytes / 2);
    to[0].counters[COUNTER_BUSY_NS] = to[1].counters[COUNTER_BUSY_NS] = 3 * S;
    load.begin.device_bytes = 7 * MIB;
    load.end.device_bytes = 7 * MIB + device_bytes;
}

/* Each of the two processes may count one write after the device did. */
TEST(writes_that_the_device_did_not_get)
{
    const int64_t enough = (40 * MIB - 2 * DISK_BLOCK_BYTES) / 5 * 4;
    const struct {
        int64_t counted, device;
        int events;
    } cases[] = {{44 * MIB, 97 * MIB, 0},      {44 * MIB, 44 * MIB, 0},
                 {40 * MIB, enough + 4, 0},    {40 * MIB, enough - 4, 1},
                 {2 * DISK_BLOCK_BYTES, 0, 0}, {0, 0, 0},
                 {3 * DISK_BLOCK_BYTES, 0, 1}, {44 * MIB, MIB, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make_up("disk=10ms/100ms", 2, 10);
        write_to_device(cases[i].counted, cases[i].device);
        tell_all();
        CHECK_SAME(told.count, cases[i].events);
    }
    CHECK_TEXT(told.names[0], "load_unseen");
    CHECK_TEXT(told.texts[0], "disk: 44 MiB written, 1.0 MiB reached the device (2 %)");
    CHECK_TEXT(told.data[0],
               "{\"element\":\"disk\",\"asked\":46137344,\"reached\":1048576,\"unit\":\"bytes\"}");
}

TEST(what_cannot_be_seen_is_no_event)
{
    make_up("interrupt=1000/s", 1, 10);
    see_interrupts(0, 10000, 0);
    from[0].seen = to[0].seen = -1;
    tell_only("", NULL, NULL);
    make_up("network=1000/s", 1, 10);
    to[0].counters[COUNTER_OWN] = 10000;
    tell_only("", NULL, NULL);
    make_up("disk=10ms/100ms", 2, 10);
    write_to_device(44 * MIB, 0);
    load.begin.device_bytes = load.end.device_bytes = -1;
    tell_only("", NULL, NULL);
}

TEST(what_the_kernel_has_seen)
{
    static const struct {
        const char *spec, *names[2];
        int64_t seen[2];
    } rows[] = {
        {"interrupt=5/s", {"seen_timer_interrupts_count", "seen_interrupts_count"}, {50, 100}},
        {"interrupt=5/s@/dev/uio1",
         {"seen_timer_interrupts_count", "seen_interrupts_count"},
         {-1, 100}},
        {"network=5/s", {"seen_tcp_segments_count"}, {20, -1}},
        {"disk", {"seen_device_bytes"}, {10, -1}},
        {"cpu", {NULL}, {-1, -1}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct load_reached one;
        tap_row(rows[i].spec);
        make_up(rows[i].spec, 1, 10);
        load.begin = (struct load_snapshot){5 * S, 7, 7, 7, 7, from};
        load.end = (struct load_snapshot){15 * S, 107, 57, 27, 17, to};
        load_reached(&load, 0, &one);
        for (int j = 0; j < 2; j++) {
            CHECK_SAME(one.seen[j], rows[i].seen[j]);
            if (rows[i].names[j])
                CHECK_TEXT(one.seen_names[j], rows[i].names[j]);
        }
        munmap(load.map, load.map_bytes);
    }
}

TEST(a_stop_within_the_window_is_told)
{
    make_up("search", 3, 3);
    for (int i = 0; i < 3; i++)
        to[i].counters[COUNTER_ROUNDS] = 100;
    from[0].stopped_ns = 9 * S; /* before: not of this window */
    to[0].stopped_ns = 9 * S + 5 * S / 10;
    to[1].stopped_ns = 23 * S / 10;
    to[2].stopped_ns = 7 * S / 10;
    tell_only("load_short",
              "search: 2 of 3 processes were stopped for up to 2.3 s of the 3 s of the measurement",
              "{\"element\":\"search\",\"why\":\"stopped\",\"processes_count\":3,\"stopped_count\":"
              "2,\"longest_ns\":2300000000,\"measured_ns\":3000000000}");
}

/* All classes of the kernel's work so often, but these. */
static void do_classes(int slot, int rounds, int but, int and_but)
{
    to[slot].counters[COUNTER_ROUNDS] = (uint64_t)rounds;
    for (int i = 0; i < KERNEL_CLASSES; i++)
        to[slot].counters[KERNEL_FIRST_CLASS + i] = i == but || i == and_but ? 0 : (uint64_t)rounds;
}

TEST(classes_that_never_ran_are_named)
{
    static const struct {
        int rounds, first[2], second[2];
        const char *text, *json;
    } rows[] = {
        {5,
         {0, 1},
         {0, 1},
         "kernel: never ran: fork, exec",
         "{\"element\":\"kernel\",\"why\":\"classes_missing\",\"classes\":[\"fork\",\"exec\"]}"},
        {5, {0, 0}, {1, 1}, NULL, NULL}, /* each ran in one of them */
        {1, {2, 2}, {2, 2}, NULL, NULL}, /* most of a round may lie before the measurement */
        {0,
         {-1, -1},
         {-1, -1},
         "kernel completed no round during the measurement",
         "{\"element\":\"kernel\",\"why\":\"nothing_done\",\"reached\":0,\"unit\":\"rounds_per_"
         "s\"}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        make_up("kernel", 2, 3);
        do_classes(0, rows[i].rounds, rows[i].first[0], rows[i].first[1]);
        do_classes(1, rows[i].rounds, rows[i].second[0], rows[i].second[1]);
        tell_only("load_short", rows[i].text, rows[i].json);
    }
}

/* A share or rate has the process that did least; these have nothing that was asked. */
TEST(a_process_without_a_round_is_told)
{
    static const char *const names[] = {"search", "build", "kernel"};
    for (int i = 0; i < 3; i++) {
        char text[100];
        make_up(names[i], 3, 3);
        do_classes(0, 2, -1, -1);
        do_classes(1, 900, -1, -1);
        snprintf(text, sizeof text,
                 "%s: 1 of 3 processes completed no round during the "
                 "measurement",
                 names[i]);
        tell_only("load_short", text, NULL);
    }
}

TEST(too_short_for_two_rounds_is_no_event)
{
    static const int of_others[] = {1, 2};
    for (int i = 0; i < 2; i++) {
        make_up("search", 2, 3);
        to[0].counters[COUNTER_ROUNDS] = (uint64_t)of_others[i];
        tell_all();
        CHECK_SAME(told.count, i);
    }
}

/* The first process did less than the others. */
TEST(less_than_asked_names_the_slowest_of_several)
{
    static const struct {
        const char *spec;
        int slots, counter;
        uint64_t least, of_others;
        double mean;
        const char *text;
    } cases[] = {
        {"cpu", 1, COUNTER_CPU_NS, 30000000, 0, 0.03,
         "cpu reached 3.0 % of a CPU (requested: 10.0 %)"},
        {"cpu", 3, COUNTER_CPU_NS, 30000000, 100000000, 0.23 / 3,
         "cpu: the slowest of 3 processes reached 3.0 % of a CPU (requested: 10.0 %)"},
        {"disk", 1, COUNTER_BUSY_NS, 20000000, 0, 0.02,
         "disk reached 2.0 % of the time (requested: 10.0 %)"},
        {"network=1000/s", 1, COUNTER_OWN, 500, 0, 500,
         "network reached 500/s (requested: 1000/s)"},
        {"network=1000/s", 2, COUNTER_OWN, 500, 2000, 1250,
         "network: the slowest of 2 processes reached 500/s (requested: 1000/s)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct load_reached one;
        make_up(cases[i].spec, cases[i].slots, 1);
        for (int j = 0; j < cases[i].slots; j++)
            to[j].counters[cases[i].counter] = j == 0 ? cases[i].least : cases[i].of_others;
        load_reached(&load, 0, &one);
        CHECK_NEAR(one.reached, cases[i].mean, 1e-9);
        tell_only("load_short", cases[i].text, NULL);
    }
}

/* Processes that run only when a CPU is free are there all the same. */
TEST(background_that_waits_for_a_cpu_is_there)
{
    struct load_reached one;
    make_up("storm=3", 3, 1);
    load.places.asked[0] = load.places.numbers[0] = 3;
    to[0].counters[COUNTER_ROUNDS] = 5;
    to[1].is_ready = to[2].is_ready = true;
    load_reached(&load, 0, &one);
    CHECK_SAME(one.reached, 3);
    CHECK_TEXT(one.seen_names[0], "ran_count");
    CHECK_SAME(one.seen[0], 1);
    to[1].is_ready = to[2].is_ready = false;
    tell_only("load_short", "storm reached 1 of 3 requested processes",
              "{\"element\":\"storm\",\"why\":\"less_than_asked\",\"asked\":3,\"reached\":1,"
              "\"unit\":\"processes\"}");
}

TEST(how_a_load_runs_is_told)
{
    static const struct {
        const char *spec;
        int first, second; /* of the background */
        const char *how;
    } cases[] = {{"storm=2", BEHIND_IDLE, BEHIND_IDLE, "SCHED_IDLE"},
                 {"storm=2", BEHIND_NICE, BEHIND_NICE, "nice 19"},
                 {"storm=2", BEHIND_IDLE, BEHIND_NICE, "SCHED_IDLE and nice 19"},
                 {"storm=2", BEHIND_NONE, BEHIND_NONE, ""},
                 {"interrupt=5/s", 0, 0, "kernel timers"},
                 {"interrupt=5/s@/dev/uio17", 0, 0, "device /dev/uio17"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct load_reached one;
        make_up(cases[i].spec, 2, 1);
        atomic_store(&load.map->slots[0].behind, cases[i].first);
        atomic_store(&load.map->slots[1].behind, cases[i].second);
        load_reached(&load, 0, &one);
        CHECK_TEXT(one.how, cases[i].how);
        munmap(load.map, load.map_bytes);
    }
}

/* A group counts where all its members were there at both ends, and passed messages in between. */
TEST(groups_that_passed_messages_count)
{
    static const struct {
        int at_begin, at_end, bytes, reached;
    } cases[] = {{1, 1, 100, 3}, {0, 1, 100, 2}, {1, 0, 100, 2}, {1, 1, 0, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct load_reached one;
        make_up("messages=3", 3, 1);
        load.places.asked[0] = load.places.numbers[0] = 3;
        for (int slot = 0; slot < 3; slot++) {
            from[slot].counters[MESSAGES_WHOLE] = slot == 1 ? (uint64_t)cases[i].at_begin : 1;
            to[slot].counters[MESSAGES_WHOLE] = slot == 1 ? (uint64_t)cases[i].at_end : 1;
            to[slot].counters[MESSAGES_BYTES] = slot == 1 ? (uint64_t)cases[i].bytes : 100;
            to[slot].counters[COUNTER_CPU_NS] = 100;
        }
        load_reached(&load, 0, &one);
        CHECK_SAME(one.asked, 3);
        CHECK_SAME(one.reached, cases[i].reached);
        CHECK_TEXT(load_unit(LOAD_GROUPS), "groups");
        tell_only("load_short", one.reached < 3 ? "messages reached 2 of 3 requested groups" : NULL,
                  NULL);
    }
}

/* Two processes with four jobs each: the first has them at both ends. */
TEST(jobs_at_once_are_those_at_both_ends)
{
    static const struct {
        int at_begin, at_end, rounds, reached;
        const char *text;
    } rows[] = {{4, 4, 3, 8, NULL},
                {1, 4, 3, 5, "build reached 5 of 8 requested jobs"},
                {4, 0, 3, 4, "build reached 4 of 8 requested jobs"},
                {4, 4, 0, 8, "build: no job ended during the measurement"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct load_reached one;
        make_up("build=8", 2, 1);
        load.places.asked[0] = load.places.numbers[0] = 8;
        for (int slot = 0; slot < 2; slot++) {
            from[slot].counters[BUILD_AT_ONCE] = slot == 0 ? 4 : (uint64_t)rows[i].at_begin;
            to[slot].counters[BUILD_AT_ONCE] = slot == 0 ? 4 : (uint64_t)rows[i].at_end;
            to[slot].counters[COUNTER_ROUNDS] = (uint64_t)rows[i].rounds;
        }
        load_reached(&load, 0, &one);
        CHECK_SAME(one.asked, 8);
        CHECK_SAME(one.reached, rows[i].reached);
        tell_only("load_short", rows[i].text, NULL);
    }
}

TEST(fewer_for_want_of_room_are_told)
{
    make_up("storm=240", 2, 1);
    load.places.asked[0] = 240;
    load.places.numbers[0] = 2;
    load.room = (struct load_room){2, "a limit"};
    load.is_measured = false;
    tell_only("load_limited",
              "storm: only 2 of 240 are started: a limit leaves room for 2 processes",
              "{\"element\":\"storm\",\"limit\":\"a "
              "limit\",\"asked\":240,\"reached\":2,\"room_count\":2}");
}

/* What was done before the measurement, or by another element, is nothing of this one. */
TEST(rounds_of_others_do_not_count)
{
    make_up("search+build", 4, 3);
    for (int i = 0; i < 4; i++) {
        load.map->slots[i].term = i / 2;
        from[i].counters[COUNTER_ROUNDS] = 70;
        to[i].counters[COUNTER_ROUNDS] = i == 3 ? 70 : 75;
    }
    tell_only("load_short", "build: 1 of 2 processes completed no round during the measurement",
              NULL);
}

/* As people write them: no exponent, and no digits that the window cannot have. */
TEST(figures_of_a_load)
{
    static const struct {
        enum load_degree_kind kind;
        double value;
        const char *text;
    } figures[] = {{LOAD_RATE, 100000, "100000/s"}, {LOAD_RATE, 79307.7818, "79308/s"},
                   {LOAD_RATE, 2.25, "2.25/s"},     {LOAD_CONTINUOUS, 999.96, "1000 rounds/s"},
                   {LOAD_SHARE, 0.029, "2.9 %"},    {LOAD_JOBS, 12.5, "12.5 jobs"},
                   {LOAD_COUNT, 240, "240"},        {LOAD_RATE, -1, "-"}};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        char text[32];
        load_figure(text, sizeof text, figures[i].kind, figures[i].value);
        CHECK_TEXT(text, figures[i].text);
    }
}
