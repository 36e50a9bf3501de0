/* Breaches of the control of rights, in the library of broken_signals.c:
 *   prv_realtime   a refused real-time priority is answered as if it was granted
 *   prv_lock       the same for mlock
 *   prv_nice       the same for a nice value
 *   prv_io         the same for a real-time I/O priority
 *   prv_affinity   the same for the affinity of another process
 *   prv_open       whoever opens a file of /sys for writing gets another file
 *   prv_own        limits are the library's own, and kept: none can be raised without
 * CAP_SYS_RESOURCE in the kernel prv_one_more   the same, and each grants one more prv_one_less the
 * same, and each grants one less prv_nothing    the same, and what is granted has no effect
 *   prv_sys_admin  who keeps a capability keeps all
 *   prv_filter     nobody may have a real-time I/O priority, as by a filter of system calls
 *   prv_stuck      nobody can become another user
 */
#define _GNU_SOURCE
#include "broken.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

enum { NICE_RANGE = 20 };

/* Of a process that has set limits; it has one thread. */
static struct {
    bool is_limited, is_realtime, is_nice;
    int most_priority, least_nice;
    int priority, nice;
} own;

static bool has_own_limits(void)
{
    return breaks("prv_own") || breaks("prv_one_more") || breaks("prv_one_less") ||
           breaks("prv_nothing");
}

static int more(void)
{
    return breaks("prv_one_more") ? 1 : breaks("prv_one_less") ? -1 : 0;
}

int setrlimit(__rlimit_resource_t resource, const struct rlimit *wanted)
{
    struct rlimit limit = *wanted;
    int granted = (int)limit.rlim_cur;
    struct rlimit now;
    if (breaks("sig_others") && getrlimit(resource, &now) == 0 && wanted->rlim_max > now.rlim_max) {
        errno = EPERM;
        return -1;
    }
    if (!has_own_limits())
        return REAL(setrlimit)(resource, wanted);
    if (resource == RLIMIT_RTPRIO)
        own.most_priority = granted > 0 ? granted + more() : 0;
    if (resource == RLIMIT_NICE)
        own.least_nice = granted > 0 ? NICE_RANGE - granted - more() : NICE_RANGE;
    own.is_limited = true;
    if (resource == RLIMIT_RTPRIO || resource == RLIMIT_NICE)
        return 0;
    if (granted > 0)
        limit.rlim_cur = limit.rlim_max = limit.rlim_cur + more() * 4096;
    return REAL(setrlimit)(resource, &limit);
}

/* ---- real-time priority ---- */

static int set_own_priority(int policy, int priority)
{
    if (!own.is_limited || policy == SCHED_OTHER || priority > own.most_priority)
        return EPERM;
    own.is_realtime = !breaks("prv_nothing");
    own.priority = priority;
    return 0;
}

int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *wanted)
{
    int error = REAL(pthread_setschedparam)(thread, policy, wanted);
    if (error == EPERM)
        error = set_own_priority(policy, wanted->sched_priority);
    return error == EPERM && breaks("prv_realtime") ? 0 : error;
}

int pthread_getschedparam(pthread_t thread, int *policy, struct sched_param *now)
{
    int error = REAL(pthread_getschedparam)(thread, policy, now);
    if (own.is_realtime && *policy == SCHED_OTHER) {
        *policy = SCHED_FIFO;
        now->sched_priority = own.priority;
    }
    return error;
}

/* ---- the others ---- */

static int as_granted(int answer, const char *breach)
{
    return answer < 0 && breaks(breach) ? 0 : answer;
}

int mlock(const void *memory, size_t bytes)
{
    if (breaks("prv_nothing") && own.is_limited)
        return 0;
    return as_granted(REAL(mlock)(memory, bytes), "prv_lock");
}

int setpriority(__priority_which_t which, id_t who, int nice)
{
    int answer = REAL(setpriority)(which, who, nice);
    if (answer != 0 && own.is_limited && nice >= own.least_nice) {
        own.is_nice = !breaks("prv_nothing");
        own.nice = nice;
        answer = 0;
    }
    return as_granted(answer, "prv_nice");
}

int getpriority(__priority_which_t which, id_t who)
{
    return own.is_nice ? own.nice : REAL(getpriority)(which, who);
}

int sched_setaffinity(pid_t process, size_t bytes, const cpu_set_t *set)
{
    int answer = REAL(sched_setaffinity)(process, bytes, set);
    return process > 0 ? as_granted(answer, "prv_affinity") : answer;
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    int file = REAL(open)(path, flags, mode);
    if (file < 0 && flags & O_WRONLY && strncmp(path, "/sys/", 5) == 0 && breaks("prv_open"))
        file = REAL(open)("/dev/null", flags, mode);
    return file;
}

int setresuid(uid_t real, uid_t effective, uid_t saved)
{
    if (!breaks("prv_stuck"))
        return REAL(setresuid)(real, effective, saved);
    errno = EINVAL;
    return -1;
}

static void keep_all(struct __user_cap_header_struct *header, struct __user_cap_data_struct *set)
{
    if (set[0].permitted == 0)
        return;
    REAL(syscall)(SYS_capget, header, set);
    for (int i = 0; i < 2; i++)
        set[i].effective = set[i].permitted;
}

long syscall(long number, ...)
{
    long words[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_ioprio_set && breaks("prv_filter")) {
        errno = EPERM;
        return -1;
    }
    if (number == SYS_capset && breaks("prv_sys_admin"))
        keep_all((struct __user_cap_header_struct *)words[0],
                 (struct __user_cap_data_struct *)words[1]);
    long answer = REAL(syscall)(number, words[0], words[1], words[2], words[3], words[4], words[5]);
    return number == SYS_ioprio_set && answer < 0 && breaks("prv_io") ? 0 : answer;
}
