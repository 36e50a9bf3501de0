/* Fault injection: a C library that breaches POSIX, lacks something, or claims what it does not do.
 * Each verdict of a test must fail on a breach. HARDSTONE_BROKEN names them, with commas; those of
 * one line are here, and those that POS-B-INV sees; others stand in broken_*.c. */
#define _GNU_SOURCE
#include "shim.h"

#include <aio.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <unistd.h>

const struct shim_script shim_scripts[] = {
    /* nothing; where others are in force */
    {"none,in_thread,in_process,on_unnamed,on_named,on_sysv,on_eventfd,on_futex,on_mq", ""},
    {"on_unix,on_pipe", ""},
    /* clocks and timers */
    /* the CPU time of the process includes pauses of the machine: a guest without steal time */
    {"unseen", "clock_gettime 1=CLOCK_PROCESS_CPUTIME_ID 1:CLOCK_MONOTONIC"},
    {"absent", "clock_gettime 1=CLOCK_PROCESS_CPUTIME_ID errno=EINVAL"},
    /* threads and locks */
    {"yield_nothing", "sched_yield return=0"},
    {"few_levels", "sched_get_priority_max 1!SCHED_OTHER return=20"},
    {"no_protocol,protocol_nothing", "pthread_mutexattr_setprotocol return=0"},
    {"protocol_nothing", "pthread_mutexattr_setprioceiling return=0"},
    {"lends", "pthread_mutexattr_setprotocol 2=PTHREAD_PRIO_NONE 2:PTHREAD_PRIO_INHERIT"},
    {"ceiling_refused", "pthread_mutexattr_setprioceiling return=EPERM"},
    {"impatient", "pthread_mutex_timedlock return=ETIMEDOUT"},
    {"late_start", "sem_wait 0>0 0<50 after_ms=20"}, /* the others have the CPU meanwhile */
    {"cond_fails", "pthread_cond_wait each=100 return=EINVAL"},
    /* memory */
    {"lock_nothing", "mlockall return=0"},
    {"lock_current", "mlockall 1-MCL_FUTURE"},
    {"lock_refused,refused", "mlockall errno=EPERM"},
    {"no_group", "mkdir 1~/hardstone-memory- errno=EACCES"},
    {"no_page_out", "madvise 3=MADV_PAGEOUT errno=EINVAL"},
    {"range_nothing", "mlock return=0"},
    {"protect_nothing", "mprotect return=0"},
    {"memory_apart", "mmap64 5!-1 4&MAP_SHARED 4-MAP_SHARED 4+MAP_PRIVATE"},
    /* files; writes begin to fail when the test has begun, past its first MiB */
    {"full", "pwrite64 3<1048576 from=40 errno=ENOSPC"},
    {"over_quota", "pwrite64 3<1048576 from=40 errno=EDQUOT"},
    {"broken_disk", "pwrite64 3<1048576 from=40 errno=EIO"},
    {"short_writes", "pwrite64 3<1048576 3>1 from=41 each=3 3:1"},
    {"sync_dropped", "open64 2-O_SYNC"},
    {"fsync_nothing", "fsync return=0"},
    {"fsync_fails", "fsync from=2 errno=EIO"},
    {"fdatasync_nothing", "fdatasync return=0"},
    {"allocates_nothing", "fallocate64 return=0"},
    {"allocate_nothing", "posix_fallocate64 return=0"},
    {"no_allocation", "fallocate64 errno=EOPNOTSUPP"},
    {"no_direct", "fcntl64 2=F_SETFL 3&O_DIRECT errno=EINVAL"},
    {"no_anonymous", "open64 2&O_TMPFILE errno=EOPNOTSUPP"},
    {"read_only", "open64 2&O_TMPFILE errno=EROFS; mkdir errno=EROFS"},
    {"io_priority_kept", "syscall 1=SYS_ioprio_set return=0"},
    {"io_priority_refused,prv_filter", "syscall 1=SYS_ioprio_set errno=EPERM"},
    {"files_open", "ftrylockfile return=0"},
    {"no_terminal", "posix_openpt errno=ENOENT"},
    {"usage_takes_long", "getrusage 1=RUSAGE_CHILDREN before_ms=20"},
    /* non-blocking and asynchronous I/O */
    {"select_early", "select return=1"},
    {"select_never", "select return=0"},
    {"poll_never", "poll return=0"},
    {"aio_early", "aio_error64 return=0"},
    {"suspend_early", "aio_suspend64 return=0"},
    {"aio_lost", "aio_write64 return=0"},
    {"lio_lost", "lio_listio64 return=0"},
    {"cancel_lies", "aio_cancel64 return=0"}, /* that is AIO_CANCELED */
    {"no_aio", "aio_read64 errno=ENOSYS; aio_write64 errno=ENOSYS"},
    {"no_ring", "syscall 1=425 errno=ENOSYS"}, /* io_uring_setup */
    {"ring_denied", "syscall 1=425 errno=EPERM"},
    /* messages; the name of what stays has been made, and nobody removes it for a while */
    {"mq_absent", "mq_open errno=ENOSYS"},
    {"mq_files", "mq_open errno=EMFILE"},
    {"mq_space", "mq_open errno=ENOSPC"},
    {"mq_stays", "mq_open after_ms=20000"},
    {"fifo_stays", "mkfifo after_ms=20000; unlink 1~/fifo return=0"},
    {"sysv_absent", "msgget errno=ENOSYS"},
    {"sysv_space", "msgget 2&IPC_CREAT errno=ENOSPC"},
    {"sysv_length", "msgsnd 3>100 errno=EINVAL"},
    {"unix_absent", "socketpair errno=EPROTONOSUPPORT"},
    {"unix_length", "send 3>100 errno=EMSGSIZE"},
    /* signals; those of the tests are eight from SIGRTMIN on, which is 34 */
    {"sig_lost", "sigqueue 2>33 2<42 each=100 return=0"},
    {"sig_none", "sigqueue 2>33 2<42 errno=EAGAIN"},
    {"sig_value", "sigqueue 2>33 2<42 each=64 3^1"},
    {"sig_half", "sigqueue 2>33 2<42 3--4294967296"}, /* the upper half of the value is lost */
    {"pwr_idle", "mmap64 0=0 before_ms=40"}, /* what keeps the CPU busy hardly runs: no breach */
    {"pwr_lost", "kill 2=SIGPWR each=10 return=0"},
    {"pwr_late", "kill 2=SIGPWR each=10 before_ms=30"},
    /* a right that is refused is answered as if it was granted; nobody becomes another user */
    {"prv_lock", "mlock failed return=0"},
    {"prv_nice", "setpriority failed return=0"},
    {"prv_io", "syscall 1=SYS_ioprio_set failed return=0"},
    {"prv_affinity", "sched_setaffinity 1>0 failed return=0"},
    {"prv_stuck", "setresuid errno=EINVAL"},
    /* what sysconf and the scheduler say to POS-B-INV */
    {"claims", "sysconf 1=_SC_TYPED_MEMORY_OBJECTS return=200809;"
               "sysconf 1=_SC_SPORADIC_SERVER return=200809; sysconf 1=_SC_TRACE return=200809"},
    {"few_timers", "timer_create from=4 errno=EINVAL"},
    {"denies", "sysconf 1=_SC_TIMERS return=-1"},
    {"low_limits", "sysconf 1=_SC_TIMER_MAX return=3; sysconf 1=_SC_RTSIG_MAX return=4;"
                   "sysconf 1=_SC_STREAM_MAX return=7"},
    {"levels", "sched_get_priority_max 1!SCHED_OTHER return=16"},
    {"stuck", "pthread_setschedparam 2!SCHED_OTHER return=0"},
    /* calls of one of its options each; the probe itself uses some too */
    {"signals_single", "sigqueue 2=SIGRTMIN from=2 return=0"},
    {"semaphores_open", "sem_trywait return=0"},
    {"queue_loses", "mq_send 3=1 2~b return=0"},
    {"queue_unordered", "mq_send 4:0"},
    {"barrier_open", "pthread_barrier_wait return=0"},
    {"barrier_no_serial", "pthread_barrier_wait made return=0"},
    {"readers_open", "pthread_rwlock_trywrlock return=0"},
    {"ends_process", "pthread_rwlock_rdlock end"},
    {"spin_open", "pthread_spin_trylock return=0"},
    {"mutex_open", "pthread_mutex_trylock child return=0"},
    {"stack_ignored", "pthread_attr_setstack return=0"},
    {"stack_size_ignored", "pthread_attr_setstacksize child return=0"},
    {"policy_nothing", "sched_setscheduler return=0"},
    {"thread_policy_nothing", "pthread_attr_setschedpolicy child return=0;"
                              "pthread_attr_setschedparam child return=0"},
    {"clock_ignored", "pthread_condattr_setclock return=0"},
    {"regexp_wrong", "regexec made return=0"},
    {NULL, NULL}};

/* ---- breaches that POS-B-INV sees, where one line does not say them ---- */

/* Who waits for what a breach has lost waits in no time, so that no test depends on a limit. */
#define LOSSES "timers_silent,semaphores_lose,signal_nothing"

#define LONG_NS INT64_C(3600000000000) /* more than any limit */

/* Of all processes. */
struct shared {
    _Atomic pid_t bound; /* the last one that is to end with its parent */
    _Atomic pid_t call;  /* the one that is at work; 0: none */
    _Atomic pid_t hung;  /* the one of which a thread or process will not go on; 0: none yet */
    _Atomic int64_t lead_ns;
};
static struct shared *shared;
static bool waits_in_vain;   /* this process */
static bool has_early_timer; /* this process */
static pid_t first_process;
static pid_t call_process; /* this one, or the one that has started it; 0: above all calls */

/* The first process starts the one that starts the calls. */
static bool starts_calls(void)
{
    return getppid() == first_process;
}

/* What an earlier call has left says no more that it hangs. */
static void end_call(void)
{
    if (starts_calls())
        atomic_store(&shared->call, 0);
}

static void begin_call(void)
{
    if (call_process != 0 || starts_calls())
        return;
    call_process = getpid();
    atomic_store(&shared->call, call_process);
}

__attribute__((constructor)) static void share(void)
{
    shared = shared_memory(sizeof *shared);
    first_process = getpid();
    pthread_atfork(end_call, NULL, begin_call);
}

/* ---- what is lost, and the wait for it ---- */

/* timers_silent, timers_early: of a timer of 5 ms, as the call of the option has it */
BREACH("timers_silent,timers_early", "timer_settime")
{
    OWN(struct itimerspec, when, 2);
    if (when.it_value.tv_sec != 0 || when.it_value.tv_nsec != 5000000)
        return pass(call);
    waits_in_vain = breaks("timers_silent");
    has_early_timer = !waits_in_vain;
    when.it_value.tv_nsec = 1000;
    return waits_in_vain ? 0 : pass(call);
}

/* timers_early: no time passes from before that timer on, however late its signal is taken */
BREACH("timers_early", "clock_gettime")
{
    static int64_t last_ns;
    long answer = pass(call);
    struct timespec *time = at(call, 1);
    if (int_at(call, 0) != CLOCK_MONOTONIC)
        return answer;
    if (has_early_timer)
        *time = timespec_of(last_ns);
    last_ns = ns_of(time);
    return answer;
}

/* semaphores_lose, signal_nothing */
static long lose(void)
{
    waits_in_vain = true;
    return 0;
}

BREACH_IF("semaphores_lose", "sem_post", is_child(), lose());
BREACH_IF("signal_nothing", "pthread_cond_signal", is_child(), lose());
BREACH_IF(LOSSES, "nanosleep,clock_nanosleep", waits_in_vain, 0);
BREACH_IF("timers_silent", "sigtimedwait", waits_in_vain, fail(EAGAIN));

/* timeout_hangs: time flies for who waits for the end of the call */
static long hang(void)
{
    atomic_store(&shared->hung, call_process);
    while (pause() < 0)
        continue;
    return 0;
}

BREACH_IF("timeout_hangs", "pthread_mutex_timedlock", true, hang());

/* semaphores_lose: who has to wait after that hangs */
BREACH("semaphores_lose", "sem_wait")
{
    while (is_child() && REAL(sem_trywait)(at(call, 0)) != 0) {
        if (waits_in_vain)
            return hang();
        sleep_ns(1000000);
    }
    return is_child() ? 0 : pass(call);
}

/* patient: for the process that starts the calls, and waits for their ends, no time passes else,
 * however long the host lets a call wait */
BREACH("timeout_hangs,semaphores_lose,patient", "clock_gettime")
{
    static int64_t first_ns;
    long answer = pass(call);
    struct timespec *time = at(call, 1);
    if (int_at(call, 0) != CLOCK_MONOTONIC || !starts_calls())
        return answer;
    if (breaks("patient")) {
        first_ns = first_ns ? first_ns : ns_of(time);
        *time = timespec_of(first_ns);
    }
    pid_t hung = atomic_load(&shared->hung);
    if (hung != 0 && hung == atomic_load(&shared->call))
        *time = timespec_of(ns_of(time) + atomic_fetch_add(&shared->lead_ns, LONG_NS));
    return answer;
}

/* ---- others ---- */

/* signals_bare: without values */
BREACH_IF("signals_bare", "sigqueue", true, REAL(kill)(int_at(call, 0), int_at(call, 1)));

/* aio_nothing: ends well, having written nothing; aio_unordered */
BREACH_BEFORE("aio_nothing", "aio_write64", true, ((struct aiocb *)at(call, 0))->aio_nbytes = 0);
BREACH_BEFORE("aio_unordered", "aio_read64", true, ((struct aiocb *)at(call, 0))->aio_reqprio = 0);

static char *const other_words[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char[]){"exit 0"}, NULL};

BREACH_BEFORE("spawn_other", "posix_spawn", true, call->word[4] = (long)other_words);

/* clock_of_wall: it moves while the process sleeps */
BREACH_AFTER("clock_of_wall", "clock_getcpuclockid", true,
             *(clockid_t *)at(call, 1) = CLOCK_MONOTONIC);

/* bound_late: a process that is to end with its parent is bound to it 20 ms later, and one that is
 * not bound cannot be stopped */
BREACH("bound_late", "prctl")
{
    bool binds = int_at(call, 0) == PR_SET_PDEATHSIG;
    sleep_ns(binds ? 20000000 : 0);
    long answer = pass(call);
    if (binds)
        atomic_store(&shared->bound, getpid());
    return answer;
}

BREACH_IF("bound_late", "kill",
          int_at(call, 1) == SIGSTOP && atomic_load(&shared->bound) != -int_at(call, 0),
          fail(EPERM));
