/* Floods: what each reaches, and what is told where a call fails. */
#include "base/posix_source.h"

#include "port/file.h"
#include "port/port.h"
#include "work/flood.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

enum call { NONE, SOCKET, SEND, TIMER, EXPIRY, FILE_CALL, FORK, DIRECT, MEMORY };
static enum call failing;
static int forks_left; /* before one fails */

WRAP_IF(failing == SOCKET, tap_fail(EAFNOSUPPORT), int, socket,
        (int domain, int type, int protocol), (domain, type, protocol));
WRAP_IF(failing == SEND, tap_fail(ENETUNREACH), ssize_t, send,
        (int socket, const void *buffer, size_t length, int flags),
        (socket, buffer, length, flags));
WRAP_IF(failing == EXPIRY, 0, int64_t, port_event_timer_wait, (int descriptor, int64_t timeout_ns),
        (descriptor, timeout_ns));
WRAP_IF(failing == FILE_CALL, tap_fail(ENOTSUP), int, port_anonymous_file_with,
        (const char *folder, int flags), (folder, flags));
WRAP_IF(failing == FORK && forks_left-- == 0, tap_fail(EAGAIN), pid_t, port_fork, (void), ());
WRAP_IF(failing == DIRECT, EINVAL, int, port_direct_io, (int descriptor), (descriptor));
WRAP_IF(failing == MEMORY, PORT_STORAGE_MEMORY, enum port_storage, port_storage, (int descriptor),
        (descriptor));

WRAP(int, port_event_timer_open, int64_t start_ns, int64_t period_ns)
{
    if (failing == EXPIRY) /* also on a port that has no such timers */
        return dup(STDERR_FILENO);
    return failing == TIMER ? tap_fail(ENOTSUP) : __real_port_event_timer_open(start_ns, period_ns);
}

static struct flood *new_flood(enum flood_kind kind)
{
    struct flood *flood = port_shared_memory(sizeof *flood);
    memset(flood, 0, sizeof *flood);
    flood->kind = kind;
    return flood;
}

static void *run_flood(void *flood)
{
    flood_run(flood);
    return NULL;
}

static void pause_ms(int ms)
{
    struct timespec time = {.tv_nsec = ms * 1000000L};
    nanosleep(&time, NULL);
}

/* Until the flood has followed. */
static void turn(struct flood *flood, bool is_on)
{
    atomic_store(&flood->is_on, is_on);
    while (atomic_load(&flood->is_flooding) != is_on)
        pause_ms(1);
}

static void wait_for_more(struct flood *flood)
{
    uint64_t done = atomic_load(&flood->done_count);
    while (atomic_load(&flood->done_count) == done)
        pause_ms(1);
}

/* What helpers had under way may take its time; a flood that goes on never rests for so long. */
static void wait_for_no_more(struct flood *flood)
{
    uint64_t done;
    do {
        done = atomic_load(&flood->done_count);
        pause_ms(50);
    } while (atomic_load(&flood->done_count) != done);
}

/* Floods only while it is on, and leaves neither a descriptor nor a process. */
static void flood_on_and_off(struct flood *flood)
{
    pthread_t thread;
    CHECK_SAME(atomic_load(&flood->done_count), 0);
    pthread_create(&thread, NULL, run_flood, flood);
    turn(flood, true);
    wait_for_more(flood);
    turn(flood, false);
    wait_for_no_more(flood);
    turn(flood, true);
    wait_for_more(flood);
    atomic_store(&flood->is_over, true);
    pthread_join(thread, NULL);
    CHECK_SAME(flood->descriptor_count, 0);
    CHECK_SAME(flood->helper_count, 0);
}

TEST(each_kind)
{
    static const enum flood_kind kinds[] = {FLOOD_PACKETS, FLOOD_DISK, FLOOD_TIMERS};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct flood *flood = new_flood(kinds[i]);
        int before = tap_open_files();
        failing = NONE;
        if (flood_prepare(flood) != 0)
            tap_skip("a flood cannot run here");
        else
            flood_on_and_off(flood);
        CHECK_SAME(tap_open_files(), before);
        munmap(flood, sizeof *flood);
    }
}

static void refuse(enum call call, enum flood_kind kind, int error, const char *reason)
{
    struct flood *flood = new_flood(kind);
    int before = tap_open_files();
    failing = call;
    CHECK_SAME(flood_prepare(flood), error);
    failing = NONE;
    CHECK_HOLDS(flood->reason, reason);
    CHECK_SAME(tap_open_files(), before);
    CHECK_SAME(flood->helper_count, 0);
    munmap(flood, sizeof *flood);
}

WRAP_TEST(refused_calls)
{
    refuse(SOCKET, FLOOD_PACKETS, EAFNOSUPPORT, "no UDP socket: ");
    refuse(SEND, FLOOD_PACKETS, ENETUNREACH, "no packet could be sent over 127.0.0.1");
    refuse(TIMER, FLOOD_TIMERS, ENOTSUP, "there is no timerfd");
    refuse(EXPIRY, FLOOD_TIMERS, ETIMEDOUT, "waiting for a timer of 1 ms");
    refuse(FILE_CALL, FLOOD_DISK, ENOTSUP, "no anonymous file");
    int file = port_anonymous_file("/tmp");
    if (file >= 0)
        refuse(MEMORY, FLOOD_DISK, ENOTSUP, "not on a disk");
    if (file >= 0)
        close(file);
}

/* Helpers that were there already end. */
WRAP_TEST(refused_forks)
{
    struct flood *flood = new_flood(FLOOD_DISK);
    failing = NONE;
    bool has_disk = flood_prepare(flood) == 0;
    atomic_store(&flood->is_over, true);
    if (has_disk)
        flood_run(flood);
    munmap(flood, sizeof *flood);
    if (!has_disk) {
        tap_skip("no disk here");
        return;
    }
    forks_left = 3;
    refuse(FORK, FLOOD_DISK, EAGAIN, "starting a process that reads");
    refuse(DIRECT, FLOOD_DISK, EINVAL, "direct reads");
}
