/* The interface to the operating system. A port is a folder (port/linux, port/posix); the build
 * takes each file that it does not have from port/posix (docs/how-to/port.md). Nothing else in the
 * probe asks which system it runs on.
 *
 * What a system lacks is reported as ENOTSUP, -1 or false, as stated at each function; no
 * function makes up a value.
 */
#ifndef HS_PORT_PORT_H
#define HS_PORT_PORT_H

#include "base/cpus.h"
#include "base/posix_source.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Name of the port: "linux", "posix". */
const char *port_name(void);

/* Stores the CPUs that this process may use in `allowed` and returns their number; -1, with an
 * empty set, if the system has no CPU numbers or does not tell. */
int port_allowed_cpus(struct cpus *allowed);

/* Binds the calling thread to `cpu`: 0, or an errno value (EINVAL: no such CPU, or not
 * allowed; ENOTSUP: the system has no CPU affinity). */
int port_pin_self(int cpu);

/* As port_pin_self, but saves the thread's affinity in `before`; port_pin_back restores it. A
 * call that would not change the affinity does nothing. */
struct cpus;
int port_pin_for_now(int cpu, struct cpus *before);
int port_pin_back(const struct cpus *before);

/* Stores the CPUs that `thread`, of any process (0: the caller), may use. False: there is no such
 * thread, or the system does not tell. */
bool port_thread_cpus(pid_t thread, struct cpus *cpus);

/* Stores the control group whose cpuset limits the CPUs of this process in `group`, and in
 * `command`, unless NULL, what to type to see them, "" if that is not known. False: there is none,
 * or the system does not tell. */
bool port_cpuset(char *group, size_t bytes, char *command, size_t command_bytes);

/* CPU that the caller runs on; -1: not known. */
int port_current_cpu(void);

/* Whether the kernel trusts the processor's counter as a clock that runs at one rate on all
 * CPUs. False: the cause is in `reason`. */
bool port_counter_is_trusted(char *reason, size_t reason_bytes);

/* clock_gettime as a system call, bypassing the vDSO: 0, or -1 with errno (ENOTSUP: cannot be
 * forced). */
int port_clock_system_call(clockid_t id, struct timespec *time);

/* Points `clocks` to the table of this system's clocks; returns their number. */
struct port_clock {
    const char *name;
    clockid_t id;
    bool is_system_wide; /* the same on every CPU and in every process */
    bool is_steerable;   /* the administrator can set it back */
};
int port_clocks(const struct port_clock **clocks);

/* A timer on CLOCK_MONOTONIC that is read through a descriptor (timerfd).
 * open: first expiration at `start_ns` (absolute), then every `period_ns` (0: one-shot). Returns
 *   the descriptor, or -1 with errno (ENOTSUP: the system has none).
 * arm: sets it anew, one-shot, to `start_ns` (absolute). 0, or -1 with errno.
 * wait: blocks, for at most `timeout_ns` unless that is negative. Returns the number of
 *   expirations since the last wait, 0 after the timeout, or -1 with errno.
 * disarm: no expiration after it returns. 0, or -1 with errno. */
int port_event_timer_open(int64_t start_ns, int64_t period_ns);
int port_event_timer_arm(int descriptor, int64_t start_ns);
int64_t port_event_timer_wait(int descriptor, int64_t timeout_ns);
int port_event_timer_disarm(int descriptor);

/* Inter-processor interrupts (membarrier). `send` interrupts every other CPU that runs a thread of
 * this process, and returns when each has served its interrupt; `register` once before it. 0, or an
 * errno value (ENOTSUP, ENOSYS: the system has none; EPERM: a filter of system calls, as of a
 * container, refuses it). */
int port_interrupt_register(void);
int port_interrupt_send(void);

/* A descriptor that acts as a counting semaphore, initially 0 (eventfd): write() of a uint64_t
 * adds that value, read() blocks while the value is 0, then takes 1. -1 with errno (ENOTSUP: the
 * system has none). */
int port_semaphore_descriptor(void);

/* Limits of the system on messages; those of a privileged process may be higher. -1: not known. */
enum port_message_limit {
    PORT_QUEUE_MESSAGE_BYTES, /* of a message in a POSIX queue */
    PORT_SYSV_MESSAGE_BYTES,  /* of one in a System V queue */
};
int64_t port_message_limit(enum port_message_limit limit);

/* A periodic timer as above whose expirations are taken without waiting. take: expirations since
 * the last one, 0 if there are none, or -1 with errno. */
int port_event_timer_open_ready(int64_t start_ns, int64_t period_ns);
int64_t port_event_timer_take(int descriptor);

/* Futex. wait: blocks while the futex word `*word` is `value`; it may also return 0 without a
 * wake-up. wake: wakes one waiter. is_shared: between processes. 0, or an errno value (wait:
 * EAGAIN: the word has another value; EINTR: a signal; both: ENOTSUP: the system has none). */
int port_futex_wait(atomic_int *word, int value, bool is_shared);
int port_futex_wake(atomic_int *word, bool is_shared);

/* sem_open creates a temporary file first; a process that is killed meanwhile leaves it behind.
 * Removes such files of this user that are not older than `since` and have the permissions
 * `mode` (unusual ones tell the probe's files from others). 0, or an errno value (ENOTSUP: the
 * files are not known here). */
int port_remove_semaphore_files(time_t since, mode_t mode);

/* Has the kernel kill the calling process (SIGKILL) when the thread of `parent` that forked it
 * ends for any reason: 0, or an errno value (ESRCH: `parent` has ended already; ENOTSUP: the
 * system cannot do that). */
int port_kill_with_parent(pid_t parent);

/* Whether a process can create others; false on systems without an MMU. */
bool port_has_processes(void);

/* fork(): 0 in the child, the child's id in the caller; -1 with errno (ENOSYS, ENOTSUP: there is
 * no fork here, whatever port_has_processes says). */
pid_t port_fork(void);

/* Whether the child `process` has ended; does not reap it. Then `is_well`: it exited with 0. */
bool port_has_ended(pid_t process, bool *is_well);

/* Waits for the child `process` and reaps it: 0 if it exited with 0, else ECHILD. */
int port_wait_for(pid_t process);

/* Moves the calling process, a forked one, to a session of its own: no signals from the
 * terminal. */
void port_leave_session(void);

/* Stores the kernel's ids of the threads of `process` (0: this one) in `threads`, at most `most`;
 * returns how many were stored, or -1 if they cannot be listed. */
int port_threads(pid_t process, pid_t *threads, int most);

/* The kernel's id of the calling thread; 0: not told. */
pid_t port_own_id(void);

/* Schedules the calling thread by deadline (Linux: SCHED_DEADLINE): it may run for `runtime_ns` of
 * each `period_ns`, which is its deadline too. 0, or an errno value: EBUSY (admission: the CPUs
 * have not that much left), EPERM (no right, or the thread may not use all CPUs of its domain),
 * EINVAL (outside the limits of the system), ENOTSUP or ENOSYS (there is no such policy). */
int port_deadline_self(int64_t runtime_ns, int64_t period_ns);

/* Context switches of the calling thread since its begin: voluntary (it waited) and involuntary
 * (it was preempted). False: the system does not count them for each thread. */
bool port_own_switches(int64_t *voluntary, int64_t *involuntary);

/* A descriptor for port_wait_for_stop, to be closed by the caller; -1 and errno: ENOTSUP where the
 * system does not tell a process that it was stopped. */
int port_stops_open(int end);

/* Blocks until this process was stopped and goes on (true), or `end` can be read (false). A stop is
 * any that the calling thread shares: of job control, a debugger, or the freezer of a control
 * group; nothing else looks like one. All signals must be blocked. */
bool port_wait_for_stop(int stops);

/* Total run time and run delay of `thread` of `process` (0: this one). Run delay is time that the
 * thread was runnable but did not run, for any reason: another thread, throttling, a limit of its
 * group. Neither includes sleep. False: the kernel does not count them. */
struct port_thread_times {
    int64_t ran_ns, waited_ns;
};
bool port_thread_times(pid_t process, pid_t thread, struct port_thread_times *times);

/* Stores in `list` the ids of time-shared processes that may run on no other CPU than `cpu`, at
 * most `most`, and that are the system's own: on Linux threads of the kernel. Returns how many were
 * stored, or -1 if they are not told. */
int port_bound_processes(int cpu, pid_t *list, int most);

/* Real-time throttling: real-time threads may use `runtime_ns` of every `period_ns`, the tightest
 * of the system's limit and those of the control group of this process and of each group above it.
 * `group`: folder of the group that has it; "": the system. `most_ns`: as much as those above it
 * would allow. False: there is no such limit, or it is off. */
enum { PORT_CPU_GROUP_BYTES = 600 };
struct port_realtime_budget {
    int64_t runtime_ns, period_ns, most_ns;
    char group[PORT_CPU_GROUP_BYTES];
};
bool port_realtime_budget(struct port_realtime_budget *budget);

/* Period of the kernel's clock tick; -1: not known. */
int64_t port_tick_ns(void);

/* Snapshot of the kernel's counters for `cpu`; -1: not known. A result stores the difference of
 * two snapshots. `cpu` < 0: only the steal time, of all CPUs together. */
struct port_environment {
    int64_t steal_ns;          /* steal time: taken from `cpu` by the hypervisor */
    int64_t interrupts;        /* served on `cpu` */
    int64_t timer_interrupts;  /* of those, the local timer's */
    int64_t thermal_throttles; /* of `cpu` */
};
void port_environment(int cpu, struct port_environment *environment);

/* How often `cpu` was slowed down because of its own heat and that of its package (counted when it
 * begins), and for how long (added when it ends), since boot; -1: not told. Interrupts no CPU. */
enum { PORT_HEAT_CORE, PORT_HEAT_PACKAGE, PORT_HEATS };
struct port_heat {
    int64_t count, total_ns;
};
void port_heat(int cpu, struct port_heat each[PORT_HEATS]);

/* Page faults and context switches of this process; -1: not known. */
struct port_usage {
    int64_t minor_faults, major_faults;
    int64_t voluntary_switches, involuntary_switches;
};
void port_usage(struct port_usage *usage);

/* ---- counters that are read while a test measures, by a thread that does not: none of these uses
 * the heap or stdio ---- */

/* Steal time of each of `cpus`, in their order, in one pass; -1: not known, or offline. `each` has
 * a place for each of them. */
void port_steal(const struct cpus *cpus, int64_t *each);

/* Calls `take` for each kind of interrupt, in the order of the kernel, with its counts on `cpus`
 * (PORT_LOOK_CPUS of them at most). False: the system does not tell them. */
enum { PORT_LOOK_CPUS = PORT_CPUS < 1024 ? PORT_CPUS : 1024 };
struct port_interrupt_line {
    uint32_t key;          /* tells it from the others */
    bool is_timer;         /* the local timer's */
    const char *name;      /* as the kernel says it: "24: virtio0-input.0"; valid during the call */
    const int64_t *counts; /* of each CPU, in their order; -1: not told */
};
bool port_interrupt_lines(const struct cpus *cpus,
                          void (*take)(void *context, const struct port_interrupt_line *line),
                          void *context);

/* Softirqs, interrupt work that the kernel has put off, that `cpu` has served since boot; -1: not
 * known. */
struct port_softirqs {
    int64_t packets, disk, timers;
};
void port_softirqs(int cpu, struct port_softirqs *softirqs);

/* Counters of `thread` of `process` (0: this one) since its begin; -1: not known. False: there is
 * no such thread, or the system does not tell. */
struct port_thread_counters {
    int cpu; /* that it ran on last */
    int64_t run_delay_ns, minor_faults, major_faults, migrations, involuntary_switches;
};
bool port_thread_counters(pid_t process, pid_t thread, struct port_thread_counters *counters);

/* Finds the control group that limits the CPU time of this process, for port_throttled; may use
 * stdio. False: there is none. */
bool port_throttling_group(char *group, size_t bytes);

/* How often and how long that group, and those that it is in, were throttled, on all CPUs together.
 * False: not known. */
bool port_throttled(const char *group, int64_t *count, int64_t *ns);

/* Time since boot, also while the machine slept; CLOCK_MONOTONIC where the system has no such
 * clock.
 */
int64_t port_uptime_ns(void);

/* Limit on the stack of the main thread, in bytes; INT64_MAX: no limit; -1: not known. */
int64_t port_stack_bytes(void);

/* Makes the C library map one heap for all threads, without spare room: locked memory counts all
 * that is mapped. Call it before the first thread starts. */
void port_trim_heap(void);

/* Leaves the whole pages of these `bytes` out of processes that port_fork makes: they would be
 * copied, and locked there again. Nothing where the system has no such call. */
void port_keep_from_forks(void *memory, size_t bytes);

/* Undoes it: to be called before the memory is freed, because the heap may give it to others. */
void port_give_to_forks(void *memory, size_t bytes);

/* Receives facts, one call each. A NULL text is null: known to be none. */
struct port_fact_sink {
    void (*text)(void *context, const char *name, const char *value);
    void (*number)(void *context, const char *name, int64_t value);
    void (*truth)(void *context, const char *name, bool value);
    void *context;
};

/* Sends the facts about the machine, named as in docs/reference/facts.md; unknown facts are left
 * out. */
void port_facts(const struct port_fact_sink *sink);

/* Receives sources, one call each: what the file that `source` names holds, as it is; `bytes` NULL:
 * it is there, and that is all. */
struct port_source_sink {
    void (*take)(void *context, const char *source, const char *bytes, size_t length);
    void *context;
};

/* Sends what facts for people are read from, by the toolkit; what cannot be read is left out. */
void port_sources(const struct port_source_sink *sink);

/* Why `error` came of starting a thread: of any (is_any_thread), or of one that asks for more.
 * `cause` is a word of the fact limits.realtime_cause; `remedy` is "", or words before `command`,
 * which may be NULL. */
enum port_asked {
    PORT_ASKED_ANY_THREAD,
    PORT_ASKED_CPU,      /* without being bound it would start */
    PORT_ASKED_ORDINARY, /* the policy of everybody: no right is needed */
    PORT_ASKED_REALTIME
};
enum { PORT_REFUSAL_BYTES = 300 };
struct port_refusal {
    const char *cause;
    bool is_any_thread;
    char reason[PORT_REFUSAL_BYTES], remedy[PORT_REFUSAL_BYTES];
    const char *command;
};
void port_refusal(int error, enum port_asked asked, struct port_refusal *refusal);

/* Why `error` came of mlockall; `cause` is a word of the fact limits.lock_cause. */
void port_lock_refusal(int error, struct port_refusal *refusal);

/* Keeps CPUs out of idle states that take longer than `us` to leave, until `descriptor` is closed,
 * or the process ends. `in_force_us`: the lowest bound of all programs. 0, or an errno value
 * (ENOTSUP: the system has no such bound). */
int port_hold_dma_latency(int32_t us, int *descriptor, int32_t *in_force_us);

/* Words of this system for a message: what helps, what to type, with its paths and settings. A port
 * without such words has those of POSIX. */
enum port_hint {
    PORT_HINT_SHARED_MEMORY,   /* shared memory cannot be made */
    PORT_HINT_SEMAPHORE_RIGHT, /* a semaphore may not be made */
    PORT_HINT_OWN_FILES,       /* EMFILE */
    PORT_HINT_MEMORY,          /* ENOMEM */
    PORT_HINT_THREADS,         /* EAGAIN; a caller may go on with ", or" */
    PORT_HINT_QUEUED_SIGNALS,  /* EAGAIN of sigqueue */
    PORT_HINT_SIGNALS_COMMAND, /* that raises their limit, a number follows; empty: none */
    PORT_HINT_SIGNALS_LIMIT,   /* words for that limit; those that follow say how many it is */
    PORT_HINT_SIGNALS_RIGHT,   /* what raising it takes */
    PORT_HINT_OPEN_FILES,      /* ENFILE */
    PORT_HINT_SPACE,           /* ENOSPC */
    PORT_HINT_READ_ONLY,       /* EROFS */
    PORT_HINT_MESSAGE_BYTES,   /* of a POSIX queue: EMSGSIZE */
    PORT_HINT_QUEUE_MESSAGES,  /* ENOBUFS */
    PORT_HINT_QUEUE_FILES,     /* EMFILE */
    PORT_HINT_QUEUES,          /* ENOSPC */
    PORT_HINT_QUEUES_LIMIT,    /* words for the limit on queues */
    PORT_HINT_DEPTH_LIMIT,     /* for that on the messages of one */
    PORT_HINT_SLICES,          /* of round robin are too long */
    PORT_HINT_SLICES_LOST,     /* too few slices came */
    PORT_HINT_SYSV_BYTES,      /* of a System V queue */
    PORT_HINT_SYSV_QUEUES,
    PORT_HINT_SOCKET_BUFFER,
    PORT_HINT_DEADLINE_BUDGET, /* EBUSY of port_deadline_self */
    PORT_HINT_DEADLINE_PERIOD, /* its EINVAL */
    PORT_HINT_LIFT_BUDGET,     /* command: ends real-time throttling */
    PORT_HINT_BUDGET_FILE,     /* that has the budget, in the folder of a group */
    PORT_HINT_INTERRUPT_CPU,   /* to see which CPU serves interrupts */
    PORT_HINT_SHIELD_RIGHT,    /* the shield was refused */
    PORT_HINT_ONLINE,          /* port_online_cpus does not tell: what helps */
    PORT_HINT_ONLINE_UNKNOWN,  /* the same: the cause */
    PORT_HINT_IDLE_DEVICE,     /* of port_hold_dma_latency; empty: none */
};
const char *port_hint(enum port_hint hint);

/* ---- for load ---- */

/* As port_kill_with_parent, but with SIGTERM, for a program that has something to restore. Survives
 * exec. */
int port_end_with(pid_t parent);

/* Resets the I/O priority of the calling process to the default; what it forks or executes inherits
 * that. 0, also where the system has no I/O priorities, or an errno value. */
int port_ordinary_io(void);

/* Zeroed anonymous memory, shared with the processes that this one forks; freed with munmap, or
 * with the last process. NULL with errno (ENOSYS: the system has none). */
void *port_shared_memory(size_t bytes);

/* Binds the calling thread, and what it forks, to a set of CPUs. Errors as port_pin_self. */
int port_bind_self(const struct cpus *cpus);

/* Makes the caller the subreaper of its descendants: orphans among them become its children. 0, or
 * an errno value (ENOTSUP: the system has none; orphans go to init). */
int port_adopt_orphans(void);

/* Programs that the calling process executes from now on cannot get a real-time priority, not even
 * as root; the process itself, with CAP_SYS_NICE, still can until it executes one. 0, or an errno
 * value (ENOTSUP: the system cannot do that). */
int port_never_real_time(void);

/* Run delay of the calling process: time that it was runnable but did not run. -1: not known. */
int64_t port_run_delay_ns(void);

/* Stores up to `most` entries of the process table in `list`; returns how many there are, which may
 * be more, or -1 if the table cannot be read. */
struct port_process {
    pid_t id, parent;
};
int port_processes(struct port_process *list, int most);

/* Sets the name of the calling process as ps shows it, where the system has such names. */
void port_name_self(const char *name);

/* Closes every descriptor from `first` on. */
void port_close_from(int first);

/* Creates a file in `folder` that never has a name (O_TMPFILE). Returns a descriptor, or -1 with
 * errno (ENOTSUP: the system or the file system cannot do that). */
int port_anonymous_file(const char *folder);

/* Has reads and writes of the file go past the page cache, in aligned blocks: 0, or an errno value
 * (ENOTSUP: the system cannot do that; EINVAL: its file system cannot). */
int port_direct_io(int descriptor);

/* Kind of storage behind an open file or folder. */
enum port_storage {
    PORT_STORAGE_UNKNOWN,
    PORT_STORAGE_DISK,
    PORT_STORAGE_MEMORY,
    PORT_STORAGE_NETWORK,
    PORT_STORAGE_KERNEL, /* none: a pseudo file system such as proc */
};
enum port_storage port_storage(int descriptor);

/* Stores a path in `path` that executes the running program again: 0, or ENOTSUP. */
int port_own_executable(char *path, size_t bytes);

/* Memory that can be allocated without swapping: the smallest of what the machine has available
 * and what each control group of this process has left. -1: not known. `of_bytes`, unless NULL:
 * total of whichever that is (the machine's memory or the group's limit); -1: not known. */
int64_t port_available_bytes(int64_t *of_bytes);

/* How many more processes may be made, by the limits of the user, of control groups and of the
 * system; -1: not known. `limit`: the one that leaves the least, in words; else unchanged. */
int64_t port_process_room(const char **limit);

/* Lets the calling process run only when a CPU has nothing else to do. 0, or an errno value
 * (ENOTSUP: the system has no such class). */
int port_run_when_idle(void);

/* Whether a process runs, or would run if it got a CPU. Also false where that is not known. */
bool port_is_ready(pid_t process);

/* TCP segments that this network namespace has sent; -1: not known. */
int64_t port_tcp_segments_sent(void);

/* Bytes written to the block device with this number (st_dev of a file) by everybody since boot.
 * -1: not known, not a block device, or its writes are not counted. */
int64_t port_device_written_bytes(dev_t device);

/* Load average of the last minute, in thousandths; -1: not known. */
int64_t port_load_average_milli(void);

#endif
