/* Input and output of 1003.1b: synchronized, asynchronous, prioritized, fsync. Whether data were on
 * the device when a call returned, FIO-P-SYN looks at. */
#include "base/posix_source.h"

#include "family/posix/calls.h"

#include "base/options.h"
#include "family/posix/call_help.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#if HS_HAS_AIO
#include <aio.h>
#endif

#if defined(O_SYNC) && defined(O_DSYNC)
struct answer call_synchronized_io(const struct call_tools *tools)
{
    struct answer answer;
    char path[CALL_PATH_BYTES];
    if (!call_path(tools, "synchronized", path, &answer))
        return answer;
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_SYNC, 0600), error = errno;
    unlink(path);
    if (file < 0)
        return answer_error("open with O_SYNC", error);
    if ((fcntl(file, F_GETFL) & O_SYNC) != O_SYNC)
        return answer_fails("a file that was opened with O_SYNC does not have it");
    if (write(file, "x", 1) != 1)
        return answer_error("write", errno);
    return fdatasync(file) == 0 ? answer_works() : answer_error("fdatasync", errno);
}
#else
struct answer call_synchronized_io(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("O_SYNC or O_DSYNC");
}
#endif

/* An fsync that says 0 to anything does nothing. */
struct answer call_fsync(const struct call_tools *tools)
{
    struct answer answer;
    int file = call_file(tools, &answer);
    if (file < 0)
        return answer;
    if (write(file, "x", 1) != 1)
        return answer_error("write", errno);
    if (fsync(file) != 0)
        return answer_error("fsync", errno);
    return fsync(-1) != 0 && errno == EBADF ? answer_works()
                                            : answer_fails("fsync says 0 to no file");
}

#if HS_HAS_AIO
static int wait_for_aio(struct aiocb *request, const struct call_tools *tools)
{
    const struct aiocb *const list[] = {request};
    struct timespec wait = call_timespec(tools->wait_ns);
    while (aio_error(request) == EINPROGRESS)
        if (aio_suspend(list, 1, &wait) != 0 && errno != EINTR)
            return errno;
    return aio_error(request);
}

static struct aiocb make_request(int file, char *buffer, size_t bytes)
{
    struct aiocb request;
    memset(&request, 0, sizeof request);
    request.aio_fildes = file;
    request.aio_buf = buffer;
    request.aio_nbytes = bytes;
    request.aio_sigevent.sigev_notify = SIGEV_NONE;
    return request;
}

static struct answer write_and_read(int file, const struct call_tools *tools)
{
    char out[] = "abc", in[sizeof out] = "";
    struct aiocb writing = make_request(file, out, sizeof out);
    if (aio_write(&writing) != 0)
        return answer_error("aio_write", errno);
    int error = wait_for_aio(&writing, tools);
    if (error)
        return answer_error("aio_write did not end well", error == EAGAIN ? EIO : error);
    if (aio_return(&writing) != (ssize_t)sizeof out)
        return answer_fails("aio_write wrote another number of bytes");
    struct aiocb reading = make_request(file, in, sizeof in);
    struct aiocb *const list[] = {&reading};
    reading.aio_lio_opcode = LIO_READ;
    if (lio_listio(LIO_WAIT, list, 1, NULL) != 0)
        return answer_error("lio_listio", errno);
    return aio_error(&reading) == 0 && memcmp(in, out, sizeof out) == 0
               ? answer_works()
               : answer_fails("what aio_write wrote, lio_listio does not read");
}

struct answer call_asynchronous_io(const struct call_tools *tools)
{
    struct answer answer;
    int file = call_file(tools, &answer);
    return file < 0 ? answer : write_and_read(file, tools);
}

/* Three reads of a pipe: the first waits for data, the second is less urgent than the third. The
 * third must get the second byte. */
static struct answer try_order(const int ends[2], int lowered, const struct call_tools *tools)
{
    enum { FIRST, LOWERED, URGENT, READS };
    char got[READS] = "";
    struct aiocb reads[READS];
    for (int i = 0; i < READS; i++) {
        reads[i] = make_request(ends[0], &got[i], 1);
        reads[i].aio_reqprio = i == LOWERED ? lowered : 0;
        if (aio_read(&reads[i]) != 0)
            return errno == EINVAL ? answer_fails("a priority of %d is refused", lowered)
                                   : answer_error("aio_read", errno);
        call_nap(INT64_C(2000000)); /* the first has begun when the others come */
    }
    static const int order[READS] = {FIRST, URGENT, LOWERED};
    bool is_ordered = true;
    for (int i = 0; i < READS; i++) {
        char letter = (char)('a' + i);
        if (write(ends[1], &letter, 1) != 1 || (i == 0 && wait_for_aio(&reads[0], tools) != 0))
            return answer_fails("an asynchronous read of a pipe does not end");
    }
    for (int i = 0; i < READS; i++) {
        if (wait_for_aio(&reads[i], tools) != 0)
            return answer_fails("an asynchronous read of a pipe does not end");
        is_ordered = is_ordered && got[order[i]] == (char)('a' + i);
    }
    return is_ordered ? answer_works()
                      : answer_partly("requests are taken, and not served by priority");
}

struct answer call_prioritized_io(const struct call_tools *tools)
{
    int ends[2];
    long most = 1;
#ifdef _SC_AIO_PRIO_DELTA_MAX
    most = sysconf(_SC_AIO_PRIO_DELTA_MAX);
#endif
    if (most < 1)
        return answer_error("AIO_PRIO_DELTA_MAX is 0: priorities of I/O", ENOTSUP);
    return pipe(ends) != 0 ? answer_error("pipe", errno) : try_order(ends, (int)most, tools);
}
#else
struct answer call_asynchronous_io(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("aio_read");
}

struct answer call_prioritized_io(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("aio_read");
}
#endif
