/* The process of KRN-P-PRE that does operations of the kernel in a loop: an ordinary time-shared
 * process, bound to the CPU under test. */
#ifndef HS_FAMILY_KERNEL_BUSY_PROCESS_H
#define HS_FAMILY_KERNEL_BUSY_PROCESS_H

#include "base/posix_source.h"

#include "family/shared/peer.h"
#include "work/kernel_operations.h"

#include <stdatomic.h>

/* What it does, in the order of the parameter `operation`: no operation of the kernel, one of the
 * classes, or all classes in turn. */
enum operation {
    OPERATION_NONE,
    OPERATION_FIRST_CLASS,
    OPERATION_ALL = OPERATION_FIRST_CLASS + KERNEL_CLASSES,
    OPERATIONS,
};
extern const char *const operation_names[]; /* of all; ends with NULL */

enum { BUSY_PATH_BYTES = 512 };

/* One class during one variant. */
struct busy_class {
    uint64_t failed_count;
    int failures_in_a_row;
    int error; /* errno value of the latest failure; 0: none */
    bool is_given_up;
};

/* Memory of both processes. */
struct busy_table {
    char program[BUSY_PATH_BYTES]; /* of the probe, to be executed */
    struct scratch scratch;
    enum operation operation;
    atomic_bool is_over;
    atomic_bool has_given_up;  /* every class that it has to do: its process ends */
    atomic_bool wants_figures; /* now, and not at the end */
    atomic_bool has_figures;   /* those that follow */
    atomic_uint_fast64_t operations_count;
    uint64_t counted_operations; /* operations_count with the figures */
    struct busy_class classes[KERNEL_CLASSES];
    /* Of the loop, with the processes that it made; -1: not known, since it was killed. */
    int64_t cpu_ns, system_ns, elapsed_ns;
    int64_t waited_ns; /* of them runnable without the CPU, itself alone; -1: not known */
    int64_t moved_ns; /* counted as user time of children, and the kernel's (kernel_operations.h) */
    struct kernel_space space;
};

struct busy_process {
    struct run *run;
    struct ipc_cleanup cleanup;
    struct busy_table *table;
    struct peer peer;
    clockid_t cpu_clock; /* of the process alone */
    bool has_cpu_clock;
    int64_t seen_cpu_ns;
    uint64_t seen_count;
};

/* In `prepare`: memory, scratch folder, and the process that removes both after a kill. 0, or -1
 * with the outcome. */
int busy_process_open(struct busy_process *busy, struct run *run);
void busy_process_close(struct busy_process *busy);

/* Starts the process, which does the operation once before this returns. 0; 1: the operation
 * fails, and no process is there (busy_process_report says why); -1 with the outcome. */
int busy_process_start(struct busy_process *busy, enum operation operation);

/* Whether the process has done an operation, or used CPU time, since the last call. Two readings of
 * memory and one system call. */
bool busy_process_was_at_work(struct busy_process *busy);

bool busy_process_has_given_up(const struct busy_process *busy);

/* Has the figures of busy_process_report end here, while the process goes on. Waits until they are
 * taken, as long as an operation may last. */
void busy_process_take_figures(struct busy_process *busy);

/* Ends the process and waits for it: 0, or -1 with the outcome. */
int busy_process_stop(struct busy_process *busy);

/* Reports what it did, and which classes failed. `value_count` values were taken, `still_count` of
 * them while it was not at work. */
void busy_process_report(const struct busy_process *busy, uint64_t value_count,
                         uint64_t still_count);

#endif
