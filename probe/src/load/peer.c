#include "base/posix_source.h"

#include "load/peer.h"

#include "load/element.h"
#include "load/look_up.h"
#include "port/port.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_NS INT64_C(10000000000)

enum { PATIENCE_FOR_ONE_S = 3, WHY_BYTES = 160, ADDRESSES = 4 };

/* The child's answer, written in one piece. */
struct answer {
    bool is_found;
    struct load_peer peer;
    char why[WHY_BYTES];
};

/* Each wait ends after 3 s. Linger 0 avoids TIME_WAIT. */
static int set_options(int end)
{
    int one = 1;
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    struct timeval patience = {.tv_sec = PATIENCE_FOR_ONE_S};
    return setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0 ||
                   setsockopt(end, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) != 0 ||
                   setsockopt(end, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
                   setsockopt(end, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0
               ? -1
               : 0;
}

int peer_connect(const struct load_peer *peer)
{
    int end = socket(peer->address.ss_family, SOCK_STREAM, 0);
    if (end < 0)
        return -1;
    if (set_options(end) == 0 &&
        connect(end, (const struct sockaddr *)&peer->address, peer->bytes) == 0)
        return end;
    int error = errno == EINPROGRESS ? ETIMEDOUT : errno;
    close(end);
    errno = error;
    return -1;
}

static bool echoes(int end)
{
    static const char sent[] = "hardstone";
    char got[sizeof sent];
    size_t count = 0;
    ssize_t more = send(end, sent, sizeof sent, MSG_NOSIGNAL);
    while (more > 0 && count < sizeof sent) {
        more = recv(end, got + count, sizeof got - count, 0);
        count += more > 0 ? (size_t)more : 0;
    }
    return count == sizeof sent && memcmp(sent, got, sizeof sent) == 0;
}

static bool try_one(const struct load_peer *peer, struct answer *answer)
{
    answer->peer = *peer;
    int end = peer_connect(peer);
    if (end < 0) {
        snprintf(answer->why, sizeof answer->why, "no connection: %s", strerror(errno));
        return false;
    }
    answer->is_found = echoes(end);
    close(end);
    if (!answer->is_found)
        snprintf(answer->why, sizeof answer->why, "it does not echo the data");
    return answer->is_found;
}

static void find(const struct load_address *to, struct answer *answer)
{
    struct load_peer list[ADDRESSES];
    int count = look_up(to, list, ADDRESSES);
    if (count <= 0)
        snprintf(answer->why, sizeof answer->why, "%s",
                 count == 0 ? "host not found"
                            : "the program getent, which looks up names, cannot be run: give the "
                              "address instead");
    for (int i = 0; i < count; i++)
        if (try_one(&list[i], answer))
            return;
}

static bool wait_for_answer(int pipe_end, struct answer *answer)
{
    int64_t until_ns = clock_monotonic_ns() + PATIENCE_NS, left_ns;
    while ((left_ns = until_ns - clock_monotonic_ns()) > 0) {
        struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000),
                                .tv_nsec = (long)(left_ns % 1000000000)};
        fd_set watched;
        FD_ZERO(&watched);
        FD_SET(pipe_end, &watched);
        if (pselect(pipe_end + 1, &watched, NULL, NULL, &left, NULL) <= 0)
            continue;
        return read(pipe_end, answer, sizeof *answer) == (ssize_t)sizeof *answer;
    }
    return false;
}

static void be_child(const struct load_address *to, pid_t parent, int pipe_end)
{
    struct answer answer;
    memset(&answer, 0, sizeof answer);
    (void)port_kill_with_parent(parent);
    find(to, &answer);
    _exit(write(pipe_end, &answer, sizeof answer) == (ssize_t)sizeof answer ? 0 : 1);
}

/* The child's answer, or why there is none. */
static void ask(const struct load_address *to, struct answer *answer)
{
    int ends[2];
    pid_t self = getpid();
    snprintf(answer->why, sizeof answer->why, "no process could be started to look it up");
    if (pipe(ends) != 0)
        return;
    pid_t child = port_fork();
    if (child == 0)
        be_child(to, self, ends[1]);
    close(ends[1]);
    if (child > 0 && !wait_for_answer(ends[0], answer))
        snprintf(answer->why, sizeof answer->why, "no answer within %d s",
                 (int)(PATIENCE_NS / 1000000000));
    close(ends[0]);
    if (child <= 0)
        return;
    kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

bool peer_find(const struct load_address *to, struct load_peer *peer, char *why, size_t bytes)
{
    struct answer answer;
    memset(&answer, 0, sizeof answer);
    ask(to, &answer);
    *peer = answer.peer;
    if (!answer.is_found)
        snprintf(why, bytes, "network: %.100s port %s: %.*s", to->host, to->port, WHY_BYTES,
                 answer.why);
    return answer.is_found;
}
