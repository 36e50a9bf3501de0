/* Detects lost CPU time. Between begin and end of a burst some thread of the test is always
 * runnable, so elapsed time minus CPU time was taken away: by real-time throttling, by a thread
 * of higher priority, or by the hypervisor (steal time). A burst that loses at least half of a
 * throttling pause is reported as the event `throttled` and fails the result: its figures
 * contain a pause that no kernel path took.
 *
 * Called around bursts, outside timed sections.
 */
#ifndef HS_REALTIME_CPU_LOSS_H
#define HS_REALTIME_CPU_LOSS_H

#include "run/run.h"

#include <sys/types.h>

struct cpu_loss {
    bool has_peer;
    clockid_t peer;                      /* CPU-time clock of a second process of the test */
    bool is_limited;                     /* real-time throttling is on, as far as the port knows */
    int64_t pause_ns;                    /* what throttling takes per period; at most 50 ms */
    int64_t begin_wall_ns, begin_cpu_ns; /* of the burst */
    int cut_count;                       /* bursts that lost too much */
    const struct run *run;
    int cpu;               /* whose steal time was read; -1: unknown */
    int64_t rested_ns;     /* rests of the run when steal time was read; -1: not yet */
    int64_t steal_ns;      /* as read then, and what has explained a loss since; -1: unknown */
    int unexplained_count; /* cut bursts that steal time does not explain */
    int64_t most_unexplained_ns;
};

/* Reads the throttling limits and clears all losses. */
void cpu_loss_open(struct cpu_loss *cpu_loss, const struct run *run);

/* Includes the CPU time of `process`: 0, or an errno value if it cannot be read. */
int cpu_loss_add_process(struct cpu_loss *cpu_loss, pid_t process);

/* CPU time that the test has lost since the burst began, ns; 0 if unknown. */
int64_t cpu_loss_lost_ns(const struct cpu_loss *cpu_loss, int64_t now_ns);

/* Whether `lost_ns` in one burst may be due to throttling: at least half of its pause. */
static inline bool cpu_loss_is_cut(const struct cpu_loss *cpu_loss, int64_t lost_ns)
{
    return lost_ns >= cpu_loss->pause_ns / 2;
}

/* Begin and end of a burst; the end reports the burst's loss. The first begin after a rest, or on
 * another CPU, reads the steal time: that is slow, and caches are cold then anyway. */
void cpu_loss_begin(struct cpu_loss *cpu_loss);
void cpu_loss_end(struct cpu_loss *cpu_loss, struct run *run);

/* Counts a pause of one runnable thread while the process as a whole kept running; `what` names
 * the thread. Pauses below half of a throttling pause are not reported. */
void cpu_loss_note_pause(struct cpu_loss *cpu_loss, struct run *run, int64_t pause_ns,
                         const char *what);

/* Whether throttling may have cut a burst since cut_count was `cut_before`; then no verdict should
 * rest on these bursts. */
static inline bool cpu_loss_is_doubtful(const struct cpu_loss *cpu_loss, int cut_before)
{
    return cpu_loss->is_limited && cpu_loss->cut_count > cut_before;
}

/* Sets the outcome to failed and returns -1 if a burst was cut; else 0. A cut does not count if its
 * loss, less the steal time since the last rest, is none: steal is judged with the conditions of
 * the run. Each ns of steal explains one loss. */
int cpu_loss_judge(const struct cpu_loss *cpu_loss, struct run *run);

#endif
