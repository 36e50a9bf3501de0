/* The load network to a host: an echo service in a process of this test. */
#include "running_load.h"

#include "load/element/network_host.h"
#include "work/job.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LOOKS = 3000, LOOK_MS = 5, CHANGED = 1 };

/* The socket of a service at a port of the kernel's choice, or at `port`. */
static int open_door(int port, char *text, size_t bytes)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t length = sizeof address;
    int one = 1, door = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    CHECK_SAME(bind(door, (struct sockaddr *)&address, sizeof address), 0);
    CHECK_SAME(getsockname(door, (struct sockaddr *)&address, &length), 0);
    CHECK_SAME(listen(door, 8), 0);
    snprintf(text, bytes, "%d", ntohs(address.sin_port));
    return door;
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

static pid_t serve(int door, int change)
{
    pid_t self = fork();
    if (self != 0)
        return self;
    alarm(60);
    signal(SIGCHLD, SIG_IGN);
    for (int end; (end = accept(door, NULL, NULL)) >= 0; close(end))
        if (fork() == 0) {
            alarm(60);
            (void)port_kill_with_parent(getppid());
            serve_one(end, change);
            _exit(0);
        }
    _exit(1);
}

static void end_service(pid_t service)
{
    kill(service, SIGKILL);
    waitpid(service, NULL, 0);
}

static uint64_t counted(int counter)
{
    return atomic_load(&load.map->slots[0].counters[counter]);
}

static bool comes_to(int counter, uint64_t least)
{
    for (int i = 0; i < LOOKS && counted(counter) < least; i++)
        pass_ms(LOOK_MS);
    return CHECK(counted(counter) >= least);
}

static void load_text(char *text, size_t bytes, const char *port)
{
    snprintf(text, bytes, "network=2000/s@127.0.0.1:%s", port);
}

TEST(what_comes_back_counts)
{
    char port[8], text[80];
    int door = open_door(0, port, sizeof port);
    pid_t service = serve(door, 0);
    load_text(text, sizeof text, port);
    if (start(text)) {
        load_begin(&load);
        (void)comes_to(NETWORK_PACKETS, counted(NETWORK_PACKETS) + 100);
        load_end(&load);
        load_stop(&load);
        struct load_reached one = reached(0);
        CHECK(one.counters[NETWORK_PACKETS] >= 100);
        CHECK_SAME(one.counters[NETWORK_FAILED], 0);
        CHECK_HOLDS(one.how, "to 127.0.0.1:");
        CHECK_HOLDS(one.how, port);
        load_free(&load);
    }
    end_service(service);
    close(door);
}

TEST(a_connection_that_breaks_is_made_again)
{
    char port[8], text[80];
    int door = open_door(0, port, sizeof port);
    pid_t service = serve(door, 0);
    load_text(text, sizeof text, port);
    if (start(text)) {
        load_begin(&load);
        end_service(service);
        (void)comes_to(NETWORK_FAILED, 1);
        service = serve(door, 0);
        (void)comes_to(NETWORK_PACKETS, counted(NETWORK_PACKETS) + 100);
        load_end(&load);
        load_stop(&load);
        load_events(&load, tell, NULL);
        CHECK_HOLDS(text_of("load_limited"), "the connection to 127.0.0.1 broke");
        load_free(&load);
    }
    end_service(service);
    close(door);
}

static void check_refused(const char *text, const char *words)
{
    char error[LOAD_ERROR_BYTES];
    struct outcome outcome = {0};
    CHECK_SAME(load_spec_parse(text, &spec, error, sizeof error), 0);
    CHECK_SAME(load_check(&spec, &outcome), -1);
    CHECK_SAME(outcome.status, STATUS_UNSUPPORTED);
    CHECK_HOLDS(outcome.reason, words);
    CHECK_SAME(waitpid(-1, NULL, WNOHANG), -1);
}

/* Before anything is started. */
TEST(a_host_that_does_not_answer_is_refused)
{
    char port[8], text[80];
    int door = open_door(0, port, sizeof port);
    close(door);
    load_text(text, sizeof text, port);
    check_refused(text, "no connection: ");
    check_refused("network=1/s@[::ffff:ffff:zz]:7", "host not found");
}

TEST(a_host_that_sends_something_else_is_refused)
{
    char port[8], text[80];
    int door = open_door(0, port, sizeof port);
    pid_t service = serve(door, CHANGED);
    load_text(text, sizeof text, port);
    char error[LOAD_ERROR_BYTES];
    struct outcome outcome = {0};
    CHECK_SAME(load_spec_parse(text, &spec, error, sizeof error), 0);
    CHECK_SAME(load_check(&spec, &outcome), -1);
    CHECK_HOLDS(outcome.reason, "does not echo the data");
    end_service(service);
    close(door);
}

TEST_IN(start("network=2000/s"), load_free(&load), without_a_host_it_is_loopback)
{
    load_begin(&load);
    end();
    CHECK_TEXT(reached(0).how, "loopback");
}
