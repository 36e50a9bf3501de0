#include "base/posix_source.h"

#include "family/file/rescue.h"

#include "base/clock.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_NS = 5000000, BYTES = 1024 };

/* Neither waits: what is fed is empty, and what is emptied is full. */
static void act(struct rescue *rescue)
{
    char bytes[BYTES] = "x";
    atomic_store(&rescue->was_needed, true);
    ssize_t moved = rescue->action == RESCUE_FEEDS ? write(rescue->file, bytes, 1)
                                                   : read(rescue->file, bytes, sizeof bytes);
    (void)moved;
}

static void look(struct rescue *rescue)
{
    int waits = RESCUE_WAITS;
    if (!atomic_compare_exchange_strong(&rescue->state, &waits, RESCUE_ACTS))
        return;
    if (clock_monotonic_ns() - rescue->armed_ns >= RESCUE_NS)
        act(rescue);
    atomic_store(&rescue->state, RESCUE_WAITS);
}

static void watch(void *argument)
{
    struct rescue *rescue = argument;
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    while (!atomic_load(&rescue->is_over)) {
        look(rescue);
        nanosleep(&pause, NULL);
    }
}

int rescue_start(struct rescue *rescue)
{
    struct rt_thread_setup setup = {SCHED_OTHER, rt_thread_ordinary_priority(), -1};
    atomic_store(&rescue->state, RESCUE_RESTS);
    atomic_store(&rescue->is_over, false);
    int error = rt_thread_start_with_stack(&rescue->thread, &setup, RT_THREAD_SMALL_STACK_BYTES,
                                           watch, rescue);
    if (!error)
        rt_thread_go(&rescue->thread);
    return error;
}

void rescue_end(struct rescue *rescue)
{
    atomic_store(&rescue->is_over, true);
    rt_thread_join(&rescue->thread);
}

void rescue_arm(struct rescue *rescue, enum rescue_action action, int file)
{
    rescue->action = action;
    rescue->file = file;
    rescue->armed_ns = clock_monotonic_ns();
    atomic_store(&rescue->was_needed, false);
    atomic_store(&rescue->state, RESCUE_WAITS);
}

/* Sleeps while the other thread acts: it may need this CPU. */
bool rescue_disarm(struct rescue *rescue)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    for (int waits = RESCUE_WAITS;
         !atomic_compare_exchange_strong(&rescue->state, &waits, RESCUE_RESTS);
         waits = RESCUE_WAITS)
        nanosleep(&pause, NULL);
    return atomic_load(&rescue->was_needed);
}
