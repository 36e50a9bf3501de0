/* Fault injection: a C library that breaches POSIX, lacks something, or claims what it does not do.
 * Each verdict of a test must fail on a breach. HARDSTONE_BROKEN names them, with commas; those of
 * one line are here, those that are functions stand in the tables of broken_*.c. */
#define _GNU_SOURCE
#include "shim.h"

const struct shim_script shim_scripts[] = {
    /* nothing; where others are in force */
    {"none,in_thread,in_process,on_unnamed,on_named,on_sysv,on_eventfd,on_futex,on_mq", ""},
    {"on_unix,on_pipe", ""},
    /* clocks and timers */
    {"absent", "clock_gettime 1=CLOCK_PROCESS_CPUTIME_ID errno=EINVAL"},
    /* threads and locks */
    {"yield_nothing", "sched_yield return=0"},
    {"few_levels", "sched_get_priority_max 1!SCHED_OTHER return=20"},
    {"no_protocol,protocol_nothing", "pthread_mutexattr_setprotocol return=0"},
    {"protocol_nothing", "pthread_mutexattr_setprioceiling return=0"},
    {"impatient", "pthread_mutex_timedlock return=ETIMEDOUT"},
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
    /* files */
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
    /* signals */
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
