#include "base/posix_source.h"

#include "agent/child.h"

#include "base/options.h"

#if HS_HAS_FORK && HS_HAS_SOCKETS

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CANNOT_START = 127 };

struct child {
    pid_t pid;
    int input, output, error; /* -1: closed */
    int start;                /* tells errno where the command could not be started */
    int signals;              /* readable when a child has ended */
    int status;
    bool is_ended;
    const struct child_rules *rules;
    int64_t heard_ms; /* when the last frame came */
    size_t waiting;   /* bytes for its input that its pipe had no room for yet */
    unsigned char waits[FRAME_MOST_BYTES];
};

static void close_file(int *file)
{
    if (*file >= 0)
        close(*file);
    *file = -1;
}

/* ---- signals as bytes, and time ---- */

static volatile sig_atomic_t signals_end = -1;

static void on_signal(int number)
{
    int error = errno;
    unsigned char byte = (unsigned char)number;
    (void)!write((int)signals_end, &byte, 1);
    errno = error;
}

bool pipe_open(int ends[2])
{
    if (pipe(ends) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
        fcntl(ends[i], F_SETFL, O_NONBLOCK);
    }
    return true;
}

int signals_open(const int *numbers)
{
    struct sigaction action;
    int ends[2];
    if (!pipe_open(ends))
        return -1;
    signals_end = ends[1];
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (; *numbers; numbers++)
        sigaction(*numbers, &action, NULL);
    return ends[0];
}

void signals_close(int *signals)
{
    int end = (int)signals_end;
    signals_end = -1; /* a handler's write fails from now on, and nothing else happens */
    close_file(&end);
    close_file(signals);
}

void signal_group(pid_t leader, int number)
{
    if (kill(-leader, number) != 0 && errno == ESRCH)
        kill(leader, number);
}

int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the command ---- */

static void become(char *words[], const struct child_rules *rules, pid_t parent, int pipes[4][2])
{
    sigset_t none;
    setsid();
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int ends[] = {pipes[0][0], pipes[1][1], pipes[2][1]};
    for (int i = 0; i < 3; i++)
        fcntl(ends[i], F_SETFL, 0); /* the command's own ends block */
    if (rules && rules->end_with(parent) == ESRCH)
        _exit(CANNOT_START);
    if (dup2(ends[0], STDIN_FILENO) >= 0 && dup2(ends[1], STDOUT_FILENO) >= 0 &&
        dup2(ends[2], STDERR_FILENO) >= 0)
        execvp(words[0], words);
    unsigned char reason = (unsigned char)errno;
    (void)!write(pipes[3][1], &reason, 1);
    _exit(CANNOT_START);
}

static bool make_pipes(int pipes[4][2])
{
    int made = 0;
    while (made < 4 && pipe_open(pipes[made]))
        made++;
    if (made == 4)
        return true;
    int error = errno;
    while (made-- > 0) {
        close(pipes[made][0]);
        close(pipes[made][1]);
    }
    errno = error;
    return false;
}

/* 0, or errno. */
static int start(struct child *child, char *words[])
{
    int pipes[4][2];
    pid_t parent = getpid();
    if (!make_pipes(pipes))
        return errno;
    child->pid = fork();
    int error = child->pid < 0 ? errno : 0;
    if (child->pid == 0)
        become(words, child->rules, parent, pipes);
    close(pipes[0][0]);
    for (int i = 1; i < 4; i++)
        close(pipes[i][1]);
    child->input = pipes[0][1];
    child->output = pipes[1][0];
    child->error = pipes[2][0];
    child->start = pipes[3][0];
    return error;
}

/* All that have ended, for this may be process 1; the child among them. */
static void reap(struct child *child)
{
    unsigned char numbers[64];
    int status;
    pid_t pid;
    while (read(child->signals, numbers, sizeof numbers) > 0)
        ;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == child->pid) {
            child->status = status;
            child->is_ended = true;
        }
}

/* Sends what is there now. */
static bool pass_on(struct channel *channel, int *file, char type, struct frame *buffer)
{
    while (*file >= 0) {
        ssize_t got = read(*file, buffer->bytes, FRAME_MOST_BYTES);
        if (got < 0)
            return errno == EAGAIN || errno == EINTR;
        if (got == 0)
            close_file(file);
        else if (!frame_send(channel, type, buffer->bytes, (size_t)got))
            return false;
    }
    return true;
}

/* Writes what its pipe has room for; all of it is told to the host, which sends the next then. */
static bool give_input(struct channel *channel, struct child *child)
{
    if (child->waiting == 0)
        return true;
    ssize_t done = child->input < 0 ? -1 : write(child->input, child->waits, child->waiting);
    if (done < 0 && child->input >= 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (done < 0) {
        close_file(&child->input); /* it reads no more */
        done = (ssize_t)child->waiting;
    }
    child->waiting -= (size_t)done;
    memmove(child->waits, child->waits + done, child->waiting);
    return child->waiting > 0 || frame_send(channel, FRAME_TAKEN, "", 0);
}

static bool take_input(struct channel *channel, struct child *child, const struct frame *frame)
{
    if (frame->length > sizeof child->waits - child->waiting)
        return false; /* the host has not waited */
    memcpy(child->waits + child->waiting, frame->bytes, frame->length);
    child->waiting += frame->length;
    return give_input(channel, child);
}

bool answer_clock(struct channel *channel, const struct frame *frame, bool *is_there)
{
    if (frame->type != FRAME_CLOCK)
        return false;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t ns = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(ns >> (8 * i));
    *is_there = frame_send(channel, FRAME_CLOCK, bytes, sizeof bytes);
    return true;
}

static enum child_outcome obey(struct channel *channel, struct child *child, struct frame *frame)
{
    bool is_there = true;
    if (!frame_receive(channel, frame))
        return frame->length > FRAME_MOST_BYTES ? CHILD_BAD_FRAME : CHILD_HOST_GONE;
    child->heard_ms = now_ms();
    if (frame->type == FRAME_INPUT)
        is_there = take_input(channel, child, frame);
    else if (frame->type == FRAME_INPUT_END)
        close_file(&child->input);
    else if (frame->type == FRAME_SIGNAL && frame->length == 1)
        signal_group(child->pid, frame->bytes[0]);
    else if (!answer_clock(channel, frame, &is_there) && child->rules)
        return CHILD_BAD_FRAME;
    return is_there ? CHILD_ENDED : CHILD_HOST_GONE;
}

/* How long the host may still be silent; -1: for ever. */
static int patience_ms(const struct child *child)
{
    if (!child->rules)
        return -1;
    int64_t left_ms = child->heard_ms + child->rules->idle_ms - now_ms();
    return left_ms < 0 ? 0 : left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

static enum child_outcome serve(struct channel *channel, struct child *child, struct frame *buffer)
{
    child->heard_ms = child->rules ? now_ms() : 0;
    while (!child->is_ended) {
        struct pollfd files[] = {{child->output, POLLIN, 0},
                                 {child->error, POLLIN, 0},
                                 {channel->to_poll, POLLIN, 0},
                                 {child->waiting > 0 ? child->input : -1, POLLOUT, 0},
                                 {child->signals, POLLIN, 0}};
        int patience = channel->ahead > 0 ? 0 : patience_ms(child);
        int ready = poll(files, sizeof files / sizeof *files, patience);
        if (!pass_on(channel, &child->output, FRAME_OUTPUT, buffer) ||
            !pass_on(channel, &child->error, FRAME_ERROR, buffer) || !give_input(channel, child))
            return CHILD_HOST_GONE;
        bool has_frame = channel->ahead > 0 || (ready > 0 && files[2].revents);
        enum child_outcome outcome = has_frame ? obey(channel, child, buffer) : CHILD_ENDED;
        if (outcome != CHILD_ENDED)
            return outcome;
        if (!has_frame && ready == 0)
            return CHILD_HOST_GONE;
        reap(child);
    }
    /* what it wrote before its end; its children may still hold the pipes */
    return pass_on(channel, &child->output, FRAME_OUTPUT, buffer) &&
                   pass_on(channel, &child->error, FRAME_ERROR, buffer)
               ? CHILD_ENDED
               : CHILD_HOST_GONE;
}

/* Ends a command whose host is gone: by the end of its input and SIGTERM, so that it can restore
 * what it changed, at last by SIGKILL. */
static void end_child(struct child *child)
{
    int64_t until_ms = now_ms() + child->rules->grace_ms;
    close_file(&child->input);
    close_file(&child->output);
    close_file(&child->error);
    signal_group(child->pid, SIGTERM);
    for (reap(child); !child->is_ended; reap(child)) {
        struct pollfd signals = {child->signals, POLLIN, 0};
        int64_t left_ms = until_ms - now_ms();
        if (left_ms <= 0)
            break;
        poll(&signals, 1, (int)left_ms);
    }
    if (!child->is_ended) {
        signal_group(child->pid, SIGKILL);
        waitpid(child->pid, NULL, 0);
    }
}

static bool tell_end(struct channel *channel, const struct child *child)
{
    unsigned char end[2] = {0, 0};
    if (WIFSIGNALED(child->status))
        end[0] = (unsigned char)(128 + WTERMSIG(child->status));
    else
        end[0] = (unsigned char)WEXITSTATUS(child->status);
    if (read(child->start, &end[1], 1) != 1)
        end[1] = 0;
    return frame_send(channel, FRAME_EXIT, end, sizeof end);
}

static bool tell_no_start(struct channel *channel, int error)
{
    unsigned char end[2] = {CANNOT_START, (unsigned char)error};
    return frame_send(channel, FRAME_EXIT, end, sizeof end);
}

static enum child_outcome serve_words(struct channel *channel, struct child *child,
                                      struct frame *request)
{
    char *words[FRAME_MOST_WORDS + 1];
    int error = frame_words(request, words) > 0 ? start(child, words) : E2BIG;
    if (error)
        return tell_no_start(channel, error) ? CHILD_ENDED : CHILD_HOST_GONE;
    enum child_outcome outcome = serve(channel, child, request);
    if (outcome == CHILD_ENDED && !tell_end(channel, child))
        outcome = CHILD_HOST_GONE;
    if (child->rules && !child->is_ended)
        end_child(child);
    return outcome;
}

enum child_outcome child_serve(struct channel *channel, struct frame *request,
                               const struct child_rules *rules)
{
    static const int numbers[] = {SIGCHLD, 0};
    struct child *child = calloc(1, sizeof *child);
    int signals = child ? signals_open(numbers) : -1;
    if (signals < 0) {
        int error = child ? errno : ENOMEM;
        free(child);
        return tell_no_start(channel, error) ? CHILD_ENDED : CHILD_HOST_GONE;
    }
    signal(SIGPIPE, SIG_IGN);
    child->pid = child->input = child->output = child->error = child->start = -1;
    child->signals = signals;
    child->rules = rules;
    enum child_outcome outcome = serve_words(channel, child, request);
    close_file(&child->input);
    close_file(&child->output);
    close_file(&child->error);
    close_file(&child->start);
    signals_close(&child->signals);
    free(child);
    return outcome;
}

#endif
