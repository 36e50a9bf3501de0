/* The host's side of an agent, which runs in a process that the test forks. Its folders have a
 * made-up probe, a script of the shell. */
#ifndef HS_AGENT_HOST_H
#define HS_AGENT_HOST_H

#include "base/posix_source.h"

#include "agent/agent.h"
#include "agent/frame.h"
#include "port/port.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONGEST_MS = 50000, HOST_PATH_BYTES = 1200 };

/* Says that it runs by opening the pipe `alive`, which is closed with the last of its processes;
 * ends by what is in `go`. */
static const char made_up_probe[] =
    "#!/bin/sh\n"
    "cd \"${0%/*}\" || exit 99\n"
    "case $1 in\n"
    "say) echo \"out $*\"; echo \"err $2\" >&2; exit \"$2\" ;;\n"
    "words) shift; printf '%s|' \"$@\"; exit 0 ;;\n"
    "files) ls /proc/self/fd; exit 0 ;;\n"
    "until_eof) exec 9> alive; cat; echo stopped; exit 0 ;;\n"
    "until_go) exec 9> alive; read -r line < go; exit 0 ;;\n"
    "compute) exec 9> alive; i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; exec 8> later\n"
    "    read -r line < go; exit 0 ;;\n"
    "hang) exec 9> alive; exec cat never ;;\n"
    "ignore) trap '' TERM; { exec 9> alive; exec cat never; } & wait ;;\n"
    "esac\n"
    "exit 98\n";

struct host {
    pid_t agent;
    int to, from;
    int ready_code; /* of a receive that failed: the agent's exit code */
    struct channel channel;
    struct frame frame;
};

/* Of the agents that start from now on. Times of 0: so long that no test sees it, but for
 * `settle_ms`. `first`: what is there before the agent starts, for one that does not wait long. */
static struct {
    int idle_ms, lease_ms, grace_ms, settle_ms;
    const void *first;
    size_t first_bytes;
} host_start;

/* ---- folders ---- */

static inline const char *in_folder(const char *folder, const char *name)
{
    static char paths[4][HOST_PATH_BYTES];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, HOST_PATH_BYTES, "%s/%s", folder, name);
    return path;
}

static inline void write_file(const char *folder, const char *name, const char *text, mode_t mode)
{
    int file = open(in_folder(folder, name), O_WRONLY | O_CREAT | O_TRUNC, mode);
    if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text) || close(file) != 0)
        abort();
}

/* Valid until the eighth next call. */
static inline const char *number_text(int number)
{
    static char texts[8][12];
    static int next;
    char *text = texts[next++ % 8];
    snprintf(text, sizeof texts[0], "%d", number);
    return text;
}

/* "(ERRNO-TEXT)" where it cannot be read. */
static inline const char *file_text(const char *folder, const char *name)
{
    static char text[1000];
    int file = open(in_folder(folder, name), O_RDONLY);
    ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (got < 0)
        snprintf(text, sizeof text, "(%s)", strerror(errno));
    else
        text[got] = '\0';
    if (file >= 0)
        close(file);
    return text;
}

static inline bool is_there(const char *folder, const char *name)
{
    struct stat state;
    return lstat(in_folder(folder, name), &state) == 0;
}

/* A private folder; its path is valid until the test's end. */
static inline char *new_empty_folder(const char *name)
{
    char *path = tap_memory(HOST_PATH_BYTES);
    snprintf(path, HOST_PATH_BYTES, "%s/%s", tap_folder(), name);
    if (mkdir(path, 0700) != 0)
        abort();
    return path;
}

/* With a made-up probe. */
static inline char *new_folder(const char *name)
{
    char *path = new_empty_folder(name);
    write_file(path, "hardstone-probe", made_up_probe, 0700);
    for (const char *const *pipe = (const char *const[]){"alive", "later", "go", "never", NULL};
         *pipe; pipe++)
        if (mkfifo(in_folder(path, *pipe), 0600) != 0)
            abort();
    return path;
}

/* The reading end of a pipe, once a job has opened it. */
static inline int wait_for_pipe(const char *folder, const char *name)
{
    int file = open(in_folder(folder, name), O_RDONLY);
    if (file < 0)
        abort();
    return file;
}

static inline int wait_until_alive(const char *folder)
{
    return wait_for_pipe(folder, "alive");
}

/* Waits until no process of the job is left. */
static inline bool wait_until_dead(int alive)
{
    struct pollfd end = {alive, POLLIN, 0};
    char byte;
    bool is_dead = poll(&end, 1, LONGEST_MS) == 1 && read(alive, &byte, 1) == 0;
    close(alive);
    return is_dead;
}

/* ---- frames ---- */

static inline bool host_write(struct channel *channel, const void *bytes, size_t length)
{
    const struct host *host =
        (const struct host *)(const void *)((const char *)channel - offsetof(struct host, channel));
    return write(host->to, bytes, length) == (ssize_t)length;
}

static inline ssize_t host_read(struct channel *channel, void *to, size_t bytes)
{
    struct pollfd file = {channel->to_poll, POLLIN, 0};
    if (!CHECK(poll(&file, 1, LONGEST_MS) == 1))
        return -1;
    return read(channel->to_poll, to, bytes);
}

/* The next frame; its type, 0: the agent is gone. */
static inline char host_receive(struct host *host)
{
    return frame_receive(&host->channel, &host->frame) ? host->frame.type : '\0';
}

/* "TYPE word|word|" of the latest frame. */
static inline const char *host_text(struct host *host)
{
    static char text[FRAME_MOST_BYTES + 8];
    snprintf(text, sizeof text, "%c ", host->frame.type);
    for (uint32_t i = 0; i < host->frame.length; i++)
        text[2 + i] = host->frame.bytes[i] ? (char)host->frame.bytes[i] : '|';
    text[2 + host->frame.length] = '\0';
    return text;
}

static inline void host_send(struct host *host, char type, const void *bytes, size_t length)
{
    CHECK(frame_send(&host->channel, type, bytes, length));
}

/* Words up to NULL. */
static inline void host_say(struct host *host, char type, ...)
{
    static struct frame frame;
    const char *word;
    va_list words;
    frame.length = 0;
    va_start(words, type);
    while ((word = va_arg(words, const char *)))
        if (!frame_add(&frame, word))
            abort();
    va_end(words);
    host_send(host, type, frame.bytes, frame.length);
}

/* What the agent answers: "TYPE word|word|", "gone". */
#define ASK(host, ...)                                                                             \
    (host_say((host), __VA_ARGS__, NULL), host_receive(host) ? host_text(host) : "gone")
#define CHECK_ANSWER(host, wanted, ...) CHECK_TEXT(ASK(host, __VA_ARGS__), wanted)

/* ---- life ---- */

static inline void host_open(struct host *host, const char *folder)
{
    int to[2], from[2];
    char line[64], byte;
    size_t length = 0;
    struct agent agent = {folder,
                          "W-1",
                          0,
                          1,
                          host_start.idle_ms,
                          host_start.lease_ms,
                          host_start.grace_ms,
                          host_start.settle_ms};
    int *const times[] = {&agent.idle_ms, &agent.lease_ms, &agent.grace_ms};
    for (int i = 0; i < 3; i++)
        *times[i] = *times[i] ? *times[i] : 10 * LONGEST_MS;
    if (pipe(to) != 0 || pipe(from) != 0)
        abort();
    if (write(to[1], host_start.first, host_start.first_bytes) != (ssize_t)host_start.first_bytes)
        abort();
    fflush(stdout);
    host->agent = fork();
    if (host->agent == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        port_close_from(STDERR_FILENO + 1); /* those of other agents too */
        _exit(agent_serve(&agent));
    }
    close(to[0]);
    close(from[1]);
    host->to = to[1];
    host->from = from[0];
    fcntl(host->to, F_SETFD, FD_CLOEXEC);
    fcntl(host->from, F_SETFD, FD_CLOEXEC);
    host->channel = (struct channel){host->from, host_write, host_read, 0};
    signal(SIGPIPE, SIG_IGN);
    while (length < sizeof line - 1 && read(host->from, &byte, 1) == 1 && byte != '\n')
        line[length++] = byte;
    line[length] = '\0';
    CHECK_TEXT(line, "hardstone-agent W-1");
    CHECK_SAME(host_receive(host), 'H');
    CHECK_SAME(host->frame.bytes[0], AGENT_VERSION);
}

/* The agent's exit code, once it has ended; minus the signal. */
static inline int host_wait(struct host *host)
{
    int status = 0;
    if (host->to >= 0)
        close(host->to);
    close(host->from);
    waitpid(host->agent, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* Ends the host's side. */
static inline void host_close(struct host *host)
{
    CHECK_SAME(host_wait(host), 0);
}

#endif
