/* The element messages: its groups pass messages, are told when they are not whole, and leave no
 * process, however one of them ends. What the system refuses is made up: the linker wraps the calls
 * (--wrap). */
#include "running_load.h"

#include "load/element.h"

#include <unistd.h>

enum { HEAD = 3 }; /* generations: this process, guard, supervisor, head, member */
enum { PROCESSES = 16384 };

static int generation, forks;
static struct refused {
    int members;   /* so many forks of a head succeed; 0: all */
    bool channels; /* a head gets no channel */
    bool signals;  /* the kernel does not kill a process with its parent; nobody adopts orphans */
    int64_t room;  /* 0: what the system leaves */
} refused;
static bool is_late; /* the supervisor returns from no fork before the load has begun */

WRAP(pid_t, port_fork, void)
{
    if (generation == HEAD && refused.members > 0 && forks == refused.members) {
        forks = 0;
        return tap_fail(EAGAIN);
    }
    forks += generation == HEAD ? 1 : 0;
    pid_t child = __real_port_fork();
    generation += child == 0 ? 1 : 0;
    while (is_late && generation == HEAD - 1 && child > 0 &&
           atomic_load(&load.map->window_begin_ns) == 0)
        pass_ms(1);
    return child;
}

WRAP_IF(generation == HEAD && refused.channels, tap_fail(EMFILE), int, pipe, (int ends[2]), (ends));
WRAP_IF(refused.signals, ENOTSUP, int, port_kill_with_parent, (pid_t parent), (parent));
WRAP_IF(refused.signals, ENOTSUP, int, port_adopt_orphans, (void), ());

WRAP(int64_t, port_process_room, const char **limit)
{
    if (refused.room == 0)
        return __real_port_process_room(limit);
    *limit = "a made-up limit";
    return refused.room;
}

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

/* False: they cannot be found here. */
static bool find_members(pid_t *found)
{
    int count;
    while ((count = children_of(head_of(0), found)) >= 0 && count < LOAD_GROUP_MEMBERS)
        pass_ms(5);
    if (count < 0)
        tap_skip("this system does not tell of other processes");
    return count >= 0;
}

/* None of them is left. They are nobody's children here: a zombie has gone with its parent. */
static void wait_for_end(const pid_t *processes, int count)
{
    for (int i = 0; i < count; i++)
        while (kill(processes[i], 0) == 0 || errno != ESRCH)
            pass_ms(5);
}

static pid_t members[LOAD_GROUP_MEMBERS];

/* A group whose members are known. */
static bool start_group(bool refuses_signals)
{
    refused = (struct refused){.signals = refuses_signals};
    if ((refuses_signals && !tap_is_wrapped()) || !start("messages=1"))
        return false;
    if (find_members(members))
        return true;
    load_free(&load);
    return false;
}

static void wait_for(int counter, uint64_t least, uint64_t most)
{
    while (counter_of(0, counter) < least || counter_of(0, counter) > most)
        pass_ms(5);
}

/* Until messages of the first group came within the window. */
static void measure(void)
{
    load_begin(&load);
    wait_for(MESSAGES_BYTES, counter_of(0, MESSAGES_BYTES) + 1, UINT64_MAX);
}

/* ---- the tests ---- */

TEST_IN(start("messages=2"), load_free(&load), messages_go_both_ways)
{
    CHECK_SAME(load.map->slot_count, 2);
    CHECK_SAME(load.map->process_count, 2 * (1 + LOAD_GROUP_MEMBERS));
    load_begin(&load);
    struct load_reached all;
    do {
        pass_ms(10);
        load_end(&load);
        all = reached(0);
    } while (all.reached < 2 || all.counters[MESSAGES_BY_SOCKET] == 0 ||
             all.counters[MESSAGES_BY_PIPE] == 0 || all.counters[COUNTER_CPU_NS] == 0);
    end();
    all = reached(0);
    CHECK_SAME(all.asked, 2);
    CHECK_SAME(all.reached, 2);
    CHECK(all.counters[MESSAGES_BY_SOCKET] > 0 && all.counters[MESSAGES_BY_PIPE] > 0);
    CHECK(all.counters[COUNTER_CPU_NS] > 0);
    uint64_t messages = all.counters[MESSAGES_BY_SOCKET] + all.counters[MESSAGES_BY_PIPE];
    /* A member may have been ended between the two counts of its messages. */
    int64_t apart = (int64_t)all.counters[MESSAGES_BYTES] - (int64_t)messages * 100;
    CHECK(llabs(apart) <= INT64_C(4) * LOAD_GROUP_MEMBERS * 20 * 100);
    CHECK_SAME(*text_of("load_short"), 0);
    CHECK_SAME(*text_of("load_limited"), 0);
}

/* One of a hundred processes may be late when a load is settled, but no group. */
HOST_TEST_IN(start("storm=110+messages=1"), load_free(&load), a_group_is_never_late)
{
    CHECK_SAME(atomic_load(&load.map->slots[110].state), WORKER_WORKS);
    CHECK(atomic_load(&load.map->slots[110].counters[MESSAGES_BYTES]) > 0);
}

/* The first is a receiver, the last a sender. */
TEST(a_group_without_one_begins_anew)
{
    pid_t after[LOAD_GROUP_MEMBERS];
    for (int which = 0; which < LOAD_GROUP_MEMBERS; which += LOAD_GROUP_MEMBERS - 1) {
        if (!start_group(false))
            return;
        load_begin(&load);
        kill(members[which], SIGKILL);
        wait_for_end(members, LOAD_GROUP_MEMBERS);
        CHECK(find_members(after));
        wait_for(MESSAGES_WHOLE, 1, 1);
        measure();
        end();
        CHECK_HOLDS(text_of("load_limited"), "was restarted");
        CHECK(!is_told("load_ended_early", "messages: "));
        CHECK_SAME(reached(0).reached, 1);
        wait_for_end(after, LOAD_GROUP_MEMBERS);
        load_free(&load);
    }
}

/* All others come to wait for the receiver that is stopped, and end all the same. */
TEST_IN(start_group(false), load_free(&load), a_stopped_member_is_told)
{
    load_begin(&load);
    kill(members[0], SIGSTOP);
    wait_for(MESSAGES_WHOLE, 0, 0);
    end();
    CHECK_HOLDS(text_of("load_limited"), "was stopped by signal");
    CHECK_HOLDS(text_of("load_short"), "messages reached 0 of 1 requested groups");
    wait_for_end(members, LOAD_GROUP_MEMBERS);
}

TEST_IN(start_group(false), load_free(&load), a_member_that_goes_on_makes_it_whole)
{
    kill(members[0], SIGSTOP);
    wait_for(MESSAGES_WHOLE, 0, 0);
    kill(members[0], SIGCONT);
    wait_for(MESSAGES_WHOLE, 1, 1);
    measure();
    end();
    CHECK_SAME(reached(0).reached, 1);
}

TEST_IN(start("messages=2"), load_free(&load), a_group_goes_with_its_head)
{
    if (find_members(members)) {
        load_begin(&load);
        kill(head_of(0), SIGKILL);
        wait_for_end(members, LOAD_GROUP_MEMBERS);
        while (atomic_load(&load.map->slots[0].state) != WORKER_ENDED)
            pass_ms(5);
        end();
        CHECK(is_told("load_ended_early", "messages: 1 of 2 processes"));
        CHECK(reached(0).reached < 2);
    }
}

/* ---- what is refused ---- */

static bool start_refusing(struct refused what, const char *text)
{
    refused = what;
    return tap_is_wrapped() && start(text);
}

static void allow(void)
{
    load_free(&load);
    refused = (struct refused){0};
}

/* Where the kernel kills no process with its parent: members see it, and free those that wait. */
TEST_IN(start_group(true), allow(), members_end_by_themselves)
{
    kill(head_of(0), SIGKILL);
    wait_for_end(members, LOAD_GROUP_MEMBERS);
}

/* Guard and supervisor are killed in the same moment: heads and members see that, too. */
TEST_IN(start_group(true), allow(), a_load_without_supervisors_goes)
{
    load_begin(&load);
    kill_supervisors();
    wait_for_end(members, LOAD_GROUP_MEMBERS);
    pid_t head = head_of(0);
    wait_for_end(&head, 1);
    end();
}

TEST_IN(start_refusing((struct refused){.members = LOAD_GROUP_MEMBERS - 1}, "messages=1"), allow(),
        a_refused_fork_is_told)
{
    load_begin(&load);
    wait_for(MESSAGES_FAILED, counter_of(0, MESSAGES_FAILED) + 2, UINT64_MAX);
    end();
    CHECK_HOLDS(text_of("load_limited"), "a process of a group could not be started");
    CHECK_HOLDS(text_of("load_short"), "messages reached 0 of 1 requested groups");
    CHECK(reached(0).counters[MESSAGES_FAILED] >= 2);
    CHECK(children_of(getpid(), members) <= 0);
}

TEST_IN(start_refusing((struct refused){.channels = true}, "messages=1"), allow(),
        without_descriptors_it_is_refused)
{
    load_begin(&load);
    end();
    CHECK_HOLDS(text_of("load_limited"), "no channels for the messages of a group");
    CHECK_HOLDS(text_of("load_short"), "messages reached 0 of 1 requested groups");
}

TEST_IN(start_refusing((struct refused){.room = LOAD_GROUP_MEMBERS}, "messages=2+cpu"), allow(),
        without_room_there_is_no_group)
{
    CHECK_SAME(load.map->slot_count, 1);
    load_begin(&load);
    end();
    CHECK(is_told("load_limited", "messages: only 0 of 2 are started: a made-up limit"));
    CHECK(is_told("load_short", "messages reached 0 of 2 requested groups"));
    load_free(&load);
    if (!start("messages=2"))
        return;
    CHECK_SAME(load.map->slot_count, 0);
    load_begin(&load);
    end();
}

/* ---- any element ---- */

/* Else the CPU time that it used before the load has begun would be counted, too. */
TEST_IN((is_late = true) && start("storm=1"), load_free(&load),
        who_works_is_known_before_its_supervisor_goes_on)
{
    is_late = false;
    CHECK(head_of(0) > 0);
    load_begin(&load);
    end();
}
