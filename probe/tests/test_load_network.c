/* The load network to a host: an echo service in a process of this test. */
#include "running_load.h"

#include "load/element.h"
#include "work/job.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

static int door;
static pid_t service;
static char port[8], text[80];

/* The socket of a service on loopback, at a port of the kernel's choice; -1: without that family.
 */
static int open_door(int family)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 wide = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr *own = family == AF_INET6 ? (void *)&wide : (void *)&address;
    socklen_t length = family == AF_INET6 ? sizeof wide : sizeof address;
    int end = socket(family, SOCK_STREAM, 0);
    if (bind(end, own, length) != 0) {
        close(end);
        return -1;
    }
    CHECK_SAME(getsockname(end, own, &length), 0);
    CHECK_SAME(listen(end, 8), 0);
    snprintf(port, sizeof port, "%d",
             ntohs(family == AF_INET6 ? wide.sin6_port : address.sin_port));
    return end;
}

/* Sends back what it gets, each byte changed by `change`. */
static void serve_one(int end, int change)
{
    char part[4096];
    ssize_t got;
    while ((got = recv(end, part, sizeof part, 0)) > 0) {
        for (ssize_t i = 0; i < got; i++)
            part[i] = (char)(part[i] + change);
        if (send(end, part, (size_t)got, MSG_NOSIGNAL) != got)
            break;
    }
    close(end);
}

static pid_t serve(int change)
{
    pid_t self = fork();
    if (self != 0)
        return self;
    (void)port_kill_with_parent(getppid());
    signal(SIGCHLD, SIG_IGN);
    for (int end; (end = accept(door, NULL, NULL)) >= 0; close(end))
        if (fork() == 0) {
            (void)port_kill_with_parent(getppid());
            serve_one(end, change);
            _exit(0);
        }
    _exit(1);
}

static void end_service(void)
{
    kill(service, SIGKILL);
    waitpid(service, NULL, 0);
}

static void wait_for(int counter, uint64_t least)
{
    while (counter_of(0, counter) < least)
        pass_ms(5);
}

/* Until so many packets more have come back. */
static void wait_for_packets(uint64_t more)
{
    wait_for(NETWORK_PACKETS, counter_of(0, NETWORK_PACKETS) + more);
}

/* False: this machine lacks the family. */
static bool open_service(int family, int change)
{
    door = open_door(family);
    if (door < 0)
        return false;
    service = serve(change);
    snprintf(text, sizeof text, "network=2000/s@%s:%s", family == AF_INET ? "127.0.0.1" : "[::1]",
             port);
    return true;
}

static void close_service(void)
{
    end_service();
    close(door);
}

TEST(what_comes_back_counts)
{
    static const int families[] = {AF_INET, AF_INET6};
    for (int i = 0; i < 2; i++) {
        if (!open_service(families[i], 0)) {
            tap_skip(i == 0 ? "no IPv4 here" : "no IPv6 here");
            return;
        }
        if (!CHECK(start(text)))
            return;
        do { /* a service that gets no CPU for seconds is silent: then again */
            load_begin(&load);
            wait_for_packets(100);
            load_end(&load);
        } while (reached(0).counters[NETWORK_FAILED] > 0);
        load_stop(&load);
        struct load_reached one = reached(0);
        CHECK(one.counters[NETWORK_PACKETS] >= 100);
        CHECK_HOLDS(one.how, i == 0 ? "to 127.0.0.1:" : "to [::1]:", port);
        load_free(&load);
        close_service();
    }
}

TEST_IN(open_service(AF_INET, 0) && start(text), close_service(),
        a_connection_that_breaks_is_made_again)
{
    load_begin(&load);
    end_service();
    wait_for(NETWORK_FAILED, 1);
    service = serve(0);
    wait_for_packets(100);
    load_end(&load);
    load_stop(&load);
    load_events(&load, tell, NULL);
    CHECK_HOLDS(text_of("load_limited"), "the connection to 127.0.0.1 broke");
    load_free(&load);
}

/* Before anything is started; on a busy machine an answer may come too late: then again. */
static void check_refused(const char *spec_text, const char *words)
{
    char error[LOAD_ERROR_BYTES];
    struct outcome outcome;
    CHECK_SAME(load_spec_parse(spec_text, &spec, error, sizeof error), 0);
    do {
        outcome = (struct outcome){0};
        CHECK_SAME(load_check(&spec, &outcome), -1);
        CHECK_SAME(outcome.status, STATUS_UNSUPPORTED);
    } while (strstr(outcome.reason, words) == NULL);
}

TEST(a_host_that_does_not_echo_is_refused)
{
    open_service(AF_INET, 1);
    check_refused(text, "does not echo the data");
    close_service();
    check_refused(text, "no connection: ");
    check_refused("network=1/s@[fe80::1%no-such-link]:7", "there is no such link");
    CHECK_SAME(waitpid(-1, NULL, WNOHANG), -1);
}

/* Of a full queue the kernel drops what asks for a connection. */
TEST(a_host_that_is_silent_is_waited_for_only_so_long)
{
    int own[2];
    open_service(AF_INET, 0);
    end_service();
    CHECK_SAME(listen(door, 0), 0);
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    CHECK_SAME(getsockname(door, (struct sockaddr *)&address, &length), 0);
    for (int i = 0; i < 2; i++) {
        own[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)!connect(own[i], (struct sockaddr *)&address, length);
    }
    pass_ms(20);
    check_refused(text, "no connection: Connection timed out");
    for (int i = 0; i < 2; i++)
        close(own[i]);
    close(door);
}

TEST_IN(start("network=2000/s"), load_free(&load), without_a_host_it_is_loopback)
{
    load_begin(&load);
    end();
    CHECK_TEXT(reached(0).how, "loopback");
}
