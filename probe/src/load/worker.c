#include "base/posix_source.h"

#include "load/worker.h"

#include "base/rt_thread.h"
#include "load/duty.h"
#include "port/port.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_KEPT = 3, ASIDE = 64, LAST_SIGNAL_NUMBER = 64 };

void worker_name(const char *word)
{
    char name[40];
    snprintf(name, sizeof name, "hs-load-%.20s", word);
    port_name_self(name);
}

/* Moves `kept` to high numbers first, so that dup2 does not close one of them. */
void worker_keep_only(int *kept, int count)
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
        sigaction(number, &action, NULL); /* fails harmlessly for invalid numbers */
    action.sa_handler = SIG_IGN;          /* get EPIPE and EFBIG instead of a signal */
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void refuse(struct worker *worker)
{
    atomic_store(&worker->slot->state, WORKER_REFUSED);
    _exit(1);
}

static bool is_realtime(void)
{
    struct sched_param own;
    int policy;
    return pthread_getschedparam(pthread_self(), &policy, &own) == 0 &&
           (policy == SCHED_FIFO || policy == SCHED_RR);
}

/* Drops priorities inherited from the probe. The worker runs on where an ordinary one is refused;
 * load of real-time priority would compete with the test. */
static void be_ordinary(struct worker *worker)
{
    int error = rt_thread_set_self_ordinary();
    if (error && is_realtime()) {
        worker_note(worker, "the real-time priority of the probe could not be dropped: %s",
                    strerror(error));
        refuse(worker);
    }
    errno = 0;
    if (setpriority(PRIO_PROCESS, 0, 0) != 0)
        worker_note(worker, "the priority could not be set to nice 0: %s", strerror(errno));
    error = port_ordinary_io();
    if (error)
        worker_note(worker, "its I/O priority could not be reset to the default: %s",
                    strerror(error));
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    umask(077);
}

static void bind_to_cpu(struct worker *worker)
{
    int error = worker->cpu >= 0        ? port_pin_self(worker->cpu)
                : worker->map->has_cpus ? port_bind_self(&worker->map->cpus)
                                        : 0;
    if (error)
        worker_note(worker, "could not be bound to the CPUs of the load: %s", strerror(error));
}

static void set_up(struct worker *worker)
{
    default_signals();
    bool is_foreign = worker->element->kind == LOAD_EXTERNAL_STRESSOR;
    int error =
        is_foreign ? port_end_with(worker->supervisor) : port_kill_with_parent(worker->supervisor);
    if (error != 0 && error != ENOTSUP) {
        worker_note(worker, "cannot be set to end with its parent: %s", strerror(error));
        refuse(worker);
    }
    worker_name(worker->element->name);
    be_ordinary(worker);
    bind_to_cpu(worker);
    if (worker->element->prepare && (error = worker->element->prepare(worker)) != 0) {
        if (!load_slot_note(worker->slot))
            worker_note(worker, "%s", strerror(error));
        refuse(worker);
    }
}

static void wait_for_start(int gate)
{
    char ignored;
    while (read(gate, &ignored, 1) < 0 && errno == EINTR)
        ;
    close(gate);
}

void worker_be(struct worker *worker, int gate)
{
    worker_keep_only(&gate, 1);
    set_up(worker);
    atomic_store(&worker->slot->state, WORKER_READY);
    wait_for_start(gate);
    if (worker->element->kind == LOAD_SHARE)
        duty_keep(worker);
    else
        worker->element->work(worker);
    _exit(0);
}
