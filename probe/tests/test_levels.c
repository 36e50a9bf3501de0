/* SEM-P-ARC on a system with more levels of priority than Linux has: as many waiters as were
 * published. The port is a fake. The linker puts calls before those of the C library that have
 * LEVELS levels, and maps them to the real ones: whoever is higher stays at least as high, and the
 * creator stays below all of 128 waiters. */
#include "base/posix_source.h"

#include "base/rt_thread.h"
#include "fake_port.h"
#include "one_cpu_run.h"

enum { LEVELS = 255, MOST_REAL = 98 };

static bool has_many_levels;

WRAP_IF(has_many_levels &&policy == SCHED_FIFO, LEVELS, int, sched_get_priority_max, (int policy),
        (policy));

static struct sched_param mapped(int policy, const struct sched_param *wanted)
{
    struct sched_param real = *wanted;
    if (has_many_levels && policy == SCHED_FIFO)
        real.sched_priority = 1 + wanted->sched_priority * (MOST_REAL - 1) / LEVELS;
    return real;
}

WRAP(int, pthread_setschedparam, pthread_t thread, int policy, const struct sched_param *wanted)
{
    struct sched_param real = mapped(policy, wanted);
    return __real_pthread_setschedparam(thread, policy, &real);
}

WRAP(int, pthread_attr_setschedparam, pthread_attr_t *attributes, const struct sched_param *wanted)
{
    int policy = SCHED_OTHER;
    pthread_attr_getschedpolicy(attributes, &policy);
    struct sched_param real = mapped(policy, wanted);
    return __real_pthread_attr_setschedparam(attributes, &real);
}

static bool can_test(void)
{
    struct rt_thread_setup setup = {SCHED_FIFO, MOST_REAL, -1};
    has_many_levels = false;
    fake_port = (struct fake_port){.is_counter_trusted = true, .cpu_count = 1};
    if (!tap_is_wrapped())
        return false;
    if (rt_thread_try(&setup) == 0)
        return true;
    tap_skip("no right to real-time priorities");
    return false;
}

/* NULL: something else has the CPU, and the test is skipped. */
static const char *stream_with(char *priority)
{
    return one_cpu_run((char *const[]){"hardstone-probe", "run", "SEM-P-ARC", "-p", "kinds=unnamed",
                                       "-p", "scopes=thread", "-p", "waiters=128", "--samples",
                                       "128", "--clock", "monotonic",
                                       priority ? "--priority" : NULL, priority, NULL});
}

static void check_waiters(const char *text, const char *waiters, bool has_fewer)
{
    if (!text)
        return;
    CHECK_HOLDS(text, "\"status\":\"measured\"", waiters);
    CHECK_SAME(strstr(text, "\"fewer_levels\"") != NULL, has_fewer);
    CHECK_LACKS(text, "\"not_highest_first\"");
}

TEST(as_many_as_published)
{
    if (!can_test())
        return;
    has_many_levels = true;
    check_waiters(stream_with(NULL), "\"waiters\":128}", false);
}

/* The highest level gives one waiter more than the default, the one below it. */
TEST(as_many_as_there_are_levels)
{
    if (!can_test())
        return;
    char text[48], number[12];
    int highest = sched_get_priority_max(SCHED_FIFO), least = sched_get_priority_min(SCHED_FIFO);
    if (highest - least > 128) {
        tap_skip("this system has all levels");
        return;
    }
    snprintf(text, sizeof text, "\"waiters\":%d}", highest - 1 - least);
    const char *stream = stream_with(NULL);
    check_waiters(stream, text, true);
    snprintf(text, sizeof text, "(%d with --priority %d)", highest - least, highest);
    if (stream)
        CHECK_HOLDS(stream, text);
    snprintf(text, sizeof text, "\"waiters\":%d}", highest - least);
    snprintf(number, sizeof number, "%d", highest);
    check_waiters(stream_with(number), text, true);
}
