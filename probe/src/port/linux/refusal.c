/* Which of the kernel's checks refused a thread, and what a person can do about it. In the order
 * of the kernel: the thread itself, then the right to a priority, then the group's budget. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

#include "port/linux/facts.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FEW_PROCESSES = 2, STATUS_BYTES = 4096 };
enum { IPC_LOCK = 14, SYS_ADMIN = 21, SYS_NICE = 23 }; /* capabilities, by their kernel numbers */

#define FILTER "a system call filter (seccomp)"
#define UNKNOWN_REMEDY "see what the kernel says of it (dmesg), and run it as root"
#define DOCTOR_COMMAND "hardstone doctor"
#define ALLOW_REALTIME                                                                             \
    "allow sched_setscheduler there (RestrictRealtime=no and SystemCallFilter= of a "              \
    "systemd unit, --security-opt seccomp=unconfined of a container)"

static void __attribute__((format(printf, 4, 5)))
set(struct port_refusal *refusal, const char *cause, const char *remedy, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    refusal->cause = cause;
    vsnprintf(refusal->reason, sizeof refusal->reason, format, arguments);
    va_end(arguments);
    snprintf(refusal->remedy, sizeof refusal->remedy, "%s", remedy);
}

/* ---- what this process may do ---- */

/* The number behind `name` in /proc/self/status, to `base`. */
static bool status_number(const char *text, const char *name, int base, uint64_t *number)
{
    const char *at = strstr(text, name);
    if (at)
        *number = strtoull(at + strlen(name), NULL, base);
    return at != NULL;
}

static int64_t limit_of(rlim_t limit)
{
    return limit == RLIM_INFINITY ? LINUX_UNLIMITED : (int64_t)limit;
}

static bool has(uint64_t set, int capability)
{
    return set >> capability & 1;
}

/* Why the capabilities of an executable's file would not become those of the process. */
static const char *why_no_file_capabilities(const char *status)
{
    const uint64_t wanted = UINT64_C(1) << SYS_NICE | UINT64_C(1) << IPC_LOCK;
    uint64_t bounding, no_new;
    struct statvfs place;
    if (linux_in_user_namespace())
        return "it is in a user namespace";
    if (status_number(status, "\nNoNewPrivs:", 10, &no_new) && no_new)
        return "no_new_privs is set";
    if (statvfs("/proc/self/exe", &place) == 0 && place.f_flag & ST_NOSUID)
        return "its file system is mounted nosuid";
    if (status_number(status, "\nCapBnd:", 16, &bounding) && (bounding & wanted) != wanted)
        return "they are not in its bounding set";
    return NULL;
}

void linux_rights_read(struct linux_rights *rights)
{
    char status[STATUS_BYTES];
    uint64_t effective, mode;
    struct rlimit limit;
    memset(rights, 0, sizeof *rights);
    rights->is_user_namespace = linux_in_user_namespace();
    if (getrlimit(RLIMIT_RTPRIO, &limit) == 0) {
        rights->rtprio = limit_of(limit.rlim_cur);
        rights->rtprio_most = limit_of(limit.rlim_max);
    }
    if (!linux_read("/proc/self/status", status, sizeof status) ||
        !status_number(status, "\nCapEff:", 16, &effective))
        return;
    rights->is_known = true;
    bool counts = !rights->is_user_namespace; /* the kernel asks for them in the initial one */
    rights->has_nice = counts && has(effective, SYS_NICE);
    rights->has_lock = counts && has(effective, IPC_LOCK);
    rights->has_admin = counts && has(effective, SYS_ADMIN);
    rights->has_filter = status_number(status, "\nSeccomp:", 10, &mode) && mode != 0;
    rights->why_not = why_no_file_capabilities(status);
}

/* ---- any thread ---- */

/* Without arguments clone3 fails, with EINVAL where it is allowed. */
static bool is_clone3_forbidden(void)
{
#ifdef SYS_clone3
    return syscall(SYS_clone3, NULL, 0) < 0 && errno == EPERM;
#else
    return false;
#endif
}

static void set_thread(struct port_refusal *refusal, int error)
{
    const char *limit = NULL;
    int64_t room = error == EAGAIN ? port_process_room(&limit) : -1;
    if (room >= 0 && room <= FEW_PROCESSES)
        set(refusal, "thread_limit",
            "raise that limit, or end other programs that it counts (ulimit -u; pids.max of a "
            "control group: TasksMax= of a systemd unit, --pids-limit of a container)",
            "no thread can be started: %s is used up", limit);
    else if (error == EAGAIN || error == ENOMEM)
        set(refusal, "thread_memory",
            "raise the limits on memory (ulimit -v, ulimit -l), or free some",
            "no thread can be started: there is no memory for its stack (%s)", strerror(error));
    else if (error == EPERM && is_clone3_forbidden())
        set(refusal, "thread_filter",
            "start the container with a filter that knows clone3 (Docker 20.10.10 or later has "
            "one), or without one: --security-opt seccomp=unconfined",
            "no thread can be started: " FILTER
            " answers clone3 with EPERM, where the C library expects ENOSYS");
    else if (error == EPERM)
        set(refusal, "thread_filter",
            "change that filter; for a container: --security-opt seccomp=unconfined",
            "no thread can be started: " FILTER " refuses it (%s)", strerror(error));
    else
        set(refusal, "other", UNKNOWN_REMEDY, "no thread can be started: %s", strerror(error));
}

/* ---- a CPU, or the policy of everybody: no right is needed ---- */

static void set_filtered(struct port_refusal *refusal, int error, const char *call)
{
    char remedy[PORT_REFUSAL_BYTES];
    snprintf(remedy, sizeof remedy,
             "allow %s there (SystemCallFilter= of a systemd unit, --security-opt "
             "seccomp=unconfined of a container)",
             call);
    if (error == EPERM || error == ENOSYS)
        set(refusal, "filter", remedy, FILTER " refuses %s, which needs no right", call);
    else
        set(refusal, "other", UNKNOWN_REMEDY, "%s: %s", call, strerror(error));
}

/* ---- a real-time priority ---- */

static bool is_granted(int64_t limit)
{
    return limit == LINUX_UNLIMITED || limit > 0;
}

/* The kernel answers EINVAL to a process id below 0, whatever the rights; a filter sees the policy
 * first. That there is one says nothing: every container has one. */
static bool is_realtime_filtered(void)
{
    struct sched_param lowest = {.sched_priority = 1};
    return syscall(SYS_sched_setscheduler, -1, SCHED_FIFO, &lowest) < 0 && errno == EPERM;
}

static void set_realtime(struct port_refusal *refusal, int error)
{
    struct linux_rights rights;
    struct linux_group_limit budget;
    linux_rights_read(&rights);
    bool has_right = rights.has_nice || is_granted(rights.rtprio);
    if (error == ENOSYS)
        set(refusal, "filter", ALLOW_REALTIME,
            FILTER " hides it: every Linux kernel has sched_setscheduler");
    else if (error != EPERM)
        set(refusal, "other", UNKNOWN_REMEDY, "%s", strerror(error));
    else if (!has_right && is_granted(rights.rtprio_most))
        set(refusal, "soft_limit", "raise it in this shell, then start again: ulimit -r",
            "RLIMIT_RTPRIO is 0, and this user may raise it up to the hard limit (ulimit -H -r)");
    else if (!rights.is_known)
        set(refusal, "no_proc",
            "mount it, then try again: mount -t proc proc /proc (as root; containers normally "
            "have it)",
            "/proc/self/status cannot be read here, so it is not known whether a capability, a "
            "user namespace or the budget of a control group refuses it");
    else if (!has_right && rights.is_user_namespace)
        set(refusal, "user_namespace",
            "capabilities (setcap, --cap-add) do not count here: set the limit outside and start "
            "again (--ulimit rtprio=99 of docker and podman); a rootless container gets at most "
            "the limit of its user on the host",
            "this process is in a user namespace, where only RLIMIT_RTPRIO grants real-time "
            "scheduling, and that is 0");
    else if (!has_right && rights.why_not) {
        set(refusal, "confined",
            "setcap has no effect here: start it with CAP_SYS_NICE and RLIMIT_RTPRIO "
            "(--cap-add=SYS_NICE --ulimit rtprio=99 of a container, AmbientCapabilities= and "
            "LimitRTPRIO= of a systemd unit)",
            "CAP_SYS_NICE is missing, RLIMIT_RTPRIO is 0, and this process cannot gain "
            "capabilities (%s)",
            rights.why_not);
    } else if (!has_right) {
        set(refusal, "capability",
            "grant hardstone-probe cap_sys_nice and cap_ipc_lock (setcap); the commands are in",
            "CAP_SYS_NICE is missing, and RLIMIT_RTPRIO is 0");
        refusal->command = DOCTOR_COMMAND;
    } else if (linux_group_budget(&budget) && budget.limit_us == 0)
        set(refusal, "group_budget",
            linux_is_read_only(budget.group)
                ? "start the container with a budget (--cpu-rt-runtime=US of docker and podman), "
                  "or give its group one on the host; more rights do not help"
                : "write a budget into its cpu.rt_runtime_us, or start from the root group; more "
                  "rights do not help",
            "the control group has no real-time budget (cpu.rt_runtime_us is 0)");
    else if (is_realtime_filtered())
        set(refusal, "filter", ALLOW_REALTIME, FILTER " refuses it although the right is granted");
    else
        set(refusal, "hidden",
            "start from the root control group (with RT_GROUP_SCHED others have no budget), and "
            "see the log of the security module (journalctl -k, ausearch -m avc)",
            "the right is granted, but the kernel refuses it: because of its control group or a "
            "security module");
}

void port_refusal(int error, enum port_asked asked, struct port_refusal *refusal)
{
    memset(refusal, 0, sizeof *refusal);
    refusal->is_any_thread = asked == PORT_ASKED_ANY_THREAD;
    switch (asked) {
    case PORT_ASKED_ANY_THREAD:
        set_thread(refusal, error);
        break;
    case PORT_ASKED_CPU:
        set_filtered(refusal, error, "sched_setaffinity");
        break;
    case PORT_ASKED_ORDINARY:
        set_filtered(refusal, error, "sched_setscheduler");
        break;
    case PORT_ASKED_REALTIME:
        set_realtime(refusal, error);
        break;
    }
}

/* ---- locked memory ---- */

/* The kernel answers EINVAL to flags of 0, whatever the rights. */
static bool is_locking_filtered(void)
{
    return mlockall(0) < 0 && errno == EPERM;
}

void port_lock_refusal(int error, struct port_refusal *refusal)
{
    struct linux_rights rights;
    linux_rights_read(&rights);
    memset(refusal, 0, sizeof *refusal);
    if (is_locking_filtered())
        set(refusal, "filter",
            "allow mlockall there (SystemCallFilter= of a systemd unit, --security-opt "
            "seccomp=unconfined of a container)",
            FILTER " refuses it");
    else if (rights.is_user_namespace)
        set(refusal, "user_namespace",
            "raise the limit (ulimit -l) outside the user namespace and start again: --ulimit "
            "memlock=-1 of docker and podman, for a rootless container up to the limit of its "
            "user; CAP_IPC_LOCK does not count here",
            "%s", strerror(error));
    else if (rights.why_not)
        set(refusal, "confined",
            "start it with a higher limit (ulimit -l) or CAP_IPC_LOCK: --ulimit memlock=-1 "
            "--cap-add=IPC_LOCK of a container, LimitMEMLOCK= of a systemd unit",
            "%s", strerror(error));
    else
        set(refusal, "limit", "raise ulimit -l or grant CAP_IPC_LOCK", "%s", strerror(error));
}
