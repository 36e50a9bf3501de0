#include "base/posix_source.h"

#include "family/file/async.h"

#include "port/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { FEW = 10, BLOCK = 512, AT = 512, NOTHING = 1 /* no result of a request */ };
enum { TAG_READ = 1, TAG_WRITE, TAG_CANCEL };

static const char kind[] = "io_uring";

struct trial {
    struct run *run;
    const struct channel *pipe;
    int file;
    struct rescue *rescue;
    struct port_io_ring ring;
    int32_t results[TAG_CANCEL + 1]; /* by tag */
    bool is_done[TAG_CANCEL + 1];
    unsigned char bytes[BLOCK];
};

/* Takes what is complete. */
static void take(struct trial *trial)
{
    uint64_t tag;
    int32_t result;
    while (port_io_ring_take(&trial->ring, &tag, &result))
        if (tag <= TAG_CANCEL) {
            trial->results[tag] = result;
            trial->is_done[tag] = true;
        }
}

static bool wait_for(struct trial *trial, int tag)
{
    take(trial);
    for (int i = 0; i < ASYNC_PAUSES && !trial->is_done[tag]; i++) {
        async_pause();
        take(trial);
    }
    return trial->is_done[tag];
}

static void let_wait(const struct trial *trial, bool may_wait)
{
    int flags = fcntl(trial->pipe->out, F_GETFL);
    fcntl(trial->pipe->out, F_SETFL, may_wait ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

static int begin_read(struct trial *trial, bool *has_waited)
{
    memset(trial->is_done, 0, sizeof trial->is_done);
    let_wait(trial, true);
    rescue_arm(trial->rescue, RESCUE_FEEDS, trial->pipe->in);
    int error = port_io_ring_read(&trial->ring, trial->pipe->out, trial->bytes, FEW,
                                  PORT_RING_STREAM, TAG_READ);
    *has_waited = rescue_disarm(trial->rescue);
    return error;
}

static void settle(struct trial *trial)
{
    take(trial);
    for (int i = 0; i < ASYNC_PAUSES && !trial->is_done[TAG_READ]; i++) {
        channel_put(trial->pipe, 1);
        async_pause();
        take(trial);
    }
    let_wait(trial, false);
    channel_drain(trial->pipe);
}

static void try_overlap(struct trial *trial)
{
    struct async_claim claim = async_claim_begin(trial->run, "overlap", kind);
    unsigned char sent[FEW];
    bool has_waited;
    int error = begin_read(trial, &has_waited);
    channel_fill(sent, FEW, 0);
    async_expect(&claim, !error, "the request failed: %s", strerror(error));
    async_expect(&claim, !has_waited,
                 "the call returned only after another thread had written the data");
    if (!error && !has_waited) {
        take(trial);
        async_expect(&claim, !trial->is_done[TAG_READ],
                     "complete before there was anything to read");
        channel_put(trial->pipe, FEW);
        async_expect(&claim, wait_for(trial, TAG_READ),
                     "not complete after the bytes were written");
        async_expect(
            &claim, trial->results[TAG_READ] == FEW && memcmp(trial->bytes, sent, FEW) == 0,
            "not the %d bytes that were written: result %d", FEW, (int)trial->results[TAG_READ]);
    }
    if (!error)
        settle(trial);
    async_claim_end(&claim, "a read of an empty pipe was in progress while the caller wrote the "
                            "data");
}

static void try_file(struct trial *trial)
{
    struct async_claim claim = async_claim_begin(trial->run, "file_transfer", kind);
    unsigned char wanted[BLOCK], bytes[BLOCK];
    memset(trial->is_done, 0, sizeof trial->is_done);
    channel_fill(wanted, BLOCK, 1);
    int error = port_io_ring_write(&trial->ring, trial->file, wanted, BLOCK, AT, TAG_WRITE);
    async_expect(&claim, !error && wait_for(trial, TAG_WRITE) && trial->results[TAG_WRITE] == BLOCK,
                 "a write of %d bytes: result %d (%s)", BLOCK, (int)trial->results[TAG_WRITE],
                 strerror(error));
    async_expect(&claim,
                 pread(trial->file, bytes, BLOCK, AT) == BLOCK && memcmp(bytes, wanted, BLOCK) == 0,
                 "pread does not give what was written at byte %d", AT);
    error = port_io_ring_read(&trial->ring, trial->file, trial->bytes, BLOCK, AT, TAG_READ);
    async_expect(&claim,
                 !error && wait_for(trial, TAG_READ) && trial->results[TAG_READ] == BLOCK &&
                     memcmp(trial->bytes, wanted, BLOCK) == 0,
                 "a read did not give what is at byte %d: result %d (%s)", AT,
                 (int)trial->results[TAG_READ], strerror(error));
    async_claim_end(&claim, "a block written and read at its offset");
}

/* -EALREADY: too late to cancel; the request then ends as if nobody had asked. */
static void try_cancel(struct trial *trial)
{
    struct async_claim claim = async_claim_begin(trial->run, "cancel", kind);
    bool has_waited;
    int error = begin_read(trial, &has_waited);
    if (!error)
        error = port_io_ring_cancel(&trial->ring, TAG_READ, TAG_CANCEL);
    async_expect(&claim, !error && wait_for(trial, TAG_CANCEL), "the request to cancel failed: %s",
                 strerror(error));
    int answer = trial->is_done[TAG_CANCEL] ? (int)trial->results[TAG_CANCEL] : NOTHING;
    async_expect(&claim, answer == 0 || answer == -EALREADY,
                 "the request to cancel a read under way ended with %d", answer);
    bool is_cancelled = answer == 0 && wait_for(trial, TAG_READ);
    int32_t result = trial->is_done[TAG_READ] ? trial->results[TAG_READ] : NOTHING;
    async_expect(&claim,
                 answer != 0 || (is_cancelled && (result == -ECANCELED || result == -EINTR)),
                 "it was to be cancelled, but %s", is_cancelled ? "ended otherwise" : "went on");
    settle(trial);
    async_claim_end(&claim, answer == 0 ? "the read ended as cancelled, and had read nothing"
                                        : "too late to cancel; the read went on");
}

int ring_claims_try(struct run *run, const struct channel *pipe, int file, struct rescue *rescue)
{
    struct trial trial = {.run = run, .pipe = pipe, .file = file, .rescue = rescue};
    int error = port_io_ring_open(&trial.ring);
    if (error)
        return error;
    try_overlap(&trial);
    try_file(&trial);
    try_cancel(&trial);
    port_io_ring_close(&trial.ring);
    return 0;
}
