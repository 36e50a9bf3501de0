#include "guest/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_WORDS = 512, CANNOT_START = 127 };

struct child {
    pid_t pid;
    int input, output, error; /* -1: closed */
    int start;                /* tells errno where the command could not be started */
    int status;
    bool is_ended;
    size_t waiting; /* bytes for its input that its pipe had no room for yet */
    unsigned char waits[FRAME_MOST_BYTES];
};

static void on_child(int number)
{
    (void)number; /* it only ends ppoll */
}

static void close_file(int *file)
{
    if (*file >= 0)
        close(*file);
    *file = -1;
}

static int split(struct frame *request, char *words[MOST_WORDS + 1])
{
    int count = 0;
    for (uint32_t at = 0; at < request->length; at += (uint32_t)strlen(words[count++]) + 1) {
        if (count == MOST_WORDS)
            return -1;
        words[count] = (char *)request->bytes + at;
    }
    words[count] = NULL;
    return count;
}

static void become(char *words[], int input, int output, int error, int start)
{
    sigset_t none;
    setsid();
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
        dup2(error, STDERR_FILENO) >= 0)
        execvp(words[0], words);
    unsigned char reason = (unsigned char)errno;
    (void)!write(start, &reason, 1);
    _exit(CANNOT_START);
}

static bool make_pipes(int pipes[4][2])
{
    int made = 0;
    while (made < 4 && pipe2(pipes[made], O_CLOEXEC) == 0)
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
    if (!make_pipes(pipes))
        return errno;
    child->pid = fork();
    int error = child->pid < 0 ? errno : 0;
    if (child->pid == 0)
        become(words, pipes[0][0], pipes[1][1], pipes[2][1], pipes[3][1]);
    close(pipes[0][0]);
    for (int i = 1; i < 4; i++)
        close(pipes[i][1]);
    child->input = pipes[0][1];
    child->output = pipes[1][0];
    child->error = pipes[2][0];
    child->start = pipes[3][0];
    int own[] = {child->input, child->output, child->error, child->start};
    for (int i = 0; i < 4; i++)
        fcntl(own[i], F_SETFL, O_NONBLOCK);
    return error;
}

/* All that have ended, for this is process 1; the child among them. */
static void reap(struct child *child)
{
    int status;
    pid_t pid;
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

static bool obey(struct channel *channel, struct child *child, struct frame *frame)
{
    bool is_there = true;
    if (!frame_receive(channel, frame))
        return false;
    if (answer_clock(channel, frame, &is_there))
        return is_there;
    if (frame->type == FRAME_INPUT)
        return take_input(channel, child, frame);
    if (frame->type == FRAME_INPUT_END)
        close_file(&child->input);
    else if (frame->type == FRAME_SIGNAL && frame->length == 1)
        kill(-child->pid, frame->bytes[0]);
    return true;
}

static bool serve(struct channel *channel, struct child *child, struct frame *buffer)
{
    sigset_t during;
    sigprocmask(SIG_SETMASK, NULL, &during);
    sigdelset(&during, SIGCHLD);
    while (!child->is_ended) {
        struct pollfd files[] = {{child->output, POLLIN, 0},
                                 {child->error, POLLIN, 0},
                                 {channel->to_poll, POLLIN, 0},
                                 {child->waiting > 0 ? child->input : -1, POLLOUT, 0}};
        int ready = ppoll(files, sizeof files / sizeof *files, NULL, &during);
        if (!pass_on(channel, &child->output, FRAME_OUTPUT, buffer) ||
            !pass_on(channel, &child->error, FRAME_ERROR, buffer) || !give_input(channel, child))
            return false;
        if (ready > 0 && files[2].revents && !obey(channel, child, buffer))
            return false;
        reap(child);
    }
    /* what it wrote before its end; its children may still hold the pipes */
    return pass_on(channel, &child->output, FRAME_OUTPUT, buffer) &&
           pass_on(channel, &child->error, FRAME_ERROR, buffer);
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

static void take_signals_of_children(void)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGPIPE, SIG_IGN);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = on_child}, NULL);
}

bool child_serve(struct channel *channel, struct frame *request)
{
    static struct child child;
    char *words[MOST_WORDS + 1];
    child = (struct child){.pid = -1, .input = -1, .output = -1, .error = -1, .start = -1};
    take_signals_of_children();
    int error = split(request, words) > 0 ? start(&child, words) : E2BIG;
    bool is_there = error ? tell_no_start(channel, error)
                          : serve(channel, &child, request) && tell_end(channel, &child);
    close_file(&child.input);
    close_file(&child.output);
    close_file(&child.error);
    close_file(&child.start);
    return is_there;
}
