#include "base/posix_source.h"

#include "load/element.h"

#include "port/port.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { LOWEST_NICE = 19 };

bool worker_should_stop(const struct worker *worker)
{
    return atomic_load_explicit(&worker->map->stop, memory_order_relaxed) != 0 ||
           getppid() != worker->supervisor;
}

void worker_works(struct worker *worker)
{
    if (atomic_load_explicit(&worker->slot->state, memory_order_relaxed) == WORKER_READY)
        atomic_store(&worker->slot->state, WORKER_WORKS);
}

void worker_step_back(struct worker *worker)
{
    bool is_idle = port_run_when_idle() == 0;
    if (!is_idle && setpriority(PRIO_PROCESS, 0, LOWEST_NICE) != 0) {
        worker_note(worker, "the priority could not be set to nice %d: %s", LOWEST_NICE,
                    strerror(errno));
        return;
    }
    atomic_store(&worker->slot->behind, is_idle ? BEHIND_IDLE : BEHIND_NICE);
}

void worker_note(struct worker *worker, const char *format, ...)
{
    int free_place = atomic_load(&worker->slot->whole_note) == 1 ? 2 : 1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(worker->slot->notes[free_place - 1], LOAD_NOTE_BYTES, format, arguments);
    va_end(arguments);
    atomic_store(&worker->slot->whole_note, free_place);
}

uint64_t worker_random(struct worker *worker)
{
    worker->random += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    uint64_t mixed = (worker->random ^ worker->random >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

int64_t worker_cpu_ns(void)
{
    struct timespec used;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0)
        return 0;
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

int64_t worker_children_cpu_ns(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0)
        return 0;
    return ((int64_t)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
           ((int64_t)usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}
