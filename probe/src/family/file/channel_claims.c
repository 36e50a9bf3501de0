#include "base/posix_source.h"

#include "family/file/async.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { FEW = 10, PART = 3, MORE = 5, ASKED = 100, WAIT_MS = 1000 };

struct trial {
    struct run *run;
    const struct channel *channel;
    const char *kind;
    struct rescue *rescue;
};

/* read, which another thread ends should it wait. `error`: its errno value. */
static ssize_t read_now(const struct trial *trial, unsigned char *bytes, size_t count, int *error,
                        bool *has_waited)
{
    rescue_arm(trial->rescue, RESCUE_FEEDS, trial->channel->in);
    ssize_t got = read(trial->channel->out, bytes, count);
    *error = got < 0 ? errno : 0;
    *has_waited = rescue_disarm(trial->rescue);
    return got;
}

static void try_empty(const struct trial *trial)
{
    struct async_claim claim = async_claim_begin(trial->run, "empty_read", trial->kind);
    unsigned char bytes[ASKED];
    bool has_waited;
    int error;
    ssize_t got = read_now(trial, bytes, sizeof bytes, &error, &has_waited);
    async_expect(&claim, !has_waited, "read of nothing waited until another thread wrote");
    async_expect(&claim, got == -1 && error == EAGAIN,
                 "read of nothing returned %ld (%s), not EAGAIN", (long)got,
                 error ? strerror(error) : "no error");
    channel_drain(trial->channel);
    async_claim_end(&claim, "read of nothing returned EAGAIN");
}

static void try_partial(const struct trial *trial)
{
    struct async_claim claim = async_claim_begin(trial->run, "partial_read", trial->kind);
    unsigned char bytes[ASKED], sent[FEW];
    bool has_waited;
    int error;
    channel_fill(sent, FEW, 0);
    async_expect(&claim, channel_put(trial->channel, FEW), "%d bytes could not be written", FEW);
    channel_settle(trial->channel);
    ssize_t got = read_now(trial, bytes, sizeof bytes, &error, &has_waited);
    async_expect(&claim, !has_waited, "read of %d bytes waited for more than the %d available",
                 ASKED, FEW);
    async_expect(&claim, got == FEW, "read of %d bytes returned %ld (%s), %d were available", ASKED,
                 (long)got, error ? strerror(error) : "no error", FEW);
    async_expect(&claim, got != FEW || memcmp(bytes, sent, FEW) == 0,
                 "the bytes are not those that were written");
    channel_drain(trial->channel);
    async_claim_end(&claim, "read of 100 bytes returned the 10 available");
}

static int64_t stuff_now(const struct trial *trial, int *error, bool *has_waited)
{
    rescue_arm(trial->rescue, RESCUE_EMPTIES, trial->channel->out);
    int64_t taken = channel_stuff(trial->channel, &trial->rescue->was_needed, error);
    *has_waited = rescue_disarm(trial->rescue);
    return taken;
}

static void try_full(const struct trial *trial)
{
    struct async_claim claim = async_claim_begin(trial->run, "full_write", trial->kind);
    char seen[ASYNC_TEXT_BYTES];
    bool has_waited;
    int error;
    int64_t taken = stuff_now(trial, &error, &has_waited);
    async_expect(&claim, !has_waited, "a write to a full one waited until another thread read");
    async_expect(&claim, error == EAGAIN, "took %lld bytes, then %s, not EAGAIN", (long long)taken,
                 error ? strerror(error) : "was never full");
    async_expect(&claim, taken > 0, "an empty one took nothing");
    int64_t given = channel_drain(trial->channel);
    async_expect(&claim, has_waited || given == taken, "took %lld bytes and gave %lld",
                 (long long)taken, (long long)given);
    snprintf(seen, sizeof seen, "took %lld bytes, then EAGAIN; all of them came out",
             (long long)taken);
    async_claim_end(&claim, seen);
}

/* ---- readiness ---- */

static int select_says(int file, bool to_write, int wait_ms)
{
    return async_select(file, to_write, wait_ms);
}

static int poll_says(int file, bool to_write, int wait_ms)
{
    short event = to_write ? POLLOUT : POLLIN;
    struct pollfd wanted = {.fd = file, .events = event};
    int count = poll(&wanted, 1, wait_ms);
    return count > 0 ? (wanted.revents & event) != 0 : count;
}

struct means {
    const char *name;
    int (*says)(int file, bool to_write, int wait_ms);
};

static void try_readable(struct async_claim *claim, const struct means *means,
                         const struct channel *channel)
{
    async_expect(claim, means->says(channel->out, false, 0) == 0,
                 "readable while there is no data");
    channel_put(channel, FEW);
    async_expect(claim, means->says(channel->out, false, WAIT_MS) == 1,
                 "not readable within %d ms although %d bytes were written", WAIT_MS, FEW);
    channel_settle(channel);
    channel_drain(channel);
    async_expect(claim, means->says(channel->out, false, 0) == 0,
                 "readable after everything was "
                 "read");
}

static void try_writable(struct async_claim *claim, const struct means *means,
                         const struct trial *trial)
{
    const struct channel *channel = trial->channel;
    int error;
    async_expect(claim, means->says(channel->in, true, WAIT_MS) == 1,
                 "not writable although it is empty");
    rescue_arm(trial->rescue, RESCUE_EMPTIES, channel->out);
    channel_stuff(channel, &trial->rescue->was_needed, &error);
    async_expect(claim, !rescue_disarm(trial->rescue), "a write to a full one waited");
    async_expect(claim, means->says(channel->in, true, 0) == 0, "writable although it is full");
    channel_drain(channel);
    async_expect(claim, means->says(channel->in, true, WAIT_MS) == 1,
                 "not writable although everything was read");
}

static void report_missing(const struct trial *trial, const char *claim, int error)
{
    arena_event(trial->run->arena, "claim_unsupported", -1,
                DATA(data_text("claim", claim), data_text("kind", trial->kind),
                     data_text("error", strerror(error))),
                "%s, %s: this system has none (%s)", claim, trial->kind, strerror(error));
}

static void try_readiness(const struct trial *trial, const struct means *means)
{
    struct async_claim claim = async_claim_begin(trial->run, means->name, trial->kind);
    if (means->says(trial->channel->out, false, 0) < 0 && status_is_missing(errno)) {
        report_missing(trial, means->name, errno);
        return;
    }
    try_readable(&claim, means, trial->channel);
    try_writable(&claim, means, trial);
    async_claim_end(&claim, "readable exactly when there is data, writable exactly when there is "
                            "room");
}

/* ---- FIONREAD ---- */

static void expect_queued(struct async_claim *claim, const struct channel *channel, int expected)
{
    int count = -1, error = async_queued_bytes(channel->out, &count);
    for (int i = 0; channel->is_late && !error && count < expected && i < ASYNC_PAUSES; i++) {
        async_pause();
        error = async_queued_bytes(channel->out, &count);
    }
    async_expect(claim, !error && count == expected, "reported %d bytes%s%s, %d were available",
                 count, error ? ": " : "", error ? strerror(error) : "", expected);
}

static void try_queued(const struct trial *trial)
{
    struct async_claim claim = async_claim_begin(trial->run, "fionread", trial->kind);
    unsigned char bytes[PART];
    int count, error = async_queued_bytes(trial->channel->out, &count);
    if (status_is_missing(error) || error == ENOTTY) {
        report_missing(trial, "fionread", error);
        return;
    }
    expect_queued(&claim, trial->channel, 0);
    channel_put(trial->channel, FEW);
    expect_queued(&claim, trial->channel, FEW);
    async_expect(&claim, read(trial->channel->out, bytes, PART) == PART,
                 "%d bytes could not be read", PART);
    expect_queued(&claim, trial->channel, FEW - PART);
    channel_put(trial->channel, MORE);
    expect_queued(&claim, trial->channel, FEW - PART + MORE);
    channel_drain(trial->channel);
    expect_queued(&claim, trial->channel, 0);
    async_claim_end(&claim, "reported 0, 10, 7, 12 and 0 bytes, as many as were available");
}

/* ---- the signal ---- */

static bool signal_comes(int wait_ms)
{
    sigset_t wanted;
    struct timespec time = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000};
    sigemptyset(&wanted);
    sigaddset(&wanted, ASYNC_SIGNAL);
    int got;
    while ((got = sigtimedwait(&wanted, NULL, &time)) < 0 && errno == EINTR)
        ;
    return got == ASYNC_SIGNAL;
}

static void drop_signals(void)
{
    while (signal_comes(0))
        ;
}

static void try_signal(const struct trial *trial)
{
    struct async_claim claim = async_claim_begin(trial->run, "sigio", trial->kind);
    drop_signals();
    int error = async_signal_on(trial->channel->out);
    if (error) {
        report_missing(trial, "sigio", error);
        return;
    }
    async_expect(&claim, !signal_comes(0), "it came before there was anything to read");
    channel_put(trial->channel, FEW);
    async_expect(&claim, signal_comes(WAIT_MS), "none within %d ms after bytes had been written",
                 WAIT_MS);
    channel_settle(trial->channel);
    channel_drain(trial->channel);
    drop_signals();
    async_expect(&claim, channel_put(trial->channel, FEW) && signal_comes(WAIT_MS),
                 "none for the second write");
    async_signal_off(trial->channel->out);
    channel_settle(trial->channel);
    channel_drain(trial->channel);
    drop_signals();
    async_claim_end(&claim, "it came with the bytes, twice, and not before");
}

void channel_claims_try(struct run *run, const struct channel *channel, const char *kind,
                        struct rescue *rescue)
{
    static const struct means selects = {"select", select_says}, polls = {"poll", poll_says};
    struct trial trial = {run, channel, kind, rescue};
    try_empty(&trial);
    try_partial(&trial);
    try_full(&trial);
    try_readiness(&trial, &selects);
    try_readiness(&trial, &polls);
    try_queued(&trial);
    try_signal(&trial);
}
