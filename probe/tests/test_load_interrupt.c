/* Timers that the kernel refuses are not counted as sent. timer_settime is put before that of
 * the C library by the linker. */
#include "posix_source.h"

#include "load/duty.h"
#include "load/elements.h"
#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SENT = COUNTER_OWN, MISSED };

static struct load_map map;
static struct load_slot slot;
static struct {
    int calls, refused, most; /* the load ends after so many calls */
    int each;                 /* every so many is refused; 0: none */
} timers;

#ifdef WRAPPED
int __real_timer_settime(timer_t timer, int flags, const struct itimerspec *when,
                         struct itimerspec *before);
int __wrap_timer_settime(timer_t timer, int flags, const struct itimerspec *when,
                         struct itimerspec *before);

int __wrap_timer_settime(timer_t timer, int flags, const struct itimerspec *when,
                         struct itimerspec *before)
{
    if (++timers.calls >= timers.most)
        atomic_store(&map.stop, 1);
    if (timers.each > 0 && timers.calls % timers.each == 0) {
        timers.refused++;
        errno = EINVAL;
        return -1;
    }
    return __real_timer_settime(timer, flags, when, before);
}
#endif

static uint64_t counted(int counter)
{
    return atomic_load(&slot.counters[counter]);
}

static bool run(int64_t per_s, int each, int most)
{
#ifndef WRAPPED
    tap_skip("this linker cannot put a function before another");
    return false;
#endif
    struct load_degree degree = {.number = per_s};
    struct loader loader = {.element = &load_interrupt,
                            .degree = &degree,
                            .map = &map,
                            .slot = &slot,
                            .places = 1,
                            .keeper = getppid()};
    memset(&slot, 0, sizeof slot);
    memset(&timers, 0, sizeof timers);
    timers.each = each;
    timers.most = most;
    atomic_store(&map.stop, 0);
    atomic_store(&slot.state, LOADER_READY);
    if (!CHECK_SAME(load_interrupt.prepare(&loader), 0))
        return false;
    load_interrupt.work(&loader);
    free(loader.own); /* a loader ends instead */
    return true;
}

static void test_all_are_sent_when_none_is_refused(void)
{
    if (!run(2000, 0, 400))
        return;
    CHECK(counted(SENT) > 0);
    CHECK((int)counted(SENT) <= timers.calls);
    CHECK_SAME(atomic_load(&slot.has_note), 0);
    CHECK_SAME(atomic_load(&slot.state), LOADER_WORKS);
}

static void test_none_is_sent_when_all_are_refused(void)
{
    int64_t begun_ns = duty_now_ns();
    if (!run(1000, 1, 20))
        return;
    CHECK_SAME(counted(SENT), 0);
    CHECK((int)counted(MISSED) >= timers.refused);
    CHECK_HOLDS(slot.note, "a timer could not be armed");
    CHECK_SAME(atomic_load(&slot.state), LOADER_READY);       /* it never worked */
    CHECK(duty_now_ns() - begun_ns >= 19 * INT64_C(5000000)); /* and rests between */
}

static void test_those_refused_are_missed(void)
{
    if (!run(2000, 3, 600))
        return;
    CHECK(counted(SENT) > 0);
    CHECK((int)counted(SENT) <= timers.calls - timers.refused);
    CHECK((int)counted(MISSED) >= timers.refused);
    CHECK_SAME(atomic_load(&slot.has_note), 2);
}

TAP_MAIN({"all are sent when none is refused", test_all_are_sent_when_none_is_refused},
         {"none is sent when all are refused", test_none_is_sent_when_all_are_refused},
         {"those refused are missed", test_those_refused_are_missed})
