#include "base/posix_source.h"

#include "family/file/async.h"

#include "base/clock.h"
#include "base/options.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- a claim ---- */

struct async_claim async_claim_begin(struct run *run, const char *name, const char *kind)
{
    return (struct async_claim){.run = run, .name = name, .kind = kind};
}

bool async_expect(struct async_claim *claim, bool is_so, const char *format, ...)
{
    if (is_so || claim->has_failed)
        return is_so;
    va_list words;
    va_start(words, format);
    vsnprintf(claim->failure, sizeof claim->failure, format, words);
    va_end(words);
    claim->has_failed = true;
    return false;
}

void async_claim_end(const struct async_claim *claim, const char *seen)
{
    char name[ARENA_NAME_BYTES];
    if (run_should_stop())
        return;
    snprintf(name, sizeof name, "%s/%s", claim->name, claim->kind);
    arena_verdict(claim->run->arena, !claim->has_failed, 1, name, "%s",
                  claim->has_failed ? claim->failure : seen);
}

void async_pause(void)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    nanosleep(&moment, NULL);
}

/* ---- a channel ---- */

#define MOST_BYTES (INT64_C(256) << 20) /* an end that takes more is never full */

enum { BLOCK_BYTES = 4096, QUIET_PAUSES = 5, STREAM_PERIOD = 251 };

static int set_nonblocking(int file)
{
    int flags = fcntl(file, F_GETFL);
    if (flags < 0 || fcntl(file, F_SETFL, flags | O_NONBLOCK) != 0)
        return errno;
    return fcntl(file, F_SETFD, FD_CLOEXEC) == 0 ? 0 : errno;
}

static int open_pipe(int ends[2])
{
    return pipe(ends) == 0 ? 0 : errno;
}

static int open_socket(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 ? 0 : errno;
}

/* The reader is opened first: without one a FIFO cannot be opened for writing without waiting. */
static int open_fifo(int ends[2], const struct scratch *scratch)
{
#if HS_HAS_FIFO
    char path[SCRATCH_BYTES + 16];
    if (scratch->own[0] == '\0')
        return ENOENT;
    snprintf(path, sizeof path, "%s/fifo", scratch->own);
    if (mkfifo(path, 0600) != 0)
        return errno;
    ends[0] = open(path, O_RDONLY | O_NONBLOCK);
    ends[1] = ends[0] < 0 ? -1 : open(path, O_WRONLY | O_NONBLOCK);
    int error = ends[1] < 0 ? errno : 0;
    unlink(path);
    if (error && ends[0] >= 0)
        close(ends[0]);
    return error;
#else
    (void)ends, (void)scratch;
    return ENOSYS;
#endif
}

int channel_open(struct channel *channel, enum channel_kind kind, const struct scratch *scratch)
{
    int ends[2] = {-1, -1}, error;
    channel->kind = kind;
    channel->is_late = kind == CHANNEL_TERMINAL;
    if (kind == CHANNEL_PIPE)
        error = open_pipe(ends);
    else if (kind == CHANNEL_FIFO)
        error = open_fifo(ends, scratch);
    else
        error = kind == CHANNEL_SOCKET ? open_socket(ends) : async_terminal_open(ends);
    channel->out = ends[0];
    channel->in = ends[1];
    for (int i = 0; i < 2 && !error; i++) {
        error = set_nonblocking(ends[i]);
        if (error)
            channel_close(channel);
    }
    return error;
}

void channel_close(struct channel *channel)
{
    close(channel->in);
    close(channel->out);
}

void channel_fill(unsigned char *bytes, size_t count, size_t from)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)((from + i) % STREAM_PERIOD);
}

bool channel_put(const struct channel *channel, size_t count)
{
    unsigned char bytes[256];
    count = count < sizeof bytes ? count : sizeof bytes;
    channel_fill(bytes, count, 0);
    return write(channel->in, bytes, count) == (ssize_t)count;
}

static bool can_be_read(int file)
{
    struct pollfd wanted = {.fd = file, .events = POLLIN};
    int queued = 0;
    return poll(&wanted, 1, 0) > 0 || async_select(file, false, 0) > 0 ||
           (async_queued_bytes(file, &queued) == 0 && queued > 0);
}

void channel_settle(const struct channel *channel)
{
    for (int i = 0; channel->is_late && i < ASYNC_PAUSES && !can_be_read(channel->out); i++)
        async_pause();
}

int64_t channel_drain(const struct channel *channel)
{
    char block[BLOCK_BYTES];
    int64_t sum = 0;
    for (int quiet = 0; quiet < (channel->is_late ? QUIET_PAUSES : 1);) {
        ssize_t got = read(channel->out, block, sizeof block);
        sum += got > 0 ? got : 0;
        quiet = got > 0 ? 0 : quiet + 1;
        if (got <= 0 && channel->is_late)
            async_pause();
    }
    return sum;
}

/* What is late makes room for more when it arrives. */
int64_t channel_stuff(const struct channel *channel, const atomic_bool *is_over, int *error)
{
    unsigned char block[BLOCK_BYTES];
    int64_t sum = 0;
    memset(block, 'h', sizeof block);
    *error = 0;
    int most = channel->is_late ? QUIET_PAUSES : 1;
    for (int full = 0; sum < MOST_BYTES && full < most && !atomic_load(is_over);) {
        ssize_t put = write(channel->in, block, sizeof block);
        *error = put < 0 ? errno : 0;
        sum += put > 0 ? put : 0;
        full = put > 0 ? 0 : full + 1;
        if (put <= 0 && channel->is_late)
            async_pause();
    }
    return sum;
}

/* ---- rescue ---- */

enum { LOOK_NS = 5000000, BYTES = 1024 };

/* Neither waits: what is fed is empty, and what is emptied is full. */
static void act(struct rescue *rescue)
{
    char bytes[BYTES] = "x";
    atomic_store(&rescue->was_needed, true);
    ssize_t moved = rescue->action == RESCUE_FEEDS ? write(rescue->file, bytes, 1)
                                                   : read(rescue->file, bytes, sizeof bytes);
    (void)moved;
}

static void look(struct rescue *rescue)
{
    int waits = RESCUE_WAITS;
    if (!atomic_compare_exchange_strong(&rescue->state, &waits, RESCUE_ACTS))
        return;
    if (clock_monotonic_ns() - rescue->armed_ns >= RESCUE_NS)
        act(rescue);
    atomic_store(&rescue->state, RESCUE_WAITS);
}

static void watch(void *argument)
{
    struct rescue *rescue = argument;
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    while (!atomic_load(&rescue->is_over)) {
        look(rescue);
        nanosleep(&pause, NULL);
    }
}

int rescue_start(struct rescue *rescue)
{
    struct rt_thread_setup setup = {SCHED_OTHER, rt_thread_ordinary_priority(), -1};
    atomic_store(&rescue->state, RESCUE_RESTS);
    atomic_store(&rescue->is_over, false);
    int error = rt_thread_start_with_stack(&rescue->thread, &setup, RT_THREAD_SMALL_STACK_BYTES,
                                           watch, rescue);
    if (!error)
        rt_thread_go(&rescue->thread);
    return error;
}

void rescue_end(struct rescue *rescue)
{
    atomic_store(&rescue->is_over, true);
    rt_thread_join(&rescue->thread);
}

void rescue_arm(struct rescue *rescue, enum rescue_action action, int file)
{
    rescue->action = action;
    rescue->file = file;
    rescue->armed_ns = clock_monotonic_ns();
    atomic_store(&rescue->was_needed, false);
    atomic_store(&rescue->state, RESCUE_WAITS);
}

/* Sleeps while the other thread acts: it may need this CPU. */
bool rescue_disarm(struct rescue *rescue)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    for (int waits = RESCUE_WAITS;
         !atomic_compare_exchange_strong(&rescue->state, &waits, RESCUE_RESTS);
         waits = RESCUE_WAITS)
        nanosleep(&pause, NULL);
    return atomic_load(&rescue->was_needed);
}
