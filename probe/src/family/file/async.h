/* What the claims of FIO-B-ASY are made with: calls that a system may lack, one claim, a channel
 * for bytes, and a second thread that ends a call which waits. */
#ifndef HS_FAMILY_FILE_ASYNC_H
#define HS_FAMILY_FILE_ASYNC_H

#include "base/posix_source.h"

#include "base/options.h"
#include "base/rt_thread.h"
#include "run/run.h"
#include "work/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/select.h>
#include <unistd.h>

/* ---- calls that a system may lack ---- */

/* Calls of non-blocking and asynchronous I/O that a small system may lack (base/options.h). There
 * each one fails with ENOSYS. Those that return int return 0 or an errno value. */

/* select for one descriptor: 1 if it is ready, 0 after the time, -1 with errno. */
static inline int async_select(int file, bool to_write, int wait_ms)
{
    fd_set wanted;
    struct timeval time = {.tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000};
    if (file >= FD_SETSIZE) {
        errno = EINVAL;
        return -1;
    }
    FD_ZERO(&wanted);
    FD_SET(file, &wanted);
    return select(file + 1, to_write ? NULL : &wanted, to_write ? &wanted : NULL, NULL, &time);
}

/* ---- bytes that can be read ---- */

#if HS_HAS_QUEUED_BYTES
#include <sys/ioctl.h>

static inline int async_queued_bytes(int file, int *count)
{
    return ioctl(file, FIONREAD, count) == 0 ? 0 : errno;
}
#else
static inline int async_queued_bytes(int file, int *count)
{
    (void)file, (void)count;
    return ENOSYS;
}
#endif

/* ---- a signal when bytes arrive ---- */

#if HS_HAS_READY_SIGNAL
enum { ASYNC_SIGNAL = SIGIO };

/* Has the kernel send ASYNC_SIGNAL to this process when `file` becomes readable, or no more. */
static inline int async_signal_on(int file)
{
    int flags = fcntl(file, F_GETFL);
    if (flags < 0 || fcntl(file, F_SETFL, flags | O_ASYNC) != 0)
        return errno;
    return fcntl(file, F_SETOWN, getpid()) == 0 ? 0 : errno;
}

static inline void async_signal_off(int file)
{
    int flags = fcntl(file, F_GETFL);
    if (flags >= 0)
        fcntl(file, F_SETFL, flags & ~O_ASYNC);
}
#else
enum { ASYNC_SIGNAL = SIGUSR1 };

static inline int async_signal_on(int file)
{
    (void)file;
    return ENOSYS;
}

static inline void async_signal_off(int file)
{
    (void)file;
}
#endif

/* ---- pseudo-terminals ---- */

#if HS_HAS_TERMINALS
#include <termios.h>

/* Bytes pass as they are, each at once. */
static inline int async_make_raw(int terminal)
{
    struct termios modes;
    if (tcgetattr(terminal, &modes) != 0)
        return errno;
    modes.c_iflag = 0;
    modes.c_oflag &= ~(tcflag_t)OPOST;
    modes.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
    modes.c_cc[VMIN] = 1;
    modes.c_cc[VTIME] = 0;
    return tcsetattr(terminal, TCSANOW, &modes) == 0 ? 0 : errno;
}

/* ends[0]: the terminal, ends[1]: its master. */
static inline int async_terminal_open(int ends[2])
{
    ends[1] = posix_openpt(O_RDWR | O_NOCTTY);
    if (ends[1] < 0)
        return errno;
    const char *name = grantpt(ends[1]) == 0 && unlockpt(ends[1]) == 0 ? ptsname(ends[1]) : NULL;
    ends[0] = name ? open(name, O_RDWR | O_NOCTTY) : -1;
    int error = ends[0] < 0 ? errno : async_make_raw(ends[0]);
    if (!error)
        return 0;
    if (ends[0] >= 0)
        close(ends[0]);
    close(ends[1]);
    return error;
}
#else
static inline int async_terminal_open(int ends[2])
{
    (void)ends;
    return ENOSYS;
}
#endif

/* ---- a claim ---- */

/* One claim of FIO-B-ASY: what was expected, the first thing that was not so, and its verdict. */

enum { ASYNC_TEXT_BYTES = 160 };

struct async_claim {
    struct run *run;
    const char *name, *kind;
    bool has_failed;
    char failure[ASYNC_TEXT_BYTES]; /* empty: none yet */
};

/* Begins the claim `name` about `kind`. */
struct async_claim async_claim_begin(struct run *run, const char *name, const char *kind);

/* If it is not so: keeps the text, unless something failed before. Returns is_so. */
bool async_expect(struct async_claim *claim, bool is_so, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes the verdict NAME/KIND: `seen` is what was seen if nothing failed. None where a stop was
 * requested meanwhile. */
void async_claim_end(const struct async_claim *claim, const char *seen);

/* Sleeps for a millisecond. */
void async_pause(void);

/* How many such pauses are waited for what has to come by itself: longer than any system takes. */
enum { ASYNC_PAUSES = 1000 };

/* ---- a channel ---- */

/* A way for bytes from one end to another, both without waiting (O_NONBLOCK): pipe, FIFO, pair of
 * Unix sockets, or a pseudo-terminal, whose master writes what its terminal reads. */

enum channel_kind { CHANNEL_PIPE, CHANNEL_FIFO, CHANNEL_SOCKET, CHANNEL_TERMINAL, CHANNELS };

struct channel {
    enum channel_kind kind;
    int in, out;  /* written to, read from */
    bool is_late; /* bytes arrive a moment after they were written */
};

/* Opens it, empty: 0, or an errno value (ENOSYS: the system has none). A FIFO has a name in
 * scratch->own for a moment. */
int channel_open(struct channel *channel, enum channel_kind kind, const struct scratch *scratch);
void channel_close(struct channel *channel);

/* The first of `bytes` of what is written there: byte N is the same each time. */
void channel_fill(unsigned char *bytes, size_t count, size_t from);

/* Writes `count` bytes, which there is room for; false with errno. */
bool channel_put(const struct channel *channel, size_t count);

/* Waits until something can be read, by any of the means that the system has for it, for at most a
 * second. Where bytes do not arrive late, returns at once. */
void channel_settle(const struct channel *channel);

/* Reads all that is there, also what still arrives: the number of bytes. */
int64_t channel_drain(const struct channel *channel);

/* Writes until the end takes no more, or `is_over`: the number of bytes that it took. `error`:
 * errno value of the last write, EAGAIN if it is full. */
int64_t channel_stuff(const struct channel *channel, const atomic_bool *is_over, int *error);

/* ---- rescue ---- */

/* Ends a call that should have returned at once and waits instead: a second thread feeds or empties
 * what it waits for, after a time in which nothing but such a call can still be in the way. */

enum rescue_action { RESCUE_FEEDS, RESCUE_EMPTIES };

enum rescue_state { RESCUE_RESTS, RESCUE_WAITS, RESCUE_ACTS };

struct rescue {
    struct rt_thread thread;
    atomic_int state; /* enum rescue_state; what follows is read in RESCUE_ACTS */
    enum rescue_action action;
    int file;
    int64_t armed_ns;
    atomic_bool was_needed, is_over;
};

/* Starts the thread: 0, or an errno value. */
int rescue_start(struct rescue *rescue);
void rescue_end(struct rescue *rescue);

/* From now on the thread waits RESCUE_NS, then writes to or reads from `file` until it is
 * disarmed. */
#define RESCUE_NS INT64_C(1000000000)
void rescue_arm(struct rescue *rescue, enum rescue_action action, int file);

/* Returns whether it had to act. */
bool rescue_disarm(struct rescue *rescue);

/* ---- the claims ---- */

/* Tries all claims about an empty channel, whose verdicts carry `kind`, and leaves it empty. The
 * caller has ASYNC_SIGNAL blocked in all threads. */
void channel_claims_try(struct run *run, const struct channel *channel, const char *kind,
                        struct rescue *rescue);

/* What is claimed of asynchronous I/O of POSIX (aio_read) and of a ring of requests
 * (port/file.h). Tries all claims with `pipe`, an empty channel, and `file`, a scratch file.
 * Leaves the pipe empty and nothing under way. 0, or the errno value with which the system refuses
 * asynchronous I/O; then there is no verdict. */
int request_claims_try(struct run *run, const struct channel *pipe, int file,
                       struct rescue *rescue);
int ring_claims_try(struct run *run, const struct channel *pipe, int file, struct rescue *rescue);

#endif
