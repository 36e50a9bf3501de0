/* FIO-B-ASY: non-blocking and asynchronous I/O keep their word (Obenland 2000, HP).
 *
 * What: claims about pipe, FIFO, Unix socket and pseudo-terminal, all with O_NONBLOCK, and about
 *   requests (aio_read, io_uring). Each is a short sequence of calls whose right answers are known
 *   in bytes; the table of verdicts says what each claims. Overlap is shown without a clock: the
 *   request returns, and the caller itself then writes what completes it.
 * Begin, end: none, no claim is about a time. A call that should return at once counts as waiting
 *   when it returned only after a second thread had given it what it waits for, a second later
 *   (async.h); what has to come by itself (readiness, a signal, a completion) is waited for up to a
 *   second.
 * Threads: one at the run's priority has both ends; the second one is time-shared.
 * Wrong if: a second without the CPU, of the one thread and not of the other, would look like a
 *   wait. What is asynchronous in the kernel and what is a thread of the C library that waits looks
 *   the same from here. Bytes reach a terminal by a thread of the kernel: what is there is waited
 *   for before it is counted.
 */
#include "base/posix_source.h"

#include "family/file/async.h"
#include "family/file/place.h"
#include "family/shared/ipc_cleanup.h"
#include "port/file.h"
#include "run/variant.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { KIND_PIPE, KIND_FIFO, KIND_SOCKET, KIND_PTY, KIND_AIO, KIND_RING };

static const char *const kind_names[] = {"pipe", "fifo", "socket", "pty", "aio", "io_uring", NULL};

static const struct param_spec params[] = {
    {"kinds", PARAM_NAME, true, "pipe,fifo,socket,pty,aio,io_uring", 0, 0, kind_names,
     "what carries the bytes, or the requests", "kind"},
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"empty_read", "a non-blocking read of nothing fails with EAGAIN"},
    {"partial_read", "a non-blocking read of more than is available returns what is available"},
    {"full_write", "a non-blocking write accepts what there is room for, and none of it is lost"},
    {"select", "select reports exactly when bytes can be read or written"},
    {"poll", "poll reports exactly when bytes can be read or written"},
    {"fionread", "FIONREAD reports the number of bytes available"},
    {"sigio", "with O_ASYNC a signal arrives with the bytes, not before"},
    {"overlap", "the caller continues while its request is in progress"},
    {"progress", "aio_error and aio_return report the state of a request"},
    {"suspend", "aio_suspend waits for completion, for as long as requested"},
    {"file_transfer", "requests for a file go to their offsets"},
    {"list", "lio_listio returns when all of its requests are complete"},
    {"cancel", "a request reported as cancelled has not been carried out"},
    {0},
};

struct own {
    struct ipc_cleanup cleanup;
    struct rescue rescue;
    bool has_rescue, has_signals;
    sigset_t mask;
    struct sigaction action;
    int file; /* scratch file; -1: none */
};

static void take_no_notice(int number)
{
    (void)number;
}

/* In the main thread: those that it starts inherit the mask. The handler is for a thread that the C
 * library may have started without it: by default the signal ends the process. */
static void hold_signal(struct own *own)
{
    struct sigaction action = {.sa_handler = take_no_notice};
#ifdef SA_RESTART
    action.sa_flags = SA_RESTART;
#endif
    sigset_t held;
    sigemptyset(&action.sa_mask);
    sigemptyset(&held);
    sigaddset(&held, ASYNC_SIGNAL);
    own->has_signals = pthread_sigmask(SIG_BLOCK, &held, &own->mask) == 0 &&
                       sigaction(ASYNC_SIGNAL, &action, &own->action) == 0;
}

static void release_signal(const struct own *own)
{
    if (!own->has_signals)
        return;
    /* A signal that waits comes now, to the handler of this test. */
    pthread_sigmask(SIG_SETMASK, &own->mask, NULL);
    sigaction(ASYNC_SIGNAL, &own->action, NULL);
}

/* Without a folder there are no claims about files, and an event says so. */
static int check_folder(struct run *run)
{
    return run->folder ? file_place_check(run) : 0;
}

static int prepare_scratch(struct run *run)
{
    struct own *own = run->own;
    struct scratch scratch = {.folder = ""};
    uint64_t seed = run->seed ^ (uint64_t)clock_monotonic_ns();
    if (scratch_choose_in(&scratch, run->folder, true, seed) == 0)
        scratch_sweep(&scratch);
    if (ipc_cleanup_open_with(&own->cleanup, run, &scratch) != 0)
        return -1;
    if (scratch_make(&own->cleanup.scratch) != 0)
        own->cleanup.scratch.own[0] = '\0';
    own->file = scratch_file(&own->cleanup.scratch);
    return 0;
}

static int prepare(struct run *run)
{
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->file = -1;
    hold_signal(own);
    if (prepare_scratch(run) != 0)
        return -1;
    int error = rescue_start(&own->rescue);
    own->has_rescue = error == 0;
    return error ? outcome_set_errno(&run->outcome, error, "starting a second thread", NULL) : 0;
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (!own)
        return;
    if (own->has_rescue)
        rescue_end(&own->rescue);
    if (own->file >= 0)
        close(own->file);
    scratch_remove(&own->cleanup.scratch);
    ipc_cleanup_close(&own->cleanup);
    release_signal(own);
}

static int report_missing(struct run *run, const char *why)
{
    const char *kind = variant_text(run, "kinds");
    arena_event(
        run->arena, "kind_unsupported", -1,
        DATA(data_text("kind", kind), data_bool("is_shared", false), data_text("error", why)),
        "%s: %s", kind, why);
    return 0;
}

static int try_requests(struct run *run, int kind, const struct channel *pipe)
{
    struct own *own = run->own;
    if (own->file < 0)
        return report_missing(run, "no scratch file can be created; set TMPDIR to a writable "
                                   "folder");
    if (kind == KIND_AIO) {
        int error = request_claims_try(run, pipe, own->file, &own->rescue);
        return error ? report_missing(run, strerror(error)) : 0;
    }
    int error = ring_claims_try(run, pipe, own->file, &own->rescue);
    return error ? report_missing(run, port_io_ring_refusal(error)) : 0;
}

static int measure_variant(struct run *run)
{
    static const enum channel_kind channels[] = {CHANNEL_PIPE,     CHANNEL_FIFO, CHANNEL_SOCKET,
                                                 CHANNEL_TERMINAL, CHANNEL_PIPE, CHANNEL_PIPE};
    struct own *own = run->own;
    struct channel channel;
    int kind = (int)variant_number(run, "kinds");
    int error = channel_open(&channel, channels[kind], &own->cleanup.scratch);
    if (error)
        return report_missing(run, strerror(error));
    if (kind == KIND_AIO || kind == KIND_RING)
        try_requests(run, kind, &channel);
    else
        channel_claims_try(run, &channel, kind_names[kind], &own->rescue);
    channel_close(&channel);
    return 0;
}

static int judge(struct run *run)
{
    if (run->arena->verdict_count > 0)
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "choose other kinds",
                       "this system has none of the requested kinds");
}

const struct test fio_b_asy = {
    .id = "FIO-B-ASY",
    .title = "Non-blocking and asynchronous I/O",
    .source = "[O] Obenland 2000, [H] HP-UX 1987",
    .params = params,
    .verdicts = verdicts,
    .needs = TEST_NEEDS_A_CPU | TEST_NEEDS_FILES,
    .setup_ns = INT64_C(200000000),
    .sample_ns = 1,
    .check = check_folder,
    .prepare = prepare,
    .measure_variant = measure_variant,
    .judge = judge,
    .finish = finish,
};
