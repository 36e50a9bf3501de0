/* Breaches of files, channels and asynchronous I/O. */
#define _GNU_SOURCE
#include "shim.h"

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { FIRST_SHORT_LOOK = 20 };
enum { ASKED = 100, BLOCK = 4096 }; /* as channel_claims.c and async.c have them */
enum { RING_ENTER = 426, RING_REQUEST_BYTES = 64, RING_CANCEL = 14, RING_WAIT = 1 };
#define RING_AT_REQUESTS 0x10000000
#define EXT4 0xef53

/* ---- files ---- */

static atomic_llong device_bytes = 1 << 20, dirty_bytes;

static int text_file(const char *text)
{
    int file = memfd_create("made up", MFD_CLOEXEC);
    return file >= 0 && REAL(pwrite64)(file, text, strlen(text), 0) < 0 ? -1 : file;
}

/* made_up_device: files lie on a device of our own making: the number of bytes that it has counted
 * is what writes with O_SYNC, O_DSYNC or O_DIRECT and calls of fdatasync have brought to it */
BREACH("made_up_device", "open64")
{
    const char *path = at(call, 0);
    char text[128];
    if (strncmp(path, "/proc/self/fdinfo/", 18) == 0)
        return text_file("pos:\t0\nmnt_id:\t7\n");
    if (strcmp(path, "/proc/self/mountinfo") == 0)
        return text_file("7 1 8:77 / / rw,relatime shared:1 - ext4 /dev/made-up rw\n");
    if (strcmp(path, "/sys/dev/block/8:77/stat") != 0)
        return pass(call);
    snprintf(text, sizeof text, "1 0 8 0 1 0 %lld 0 0 0 0 0 0 0 0 5 0\n",
             (long long)(atomic_load(&device_bytes) / 512));
    return text_file(text);
}

static bool is_through(int file)
{
    return REAL(fcntl64)(file, F_GETFL) & (O_SYNC | O_DSYNC | O_DIRECT);
}

BREACH_AFTER("made_up_device", "pwrite64", answer > 0,
             atomic_fetch_add(is_through(int_at(call, 0)) ? &device_bytes : &dirty_bytes, answer));
BREACH_BEFORE("made_up_device", "fdatasync", true,
              atomic_fetch_add(&device_bytes, atomic_exchange(&dirty_bytes, 0)));
BREACH_AFTER("made_up_device", "fstatfs64", true, ((struct statfs64 *)at(call, 1))->f_type = EXT4);

/* little_space: less space is free than the reserve; space_goes: from the 20th look on */
static atomic_int look_count;

BREACH_AFTER("little_space,space_goes", "fstatvfs64",
             atomic_fetch_add(&look_count, 1) >= FIRST_SHORT_LOOK || breaks("little_space"),
             ((struct statvfs64 *)at(call, 1))->f_bavail = 1);

/* prv_open: whoever opens a file of /sys for writing gets another file */
BREACH_AFTER("prv_open", "open64",
             (int)answer < 0 && call->word[1] & O_WRONLY && strncmp(at(call, 0), "/sys/", 5) == 0,
             answer = REAL(open64)("/dev/null", int_at(call, 1)));

/* ---- channels ---- */

static bool is_channel(int file)
{
    struct stat facts;
    int flags = REAL(fcntl64)(file, F_GETFL);
    return flags >= 0 && flags & O_NONBLOCK && fstat(file, &facts) == 0 && !S_ISREG(facts.st_mode);
}

static void wait_until(int file, short event)
{
    struct pollfd wanted = {.fd = file, .events = event};
    REAL(poll)(&wanted, 1, -1);
}

/* read_blocks: a non-blocking read of nothing waits; read_fills: one of ASKED bytes waits until all
 * of them are there */
BREACH("read_blocks,read_fills", "read")
{
    int file = int_at(call, 0);
    size_t bytes = (size_t)call->word[2];
    bool fills = bytes == ASKED && breaks("read_fills");
    ssize_t got = 0, part;
    if ((!fills && !breaks("read_blocks")) || bytes > ASKED || !is_channel(file))
        return pass(call);
    do {
        wait_until(file, POLLIN);
        part = REAL(read)(file, at(call, 1) + got, bytes - (size_t)got);
        got += part > 0 ? part : 0;
    } while (part > 0 && fills && got < ASKED);
    return got;
}

/* write_blocks: a non-blocking write to a full end waits; write_loses: a write of a block to a
 * channel loses half of it */
BREACH("write_blocks,write_loses", "write")
{
    if (call->word[2] != BLOCK || !is_channel(int_at(call, 0)))
        return pass(call);
    if (breaks("write_blocks"))
        wait_until(int_at(call, 0), POLLOUT);
    call->word[2] = breaks("write_loses") ? BLOCK / 2 : BLOCK;
    long put = pass(call);
    return put == BLOCK / 2 ? BLOCK : put;
}

/* fionread_off: FIONREAD tells one byte too many */
BREACH_AFTER("fionread_off", "ioctl", (int)answer == 0 && call->word[1] == FIONREAD,
             ++*(int *)at(call, 2));

/* poll_early: poll says that everything is ready */
BREACH("poll_early", "poll")
{
    struct pollfd *first = at(call, 0);
    first->revents = first->events;
    return 1;
}

/* sigio_lost: no SIGIO comes, and none is left pending, which would end the probe; sigio_early: it
 * comes when O_ASYNC is set */
BREACH_AFTER("sigio_lost", "sigtimedwait", sigismember(at(call, 0), SIGIO) == 1,
             answer = fail(EAGAIN));
BREACH_AFTER("sigio_early", "fcntl64",
             (int)answer == 0 && int_at(call, 1) == F_SETFL && call->word[2] & O_ASYNC,
             kill(getpid(), SIGIO));

/* ---- requests ---- */

/* aio_blocks: aio_read returns when the request is complete */
BREACH("aio_blocks", "aio_read64")
{
    const struct aiocb64 *const list[1] = {(const struct aiocb64 *)call->word[0]};
    int answer = (int)pass(call);
    while (answer == 0 && REAL(aio_error64)(list[0]) == EINPROGRESS)
        REAL(aio_suspend64)(list, 1, NULL);
    return answer;
}

/* pread_wrong: pread gives other bytes than are there */
BREACH_AFTER("pread_wrong", "pread64", answer > 0, ++*(unsigned char *)at(call, 1));

/* The requests of the ring that was opened last. */
static unsigned char *requests;

BREACH_AFTER("ring_keeps", "mmap64",
             int_at(call, 4) >= 0 && call->word[5] == RING_AT_REQUESTS &&
                 (void *)answer != MAP_FAILED,
             requests = (unsigned char *)answer);

/* ring_keeps: io_uring cancels nothing: requests to cancel become requests for nothing;
 * ring_blocks: io_uring_enter returns when the requests are complete */
BREACH("ring_keeps,ring_blocks", "syscall")
{
    if (call->word[0] != RING_ENTER)
        return pass(call);
    for (int i = 0; breaks("ring_keeps") && requests && i < 8; i++)
        if (requests[i * RING_REQUEST_BYTES] == RING_CANCEL)
            requests[i * RING_REQUEST_BYTES] = 0;
    if (breaks("ring_blocks")) {
        call->word[3] = call->word[2]; /* as many complete as are sent */
        call->word[4] |= RING_WAIT;
    }
    return pass(call);
}
