/* The element messages: its groups pass messages, are told when they are not whole, and leave no
 * process, however one of them ends. What the system refuses is made up: the linker wraps the calls
 * (--wrap). */
#include "base/posix_source.h"

#include "load/element/messages.h"
#include "load/limits.h"
#include "running_load.h"
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

enum { HEAD = 3 }; /* generations: this process, guard, supervisor, head, member */
enum { PROCESSES = 16384, TRIES = 3000 };

static int generation, forks;
static struct {
    int members;   /* so many forks of a head succeed; -1: all */
    bool channels; /* a head gets no channel */
    bool signals;  /* the kernel does not kill a process with its parent; nobody adopts orphans */
    int64_t room;  /* -1: what the system leaves */
} refused = {.members = -1, .room = -1};

static void refuse_nothing(void)
{
    refused.members = -1;
    refused.room = -1;
    refused.channels = refused.signals = false;
}

#ifdef WRAPPED
pid_t __real_port_fork(void);
int __real_pipe(int ends[2]);
int __real_port_kill_with_parent(pid_t parent);
int __real_port_adopt_orphans(void);
int64_t __real_port_process_room(const char **limit);
pid_t __wrap_port_fork(void);
int __wrap_pipe(int ends[2]);
int __wrap_port_kill_with_parent(pid_t parent);
int __wrap_port_adopt_orphans(void);
int64_t __wrap_port_process_room(const char **limit);

pid_t __wrap_port_fork(void)
{
    if (generation == HEAD && refused.members >= 0 && forks == refused.members) {
        forks = 0;
        errno = EAGAIN;
        return -1;
    }
    forks += generation == HEAD ? 1 : 0;
    pid_t child = __real_port_fork();
    generation += child == 0 ? 1 : 0;
    return child;
}

int __wrap_pipe(int ends[2])
{
    if (generation == HEAD && refused.channels) {
        errno = EMFILE;
        return -1;
    }
    return __real_pipe(ends);
}

int __wrap_port_kill_with_parent(pid_t parent)
{
    return refused.signals ? ENOTSUP : __real_port_kill_with_parent(parent);
}

int __wrap_port_adopt_orphans(void)
{
    return refused.signals ? ENOTSUP : __real_port_adopt_orphans();
}

int64_t __wrap_port_process_room(const char **limit)
{
    if (refused.room < 0)
        return __real_port_process_room(limit);
    *limit = "a made-up limit";
    return refused.room;
}
#endif

/* ---- who is there ---- */

static pid_t head_of(int slot)
{
    return (pid_t)atomic_load(&load.map->slots[slot].process);
}

/* Children of `parent`, LOAD_GROUP_MEMBERS at most; -1: this system tells of no process. */
static int children_of(pid_t parent, pid_t *found)
{
    struct port_process *list = calloc(PROCESSES, sizeof *list);
    int all = list ? port_processes(list, PROCESSES) : 0, count = 0;
    for (int i = 0; i < all && i < PROCESSES && count < LOAD_GROUP_MEMBERS; i++)
        if (list[i].parent == parent)
            found[count++] = list[i].id;
    free(list);
    return all > 0 ? count : -1;
}

/* False: they cannot be found here, or never came. */
static bool find_members(int slot, pid_t *members)
{
    int count = 0;
    for (int i = 0; i < TRIES && count >= 0 && count < LOAD_GROUP_MEMBERS; i++) {
        count = children_of(head_of(slot), members);
        if (count < LOAD_GROUP_MEMBERS)
            pass_ms(5);
    }
    if (count < 0)
        tap_skip("this system does not tell of other processes");
    return count < 0 ? false : CHECK_SAME(count, LOAD_GROUP_MEMBERS);
}

static bool is_there(pid_t process)
{
    return kill(process, 0) == 0 || errno != ESRCH;
}

/* None of them is left. They are nobody's children here: a zombie has gone with its parent. */
static void check_all_go(const pid_t *members, int count)
{
    int left = count;
    for (int i = 0; i < TRIES && left > 0; i++) {
        left = 0;
        for (int j = 0; j < count; j++)
            left += is_there(members[j]) ? 1 : 0;
        if (left > 0)
            pass_ms(5);
    }
    CHECK_SAME(left, 0);
}

static bool wait_for(int slot, int counter, uint64_t least, uint64_t most)
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t value = atomic_load(&load.map->slots[slot].counters[counter]);
        if (value >= least && value <= most)
            return true;
        pass_ms(5);
    }
    return false;
}

/* Until messages of `slot` came within the window. */
static void measure(int slot)
{
    load_begin(&load);
    uint64_t before = atomic_load(&load.map->slots[slot].counters[MESSAGES_BYTES]);
    CHECK(wait_for(slot, MESSAGES_BYTES, before + 1, UINT64_MAX));
}

/* ---- the tests ---- */

TEST_IN(start("messages=2"), load_free(&load), messages_go_both_ways)
{
    CHECK_SAME(load.map->slot_count, 2);
    CHECK_SAME(load.map->process_count, 2 * (1 + LOAD_GROUP_MEMBERS));
    load_begin(&load);
    struct load_reached all = {.reached = -1};
    for (int i = 0;
         i < TRIES && (all.reached < 2 || all.counters[MESSAGES_BY_SOCKET] == 0 ||
                       all.counters[MESSAGES_BY_PIPE] == 0 || all.counters[COUNTER_CPU_NS] == 0);
         i++) {
        pass_ms(10);
        load_end(&load);
        all = reached(0);
    }
    end();
    all = reached(0);
    CHECK_SAME(all.asked, 2);
    CHECK_SAME(all.reached, 2);
    CHECK(all.counters[MESSAGES_BY_SOCKET] > 0 && all.counters[MESSAGES_BY_PIPE] > 0);
    CHECK(all.counters[COUNTER_CPU_NS] > 0);
    CHECK_SAME(*text_of("load_short"), 0);
    CHECK_SAME(*text_of("load_limited"), 0);
}

/* One of a hundred processes may be late when a load is settled, but no group. */
HOST_TEST_IN(start("storm=110+messages=1"), load_free(&load), a_group_is_never_late)
{
    CHECK_SAME(atomic_load(&load.map->slots[110].state), WORKER_WORKS);
    CHECK(atomic_load(&load.map->slots[110].counters[MESSAGES_BYTES]) > 0);
}

TEST_IN(start("messages=1"), load_free(&load), bytes_are_those_of_the_messages)
{
    measure(0);
    end();
    struct load_reached all = reached(0);
    uint64_t messages = all.counters[MESSAGES_BY_SOCKET] + all.counters[MESSAGES_BY_PIPE];
    CHECK(messages > 0);
    /* A member may have been ended between the two counts of its messages. */
    int64_t apart = (int64_t)all.counters[MESSAGES_BYTES] - (int64_t)messages * 100;
    CHECK(llabs(apart) <= INT64_C(2) * LOAD_GROUP_MEMBERS * 20 * 100);
}

/* The first is a receiver, the last a sender. */
static void check_killed(int which)
{
    pid_t members[LOAD_GROUP_MEMBERS], after[LOAD_GROUP_MEMBERS];
    if (!start("messages=1"))
        return;
    if (find_members(0, members)) {
        load_begin(&load);
        kill(members[which], SIGKILL);
        check_all_go(members, LOAD_GROUP_MEMBERS);
        CHECK(find_members(0, after));
        CHECK(wait_for(0, MESSAGES_WHOLE, 1, 1));
        measure(0);
        end();
        CHECK_HOLDS(text_of("load_limited"), "began anew");
        CHECK_SAME(*text_of("load_ended_early"), 0);
        CHECK_SAME(reached(0).reached, 1);
        check_all_go(after, LOAD_GROUP_MEMBERS);
    }
    load_free(&load);
}

TEST(a_group_without_a_receiver_begins_anew)
{
    check_killed(0);
}

TEST(a_group_without_a_sender_begins_anew)
{
    check_killed(LOAD_GROUP_MEMBERS - 1);
}

/* All others come to wait for the receiver that is stopped, and end all the same. */
TEST_IN(start("messages=1"), load_free(&load), a_stopped_member_is_told)
{
    pid_t members[LOAD_GROUP_MEMBERS];
    if (find_members(0, members)) {
        load_begin(&load);
        kill(members[0], SIGSTOP);
        CHECK(wait_for(0, MESSAGES_WHOLE, 0, 0));
        end();
        CHECK_HOLDS(text_of("load_limited"), "was stopped by signal");
        CHECK_HOLDS(text_of("load_short"), "messages reached 0 of 1 requested groups");
        check_all_go(members, LOAD_GROUP_MEMBERS);
    }
}

TEST_IN(start("messages=1"), load_free(&load), a_member_that_goes_on_makes_it_whole)
{
    pid_t members[LOAD_GROUP_MEMBERS];
    if (find_members(0, members)) {
        kill(members[0], SIGSTOP);
        CHECK(wait_for(0, MESSAGES_WHOLE, 0, 0));
        kill(members[0], SIGCONT);
        CHECK(wait_for(0, MESSAGES_WHOLE, 1, 1));
        measure(0);
        end();
        CHECK_SAME(reached(0).reached, 1);
    }
}

TEST_IN(start("messages=2"), load_free(&load), a_group_goes_with_its_head)
{
    pid_t members[LOAD_GROUP_MEMBERS];
    if (find_members(0, members)) {
        load_begin(&load);
        kill(head_of(0), SIGKILL);
        check_all_go(members, LOAD_GROUP_MEMBERS);
        for (int i = 0; i < TRIES && atomic_load(&load.map->slots[0].state) != WORKER_ENDED; i++)
            pass_ms(5);
        end();
        CHECK_HOLDS(text_of("load_ended_early"), "messages: 1 of 2 processes");
        CHECK(reached(0).reached < 2);
    }
}

/* Where the kernel kills no process with its parent: members see it, and free those that wait. */
TEST(members_end_by_themselves)
{
    pid_t members[LOAD_GROUP_MEMBERS];
    refused.signals = true;
    if (tap_is_wrapped() && start("messages=1")) {
        if (find_members(0, members)) {
            kill(head_of(0), SIGKILL);
            check_all_go(members, LOAD_GROUP_MEMBERS);
        }
        load_free(&load);
    }
    refuse_nothing();
}

/* Guard and supervisor are killed in the same moment: heads and members see that, too. */
TEST(a_load_without_supervisors_goes)
{
    pid_t members[LOAD_GROUP_MEMBERS];
    refused.signals = true;
    if (tap_is_wrapped() && start("messages=1")) {
        if (find_members(0, members)) {
            load_begin(&load);
            kill(load.guard, SIGSTOP);
            kill(supervisor_of_load(), SIGKILL);
            kill(load.guard, SIGKILL);
            check_all_go(members, LOAD_GROUP_MEMBERS);
            pid_t head = head_of(0);
            check_all_go(&head, 1);
            end();
        }
        load_free(&load);
    }
    refuse_nothing();
}

TEST(a_refused_fork_is_told)
{
    pid_t members[LOAD_GROUP_MEMBERS];
    refused.members = LOAD_GROUP_MEMBERS - 1;
    if (tap_is_wrapped() && start("messages=1")) {
        load_begin(&load);
        uint64_t failed = atomic_load(&load.map->slots[0].counters[MESSAGES_FAILED]);
        CHECK(wait_for(0, MESSAGES_FAILED, failed + 2, UINT64_MAX));
        end();
        CHECK_HOLDS(text_of("load_limited"), "a process of a group could not be started");
        CHECK_HOLDS(text_of("load_short"), "messages reached 0 of 1 requested groups");
        CHECK(reached(0).counters[MESSAGES_FAILED] >= 2);
        CHECK(children_of(getpid(), members) <= 0);
        load_free(&load);
    }
    refuse_nothing();
}

TEST(without_descriptors_it_is_refused)
{
    refused.channels = true;
    if (tap_is_wrapped() && start("messages=1")) {
        load_begin(&load);
        end();
        CHECK_HOLDS(text_of("load_limited"), "no channels for the messages of a group");
        CHECK_HOLDS(text_of("load_short"), "messages reached 0 of 1 requested groups");
        load_free(&load);
    }
    refuse_nothing();
}

TEST(without_room_there_is_no_group)
{
    refused.room = LOAD_GROUP_MEMBERS;
    if (tap_is_wrapped() && start("messages=2+cpu")) {
        CHECK_SAME(load.map->slot_count, 1);
        load_begin(&load);
        end();
        CHECK(is_told("load_limited", "messages: 0 of 2 are started: a made-up limit"));
        CHECK(is_told("load_short", "messages reached 0 of 2 requested groups"));
        load_free(&load);
    }
    if (tap_is_wrapped() && start("messages=2")) {
        CHECK_SAME(load.map->slot_count, 0);
        load_begin(&load);
        end();
        load_free(&load);
    }
    refuse_nothing();
}
