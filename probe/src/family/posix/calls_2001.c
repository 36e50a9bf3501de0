/* Tracing (1003.1q) and what came with the joint revision of 2001, as far as the profiles of
 * 1003.13 need it. */
#include "base/posix_source.h"

#include "family/posix/calls.h"

#include "base/options.h"
#include "family/posix/call.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>
#if HS_HAS_TRACE
#include <trace.h>
#endif
#if HS_HAS_SOCKETS
#include <netinet/in.h>
#include <sys/socket.h>
#endif
#if HS_HAS_REGEXP
#include <regex.h>
#endif
#if HS_HAS_FORK
#include <sys/wait.h>
#endif

#if HS_HAS_TRACE
static struct answer try_trace(void)
{
    trace_attr_t attributes;
    trace_id_t trace;
    int error = posix_trace_attr_init(&attributes);
    if (!error)
        error = posix_trace_create(getpid(), &attributes, &trace);
    if (error)
        return answer_error("posix_trace_create", error);
    error = posix_trace_start(trace);
    if (!error)
        error = posix_trace_stop(trace);
    posix_trace_shutdown(trace);
    return error ? answer_error("posix_trace_start", error) : answer_works();
}
#else
static struct answer try_trace(void)
{
    return answer_missing("posix_trace_create");
}
#endif

struct answer call_trace(const struct call_tools *tools)
{
    (void)tools;
    return try_trace();
}

struct answer call_trace_event_filter(const struct call_tools *tools)
{
    (void)tools;
    struct answer answer = try_trace();
    return answer.result == CALL_WORKS ? answer_partly("a trace works; filters are not tried")
                                       : answer;
}

struct answer call_trace_log(const struct call_tools *tools)
{
    (void)tools;
    struct answer answer = try_trace();
    return answer.result == CALL_WORKS ? answer_partly("a trace works; its log is not tried")
                                       : answer;
}

#if HS_HAS_SOCKETS
struct answer call_raw_sockets(const struct call_tools *tools)
{
    (void)tools;
    int end = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
    return end >= 0 ? answer_works() : answer_error("socket of SOCK_RAW", errno);
}

struct answer call_networking(const struct call_tools *tools)
{
    (void)tools;
    int ends[2];
    char back = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return answer_error("socketpair", errno);
    if (send(ends[0], "x", 1, 0) != 1 || recv(ends[1], &back, 1, 0) != 1 || back != 'x')
        return answer_fails("a byte does not pass through a pair of sockets");
    return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? answer_works()
                                                : answer_error("socket of AF_INET", errno);
}
#else
struct answer call_raw_sockets(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("socket");
}

struct answer call_networking(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("socket");
}
#endif

#if HS_HAS_REGEXP
struct answer call_regexp(const struct call_tools *tools)
{
    (void)tools;
    regex_t expression;
    regmatch_t match;
    if (regcomp(&expression, "b+c", REG_EXTENDED) != 0)
        return answer_fails("regcomp refuses b+c");
    bool is_good = regexec(&expression, "abbc", 1, &match, 0) == 0 && match.rm_so == 1 &&
                   match.rm_eo == 4 && regexec(&expression, "ac", 1, &match, 0) == REG_NOMATCH;
    return is_good ? answer_works() : answer_fails("b+c does not match abbc at 1, or matches ac");
}
#else
struct answer call_regexp(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("regcomp");
}
#endif

#if HS_HAS_FORK
struct answer call_shell(const struct call_tools *tools)
{
    (void)tools;
    if (access("/bin/sh", X_OK) != 0)
        return answer_untried("no /bin/sh here");
    int status = system("exit 7"); /* NOLINT: the call is what is tried */
    if (status < 0)
        return answer_error("system", errno);
    return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? answer_works()
                                                         : answer_fails("no shell ran `exit 7`");
}
#else
struct answer call_shell(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("system");
}
#endif

#if HS_HAS_PSELECT
#if HS_HAS_PSELECT
static int ready_ends(int end, long ns)
{
    struct timespec wait = {.tv_nsec = ns};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(end, &set);
    return pselect(end + 1, &set, NULL, NULL, &wait, NULL);
}

struct answer call_event_mgmt(const struct call_tools *tools)
{
    (void)tools;
    int ends[2];
    if (pipe(ends) != 0)
        return answer_error("pipe", errno);
    if (ends[0] >= FD_SETSIZE)
        return answer_untried("too many open files for a set of pselect");
    if (ready_ends(ends[0], 1000000) != 0)
        return answer_fails("an empty pipe is ready");
    return write(ends[1], "x", 1) == 1 && ready_ends(ends[0], 1000000) == 1
               ? answer_works()
               : answer_fails("a pipe with a byte is not ready");
}
#else
struct answer call_event_mgmt(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("pselect");
}
#endif
#else
struct answer call_event_mgmt(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("pselect");
}
#endif

#if HS_HAS_SYMBOLIC_LINKS
struct answer call_symbolic_links(const struct call_tools *tools)
{
    struct answer answer;
    char path[CALL_PATH_BYTES], back[16] = "";
    if (!call_path(tools, "link", path, &answer))
        return answer;
    if (symlink("there", path) != 0)
        return answer_error("symlink", errno);
    ssize_t length = readlink(path, back, sizeof back - 1);
    unlink(path);
    return length == 5 && strcmp(back, "there") == 0 ? answer_works()
                                                     : answer_fails("readlink tells another path");
}
#else
struct answer call_symbolic_links(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("symlink");
}
#endif
