/* What differs between operating systems. The build picks one implementation
 * (linux.c, posix.c, ...; template.c is the place to start a new one); nothing else
 * in the probe asks which system it runs on.
 *
 * Every function may answer "not here": ENOTSUP, -1 or false, as it says. None of
 * them makes up a value.
 */
#ifndef HS_PORT_H
#define HS_PORT_H

#include "base/posix_source.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum { PORT_CPUS = 1024 };

/* Name of the port: "linux", "posix". */
const char *port_name(void);

/* Marks in `allowed` the CPUs that this process may use; returns how many there are,
 * or -1 where CPUs cannot be told apart. */
int port_allowed_cpus(bool allowed[PORT_CPUS]);

/* Binds the calling thread to `cpu`: 0, or an errno value (EINVAL: no such CPU or not
 * allowed; ENOTSUP: this system has no such call). */
int port_pin_self(int cpu);

/* CPU that runs the caller; -1 if it cannot be known. */
int port_current_cpu(void);

/* Whether the kernel itself trusts the processor's counter as a clock that runs at one
 * rate on all CPUs. False leaves the cause in `reason`. */
bool port_counter_is_trusted(char *reason, size_t reason_bytes);

/* clock_gettime as a real system call, past any user-space shortcut: 0 or -1 with
 * errno (ENOTSUP: no way to force it). */
int port_clock_system_call(clockid_t id, struct timespec *time);

/* The clocks of this system, by their names; returns their number. */
struct port_clock {
    const char *name;
    clockid_t id;
    bool is_system_wide; /* the same on every CPU and in every process */
    bool is_steerable;   /* can be set back by the administrator */
};
int port_clocks(const struct port_clock **clocks);

/* A kernel timer that is read like a file, on CLOCK_MONOTONIC.
 * open: first expiry at `start_ns`, then every `period_ns` (0: once); a descriptor, or
 *   -1 with errno (ENOTSUP: none here).
 * wait: blocks; number of expirations since the last wait, or -1 with errno; with
 *   timeout_ns >= 0 at most that long, then 0.
 * disarm: no expiry after it returns. */
int port_event_timer_open(int64_t start_ns, int64_t period_ns);
int64_t port_event_timer_wait(int descriptor, int64_t timeout_ns);
int port_event_timer_disarm(int descriptor);

/* A descriptor that is a counting semaphore of value 0: writing a uint64_t adds it, reading
 * one takes 1 and waits for it. -1 with errno (ENOTSUP: none here). */
int port_semaphore_descriptor(void);

/* Waits in the kernel while `*word` is `value`; wakes one of those that wait. is_shared:
 * among processes. 0 or an errno value (wait: EAGAIN when the word differs, EINTR; ENOTSUP:
 * none here). */
int port_word_wait(atomic_int *word, int value, bool is_shared);
int port_word_wake(atomic_int *word, bool is_shared);

/* Making a named semaphore may take a file of another name for a moment, which a kill leaves
 * behind. Removes those of this user that were made since `since` with the permissions
 * `mode` (any but the usual ones tells them from others'). 0, or ENOTSUP: not known here. */
int port_remove_semaphore_files(time_t since, mode_t mode);

/* Has the kernel kill the calling process when the thread of `parent` that made it ends,
 * however it ends: 0, or an errno value (ESRCH: it has ended; ENOTSUP: none here). */
int port_die_with(pid_t parent);

/* Ids, of the kernel, of the threads of `process` (0: this one); returns how many of them stand
 * in `threads`, `most` at most, or -1 where they cannot be listed. */
int port_threads(pid_t process, pid_t *threads, int most);

/* How long `thread` of `process` (0: this one) has in all run, and been ready without
 * running, whatever kept the CPU from it: another thread, throttling, a limit of its group.
 * Time in which it slept is in neither. False where the kernel does not count it. */
struct port_thread_times {
    int64_t ran_ns, waited_ns;
};
bool port_thread_times(pid_t process, pid_t thread, struct port_thread_times *times);

/* Share of time that real-time threads may use: `runtime_ns` of every `period_ns`.
 * False where there is no such limit or it is off. */
bool port_realtime_budget(int64_t *runtime_ns, int64_t *period_ns);

/* Counters of the kernel about `cpu` and this process; a value that is not known here
 * is -1. The difference of two snapshots is stored with a result. */
struct port_environment {
    int64_t steal_ns;          /* taken from `cpu` by the hypervisor */
    int64_t interrupts;        /* served on `cpu` */
    int64_t timer_interrupts;  /* of those, the local timer's */
    int64_t thermal_throttles; /* of `cpu` */
};
void port_environment(int cpu, struct port_environment *environment);

/* Where a fact goes: called once for each, text or number; NULL text is "null". */
struct port_fact_sink {
    void (*text)(void *context, const char *name, const char *value);
    void (*number)(void *context, const char *name, int64_t value);
    void (*truth)(void *context, const char *name, bool value);
    void *context;
};

/* Facts about the machine under the names of docs/reference/facts.md; what is not
 * known is left out. */
void port_facts(const struct port_fact_sink *sink);

/* Why real-time scheduling may be refused although the user has the right to it
 * (group budgets, containers); what to type. Empty text: nothing known. */
void port_realtime_remedy(char *text, size_t bytes);

/* ---- what load needs ---- */

/* As port_die_with, but asks it to end (SIGTERM): for a program that has something to put back.
 * What the process executes inherits it. */
int port_end_with(pid_t parent);

/* Takes a real-time or idle I/O priority from the calling process, and what it forks or executes
 * later: 0, or an errno value (also where there is no such thing: 0). */
int port_ordinary_io(void);

/* Zeroed memory that this process shares with those it forks; it has no name and is gone
 * with the last of them. NULL with errno. Freed with munmap. */
void *port_shared_memory(size_t bytes);

/* Binds the calling thread, and what it forks, to a set of CPUs: as port_pin_self. */
int port_bind_self(const bool cpus[PORT_CPUS]);

/* From now on processes whose parent ends become children of the caller, when they descend
 * from it: 0, or an errno value (ENOTSUP: none here; then they go to the system). */
int port_adopt_orphans(void);

/* From now on neither the calling process nor what it executes can get a real-time priority,
 * whoever its user is: 0, or an errno value when that cannot be had. */
int port_never_real_time(void);

/* Time that the calling process was ready and waited for a CPU; ns, -1: not known. */
int64_t port_run_delay_ns(void);

/* The process table: up to `most` processes into `list`; returns how many there are, or -1
 * where it cannot be read. */
struct port_process {
    pid_t id, parent;
};
int port_processes(struct port_process *list, int most);

/* Names the calling process in lists of processes, where there is such a thing. */
void port_name_self(const char *name);

/* Closes every descriptor from `first` on. */
void port_close_from(int first);

/* A file in `folder` that has no name from its first moment: descriptor, or -1 with errno
 * (ENOTSUP: none here, or not in this file system). */
int port_anonymous_file(const char *folder);

/* What lies behind an open file or folder. */
enum port_storage {
    PORT_STORAGE_UNKNOWN,
    PORT_STORAGE_DISK,
    PORT_STORAGE_MEMORY,
    PORT_STORAGE_NETWORK,
    PORT_STORAGE_KERNEL, /* no storage: the kernel makes the contents up */
};
enum port_storage port_storage(int descriptor);

/* A path that executes the program of the calling process once more: 0, or ENOTSUP. */
int port_own_executable(char *path, size_t bytes);

/* Memory that can be had without harm to others, within the limits of this process's groups;
 * -1: not known. `of_bytes`, where it is not NULL: of how much, the whole of what is shortest
 * (the machine's memory, or a group's limit); -1: not known. */
int64_t port_available_bytes(int64_t *of_bytes);

/* TCP segments that this system (its network namespace) has sent; -1: not known. */
int64_t port_tcp_segments_sent(void);

/* Bytes that the block device with this number (st_dev of a file) was given to write since the
 * start of the system, by all; -1: not known, it is none, or its writes are not counted. */
int64_t port_device_written_bytes(dev_t device);

/* Mean length of the queue of ready processes over the last minute, in thousandths; -1: not
 * known. */
int64_t port_load_average_milli(void);

#endif
