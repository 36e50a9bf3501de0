#include "base/posix_source.h"

#include "load/look_up.h"

#include "port/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_STARTED = 127, LINE_BYTES = 512 };

static bool read_ipv4(const char *host, in_port_t port, struct load_peer *peer)
{
    struct sockaddr_in *address = (struct sockaddr_in *)&peer->address;
    address->sin_family = AF_INET;
    address->sin_port = port;
    peer->bytes = sizeof *address;
    return inet_pton(AF_INET, host, &address->sin_addr) == 1;
}

/* In fe80::1%eth0 the part after '%' is the link. */
static bool read_ipv6(const char *host, in_port_t port, struct load_peer *peer)
{
    struct sockaddr_in6 *address = (struct sockaddr_in6 *)&peer->address;
    char number[LOAD_HOST_BYTES];
    size_t length = strcspn(host, "%");
    snprintf(number, sizeof number, "%.*s", (int)length, host);
    address->sin6_family = AF_INET6;
    address->sin6_port = port;
    address->sin6_scope_id = host[length] ? if_nametoindex(host + length + 1) : 0;
    peer->bytes = sizeof *address;
    return inet_pton(AF_INET6, number, &address->sin6_addr) == 1 &&
           (host[length] == '\0' || address->sin6_scope_id != 0);
}

static bool read_address(const char *host, const char *port, struct load_peer *peer)
{
    in_port_t number = htons((uint16_t)strtol(port, NULL, 10));
    memset(peer, 0, sizeof *peer);
    return read_ipv4(host, number, peer) || read_ipv6(host, number, peer);
}

static void be_getent(const char *host, pid_t parent, int out)
{
    char copy[LOAD_HOST_BYTES];
    char *words[] = {(char *)"getent", (char *)"ahosts", copy, NULL};
    snprintf(copy, sizeof copy, "%s", host);
    (void)port_kill_with_parent(parent);
    dup2(out, STDOUT_FILENO);
    execvp(words[0], words);
    _exit(NOT_STARTED);
}

/* Lines "ADDRESS KIND NAME"; an address has one for each kind of socket. */
static int take_lines(FILE *lines, const char *port, struct load_peer *list, int most)
{
    char line[LINE_BYTES];
    int count = 0;
    while (count < most && fgets(line, sizeof line, lines)) {
        bool is_stream = strstr(line, "STREAM") != NULL;
        line[strcspn(line, " \t\n")] = '\0';
        count +=
            is_stream && strlen(line) < LOAD_HOST_BYTES && read_address(line, port, &list[count])
                ? 1
                : 0;
    }
    return count;
}

static bool is_started(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return true;
    return !WIFEXITED(status) || WEXITSTATUS(status) != NOT_STARTED;
}

int look_up(const struct load_address *to, struct load_peer *list, int most)
{
    int ends[2], count = 0;
    if (read_address(to->host, to->port, list))
        return 1;
    if (strchr(to->host, ':'))
        return 0;
    if (pipe(ends) != 0)
        return -1;
    pid_t self = getpid(), child = port_fork();
    if (child == 0)
        be_getent(to->host, self, ends[1]);
    close(ends[1]);
    FILE *lines = fdopen(ends[0], "r");
    if (lines && child > 0)
        count = take_lines(lines, to->port, list, most);
    if (lines)
        fclose(lines);
    else
        close(ends[0]);
    return child > 0 && is_started(child) ? count : -1;
}
