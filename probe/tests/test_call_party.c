/* The party of THR-B-PRI that is inside system calls: each kind, and its end. */
#include "base/posix_source.h"

#include "family/thread/call_party.h"
#include "tap.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 20 };

static void *work(void *party)
{
    call_party_work(party);
    return NULL;
}

static int kind_of(const char *name)
{
    int kind = 0;
    while (strcmp(call_kinds[kind].name, name) != 0)
        kind++;
    return kind;
}

static void wait_for_steps(struct call_party *party, uint64_t steps)
{
    bool is_woken = call_kinds[party->kind].is_woken;
    while (atomic_load(&party->step_count) < steps && atomic_load(&party->error) == 0) {
        if (is_woken)
            call_party_wake(party);
        sched_yield();
    }
}

static void test_every_kind_goes_on_until_it_is_told(void)
{
    for (int kind = 0; kind < CALL_KINDS; kind++) {
        static struct call_party party;
        pthread_t thread;
        memset(&party, 0, sizeof party);
        CHECK_SAME(call_party_open(&party, kind), 0);
        CHECK_SAME(pthread_create(&thread, NULL, work, &party), 0);
        wait_for_steps(&party, STEPS);
        call_party_end(&party);
        pthread_join(thread, NULL);
        CHECK_SAME(atomic_load(&party.error), 0);
        CHECK(!call_party_is_inside(&party));
        call_party_close(&party);
    }
}

/* It must not go on by itself: a thread that it does not delay proves something only then. */
static void test_the_one_that_waits_is_inside_until_it_is_woken(void)
{
    static struct call_party party;
    pthread_t thread;
    CHECK_SAME(call_party_open(&party, kind_of("wait")), 0);
    CHECK_SAME(pthread_create(&thread, NULL, work, &party), 0);
    while (!call_party_is_inside(&party))
        sched_yield();
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    CHECK_SAME(atomic_load(&party.step_count), 1);
    call_party_end(&party);
    pthread_join(thread, NULL);
    CHECK_SAME(atomic_load(&party.step_count), 2);
    call_party_close(&party);
}

/* And does not block for ever. */
static void test_a_copy_that_does_not_fit_is_an_error(void)
{
    static struct call_party party;
    CHECK_SAME(call_party_open(&party, kind_of("copy")), 0);
    while (write(party.pipe[1], "x", 1) == 1)
        ;
    call_party_work(&party);
    CHECK_SAME(atomic_load(&party.error), EAGAIN);
    call_party_close(&party);
}

TAP_MAIN({"every kind goes on until it is told", test_every_kind_goes_on_until_it_is_told},
         {"the one that waits is inside until it is woken",
          test_the_one_that_waits_is_inside_until_it_is_woken},
         {"a copy that does not fit is an error", test_a_copy_that_does_not_fit_is_an_error})
