#include "family/mutex/inversion_repeat.h"

static int timed_out_count(const struct inversion_repeats *repeats)
{
    return repeats->watchdog_count + repeats->patience_count;
}

static enum inversion_answer answer(struct inversion_repeats *repeats, enum inversion_end end)
{
    if (end == INVERSION_GOOD || end == INVERSION_BAD)
        return INVERSION_COUNTS;
    if (end == INVERSION_DISTURBED_BAD)
        return repeats->disturbed_count++ < INVERSION_DISTURBED ? INVERSION_AGAIN
                                                                : INVERSION_UNDECIDED;
    *(end == INVERSION_ENDED_BY_WATCHDOG ? &repeats->watchdog_count : &repeats->patience_count) +=
        1;
    if (timed_out_count(repeats) < INVERSION_ATTEMPTS)
        return INVERSION_AGAIN;
    return repeats->watchdog_count == 0 || repeats->patience_count == 0 ? INVERSION_COUNTS
                                                                        : INVERSION_UNDECIDED;
}

enum inversion_answer inversion_answer(struct inversion_repeats *repeats, enum inversion_end end)
{
    enum inversion_answer next = answer(repeats, end);
    if (next != INVERSION_AGAIN)
        repeats->watchdog_count = repeats->patience_count = 0;
    return next;
}

int inversion_scale(const struct inversion_repeats *repeats)
{
    return 1 << timed_out_count(repeats);
}
