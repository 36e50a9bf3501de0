#include "base/posix_source.h"

#include "load/worker.h"

#include "base/rt_thread.h"
#include "load/duty.h"
#include "port/port.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOWEST_NICE = 19, FIRST_KEPT = 3, ASIDE = 64, LAST_SIGNAL_NUMBER = 64 };

bool loader_should_stop(const struct loader *loader)
{
    return atomic_load_explicit(&loader->map->stop, memory_order_relaxed) != 0 ||
           getppid() != loader->keeper;
}

void loader_works(struct loader *loader)
{
    if (atomic_load_explicit(&loader->slot->state, memory_order_relaxed) == LOADER_READY)
        atomic_store(&loader->slot->state, LOADER_WORKS);
}

void loader_note(struct loader *loader, const char *format, ...)
{
    int free_place = atomic_load(&loader->slot->whole_note) == 1 ? 2 : 1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(loader->slot->notes[free_place - 1], LOAD_NOTE_BYTES, format, arguments);
    va_end(arguments);
    atomic_store(&loader->slot->whole_note, free_place);
}

uint64_t loader_random(struct loader *loader)
{
    loader->random += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    uint64_t mixed = (loader->random ^ loader->random >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

int64_t loader_cpu_ns(void)
{
    struct timespec used;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0)
        return 0;
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

int64_t loader_children_cpu_ns(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0)
        return 0;
    return ((int64_t)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
           ((int64_t)usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

void loader_name(const char *word)
{
    char name[40];
    snprintf(name, sizeof name, "hs-load-%.20s", word);
    port_name_self(name);
}

/* Out of the way first, so that no copy lands on another's number. */
void loader_keep_only(int *kept, int count)
{
    for (int i = 0; i < count; i++) {
        int aside = fcntl(kept[i], F_DUPFD, ASIDE);
        kept[i] = aside >= 0 ? aside : kept[i];
    }
    for (int i = 0; i < count; i++)
        if (kept[i] != FIRST_KEPT + i && dup2(kept[i], FIRST_KEPT + i) >= 0)
            kept[i] = FIRST_KEPT + i;
    port_close_from(FIRST_KEPT + count);
    for (int i = 0; i < FIRST_KEPT; i++)
        close(i);
    int nowhere = open("/dev/null", O_RDWR);
    for (int i = nowhere + 1; nowhere >= 0 && i < FIRST_KEPT; i++)
        dup2(nowhere, i);
}

static void default_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    for (int number = 1; number <= LAST_SIGNAL_NUMBER; number++)
        sigaction(number, &action, NULL); /* those that do not exist refuse */
    action.sa_handler = SIG_IGN;          /* errors to handle, and no ends */
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Ordinary, whatever the probe is. What is refused matters only where it raises the load. */
static void be_ordinary(struct loader *loader)
{
    actor_set_self(SCHED_OTHER, 0);
    errno = 0;
    int wanted = loader->element->is_lowest ? LOWEST_NICE : 0;
    if (setpriority(PRIO_PROCESS, 0, wanted) != 0)
        loader_note(loader, "the priority could not be set to nice %d: %s", wanted,
                    strerror(errno));
    int error = port_ordinary_io();
    if (error)
        loader_note(loader, "its I/O priority could not be made ordinary: %s", strerror(error));
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    umask(077);
}

static void bind_to_cpu(struct loader *loader)
{
    int error = loader->cpu >= 0        ? port_pin_self(loader->cpu)
                : loader->map->has_cpus ? port_bind_self(loader->map->cpus)
                                        : 0;
    if (error)
        loader_note(loader, "could not be bound to the CPUs of the load: %s", strerror(error));
}

static void refuse(struct loader *loader)
{
    atomic_store(&loader->slot->state, LOADER_REFUSED);
    _exit(1);
}

static void set_up(struct loader *loader)
{
    default_signals();
    bool is_foreign = loader->element->kind == LOAD_FOREIGN;
    int error = is_foreign ? port_end_with(loader->keeper) : port_die_with(loader->keeper);
    if (error != 0 && error != ENOTSUP) {
        loader_note(loader, "not tied to its parent: %s", strerror(error));
        refuse(loader);
    }
    loader_name(loader->element->name);
    be_ordinary(loader);
    bind_to_cpu(loader);
    if (loader->element->prepare && (error = loader->element->prepare(loader)) != 0) {
        if (!load_slot_note(loader->slot))
            loader_note(loader, "%s", strerror(error));
        refuse(loader);
    }
}

static void wait_for_start(int gate)
{
    char ignored;
    while (read(gate, &ignored, 1) < 0 && errno == EINTR)
        ;
    close(gate);
}

void loader_be(struct loader *loader, int gate)
{
    loader_keep_only(&gate, 1);
    set_up(loader);
    atomic_store(&loader->slot->state, LOADER_READY);
    wait_for_start(gate);
    if (loader->element->kind == LOAD_SHARE)
        duty_keep(loader);
    else
        loader->element->work(loader);
    _exit(0);
}
