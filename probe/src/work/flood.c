#include "base/posix_source.h"

#include "work/flood.h"

#include "base/clock.h"
#include "base/random.h"
#include "port/port.h"
#include "work/scratch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* One way to flood. prepare: as flood_prepare, but may leave descriptors and helpers behind after
 * an error. start, stop: when is_on changes; NULL: nothing to do. step: a piece of the flood, of
 * less than 1 ms; NULL: helpers do it. */
struct flood_way {
    int (*prepare)(struct flood *flood);
    void (*start)(struct flood *flood);
    void (*stop)(struct flood *flood);
    void (*step)(struct flood *flood);
};

static void add(atomic_uint_fast64_t *count, uint64_t more)
{
    atomic_fetch_add_explicit(count, more, memory_order_relaxed);
}

/* Notes the reason and returns `error`. */
static int refuse(struct flood *flood, int error, const char *what)
{
    snprintf(flood->reason, sizeof flood->reason, "%s: %s", what, strerror(error));
    return error;
}

/* Keeps a descriptor, to be closed at the end. */
static void keep(struct flood *flood, int descriptor)
{
    flood->descriptors[flood->descriptor_count++] = descriptor;
}

static void close_descriptors(struct flood *flood)
{
    while (flood->descriptor_count > 0)
        close(flood->descriptors[--flood->descriptor_count]);
}

/* ---- packets ----
 *
 * Two UDP sockets on 127.0.0.1, connected to each other, so that no other process's packets count.
 * A piece sends BURST packets and then takes all that came. */

enum { BURST = 32, PACKET_BYTES = 64, TRIAL_MS = 1000 };

static int open_socket(struct flood *flood, struct sockaddr_in *address)
{
    socklen_t bytes = sizeof *address;
    int end = socket(AF_INET, SOCK_DGRAM, 0);
    if (end < 0)
        return refuse(flood, errno, "no UDP socket");
    keep(flood, end);
    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK); /* port 0: the kernel chooses */
    if (bind(end, (struct sockaddr *)address, sizeof *address) != 0 ||
        getsockname(end, (struct sockaddr *)address, &bytes) != 0)
        return refuse(flood, errno, "no UDP socket on 127.0.0.1");
    return 0;
}

static int try_packet(struct flood *flood)
{
    char packet[PACKET_BYTES] = {0};
    struct pollfd to = {.fd = flood->descriptors[1], .events = POLLIN};
    if (send(flood->descriptors[0], packet, sizeof packet, MSG_NOSIGNAL) != PACKET_BYTES)
        return refuse(flood, errno, "no packet could be sent over 127.0.0.1");
    if (poll(&to, 1, TRIAL_MS) != 1 || recv(to.fd, packet, sizeof packet, MSG_DONTWAIT) < 0)
        return refuse(flood, ETIMEDOUT, "a packet over 127.0.0.1 did not arrive in 1 s");
    return 0;
}

static int packets_prepare(struct flood *flood)
{
    struct sockaddr_in addresses[2];
    for (int i = 0; i < 2; i++) {
        int error = open_socket(flood, &addresses[i]);
        if (error)
            return error;
    }
    for (int i = 0; i < 2; i++)
        if (connect(flood->descriptors[i], (struct sockaddr *)&addresses[!i],
                    sizeof addresses[!i]) != 0)
            return refuse(flood, errno, "connecting UDP sockets on 127.0.0.1");
    return try_packet(flood);
}

static void packets_step(struct flood *flood)
{
    char packet[PACKET_BYTES] = {0};
    uint64_t failed = 0, received = 0;
    for (int i = 0; i < BURST; i++)
        failed += send(flood->descriptors[0], packet, sizeof packet, MSG_NOSIGNAL | MSG_DONTWAIT) ==
                          PACKET_BYTES
                      ? 0
                      : 1;
    while (received < 2 * BURST &&
           recv(flood->descriptors[1], packet, sizeof packet, MSG_DONTWAIT) >= 0)
        received++;
    add(&flood->failed_count, failed);
    add(&flood->done_count, received);
}

static const struct flood_way flood_packets = {.prepare = packets_prepare, .step = packets_step};

/* ---- disk ----
 *
 * An anonymous file of FILE_BYTES on a disk, written once and then read past the page cache
 * (direct I/O), each read in another place, by FLOOD_HELPERS processes at once. Reads need no more
 * space and wear nothing. The flooding process itself only spins, behind its helpers. */

enum { READ_BYTES = 4096, WRITE_BYTES = 4096 };

#define FILE_BYTES (INT64_C(16) << 20)
#define HELPER_PAUSE_NS 1000000

static int open_scratch_file(struct flood *flood)
{
    struct scratch scratch;
    (void)scratch_choose(&scratch, false, 0);
    int file = scratch_file(&scratch);
    if (file < 0)
        return refuse(flood, scratch.own[0] ? ENOTSUP : errno,
                      "no anonymous file in $TMPDIR, /var/tmp or /tmp");
    keep(flood, file);
    if (!scratch_is_disk(file))
        return refuse(flood, ENOTSUP,
                      "the scratch folder is not on a disk (set TMPDIR to one that is)");
    if (scratch_room_bytes(file) < FILE_BYTES)
        return refuse(flood, ENOSPC,
                      "the scratch folder has too little space (256 MiB and 5 % must stay free)");
    return 0;
}

static int fill_file(struct flood *flood)
{
    unsigned char block[WRITE_BYTES];
    memset(block, 0x5a, sizeof block);
    for (int64_t at = 0; at < FILE_BYTES; at += WRITE_BYTES)
        if (pwrite(flood->descriptors[0], block, WRITE_BYTES, (off_t)at) != WRITE_BYTES)
            return refuse(flood, errno ? errno : EIO, "writing the scratch file");
    if (fsync(flood->descriptors[0]) != 0)
        return refuse(flood, errno, "writing the scratch file");
    return 0;
}

static bool read_once(int file, uint64_t *random)
{
    unsigned char memory[2 * READ_BYTES];
    unsigned char *aligned = memory + (READ_BYTES - (uintptr_t)memory % READ_BYTES);
    int64_t place = (int64_t)(random_bits(random) % (uint64_t)(FILE_BYTES / READ_BYTES));
    return pread(file, aligned, READ_BYTES, (off_t)(place * READ_BYTES)) == READ_BYTES;
}

static void read_on(struct flood *flood, int number, pid_t parent)
{
    uint64_t random = (uint64_t)number;
    struct timespec pause = {.tv_nsec = HELPER_PAUSE_NS};
    while (!atomic_load(&flood->is_over) && getppid() == parent) {
        if (!atomic_load(&flood->is_on))
            nanosleep(&pause, NULL);
        else if (read_once(flood->descriptors[0], &random))
            add(&flood->done_count, 1);
        else
            add(&flood->failed_count, 1);
    }
}

static int start_helper(struct flood *flood)
{
    pid_t parent = getpid();
    pid_t helper = port_fork();
    if (helper == 0) {
        int error = port_kill_with_parent(parent);
        if (error == 0 || error == ENOTSUP)
            read_on(flood, flood->helper_count + 1, parent);
        _exit(0);
    }
    if (helper < 0)
        return refuse(flood, errno, "starting a process that reads");
    flood->helpers[flood->helper_count++] = helper;
    return 0;
}

static int disk_prepare(struct flood *flood)
{
    uint64_t random = 0;
    int error = open_scratch_file(flood);
    if (!error)
        error = fill_file(flood);
    if (error)
        return error;
    error = port_direct_io(flood->descriptors[0]);
    if (error || !read_once(flood->descriptors[0], &random))
        return refuse(flood, error ? error : errno, "direct reads of the scratch file");
    for (int i = 0; i < FLOOD_HELPERS && !error; i++)
        error = start_helper(flood);
    if (!error)
        (void)port_run_when_idle(); /* spins only while no helper is ready */
    return error;
}

static const struct flood_way flood_disk = {.prepare = disk_prepare};

/* ---- timers ----
 *
 * As many timers as descriptors allow, up to FLOOD_DESCRIPTORS, all with the same expiries:
 * the kernel serves them in one interrupt, or puts them off. The kernel counts the expiries. */

#define TIMER_PERIOD_NS INT64_C(1000000)

static void arm_timers(struct flood *flood)
{
    int64_t start_ns = clock_monotonic_ns() + TIMER_PERIOD_NS;
    while (flood->descriptor_count < FLOOD_DESCRIPTORS) {
        int timer = port_event_timer_open(start_ns, TIMER_PERIOD_NS);
        if (timer < 0)
            return;
        keep(flood, timer);
    }
}

static int timers_prepare(struct flood *flood)
{
    errno = 0;
    arm_timers(flood);
    if (flood->descriptor_count == 0)
        return refuse(flood, errno ? errno : ENOTSUP, "there is no timerfd");
    int64_t expiries = port_event_timer_wait(flood->descriptors[0], 1000 * TIMER_PERIOD_NS);
    if (expiries <= 0)
        return refuse(flood, expiries == 0 ? ETIMEDOUT : errno, "waiting for a timer of 1 ms");
    close_descriptors(flood);
    return 0;
}

static void timers_step(struct flood *flood)
{
    for (int i = 0; i < flood->descriptor_count; i++) {
        int64_t expiries = port_event_timer_wait(flood->descriptors[i], 0);
        if (expiries > 0)
            add(&flood->done_count, (uint64_t)expiries);
        else if (expiries < 0)
            add(&flood->failed_count, 1);
    }
}

static const struct flood_way flood_timers = {
    .prepare = timers_prepare, .start = arm_timers, .stop = close_descriptors, .step = timers_step};

/* ---- all ---- */

const char *const flood_names[FLOODS + 1] = {"packets", "disk", "timers", NULL};

static const struct flood_way *const ways[FLOODS] = {&flood_packets, &flood_disk, &flood_timers};

const char *flood_unit(enum flood_kind kind)
{
    static const char *const units[FLOODS] = {"packets received", "reads completed",
                                              "timers expired"};
    return units[kind];
}

static void flood_close(struct flood *flood)
{
    atomic_store(&flood->is_over, true);
    while (flood->helper_count > 0)
        (void)port_wait_for(flood->helpers[--flood->helper_count]);
    close_descriptors(flood);
}

int flood_prepare(struct flood *flood)
{
    int error = ways[flood->kind]->prepare(flood);
    if (error)
        flood_close(flood);
    return error;
}

static void follow(struct flood *flood, bool is_on)
{
    const struct flood_way *way = ways[flood->kind];
    if (is_on && way->start)
        way->start(flood);
    if (!is_on && way->stop)
        way->stop(flood);
    atomic_store(&flood->is_flooding, is_on);
}

void flood_run(struct flood *flood)
{
    const struct flood_way *way = ways[flood->kind];
    while (!atomic_load_explicit(&flood->is_over, memory_order_relaxed)) {
        bool is_on = atomic_load_explicit(&flood->is_on, memory_order_relaxed);
        if (is_on != atomic_load_explicit(&flood->is_flooding, memory_order_relaxed))
            follow(flood, is_on);
        if (is_on && way->step)
            way->step(flood);
        add(&flood->turns, 1);
    }
    flood_close(flood);
}
