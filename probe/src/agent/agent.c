#include "base/posix_source.h"

#include "agent/agent.h"

#include "agent/child.h"
#include "agent/folder.h"
#include "agent/frame.h"
#include "agent/keeper.h"
#include "base/options.h"
#include "base/status.h"
#include "port/port.h"

#include <string.h>

bool agent_word_is_valid(const char *word)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@._-";
    size_t length = strspn(word, letters);
    return length > 0 && length <= AGENT_MOST_WORD_BYTES && word[length] == '\0';
}

#if HS_HAS_FORK && HS_HAS_SOCKETS

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#ifndef PIPE_BUF
#define PIPE_BUF 512 /* POSIX: at least */
#endif

enum { ANSWER_MS = 20000, WHY_BYTES = 512, PART_BYTES = PIPE_BUF };

/* A pair of files, or a socket twice. */
struct file_channel {
    struct channel channel; /* `to_poll` is read */
    int output;
    int patience_ms; /* for a byte, or for room */
    size_t begin;    /* of what is ahead */
    unsigned char bytes[FRAME_HEAD_BYTES + FRAME_MOST_BYTES];
};

struct session {
    const struct agent *agent;
    struct keeper_site site;
    struct file_channel host, keeper; /* keeper: `to_poll` -1 where there is no connection */
    bool had_keeper;
    struct frame frame, answer;
};

/* ---- channels ---- */

static bool wait_for(int file, short what, int most_ms)
{
    struct pollfd wanted = {file, what, 0};
    int ready;
    while ((ready = poll(&wanted, 1, most_ms)) < 0 && errno == EINTR)
        ;
    return ready > 0;
}

/* A pipe that is ready takes PIPE_BUF bytes without blocking: so a host that no longer reads cannot
 * hold the agent for ever. The files stay as they are, for others may share them. */
static bool file_send(struct channel *channel, const void *bytes, size_t length)
{
    const struct file_channel *own = (const struct file_channel *)channel;
    const char *from = bytes;
    while (length > 0) {
        if (!wait_for(own->output, POLLOUT, own->patience_ms))
            return false;
        ssize_t done = write(own->output, from, length < PART_BYTES ? length : PART_BYTES);
        if (done < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (done > 0) {
            from += done;
            length -= (size_t)done;
        }
    }
    return true;
}

static ssize_t file_read(const struct file_channel *own, void *to, size_t bytes)
{
    for (;;) {
        if (!wait_for(own->channel.to_poll, POLLIN, own->patience_ms))
            return -1;
        ssize_t got = read(own->channel.to_poll, to, bytes);
        if (got >= 0 || (errno != EINTR && errno != EAGAIN))
            return got;
    }
}

static ssize_t file_receive(struct channel *channel, void *to, size_t bytes)
{
    struct file_channel *own = (struct file_channel *)channel;
    size_t part = bytes < channel->ahead ? bytes : channel->ahead;
    if (part == 0)
        return file_read(own, to, bytes);
    memcpy(to, own->bytes + own->begin, part);
    own->begin += part;
    channel->ahead -= part;
    return (ssize_t)part;
}

/* Reads ahead, which tells whether the host is still there. */
static bool look_ahead(struct file_channel *own)
{
    struct channel *channel = &own->channel;
    memmove(own->bytes, own->bytes + own->begin, channel->ahead);
    own->begin = 0;
    ssize_t got = file_read(own, own->bytes + channel->ahead, sizeof own->bytes - channel->ahead);
    channel->ahead += got > 0 ? (size_t)got : 0;
    return got > 0;
}

static void open_channel(struct file_channel *own, int input, int output, int patience_ms)
{
    own->channel = (struct channel){input, file_send, file_receive, 0};
    own->output = output;
    own->patience_ms = patience_ms;
    own->begin = 0;
}

/* ---- the host ---- */

static bool answer_words(struct session *session, const char *word, const char *more,
                         const char *last)
{
    session->answer.length = 0;
    const char *words[] = {word, more, last};
    for (int i = 0; i < 3 && words[i]; i++)
        frame_add(&session->answer, words[i]);
    return frame_send(&session->host.channel, AGENT_ANSWER, session->answer.bytes,
                      session->answer.length);
}

/* False: the agent ends. */
static bool not_understood(struct session *session, const char *text)
{
    (void)frame_send(&session->host.channel, AGENT_NOT_UNDERSTOOD, text, strlen(text));
    return false;
}

static bool send_end(struct session *session, int error)
{
    unsigned char end[2] = {0, (unsigned char)error};
    return frame_send(&session->host.channel, FRAME_EXIT, end, sizeof end);
}

static bool send_file(struct session *session, char *const words[], int count)
{
    int64_t offset, most;
    int error = 0;
    if (count != 3 || !number_parse(words[1], INT64_MAX, &offset) ||
        !number_parse(words[2], INT64_MAX, &most))
        return not_understood(session, "F: PATH OFFSET MOST");
    int file = folder_open_file(session->site.folder, words[0]);
    if (file < 0)
        return send_end(session, errno);
    while (most > 0 && !error) {
        size_t part = most < FRAME_MOST_BYTES ? (size_t)most : FRAME_MOST_BYTES;
        ssize_t got = pread(file, session->answer.bytes, part, (off_t)offset);
        if (got < 0 && errno != EINTR)
            error = errno;
        if (got == 0)
            break;
        if (got > 0 &&
            !frame_send(&session->host.channel, FRAME_OUTPUT, session->answer.bytes, (size_t)got)) {
            close(file);
            return false;
        }
        offset += got > 0 ? got : 0;
        most -= got > 0 ? got : 0;
    }
    close(file);
    return send_end(session, error);
}

static bool remove_files(struct session *session, char *const words[], int count)
{
    const char *failed = NULL;
    int first = 0;
    for (int i = 0; i < count; i++) {
        int error = folder_remove_file(session->site.folder, words[i]);
        if (error && !failed) {
            failed = words[i];
            first = error;
        }
    }
    return failed ? answer_words(session, "failed", failed, strerror(first))
                  : answer_words(session, NULL, NULL, NULL);
}

static bool run_command(struct session *session)
{
    struct child_rules rules = {port_end_with, session->agent->idle_ms, session->agent->grace_ms};
    enum child_outcome outcome = child_serve(&session->host.channel, &session->frame, &rules);
    if (outcome == CHILD_BAD_FRAME)
        return not_understood(session, "while a command runs, only I, Z, S and C are taken");
    return outcome == CHILD_ENDED;
}

/* ---- the keeper ---- */

enum reply { REPLY_HERE, REPLY_LOST, REPLY_LATE, REPLY_HOST_GONE };

static void leave_keeper(struct session *session)
{
    if (session->keeper.channel.to_poll >= 0)
        close(session->keeper.channel.to_poll);
    session->keeper.channel.to_poll = -1;
}

/* Waits for the answer; while a job runs that may be long, so it ends with the host. */
static enum reply wait_for_reply(struct session *session, int64_t most_ms)
{
    struct file_channel *host = &session->host, *keeper = &session->keeper;
    int64_t until_ms = now_ms() + most_ms + ANSWER_MS;
    for (;;) {
        bool may_look = most_ms > 0 && host->channel.ahead < sizeof host->bytes;
        struct pollfd files[] = {{keeper->channel.to_poll, POLLIN, 0},
                                 {may_look ? host->channel.to_poll : -1, POLLIN, 0}};
        int64_t left_ms = until_ms - now_ms();
        if (left_ms <= 0)
            return REPLY_LATE;
        if (poll(files, 2, left_ms > INT_MAX ? INT_MAX : (int)left_ms) <= 0)
            continue;
        if (files[0].revents)
            return frame_receive(&keeper->channel, &session->answer) ? REPLY_HERE : REPLY_LOST;
        if (files[1].revents && !look_ahead(host))
            return REPLY_HOST_GONE;
    }
}

/* Passes the frame on to the keeper, and its answer back. One that has just left has done nothing:
 * it is asked again, or another one. 0, or an errno value: there is no keeper. */
static int ask_keeper(struct session *session, bool may_start, int64_t most_ms, bool *is_there)
{
    enum { TRIES = 3 };
    struct channel *keeper = &session->keeper.channel;
    const struct frame *frame = &session->frame;
    for (int i = 0; i < TRIES; i++) {
        if (keeper->to_poll < 0) {
            int file = may_start ? keeper_start(&session->site) : keeper_connect(&session->site);
            if (file < 0)
                return errno;
            open_channel(&session->keeper, file, file, ANSWER_MS);
            session->had_keeper = true;
        }
        enum reply reply = REPLY_LOST;
        if (frame_send(keeper, frame->type, frame->bytes, frame->length))
            reply = wait_for_reply(session, most_ms);
        *is_there = reply != REPLY_HOST_GONE;
        if (reply == REPLY_HERE)
            *is_there = frame_send(&session->host.channel, AGENT_ANSWER, session->answer.bytes,
                                   session->answer.length);
        if (reply == REPLY_HERE || reply == REPLY_HOST_GONE)
            return 0;
        leave_keeper(session);
        if (reply == REPLY_LATE)
            return ETIMEDOUT;
    }
    return ETIMEDOUT;
}

/* Of a folder without a keeper. */
static bool tell_from_files(struct session *session)
{
    struct jobs *jobs = calloc(1, sizeof *jobs);
    if (!jobs)
        return not_understood(session, strerror(ENOMEM));
    jobs_read(jobs, session->site.folder);
    session->answer.length = 0;
    frame_add(&session->answer, "none");
    jobs_tell(jobs, &session->answer);
    free(jobs);
    return frame_send(&session->host.channel, AGENT_ANSWER, session->answer.bytes,
                      session->answer.length);
}

static bool remove_folder(struct session *session)
{
    int error = keeper_remove_folder(&session->site);
    return error ? answer_words(session, "failed", strerror(error), NULL)
                 : answer_words(session, NULL, NULL, NULL);
}

static bool for_keeper(struct session *session, char *const words[], int count)
{
    char type = session->frame.type;
    bool may_start = type == AGENT_LOCK || type == AGENT_JOB, is_there = true;
    int64_t number, most_ms = 0;
    if (type == AGENT_WAIT && (count != 2 || !number_parse(words[0], INT_MAX, &number) ||
                               !number_parse(words[1], JOB_MOST_MS, &most_ms)))
        return not_understood(session, "W: NUMBER MOST_MS");
    if (type == AGENT_STOP &&
        (count != 1 || (strcmp(words[0], "stop") != 0 && strcmp(words[0], "kill") != 0)))
        return not_understood(session, "P: stop or kill");
    int error = ask_keeper(session, may_start, most_ms, &is_there);
    if (!error)
        return is_there;
    if (error == ETIMEDOUT || (error != ECONNREFUSED && error != ENOENT && !may_start))
        return not_understood(session, "the keeper does not answer");
    switch (type) {
    case AGENT_LOCK:
        return answer_words(session, "failed", count > 0 ? words[0] : "", strerror(error));
    case AGENT_JOB:
        return answer_words(session, "refused", strerror(error), NULL);
    case AGENT_BYE:
        return remove_folder(session);
    case AGENT_QUERY:
    case AGENT_WAIT:
        return tell_from_files(session);
    default:
        return answer_words(session, NULL, NULL, NULL);
    }
}

/* ---- the session ---- */

static bool obey(struct session *session)
{
    static const char with_words[] = {FRAME_RUN, AGENT_FILE, AGENT_REMOVE, AGENT_LOCK,
                                      AGENT_JOB, AGENT_WAIT, AGENT_STOP};
    char *words[FRAME_MOST_WORDS + 1], type = session->frame.type;
    bool has_words = memchr(with_words, type, sizeof with_words) != NULL;
    int count = has_words ? frame_words(&session->frame, words) : 0;
    bool is_there = true;
    if (count < 0)
        return not_understood(session, "the words do not end, or are more than 512");
    switch (type) {
    case FRAME_RUN:
        return run_command(session);
    case FRAME_INPUT:
    case FRAME_INPUT_END:
    case FRAME_SIGNAL:
        return true; /* the command has just ended */
    case FRAME_CLOCK:
        (void)answer_clock(&session->host.channel, &session->frame, &is_there);
        return is_there;
    case AGENT_FILE:
        return send_file(session, words, count);
    case AGENT_REMOVE:
        return remove_files(session, words, count);
    case AGENT_LOCK:
    case AGENT_UNLOCK:
    case AGENT_JOB:
    case AGENT_QUERY:
    case AGENT_WAIT:
    case AGENT_STOP:
    case AGENT_BYE:
        return for_keeper(session, words, count);
    default:
        return not_understood(session, "there is no frame of this type");
    }
}

static void serve(struct session *session)
{
    char line[AGENT_MOST_WORD_BYTES + 32];
    unsigned char version = AGENT_VERSION;
    struct channel *host = &session->host.channel;
    int length = snprintf(line, sizeof line, "hardstone-agent %s\n", session->agent->word);
    bool is_there =
        host->send(host, line, (size_t)length) && frame_send(host, FRAME_READY, &version, 1);
    while (is_there) {
        if (frame_receive(host, &session->frame))
            is_there = obey(session);
        else
            is_there = session->frame.length > FRAME_MOST_BYTES &&
                       not_understood(session, "a frame is longer than 65536 bytes");
    }
}

/* Who deployed the probe has gone, and has nothing to collect: nobody would come back for it. A
 * keeper decides that itself. */
static void forget_unused(const struct session *session)
{
    if (!session->had_keeper && folder_is_unused(session->site.folder))
        (void)keeper_remove_folder(&session->site);
}

/* On the heap: a run of the probe locks all static memory. */
int agent_serve(const struct agent *agent)
{
    char why[WHY_BYTES];
    int folder = folder_open(agent->folder, why, sizeof why);
    struct session *session = folder < 0 ? NULL : calloc(1, sizeof *session);
    if (!session) {
        message_print("agent: %s", folder < 0 ? why : strerror(ENOMEM));
        return folder < 0 ? EXIT_USAGE : EXIT_INTERNAL;
    }
    signal(SIGPIPE, SIG_IGN);
    (void)!chdir("/");
    session->agent = agent;
    session->site = (struct keeper_site){folder, agent->folder, agent->lease_ms, agent->grace_ms,
                                         agent->settle_ms};
    open_channel(&session->host, agent->input, agent->output, agent->idle_ms);
    session->keeper.channel.to_poll = -1;
    serve(session);
    leave_keeper(session);
    forget_unused(session);
    close(folder);
    free(session);
    return EXIT_FINE;
}

#else

int agent_serve(const struct agent *agent)
{
    (void)agent;
    message_print(
        "agent: this system has no processes, or no sockets; measure it with a probe that "
        "runs there: hardstone-probe run");
    return EXIT_MISSING;
}

#endif
