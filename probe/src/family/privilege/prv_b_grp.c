/* PRV-B-GRP: access to real-time rights is controlled (HP 1987, privilege groups).
 *
 * What: trials of what a process may do. What is granted is read back: a call that says yes and
 *     does nothing is caught.
 *       refused/RIGHT  with all limits at zero each attempt is refused, and has no effect
 *       granted/RIGHT  with one limit raised (RLIMIT_RTPRIO, _MEMLOCK, _NICE) that right
 *                      is had up to the limit, not one more, and no other
 *       granted/cap_*  with one capability that right is had without limit, and the other is not
 * Begin, end: none; verdicts only.
 * Threads: each trial is a process of its own, of the normal class, that changes nothing but
 *     itself. As root it becomes `user`, without groups and capabilities; else it drops what
 *     capabilities it has.
 * Wrong if: what is refused is no question of rights (a filter of system calls, a read-only file
 *     system): root is refused it as well then, and there is no verdict (right_not_tried). The
 *     limits are those that this test sets: what users of this machine get at login is not looked
 *     at.
 */
#include "base/posix_source.h"

#include "base/options.h"
#include "base/rt_thread.h"
#include "family/shared/peer.h"
#include "port/limits.h"
#include "port/port.h"
#include "run/supervise.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- attempts to use a right ---- */

enum attempt {
    ATTEMPT_REALTIME,    /* the policy SCHED_FIFO with the priority `amount` */
    ATTEMPT_MEMORY_LOCK, /* mlock of `amount` bytes */
    ATTEMPT_NICE,        /* the nice value `amount` */
    ATTEMPT_IO_REALTIME,
    ATTEMPT_AFFINITY, /* of the process `amount` */
    ATTEMPT_OFFLINE,
    ATTEMPT_CPUSET,
    ATTEMPTS
};

/* The answer to one: `error` (errno value; 0: granted), and whether it was seen to have an effect,
 * where that can be seen. */
struct answer {
    int error;
    bool has_effect;
};

/* For verdicts. */
static const char *const attempt_names[ATTEMPTS] = {
    [ATTEMPT_REALTIME] = "realtime", [ATTEMPT_MEMORY_LOCK] = "memory_lock",
    [ATTEMPT_NICE] = "nice",         [ATTEMPT_IO_REALTIME] = "io_realtime",
    [ATTEMPT_AFFINITY] = "affinity", [ATTEMPT_OFFLINE] = "offline",
    [ATTEMPT_CPUSET] = "cpuset",
};

/* For texts. */
static const char *const attempt_calls[ATTEMPTS] = {
    [ATTEMPT_REALTIME] = "SCHED_FIFO, priority",
    [ATTEMPT_MEMORY_LOCK] = "mlock, bytes",
    [ATTEMPT_NICE] = "setpriority, nice value",
    [ATTEMPT_IO_REALTIME] = "real-time I/O priority",
    [ATTEMPT_AFFINITY] = "affinity of another user's process",
    [ATTEMPT_OFFLINE] = "taking a CPU offline",
    [ATTEMPT_CPUSET] = "control of groups' CPUs",
};

static struct answer become_realtime(int64_t priority)
{
    struct sched_param now;
    int policy = SCHED_OTHER;
    struct answer answer = {rt_thread_set_self(SCHED_FIFO, (int)priority), false};
    answer.has_effect = pthread_getschedparam(pthread_self(), &policy, &now) == 0 &&
                        policy == SCHED_FIFO && now.sched_priority == priority;
    return answer;
}

/* Not unlocked: a second lock of the same memory and more counts what is new. */
static struct answer lock_memory(void *memory, int64_t bytes)
{
#if HS_HAS_MEMLOCK_RANGE
    struct answer answer = {mlock(memory, (size_t)bytes) == 0 ? 0 : errno, false};
#else
    struct answer answer = {ENOSYS, false};
    (void)memory;
#endif
    int64_t locked = port_locked_bytes();
    answer.has_effect = locked < 0 ? answer.error == 0 : locked >= bytes;
    return answer;
}

static struct answer become_nice(int64_t nice)
{
#ifdef PRIO_PROCESS
    struct answer answer = {setpriority(PRIO_PROCESS, 0, (int)nice) == 0 ? 0 : errno, false};
    errno = 0;
    answer.has_effect = getpriority(PRIO_PROCESS, 0) == nice && errno == 0;
#else
    struct answer answer = {ENOSYS, false};
    (void)nice;
#endif
    return answer;
}

/* Of which only the answer is known. */
static struct answer answer_of(int error)
{
    return (struct answer){error, error == 0};
}

/* In the calling process. `memory`: of at least ATTEMPT_MEMORY_LOCK's bytes, at the begin of a
 * page.
 */
static struct answer attempt_make(enum attempt attempt, int64_t amount, void *memory)
{
    switch (attempt) {
    case ATTEMPT_REALTIME:
        return become_realtime(amount);
    case ATTEMPT_MEMORY_LOCK:
        return lock_memory(memory, amount);
    case ATTEMPT_NICE:
        return become_nice(amount);
    case ATTEMPT_IO_REALTIME:
        return answer_of(port_try_io_realtime());
    case ATTEMPT_AFFINITY:
        return answer_of(port_try_affinity((pid_t)amount));
    case ATTEMPT_OFFLINE:
        return answer_of(port_try_offline());
    case ATTEMPT_CPUSET:
        return answer_of(port_try_cpuset());
    default:
        return answer_of(ENOTSUP);
    }
}

/* mlock beyond the limit is ENOMEM, or EAGAIN by POSIX's words. */
static bool answer_is_refusal(const struct answer *answer)
{
    int error = answer->error;
    return !answer->has_effect &&
           (error == EPERM || error == EACCES || error == ENOMEM || error == EAGAIN);
}

/* ---- the steps ---- */

enum {
    NOBODY = 65534,
    STEPS = ATTEMPTS,
    NICE_LIMIT = -5,
    NO_NICE = 20,
    MOST_LOCK_BYTES = 1 << 20,
    TEXT_BYTES = 200
};

static const struct param_spec params[] = {
    {"user", PARAM_COUNT, false, "65534", 1, 65534, NULL,
     "number of the unprivileged user that root becomes (65534: nobody)", NULL},
    {"priority", PARAM_COUNT, false, "10", 1, 98, NULL, "real-time priority granted", NULL},
    {"lock_bytes", PARAM_BYTES, false, "65536", 4096, MOST_LOCK_BYTES / 2, NULL,
     "locked memory granted, in whole pages", NULL},
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"refused", "a user without rights is refused each real-time right"},
    {"granted", "a user with one real-time right gets that one, up to its limit"},
    {0},
};

struct step {
    enum attempt attempt;
    int64_t amount;
    bool is_granted; /* what the answer should be */
};

/* In memory that the processes share. */
struct trial {
    const char *claim, *name;
    uid_t user;
    bool is_control; /* with all rights of the probe */
    int kept;        /* right whose capability is kept */
    int64_t limits[PORT_RIGHTS];
    int step_count;
    struct step steps[STEPS];
    struct answer answers[STEPS];
    int parent;
    int become_error, limit_error; /* of the process; the attempts were not made */
    bool is_done;
    int64_t page_bytes;
};

struct own {
    struct ipc_cleanup ipc_cleanup;
    struct trial *trial;
    struct answer control[ATTEMPTS];
    bool has_control;
    bool is_missing; /* no trial could be made, and none for another reason than ENOTSUP */
    uint64_t verdict_count;
    int64_t page_bytes, lock_bytes;
};

static int check(struct run *run)
{
    if (port_has_processes())
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                       "this system cannot start a second process (fork) that could drop its "
                       "rights");
}

static int prepare(struct run *run)
{
    struct own *own = run_own(run, sizeof *own);
    if (!own || ipc_cleanup_open(&own->ipc_cleanup, run, true) != 0)
        return -1;
    own->is_missing = true;
    own->page_bytes = sysconf(_SC_PAGESIZE);
    own->lock_bytes = run_number(run, "lock_bytes") / own->page_bytes * own->page_bytes;
    if (own->lock_bytes < own->page_bytes)
        own->lock_bytes = own->page_bytes;
    own->trial = peer_memory(sizeof *own->trial, &own->ipc_cleanup.places[0]);
    if (!own->trial)
        return outcome_set_errno(&run->outcome, errno, "memory for two processes",
                                 port_hint(PORT_HINT_SHARED_MEMORY));
    if (!peer_has_scope(&own->ipc_cleanup, own->trial, PEER_PROCESS))
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                           "this system has no memory that processes share (shm_open)");
    return 0;
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (!own)
        return;
    peer_memory_free(own->trial, sizeof *own->trial);
    ipc_cleanup_close(&own->ipc_cleanup);
}

/* ---- in the process of a trial ---- */

/* The process locks nothing from here on, and does not keep what it locked. */
static int lose_rights(struct trial *trial)
{
    munlockall();
    for (int right = 0; right < PORT_RIGHTS && !trial->is_control && !trial->limit_error; right++)
        trial->limit_error = port_limit_right((enum port_right)right, trial->limits[right]);
    if (!trial->is_control && !trial->limit_error)
        trial->become_error = port_become_ordinary(trial->user, trial->kept);
    int error = port_kill_with_parent((pid_t)trial->parent);
    return trial->limit_error || trial->become_error || (error && error != ENOTSUP) ? -1 : 0;
}

static void try_steps(void *argument)
{
    struct trial *trial = argument;
    void *memory = NULL;
    if (lose_rights(trial) != 0)
        return;
    trial->become_error = posix_memalign(&memory, (size_t)trial->page_bytes, MOST_LOCK_BYTES);
    if (trial->become_error)
        return;
    for (int i = 0; i < trial->step_count; i++)
        trial->answers[i] = attempt_make(trial->steps[i].attempt, trial->steps[i].amount, memory);
    trial->is_done = true;
    free(memory);
}

/* ---- trials ---- */

static void begin_trial(struct run *run, const char *claim, const char *name)
{
    struct own *own = run->own;
    struct trial *trial = own->trial;
    memset(trial, 0, sizeof *trial);
    trial->claim = claim;
    trial->name = name;
    trial->user = (uid_t)run_number(run, "user");
    trial->parent = getpid();
    trial->kept = PORT_RIGHT_NONE;
    trial->limits[PORT_RIGHT_NICE] = NO_NICE;
    trial->page_bytes = own->page_bytes;
}

static void add_step(struct trial *trial, enum attempt attempt, int64_t amount, bool is_granted)
{
    trial->steps[trial->step_count++] = (struct step){attempt, amount, is_granted};
}

static int run_trial(struct run *run)
{
    struct own *own = run->own;
    struct peer peer;
    struct rt_thread_setup ordinary = run->setup;
    ordinary.policy = SCHED_OTHER;
    ordinary.priority = rt_thread_ordinary_priority();
    int error =
        peer_start_process(&peer, run, &own->ipc_cleanup, &ordinary, NULL, try_steps, own->trial);
    if (error)
        return peer_not_started(run, error, "trial", NULL);
    if (peer_join(&peer) != 0)
        return supervise_ended_early(run, "trial");
    return 0;
}

static void report_not_tried(struct run *run, const char *claim, const char *right, const char *why)
{
    arena_event(
        run->arena, "right_not_tried", -1,
        DATA(data_text("claim", claim), data_text("right", right), data_text("reason", why)),
        "%s/%s: %s", claim, right, why);
}

static void judge_one(struct run *run, const char *claim, const char *right, bool is_right,
                      const char *evidence)
{
    struct own *own = run->own;
    char name[ARENA_NAME_BYTES];
    snprintf(name, sizeof name, "%s/%s", claim, right);
    arena_verdict(run->arena, is_right, 1, name, "%s", evidence);
    own->verdict_count++;
}

/* "SCHED_FIFO, priority 11: Operation not permitted" */
static int write_answer(const struct step *step, const struct answer *answer, char *text,
                        size_t bytes)
{
    char amount[24] = "";
    if (step->attempt <= ATTEMPT_NICE)
        snprintf(amount, sizeof amount, " %lld", (long long)step->amount);
    const char *effect = answer->error == 0 && !answer->has_effect  ? ", without effect"
                         : answer->error != 0 && answer->has_effect ? ", but it succeeded"
                                                                    : "";
    return snprintf(text, bytes, "%s%s: %s%s", attempt_calls[step->attempt], amount,
                    answer->error ? strerror(answer->error) : "granted", effect);
}

/* ---- nothing granted ---- */

/* Process 1 of a container may be the caller's own. */
static bool has_others_process(void)
{
    return port_may_switch_user() || (kill(1, 0) != 0 && errno == EPERM);
}

static void add_all(struct run *run, struct trial *trial)
{
    const struct own *own = run->own;
    add_step(trial, ATTEMPT_REALTIME, sched_get_priority_min(SCHED_FIFO), false);
    add_step(trial, ATTEMPT_MEMORY_LOCK, own->page_bytes, false);
    add_step(trial, ATTEMPT_NICE, -1, false);
    add_step(trial, ATTEMPT_IO_REALTIME, 0, false);
    if (has_others_process())
        add_step(trial, ATTEMPT_AFFINITY, port_may_switch_user() ? trial->parent : 1, false);
    add_step(trial, ATTEMPT_OFFLINE, 0, false);
    add_step(trial, ATTEMPT_CPUSET, 0, false);
}

/* Only root has all the rights that are refused to others. */
static int run_control(struct run *run)
{
    struct own *own = run->own;
    own->has_control = port_may_switch_user();
    if (!own->has_control)
        return 0;
    begin_trial(run, "control", "all");
    own->trial->is_control = true;
    add_all(run, own->trial);
    if (run_trial(run) != 0)
        return -1;
    memcpy(own->control, own->trial->answers, sizeof own->control);
    return 0;
}

static void judge_refusal(struct run *run, int i)
{
    const struct own *own = run->own;
    const struct step *step = &own->trial->steps[i];
    const struct answer *answer = &own->trial->answers[i];
    const char *right = attempt_names[step->attempt];
    char text[TEXT_BYTES];
    if (own->has_control && own->control[i].error != 0) {
        snprintf(text, sizeof text, "root is refused too: %s", strerror(own->control[i].error));
        report_not_tried(run, "refused", right, text);
    } else if (answer->error != 0 && !answer->has_effect && !answer_is_refusal(answer)) {
        report_not_tried(run, "refused", right, strerror(answer->error));
    } else {
        write_answer(step, answer, text, sizeof text);
        judge_one(run, "refused", right, answer_is_refusal(answer), text);
    }
}

/* What kept a trial from its attempts. False: nothing did. */
static bool report_kept_from(struct run *run)
{
    struct own *own = run->own;
    const struct trial *trial = own->trial;
    char text[TEXT_BYTES];
    if (trial->is_done)
        return false;
    int error = trial->limit_error ? trial->limit_error : trial->become_error;
    if (error != ENOTSUP)
        own->is_missing = false;
    const char *hint = trial->limit_error
                           ? "; it needs CAP_SYS_RESOURCE, which root normally has"
                           : "; the probe needs the rights that it grants: run it as root";
    snprintf(text, sizeof text, "%s: %s%s",
             trial->limit_error ? "setting the limits" : "becoming an ordinary user",
             strerror(error), error == EPERM ? hint : "");
    report_not_tried(run, trial->claim, trial->name, text);
    return true;
}

static int try_refusals(struct run *run)
{
    struct own *own = run->own;
    begin_trial(run, "refused", "all");
    add_all(run, own->trial);
    if (run_trial(run) != 0)
        return -1;
    if (!has_others_process())
        report_not_tried(run, "refused", attempt_names[ATTEMPT_AFFINITY],
                         "process 1 is the caller's own: no process of another user is known");
    for (int i = 0; !report_kept_from(run) && i < own->trial->step_count; i++)
        judge_refusal(run, i);
    return 0;
}

/* ---- one right granted ---- */

static bool is_as_granted(const struct step *step, const struct answer *answer)
{
    return step->is_granted ? answer->error == 0 && answer->has_effect : answer_is_refusal(answer);
}

static void judge_grant(struct run *run)
{
    const struct trial *trial = ((struct own *)run->own)->trial;
    char text[TEXT_BYTES] = "";
    bool is_right = true;
    for (int i = 0; i < trial->step_count; i++) {
        size_t used = strlen(text);
        is_right = is_right && is_as_granted(&trial->steps[i], &trial->answers[i]);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", i ? "; " : "");
        if (used < sizeof text)
            write_answer(&trial->steps[i], &trial->answers[i], text + used, sizeof text - used);
    }
    judge_one(run, trial->claim, trial->name, is_right, text);
}

static int try_grant(struct run *run)
{
    if (run_trial(run) != 0)
        return -1;
    if (!report_kept_from(run))
        judge_grant(run);
    return 0;
}

static int try_limit_realtime(struct run *run)
{
    struct trial *trial = ((struct own *)run->own)->trial;
    int64_t priority = run_number(run, "priority");
    begin_trial(run, "granted", "realtime");
    trial->limits[PORT_RIGHT_REALTIME] = priority;
    add_step(trial, ATTEMPT_REALTIME, priority, true);
    add_step(trial, ATTEMPT_REALTIME, priority + 1, false);
    add_step(trial, ATTEMPT_MEMORY_LOCK, ((struct own *)run->own)->page_bytes, false);
    return try_grant(run);
}

static int try_limit_memory(struct run *run)
{
    const struct own *own = run->own;
    struct trial *trial = own->trial;
    begin_trial(run, "granted", "memory_lock");
    trial->limits[PORT_RIGHT_MEMORY_LOCK] = own->lock_bytes;
    add_step(trial, ATTEMPT_MEMORY_LOCK, own->lock_bytes, true);
    add_step(trial, ATTEMPT_MEMORY_LOCK, own->lock_bytes + own->page_bytes, false);
    add_step(trial, ATTEMPT_REALTIME, sched_get_priority_min(SCHED_FIFO), false);
    return try_grant(run);
}

static int try_limit_nice(struct run *run)
{
    struct trial *trial = ((struct own *)run->own)->trial;
    begin_trial(run, "granted", "nice");
    trial->limits[PORT_RIGHT_NICE] = NICE_LIMIT;
    add_step(trial, ATTEMPT_NICE, NICE_LIMIT, true);
    add_step(trial, ATTEMPT_NICE, NICE_LIMIT - 1, false);
    add_step(trial, ATTEMPT_REALTIME, sched_get_priority_min(SCHED_FIFO), false);
    return try_grant(run);
}

static int try_capability(struct run *run, const char *name, enum port_right right)
{
    const struct own *own = run->own;
    begin_trial(run, "granted", name);
    own->trial->kept = right;
    add_step(own->trial, ATTEMPT_REALTIME, run_number(run, "priority"),
             right == PORT_RIGHT_REALTIME);
    add_step(own->trial, ATTEMPT_MEMORY_LOCK, own->lock_bytes, right == PORT_RIGHT_MEMORY_LOCK);
    return try_grant(run);
}

/* ---- life cycle ---- */

static int try_all(struct run *run)
{
    if (run_control(run) != 0 || try_refusals(run) != 0 || try_limit_realtime(run) != 0 ||
        try_limit_memory(run) != 0 || try_limit_nice(run) != 0 ||
        try_capability(run, "cap_sys_nice", PORT_RIGHT_REALTIME) != 0)
        return -1;
    return try_capability(run, "cap_ipc_lock", PORT_RIGHT_MEMORY_LOCK);
}

/* Without one verdict there is no result. */
static int judge(struct run *run)
{
    const struct own *own = run->own;
    if (own->verdict_count > 0 || run_should_stop())
        return 0;
    if (own->is_missing)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                           "this port cannot take rights from a process, or give it one");
    return outcome_set(&run->outcome, STATUS_DENIED,
                       "run it as root, or name a user that root can become (-p user=NUMBER)",
                       "no process could drop its rights or be granted one: see the events");
}

const struct test prv_b_grp = {
    .id = "PRV-B-GRP",
    .title = "Access to real-time rights is controlled",
    .source = "[H] Hewlett-Packard 1987, privilege groups",
    .params = params,
    .verdicts = verdicts,
    .setup_ns = INT64_C(100000000),
    .sample_ns = 1,
    .check = check,
    .prepare = prepare,
    .measure_variant = try_all,
    .judge = judge,
    .finish = finish,
};
