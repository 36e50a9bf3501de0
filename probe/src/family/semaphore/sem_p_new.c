/* SEM-P-NEW: create and delete a semaphore (Dedicated Systems 2012).
 *
 * The measuring thread alone, at the run's priority on the run's CPU if it has one. create: begin =
 * before the calls that make a semaphore of value 0, end = after them; delete: the same for the
 * calls that undo it. The calls are: unnamed   sem_init; sem_destroy named     sem_open; sem_close
 * and sem_unlink sysv      semget and semctl(SETVAL), since POSIX leaves the first value open;
 * semctl(IPC_RMID) eventfd   making the descriptor; closing it A futex is an integer and is not
 * created, so it is left out. An unnamed semaphore is measured private to a process and shared
 * between processes; making the shared memory is not timed. The other kinds have one form for both
 * and are measured once. Case `used`: one V and one P between create and delete, not timed; case
 * `unused`: nothing. The first 4 semaphores of a variant and after each rest are not recorded: the
 * first names or sets may cost more than the later ones.
 *
 * How it could be wrong: making an unnamed semaphore may only store an integer. Its figure is then
 * close to the cost of the stamps.
 */
#include "base/posix_source.h"

#include "family/semaphore/uncontended.h"

enum { CREATE, DELETE };
enum { UNUSED, USED };
enum { SAMPLES = 20000, BURST = 16, WARM_UP = 4 };

static const char *const case_names[] = {"unused", "used", NULL};

static const struct param_spec params[] = {
    {"kinds", PARAM_NAME, true, "unnamed,named,sysv,eventfd", 0, 0, semaphore_object_names,
     "kinds of semaphore", "kind"},
    UNCONTENDED_SCOPES,
    {"cases", PARAM_NAME, true, "unused,used", 0, 0, case_names,
     "nothing between making and deleting, or a V and a P", "case"},
    {0},
};

static const struct series_spec series[] = {
    {"create", "ns", "case,kind,scope", "before the calls that make a semaphore of value 0",
     "after them"},
    {"delete", "ns", "case,kind,scope", "before the calls that undo it", "after them"},
    {0},
};

static int take(struct run *run)
{
    struct uncontended *uncontended = run->own;
    struct semaphore *semaphore = uncontended->semaphore;
    const struct ipc_cleanup_place *place = &uncontended->ipc_cleanup.places[0];
    enum semaphore_kind kind = semaphore_kind_of(run);
    bool is_shared = uncontended_is_shared(run);
    uint64_t begin = clock_begin(&run->clock);
    int error = semaphore_make(semaphore, kind, is_shared, place);
    uint64_t created = clock_end(&run->clock);
    if (error)
        return outcome_set_errno(&run->outcome, error, variant_text(run, "kinds"), NULL);
    if (variant_number(run, "cases") == USED) {
        semaphore_signal(semaphore);
        semaphore_wait(semaphore);
    }
    uint64_t asked = clock_begin(&run->clock);
    semaphore_unmake(semaphore);
    uint64_t end = clock_end(&run->clock);
    run_take(run, CREATE, begin, created);
    run_take(run, DELETE, asked, end);
    return 0;
}

static int measure_variant(struct run *run)
{
    return uncontended_measure(run, BURST, take);
}

const struct test sem_p_new = {
    .id = "SEM-P-NEW",
    .title = "Create and delete a semaphore",
    .source = "[D] Dedicated Systems 2012",
    .params = params,
    .series = series,
    .default_samples = SAMPLES,
    .setup_ns = INT64_C(100000000),
    .sample_ns = 20000,
    .warm_up_samples = WARM_UP,
    .has_variant = uncontended_has_variant,
    .prepare = uncontended_prepare,
    .measure_variant = measure_variant,
    .judge = semaphore_require_any,
    .finish = uncontended_finish,
};
