#include "base/posix_source.h"

#include "family/file/async.h"

#include "base/options.h"

#include <errno.h>

#if HS_HAS_AIO

#include <aio.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FEW = 10, WAIT_S = 1, SHORT_NS = 1000000, BLOCK = 512, BLOCKS = 2 };

static const char kind[] = "aio";

/* A request and its memory, which must stay until it is complete. */
struct transfer {
    struct aiocb block;
    unsigned char bytes[BLOCK];
};

struct trial {
    struct run *run;
    const struct channel *pipe;
    int file;
    struct rescue *rescue;
    struct transfer transfers[BLOCKS];
};

static struct aiocb *plan(struct transfer *transfer, int file, size_t count, off_t offset)
{
    memset(&transfer->block, 0, sizeof transfer->block);
    transfer->block.aio_fildes = file;
    transfer->block.aio_buf = transfer->bytes;
    transfer->block.aio_nbytes = count;
    transfer->block.aio_offset = offset;
    transfer->block.aio_sigevent.sigev_notify = SIGEV_NONE;
    return &transfer->block;
}

/* Whether a read of the empty pipe waits: that of a request has to. */
static void let_wait(const struct trial *trial, bool may_wait)
{
    int flags = fcntl(trial->pipe->out, F_GETFL);
    fcntl(trial->pipe->out, F_SETFL, may_wait ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

/* Starts a read of the empty pipe. */
static int begin_read(struct trial *trial, bool *has_waited)
{
    let_wait(trial, true);
    struct aiocb *block = plan(&trial->transfers[0], trial->pipe->out, FEW, 0);
    rescue_arm(trial->rescue, RESCUE_FEEDS, trial->pipe->in);
    int error = aio_read(block) == 0 ? 0 : errno;
    *has_waited = rescue_disarm(trial->rescue);
    return error;
}

static int suspend(const struct aiocb *block, time_t wait_s, long wait_ns)
{
    const struct aiocb *const list[1] = {block};
    const struct timespec time = {.tv_sec = wait_s, .tv_nsec = wait_ns};
    int error;
    do
        error = aio_suspend(list, 1, &time) == 0 ? 0 : errno;
    while (error == EINTR);
    return error;
}

/* Waits without aio_suspend, which is tried by itself: errno value of the request, EINPROGRESS if
 * it is not complete after a second. */
static int wait_for(const struct aiocb *block)
{
    int error = aio_error(block);
    for (int i = 0; error == EINPROGRESS && i < ASYNC_PAUSES; i++) {
        async_pause();
        error = aio_error(block);
    }
    return error;
}

/* Whatever went wrong: nothing uses the memory of a request any more. */
static void settle(struct trial *trial, struct aiocb *block)
{
    for (int i = 0; i < ASYNC_PAUSES && aio_error(block) == EINPROGRESS; i++) {
        channel_put(trial->pipe, 1);
        async_pause();
    }
    async_pause();
    let_wait(trial, false);
    channel_drain(trial->pipe);
}

static void expect_bytes(struct async_claim *claim, const struct transfer *transfer, ssize_t got)
{
    unsigned char sent[FEW];
    channel_fill(sent, FEW, 0);
    async_expect(claim, got == FEW, "aio_return is %ld, %d bytes were written", (long)got, FEW);
    async_expect(claim, got != FEW || memcmp(transfer->bytes, sent, FEW) == 0,
                 "the bytes are not those that were written");
}

static void expect_no_wait(struct async_claim *claim, int error, bool has_waited)
{
    async_expect(claim, !error, "aio_read failed: %s", strerror(error));
    async_expect(claim, !has_waited,
                 "aio_read returned only after another thread had written the data");
}

static void try_overlap(struct trial *trial)
{
    struct async_claim claim = async_claim_begin(trial->run, "overlap", kind);
    struct aiocb *block = &trial->transfers[0].block;
    bool has_waited;
    int error = begin_read(trial, &has_waited);
    expect_no_wait(&claim, error, has_waited);
    if (!error && !has_waited)
        async_expect(&claim, channel_put(trial->pipe, FEW), "the pipe could not be written");
    if (!error) {
        async_expect(&claim, wait_for(block) == 0, "not complete: %s", strerror(aio_error(block)));
        settle(trial, block);
        expect_bytes(&claim, &trial->transfers[0], aio_return(block));
    }
    async_claim_end(&claim, "aio_read of an empty pipe returned before the caller wrote the data");
}

static void try_progress(struct trial *trial)
{
    struct async_claim claim = async_claim_begin(trial->run, "progress", kind);
    struct aiocb *block = &trial->transfers[0].block;
    bool has_waited;
    int error = begin_read(trial, &has_waited), before = error ? error : aio_error(block);
    async_expect(&claim, before == EINPROGRESS,
                 "aio_error is %d (%s) before there was anything to read, not EINPROGRESS", before,
                 strerror(before));
    channel_put(trial->pipe, FEW);
    int after = error ? error : wait_for(block);
    async_expect(&claim, after == 0, "aio_error is %d (%s) a second after the bytes were written",
                 after, strerror(after));
    if (!error) {
        settle(trial, block);
        expect_bytes(&claim, &trial->transfers[0], aio_return(block));
    }
    async_claim_end(&claim, "aio_error was EINPROGRESS before and 0 after the bytes were written, "
                            "aio_return their number");
}

static void try_suspend(struct trial *trial)
{
    struct async_claim claim = async_claim_begin(trial->run, "suspend", kind);
    struct aiocb *block = &trial->transfers[0].block;
    bool has_waited;
    int error = begin_read(trial, &has_waited);
    expect_no_wait(&claim, error, has_waited);
    if (!error) {
        int early = suspend(block, 0, SHORT_NS);
        async_expect(&claim, early == EAGAIN, "aio_suspend for 1 ms ended with %s, not EAGAIN",
                     early ? strerror(early) : "0");
        channel_put(trial->pipe, FEW);
        int late = suspend(block, WAIT_S, 0);
        async_expect(&claim, late == 0, "aio_suspend ended with %s when the bytes had been written",
                     strerror(late));
        async_expect(&claim, late || aio_error(block) == 0,
                     "aio_suspend ended before the request was complete");
        settle(trial, block);
        aio_return(block);
    }
    async_claim_end(&claim, "aio_suspend timed out before the bytes were written, and ended with "
                            "the request afterwards");
}

/* ---- files ---- */

static bool holds(int file, int place, unsigned char *bytes)
{
    unsigned char wanted[BLOCK];
    channel_fill(wanted, BLOCK, (size_t)place + 1);
    return pread(file, bytes, BLOCK, (off_t)place * BLOCK) == BLOCK &&
           memcmp(bytes, wanted, BLOCK) == 0;
}

/* Both blocks, the later one first: the offsets say where they go. */
static void try_file(struct trial *trial)
{
    struct async_claim claim = async_claim_begin(trial->run, "file_transfer", kind);
    unsigned char bytes[BLOCK];
    for (int i = BLOCKS - 1; i >= 0; i--) {
        struct aiocb *block = plan(&trial->transfers[i], trial->file, BLOCK, (off_t)i * BLOCK);
        channel_fill(trial->transfers[i].bytes, BLOCK, (size_t)i + 1);
        int error = aio_write(block) == 0 ? wait_for(block) : errno;
        ssize_t put = error ? -1 : aio_return(block);
        async_expect(&claim, put == BLOCK, "aio_write of %d bytes: %ld (%s)", BLOCK, (long)put,
                     strerror(error));
        async_expect(&claim, holds(trial->file, i, bytes),
                     "pread does not give what aio_write wrote at byte %d", i * BLOCK);
    }
    struct aiocb *block = plan(&trial->transfers[0], trial->file, BLOCK, BLOCK);
    int error = aio_read(block) == 0 ? wait_for(block) : errno;
    ssize_t got = error ? -1 : aio_return(block);
    channel_fill(bytes, BLOCK, 2);
    async_expect(&claim, got == BLOCK && memcmp(trial->transfers[0].bytes, bytes, BLOCK) == 0,
                 "aio_read did not give what is at byte %d: %ld (%s)", BLOCK, (long)got,
                 strerror(error));
    async_claim_end(&claim, "two blocks written and one read at their offsets");
}

static void expect_listed(struct async_claim *claim, struct trial *trial)
{
    unsigned char bytes[BLOCK];
    for (int i = 0; i < BLOCKS; i++) {
        struct aiocb *block = &trial->transfers[i].block;
        int error = aio_error(block);
        async_expect(claim, error == 0, "LIO_WAIT returned with a request at %s", strerror(error));
        error = wait_for(block);
        ssize_t put = error ? -1 : aio_return(block);
        async_expect(claim, put == BLOCK, "a write of the list: %ld of %d bytes (%s)", (long)put,
                     BLOCK, strerror(error));
        async_expect(claim, holds(trial->file, i, bytes), "the list has not written its blocks");
    }
}

static void try_list(struct trial *trial)
{
    struct async_claim claim = async_claim_begin(trial->run, "list", kind);
    struct aiocb *list[BLOCKS];
    async_expect(&claim, ftruncate(trial->file, 0) == 0, "the file could not be emptied");
    for (int i = 0; i < BLOCKS; i++) {
        list[i] = plan(&trial->transfers[i], trial->file, BLOCK, (off_t)i * BLOCK);
        list[i]->aio_lio_opcode = LIO_WRITE;
        channel_fill(trial->transfers[i].bytes, BLOCK, (size_t)i + 1);
    }
    bool is_done = lio_listio(LIO_WAIT, list, BLOCKS, NULL) == 0;
    async_expect(&claim, is_done, "lio_listio(LIO_WAIT) failed: %s", strerror(errno));
    if (is_done)
        expect_listed(&claim, trial);
    async_claim_end(&claim, "lio_listio(LIO_WAIT) returned when both writes were complete");
}

/* ---- aio_cancel ---- */

static const char *expect_cancelled(struct async_claim *claim, struct trial *trial)
{
    struct aiocb *block = &trial->transfers[0].block;
    unsigned char bytes[FEW];
    int error = aio_error(block);
    async_expect(claim, error == ECANCELED, "AIO_CANCELED, but aio_error is %d (%s)", error,
                 strerror(error));
    let_wait(trial, false);
    channel_put(trial->pipe, FEW);
    async_expect(claim, read(trial->pipe->out, bytes, FEW) == FEW,
                 "AIO_CANCELED, but the request read later data");
    return "cancelled: aio_error is ECANCELED, and it read nothing";
}

static const char *expect_kept(struct async_claim *claim, struct trial *trial)
{
    struct aiocb *block = &trial->transfers[0].block;
    channel_put(trial->pipe, FEW);
    int error = wait_for(block);
    async_expect(claim, error == 0, "AIO_NOTCANCELED, but the request ended with %s",
                 strerror(error));
    return "AIO_NOTCANCELED: the request continued and read later data";
}

static void try_cancel(struct trial *trial)
{
    struct async_claim claim = async_claim_begin(trial->run, "cancel", kind);
    struct aiocb *block = &trial->transfers[0].block;
    const char *seen = "";
    bool has_waited;
    int error = begin_read(trial, &has_waited);
    expect_no_wait(&claim, error, has_waited);
    if (error) {
        async_claim_end(&claim, seen);
        return;
    }
    async_pause(); /* until whoever serves it has begun */
    int answer = aio_cancel(trial->pipe->out, block);
    async_expect(&claim, answer == AIO_CANCELED || answer == AIO_NOTCANCELED,
                 "aio_cancel of a request in progress returned %d", answer);
    seen = answer == AIO_CANCELED ? expect_cancelled(&claim, trial) : expect_kept(&claim, trial);
    settle(trial, block);
    aio_return(block);
    async_claim_end(&claim, seen);
}

/* Whether the system does any of it, and lets this user. */
static int refusal(struct trial *trial)
{
    struct aiocb *block = plan(&trial->transfers[0], trial->file, 1, 0);
    if (aio_write(block) != 0)
        return errno;
    wait_for(block);
    aio_return(block);
    return 0;
}

int request_claims_try(struct run *run, const struct channel *pipe, int file, struct rescue *rescue)
{
    struct trial trial = {.run = run, .pipe = pipe, .file = file, .rescue = rescue};
    int error = refusal(&trial);
    if (error)
        return error;
    try_overlap(&trial);
    try_progress(&trial);
    try_suspend(&trial);
    try_file(&trial);
    try_list(&trial);
    try_cancel(&trial);
    let_wait(&trial, false);
    channel_drain(pipe);
    return 0;
}

#else

int request_claims_try(struct run *run, const struct channel *pipe, int file, struct rescue *rescue)
{
    (void)run, (void)pipe, (void)file, (void)rescue;
    return ENOSYS;
}

#endif
