/* The external stressor is ended when disk or memory, both of made-up size, runs short. The
 * stressor is a child of this process that ends late or at once. */
#include "base/posix_source.h"

#include "load/element.h"
#include "load/external_stressor.h"
#include "tap.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)
#define UNIT INT64_C(4096)

static struct {
    int64_t size, free;          /* of the file system */
    int64_t available, of_bytes; /* of memory; -1: not known */
} world;

static struct load_map *map;
static struct load_spec spec;
static struct external_stressor external_stressor;

static int tell_disk(struct statvfs *facts)
{
    memset(facts, 0, sizeof *facts);
    facts->f_bsize = facts->f_frsize = UNIT;
    facts->f_blocks = facts->f_bfree = (fsblkcnt_t)(world.size / UNIT);
    facts->f_bavail = (fsblkcnt_t)(world.free / UNIT);
    return 0;
}

WRAP_IF(true, tell_disk(facts), int, fstatvfs, (int file, struct statvfs *facts), (file, facts));
WRAP_IF(true, tell_disk(facts), int, fstatvfs64, (int file, struct statvfs *facts), (file, facts));

WRAP(int64_t, port_available_bytes, int64_t *of_bytes)
{
    if (of_bytes)
        *of_bytes = world.of_bytes;
    return world.available;
}

/* A program that ends with 7 when it is asked to, or does not hear it. */
static pid_t start_program(bool is_deaf)
{
    sigset_t set, before;
    int heard;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, &before);
    pid_t child = fork();
    if (child == 0) {
        (void)port_kill_with_parent(getppid());
        while (is_deaf)
            pause();
        sigwait(&set, &heard);
        _exit(7);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return child;
}

/* Plenty of everything: 1000 MiB of disk, 256 of which must stay, and 3200 MiB of memory, 200 of
 * which must. */
static bool start(bool is_deaf, int64_t disk)
{
    char error[LOAD_ERROR_BYTES];
    world.size = 1000 * MIB;
    world.free = disk;
    world.available = 3000 * MIB;
    world.of_bytes = 3200 * MIB;
    memset(map, 0, sizeof *map + sizeof map->slots[0]);
    map->slot_count = 1;
    snprintf(map->scratch.folder, sizeof map->scratch.folder, "/tmp");
    CHECK_SAME(load_spec_parse("stress-ng:--cpu 1", &spec, error, sizeof error), 0);
    external_stressor_find(&external_stressor, map, &spec);
    map->slots[0].state = WORKER_WORKS;
    map->slots[0].process = start_program(is_deaf);
    return CHECK(external_stressor.slot == &map->slots[0]) && tap_is_wrapped();
}

/* What became of it: an exit code, a signal below 0, or 0: it runs. */
static int fate(bool is_to_end)
{
    static const struct timespec moment = {.tv_nsec = 200000000};
    int status;
    if (!is_to_end)
        nanosleep(&moment, NULL);
    if (waitpid((pid_t)map->slots[0].process, &status, is_to_end ? 0 : WNOHANG) <= 0)
        return 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void finish(void)
{
    pid_t process = (pid_t)map->slots[0].process;
    if (waitpid(process, NULL, WNOHANG) == 0) {
        kill(process, SIGKILL);
        waitpid(process, NULL, 0);
    }
    if (external_stressor.folder >= 0)
        close(external_stressor.folder);
}

TEST_IN(start(false, 256 * MIB), finish(), plenty_is_left_alone)
{
    world.available = 200 * MIB;
    external_stressor_look(&external_stressor);
    CHECK_SAME(fate(false), 0);
    CHECK(!load_slot_note(&map->slots[0]));
    world.available = -1; /* not known */
    external_stressor_look(&external_stressor);
    CHECK_SAME(external_stressor.kill_ns, 0);
}

TEST(a_short_disk_or_memory_ends_it)
{
    static const struct {
        bool is_deaf;
        int64_t free, available, of_bytes; /* MiB */
        int fate;
        const char *text;
    } rows[] = {
        {false, 255, 3000, 3200, 7, "/tmp ran short of free space"},
        {false, 900, 199, 3200, 7, "199 MiB available, 200 MiB must stay free"}, /* a sixteenth */
        {false, 900, 63, 512, 7, "63 MiB available, 64 MiB must stay free"},     /* 64 MiB */
        {false, 900, 63, -1, 7, "63 MiB available, 64 MiB must stay free"},
        {true, 127, 3000, 3200, -SIGKILL, ""}, /* half is gone: there is no time */
        {true, 900, 99, 3200, -SIGKILL, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tap_row(rows[i].text);
        if (!start(rows[i].is_deaf, 900 * MIB))
            return;
        world.free = rows[i].free * MIB;
        world.available = rows[i].available * MIB;
        world.of_bytes = rows[i].of_bytes * MIB;
        external_stressor_look(&external_stressor);
        CHECK_SAME(fate(true), rows[i].fate);
        CHECK_HOLDS(load_slot_note(&map->slots[0]), rows[i].text);
        finish();
    }
}

TEST_IN(start(true, 900 * MIB), finish(), one_that_does_not_hear_is_killed_in_the_end)
{
    world.free = 200 * MIB;
    external_stressor_look(&external_stressor);
    CHECK(external_stressor.kill_ns > 0);
    external_stressor.kill_ns = INT64_MAX; /* it has time, also on a busy machine */
    external_stressor_look(&external_stressor);
    CHECK_SAME(fate(false), 0);
    external_stressor.kill_ns = 1;
    external_stressor_look(&external_stressor);
    CHECK_SAME(fate(true), -SIGKILL);
}

TEST_IN(start(false, 100 * MIB), finish(), a_disk_that_was_short_before_is_not_watched)
{
    CHECK_SAME(external_stressor.folder, -1);
    external_stressor_look(&external_stressor);
    CHECK_SAME(fate(false), 0);
}

TEST_IN(start(false, 900 * MIB), finish(), its_files_go_with_it)
{
    char place[] = "/tmp/test-load-XXXXXX", path[SCRATCH_BYTES + 32];
    if (!CHECK(mkdtemp(place) != NULL))
        return;
    snprintf(map->scratch.own, sizeof map->scratch.own, "%s", place);
    snprintf(path, sizeof path, "%s/room", place);
    CHECK_SAME(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/room/file", place);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    external_stressor_look(&external_stressor);
    CHECK_SAME(access(path, F_OK), 0);
    map->slots[0].state = WORKER_ENDED;
    CHECK(external_stressor_is_watched(&external_stressor));
    external_stressor_look(&external_stressor);
    CHECK(!external_stressor_is_watched(&external_stressor));
    CHECK_SAME(rmdir(place), 0);
}

/* It ends when it is asked to, and is waited for. Where others have the CPU for all that time: then
 * again. */
HOST_TEST(it_is_asked_before_all_is_killed)
{
    for (bool is_in_time = false; !is_in_time;) {
        if (!start(false, 900 * MIB))
            return;
        int64_t begun_ns = clock_monotonic_ns();
        external_stressor_end(&external_stressor);
        is_in_time = waitpid((pid_t)map->slots[0].process, NULL, WNOHANG) == -1 &&
                     clock_monotonic_ns() - begun_ns < EXTERNAL_STRESSOR_END_NS;
        external_stressor_end(&external_stressor); /* of no child */
        finish();
    }
}

TEST(a_load_without_one)
{
    char error[LOAD_ERROR_BYTES];
    if (!start(false, 900 * MIB))
        return;
    finish();
    CHECK_SAME(load_spec_parse("cpu", &spec, error, sizeof error), 0);
    external_stressor_find(&external_stressor, map, &spec);
    CHECK(!external_stressor_is_watched(&external_stressor));
    external_stressor_look(&external_stressor);
    external_stressor_end(&external_stressor);
}

int main(void)
{
    map = port_shared_memory(sizeof *map + sizeof map->slots[0]);
    return map ? tap_run() : 1;
}
