#include "base/posix_source.h"

#include "agent/keeper.h"

#include "agent/agent.h"
#include "agent/child.h"
#include "agent/folder.h"
#include "agent/frame.h"
#include "base/options.h"
#include "port/file.h"
#include "port/port.h"

#if HS_HAS_FORK && HS_HAS_SOCKETS

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MOST_AGENTS = 16,
    MOST_WAITING_BYTES = 1 << 20,
    SEND_MS = 2000,   /* an agent that does not read */
    START_MS = 10000, /* until another one has started, or left */
    LOOK_MS = 20,
    PATH_BYTES = 4096,
    CANNOT_START = 127,
};

static const char socket_name[] = "socket";
static const char lock_name[] = "keeper";

/* An agent that is connected. */
struct agent_link {
    int file;
    size_t have;   /* bytes of its frame, with the head */
    int waits_for; /* number of the job of its W; -1: it does not wait */
    int64_t until_ms;
    unsigned char bytes[FRAME_HEAD_BYTES + FRAME_MOST_BYTES];
};

struct keeper {
    const struct keeper_site *site;
    int folder, listener, signals;
    int lock; /* -1: none */
    char lock_path[PATH_BYTES];
    size_t waiting_bytes; /* words of the queue */
    unsigned next_order;
    pid_t pid; /* of the running job; 0: none */
    int number;
    int input;       /* write end of its input; -1: closed */
    int64_t next_ms; /* when it gets the next signal; -1: no more */
    bool is_asked_to_end;
    bool is_leaving; /* no more jobs */
    bool is_over;
    bool was_needed;  /* there was an agent or a job */
    int64_t alone_ms; /* since when there is none */
    int64_t begin_ms; /* of the queue */
    struct jobs jobs;
    struct agent_link agents[MOST_AGENTS];
    struct frame request, answer;
};

/* ---- jobs ---- */

static void close_file(int *file)
{
    if (*file >= 0)
        close(*file);
    *file = -1;
}

static void forget_words(struct keeper *keeper, struct job *job)
{
    keeper->waiting_bytes -= job->bytes;
    free(job->words);
    job->words = NULL;
    job->bytes = 0;
}

/* The probe in the folder, else the one that runs here. */
static int find_program(const struct keeper *keeper, char path[PATH_BYTES])
{
    struct stat state;
    if (fstatat(keeper->folder, FOLDER_PROGRAM, &state, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(state.st_mode))
        return port_own_executable(path, PATH_BYTES);
    int length = snprintf(path, PATH_BYTES, "%s/%s", keeper->site->path, FOLDER_PROGRAM);
    return length < PATH_BYTES ? 0 : ENAMETOOLONG;
}

static _Noreturn void give_up(int error)
{
    char text[200];
    int length =
        snprintf(text, sizeof text, "hardstone-probe: the job cannot start: %s\n", strerror(error));
    (void)!write(STDERR_FILENO, text, (size_t)length);
    _exit(CANNOT_START);
}

static _Noreturn void become(const struct keeper *keeper, char *words[], int input, pid_t parent)
{
    static const int normal[] = {SIGHUP, SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGCHLD};
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    char name[JOB_NAME_BYTES], path[PATH_BYTES];
    sigset_t none;
    setsid();
    for (size_t i = 0; i < sizeof normal / sizeof *normal; i++)
        signal(normal[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int output = openat(keeper->folder, job_file(name, keeper->number, "out"), flags, 0600);
    int error = output < 0 ? errno : 0;
    int errors = openat(keeper->folder, job_file(name, keeper->number, "err"), flags, 0600);
    if (!error && errors < 0)
        error = errno;
    if (errors >= 0)
        dup2(errors, STDERR_FILENO);
    if (error || dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0)
        give_up(error ? error : errno);
    if (port_end_with(parent) == ESRCH)
        _exit(CANNOT_START);
    error = find_program(keeper, path);
    if (!error)
        execv(path, words);
    give_up(error ? error : errno);
}

/* The words that the probe gets: its name, and the job's. NULL: there is no memory. */
static char **words_of(const struct job *job)
{
    int count = 0, at = 1;
    for (size_t i = 0; i < job->bytes; i++)
        count += job->words[i] == '\0';
    char **words = calloc((size_t)count + 2, sizeof *words);
    if (!words)
        return NULL;
    words[0] = (char *)FOLDER_PROGRAM;
    for (size_t i = 0; i < job->bytes; i += strlen(job->words + i) + 1)
        words[at++] = job->words + i;
    return words;
}

static int make_begun(const struct keeper *keeper, int number)
{
    char name[JOB_NAME_BYTES];
    int file = openat(keeper->folder, job_file(name, number, "begun"),
                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return errno;
    close(file);
    return 0;
}

/* 0, or an errno value. */
static int start_job(struct keeper *keeper, struct job *job)
{
    int ends[2], error = make_begun(keeper, job->number);
    sigset_t all, before;
    pid_t parent = getpid();
    char **words = error ? NULL : words_of(job);
    if (!error && !words)
        error = ENOMEM;
    if (!error && pipe(ends) != 0)
        error = errno;
    if (!error) {
        fcntl(ends[1], F_SETFD, FD_CLOEXEC);
        fcntl(ends[0], F_SETFD, FD_CLOEXEC);
        keeper->number = job->number;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, &before); /* none may reach the keeper's own handler */
        keeper->pid = fork();
        if (keeper->pid == 0)
            become(keeper, words, ends[0], parent);
        error = keeper->pid < 0 ? errno : 0;
        sigprocmask(SIG_SETMASK, &before, NULL);
        close(ends[0]);
        if (error)
            close(ends[1]);
    }
    free(words);
    if (error) {
        keeper->pid = 0;
        return error;
    }
    keeper->input = ends[1];
    keeper->is_asked_to_end = false;
    keeper->next_ms = now_ms() + job->deadline_ms;
    job->state = JOB_RUNNING;
    job->code = (int)keeper->pid;
    return 0;
}

static void end_job(struct keeper *keeper, struct job *job, int code)
{
    char name[JOB_NAME_BYTES];
    job->state = JOB_ENDED;
    job->code = code;
    job->is_unsaved = job_save_code(keeper->folder, job) != 0;
    if (code == 0 || code == 3 || code == 5)
        folder_remove_file(keeper->folder, job_file(name, job->number, "rec"));
}

static struct job *next_job(struct keeper *keeper)
{
    struct job *next = NULL;
    for (int i = 0; i < keeper->jobs.count; i++) {
        struct job *job = &keeper->jobs.list[i];
        if (job->state == JOB_QUEUED && (!next || job->order < next->order))
            next = job;
    }
    return next;
}

static void start_next(struct keeper *keeper)
{
    struct job *job;
    while (keeper->pid == 0 && now_ms() >= keeper->begin_ms && (job = next_job(keeper))) {
        if (start_job(keeper, job) != 0)
            end_job(keeper, job, CANNOT_START);
        forget_words(keeper, job);
    }
}

static void drop_queued(struct keeper *keeper)
{
    for (int i = 0; i < keeper->jobs.count; i++) {
        struct job *job = &keeper->jobs.list[i];
        if (job->state == JOB_QUEUED) {
            job->state = JOB_DROPPED;
            forget_words(keeper, job);
        }
    }
}

static void stop_jobs(struct keeper *keeper)
{
    drop_queued(keeper);
    close_file(&keeper->input);
}

static void kill_job(struct keeper *keeper)
{
    if (keeper->pid > 0)
        signal_group(keeper->pid, SIGKILL);
}

static void take_signals(struct keeper *keeper)
{
    unsigned char numbers[64];
    ssize_t got;
    while ((got = read(keeper->signals, numbers, sizeof numbers)) > 0)
        if (memchr(numbers, SIGTERM, (size_t)got)) {
            stop_jobs(keeper);
            keeper->is_leaving = true;
        }
}

/* ---- frames ---- */

static void say(struct keeper *keeper, const char *word, const char *more, const char *last)
{
    keeper->answer.length = 0;
    frame_add(&keeper->answer, word);
    frame_add(&keeper->answer, more);
    if (last)
        frame_add(&keeper->answer, last);
}

/* A new file is readable for all, as other measurements lock it too. -1 with errno. */
static int open_lock(const char *path)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    if (*path != '/') {
        errno = EINVAL;
        return -1;
    }
    int file = open(path, flags);
    return file < 0 && errno == ENOENT ? open(path, flags | O_CREAT, 0644) : file;
}

static void take_lock(struct keeper *keeper, char *const paths[], int count)
{
    char place[PORT_LOCK_PLACE_BYTES];
    int first = EINVAL;
    if (keeper->lock >= 0) {
        say(keeper, "locked", keeper->lock_path, NULL);
        return;
    }
    for (int i = 0; i < count; i++) {
        int file = open_lock(paths[i]);
        if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0) {
            keeper->lock = file;
            snprintf(keeper->lock_path, sizeof keeper->lock_path, "%s", paths[i]);
            say(keeper, "locked", paths[i], NULL);
            return;
        }
        int error = errno;
        if (file >= 0 && error == EWOULDBLOCK) {
            port_lock_place(file, place);
            say(keeper, "held", place, paths[i]);
            close(file);
            return;
        }
        close_file(&file);
        first = i == 0 ? error : first;
    }
    say(keeper, "failed", count > 0 ? paths[0] : "", strerror(first));
}

static const char *fault_of_job(struct keeper *keeper, char *const words[], int count,
                                int64_t *number, int64_t *deadline_ms)
{
    if (keeper->is_leaving)
        return "the keeper was told to end";
    if (count < 3 || !number_parse(words[0], JOB_MOST_NUMBER, number))
        return "give a number from 0 to 9999, a deadline and the probe's arguments";
    if (!number_parse(words[1], JOB_MOST_MS, deadline_ms) || *deadline_ms == 0)
        return "the deadline is from 1 to 2000000000 ms";
    if (jobs_find(&keeper->jobs, (int)*number))
        return "there is a job of this number";
    return NULL;
}

static void take_job(struct keeper *keeper, char *words[], int count)
{
    int64_t number, deadline_ms;
    const char *fault = fault_of_job(keeper, words, count, &number, &deadline_ms);
    size_t skipped = fault ? 0 : (size_t)(words[2] - words[0]);
    size_t bytes = keeper->request.length - skipped;
    if (!fault && keeper->waiting_bytes + bytes > MOST_WAITING_BYTES)
        fault = "the words of the queue are more than 1 MiB";
    char *copy = fault ? NULL : malloc(bytes);
    if (!fault && !copy)
        fault = strerror(ENOMEM);
    struct job *job = fault ? NULL : jobs_add(&keeper->jobs, (int)number);
    if (!fault && !job)
        fault = "there are 4096 jobs";
    if (fault || !copy) {
        free(copy);
        say(keeper, "refused", fault, NULL);
        return;
    }
    memcpy(copy, words[2], bytes);
    job->state = JOB_QUEUED;
    job->order = keeper->next_order++;
    job->deadline_ms = deadline_ms;
    job->words = copy;
    job->bytes = bytes;
    keeper->waiting_bytes += bytes;
    if (keeper->pid == 0)
        keeper->begin_ms = now_ms() + keeper->site->settle_ms;
    keeper->answer.length = 0;
    frame_add(&keeper->answer, "queued");
}

/* There may be room on the disk by now. */
static void save_again(struct keeper *keeper)
{
    for (int i = 0; i < keeper->jobs.count; i++) {
        struct job *job = &keeper->jobs.list[i];
        if (job->is_unsaved)
            job->is_unsaved = job_save_code(keeper->folder, job) != 0;
    }
}

static void tell_jobs(struct keeper *keeper)
{
    char pid[24];
    save_again(keeper);
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    say(keeper, "keeper", pid, NULL);
    jobs_tell(&keeper->jobs, &keeper->answer);
}

static bool is_waiting_over(struct keeper *keeper, int number)
{
    const struct job *job = jobs_find(&keeper->jobs, number);
    return !job || (job->state != JOB_QUEUED && job->state != JOB_RUNNING);
}

/* The job is reaped first, so that nothing writes into the folder any more. */
static void leave_nothing(struct keeper *keeper)
{
    struct pollfd signals = {keeper->signals, POLLIN, 0};
    drop_queued(keeper);
    kill_job(keeper);
    close_file(&keeper->input);
    while (keeper->pid > 0 && waitpid(keeper->pid, NULL, WNOHANG) == 0 &&
           poll(&signals, 1, keeper->site->grace_ms) != 0)
        take_signals(keeper);
    keeper->pid = 0;
    close_file(&keeper->lock);
    int error = folder_remove(keeper->folder, keeper->site->path);
    if (error)
        say(keeper, "failed", strerror(error), NULL);
    keeper->is_over = true;
}

/* False: no answer is due yet. */
static bool obey(struct keeper *keeper, struct agent_link *link)
{
    char *words[FRAME_MOST_WORDS + 1];
    int64_t number = -1, most_ms = 0;
    int count = frame_words(&keeper->request, words);
    keeper->answer.length = 0;
    switch ((enum agent_frame)keeper->request.type) {
    case AGENT_LOCK:
        take_lock(keeper, words, count);
        return true;
    case AGENT_UNLOCK:
        close_file(&keeper->lock);
        return true;
    case AGENT_JOB:
        take_job(keeper, words, count);
        return true;
    case AGENT_WAIT:
        if (count == 2 && number_parse(words[0], JOB_MOST_NUMBER, &number) &&
            number_parse(words[1], JOB_MOST_MS, &most_ms) &&
            !is_waiting_over(keeper, (int)number)) {
            link->waits_for = (int)number;
            link->until_ms = now_ms() + most_ms;
            return false;
        }
        tell_jobs(keeper);
        return true;
    case AGENT_STOP:
        if (count == 1 && strcmp(words[0], "stop") == 0)
            stop_jobs(keeper);
        if (count == 1 && strcmp(words[0], "kill") == 0)
            kill_job(keeper);
        return true;
    case AGENT_BYE:
        leave_nothing(keeper);
        return true;
    default:
        tell_jobs(keeper);
        return true;
    }
}

/* ---- agents ---- */

static void drop_agent(struct agent_link *link)
{
    close_file(&link->file);
    link->have = 0;
    link->waits_for = -1;
}

static bool send_part(struct channel *channel, const void *bytes, size_t length)
{
    const char *from = bytes;
    while (length > 0) {
        struct pollfd file = {channel->to_poll, POLLOUT, 0};
        ssize_t done = write(channel->to_poll, from, length);
        if (done < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (done < 0 && errno == EAGAIN && poll(&file, 1, SEND_MS) <= 0)
            return false;
        if (done > 0) {
            from += done;
            length -= (size_t)done;
        }
    }
    return true;
}

static void send_answer(struct keeper *keeper, struct agent_link *link)
{
    struct channel channel = {link->file, send_part, NULL, 0};
    if (!frame_send(&channel, AGENT_ANSWER, keeper->answer.bytes, keeper->answer.length))
        drop_agent(link);
}

/* The bytes of the frame that is coming; 0: more are too many. */
static size_t wanted_bytes(const struct agent_link *link)
{
    size_t length = 0;
    if (link->have < FRAME_HEAD_BYTES)
        return FRAME_HEAD_BYTES;
    for (int i = 0; i < 4; i++)
        length |= (size_t)link->bytes[1 + i] << (8 * i);
    return length > FRAME_MOST_BYTES ? 0 : FRAME_HEAD_BYTES + length;
}

/* Takes what is there; a whole frame is obeyed at once. */
static void serve_agent(struct keeper *keeper, struct agent_link *link)
{
    size_t wanted = wanted_bytes(link);
    if (link->have < wanted) {
        ssize_t got = read(link->file, link->bytes + link->have, wanted - link->have);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0) {
            drop_agent(link);
            return;
        }
        link->have += (size_t)got;
        wanted = wanted_bytes(link);
    }
    if (wanted == 0) {
        drop_agent(link);
        return;
    }
    if (link->have < wanted || wanted < FRAME_HEAD_BYTES || link->have < FRAME_HEAD_BYTES)
        return;
    keeper->request.type = (char)link->bytes[0];
    keeper->request.length = (uint32_t)(wanted - FRAME_HEAD_BYTES);
    memcpy(keeper->request.bytes, link->bytes + FRAME_HEAD_BYTES, keeper->request.length);
    keeper->request.bytes[keeper->request.length] = 0;
    link->have = 0;
    if (obey(keeper, link))
        send_answer(keeper, link);
}

static struct agent_link *free_link(struct keeper *keeper)
{
    for (int i = 0; i < MOST_AGENTS; i++)
        if (keeper->agents[i].file < 0)
            return &keeper->agents[i];
    return NULL;
}

static bool accept_agent(struct keeper *keeper)
{
    struct agent_link *link = free_link(keeper);
    int file = link ? accept(keeper->listener, NULL, NULL) : -1;
    if (file < 0)
        return false;
    fcntl(file, F_SETFD, FD_CLOEXEC);
    fcntl(file, F_SETFL, O_NONBLOCK);
    link->file = file;
    return true;
}

static void answer_waiting(struct keeper *keeper)
{
    for (int i = 0; i < MOST_AGENTS; i++) {
        struct agent_link *link = &keeper->agents[i];
        if (link->waits_for < 0 ||
            (!is_waiting_over(keeper, link->waits_for) && now_ms() < link->until_ms))
            continue;
        link->waits_for = -1;
        tell_jobs(keeper);
        send_answer(keeper, link);
    }
}

/* ---- life ---- */

static void reap(struct keeper *keeper)
{
    int status;
    if (keeper->pid <= 0 || waitpid(keeper->pid, &status, WNOHANG) != keeper->pid)
        return;
    keeper->pid = 0;
    close_file(&keeper->input);
    struct job *job = jobs_find(&keeper->jobs, keeper->number);
    end_job(keeper, job, WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
}

/* SIGTERM at the deadline, SIGKILL after the grace. */
static void keep_deadline(struct keeper *keeper)
{
    if (keeper->pid <= 0 || keeper->next_ms < 0 || now_ms() < keeper->next_ms)
        return;
    signal_group(keeper->pid, keeper->is_asked_to_end ? SIGKILL : SIGTERM);
    keeper->next_ms = keeper->is_asked_to_end ? -1 : now_ms() + keeper->site->grace_ms;
    keeper->is_asked_to_end = true;
}

static bool has_agent(const struct keeper *keeper)
{
    for (int i = 0; i < MOST_AGENTS; i++)
        if (keeper->agents[i].file >= 0)
            return true;
    return false;
}

static void sooner(int64_t *when_ms, int64_t other_ms)
{
    if (other_ms >= 0 && (*when_ms < 0 || other_ms < *when_ms))
        *when_ms = other_ms;
}

/* For poll; -1: until something happens. */
static int sleep_ms(struct keeper *keeper)
{
    int64_t when_ms = -1;
    if (keeper->pid > 0)
        sooner(&when_ms, keeper->next_ms);
    else if (next_job(keeper))
        sooner(&when_ms, keeper->begin_ms);
    else if (!has_agent(keeper))
        sooner(&when_ms, keeper->alone_ms + keeper->site->lease_ms);
    for (int i = 0; i < MOST_AGENTS; i++)
        if (keeper->agents[i].waits_for >= 0)
            sooner(&when_ms, keeper->agents[i].until_ms);
    if (when_ms < 0)
        return -1;
    int64_t left_ms = when_ms - now_ms();
    return left_ms < 0 ? 0 : left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

/* Sleeps until something happens, and serves the agents of which it came. */
static void look(struct keeper *keeper)
{
    struct pollfd files[MOST_AGENTS + 2];
    for (int i = 0; i < MOST_AGENTS; i++)
        files[i] = (struct pollfd){.fd = keeper->agents[i].file,
                                   .events = (short)(keeper->agents[i].waits_for < 0 ? POLLIN : 0)};
    files[MOST_AGENTS] = (struct pollfd){keeper->signals, POLLIN, 0};
    files[MOST_AGENTS + 1] = (struct pollfd){free_link(keeper) ? keeper->listener : -1, POLLIN, 0};
    if (poll(files, MOST_AGENTS + 2, sleep_ms(keeper)) <= 0)
        return;
    if (files[MOST_AGENTS + 1].revents)
        accept_agent(keeper);
    for (int i = 0; i < MOST_AGENTS && !keeper->is_over; i++) {
        struct agent_link *link = &keeper->agents[i];
        if (files[i].revents && link->waits_for >= 0)
            drop_agent(link);
        else if (files[i].revents)
            serve_agent(keeper, link);
    }
}

/* An agent that comes now is served; one that comes later finds no socket, and starts another. */
static bool may_leave(struct keeper *keeper)
{
    bool has_job = keeper->pid > 0 || next_job(keeper);
    bool is_needed = has_job || has_agent(keeper);
    if (keeper->is_leaving)
        return !has_job;
    if (!is_needed && keeper->was_needed)
        keeper->alone_ms = now_ms();
    keeper->was_needed = is_needed;
    return !is_needed && now_ms() >= keeper->alone_ms + keeper->site->lease_ms &&
           !accept_agent(keeper);
}

static void work(struct keeper *keeper)
{
    while (!keeper->is_over) {
        look(keeper);
        take_signals(keeper);
        reap(keeper);
        keep_deadline(keeper);
        if (!keeper->is_over)
            start_next(keeper);
        answer_waiting(keeper);
        if (!keeper->is_over && may_leave(keeper)) {
            unlinkat(keeper->folder, socket_name, 0);
            if (folder_is_unused(keeper->folder)) /* nothing to collect */
                (void)folder_remove(keeper->folder, keeper->site->path);
            keeper->is_over = true;
        }
    }
}

/* ---- start ---- */

/* The socket's name is relative to the folder: its path may be too long for sun_path. */
static int call_in_folder(int folder, int file,
                          int (*call)(int, const struct sockaddr *, socklen_t))
{
    struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, socket_name, sizeof socket_name);
    int error = fchdir(folder) != 0 ? errno : 0;
    if (!error && call(file, (const struct sockaddr *)&address, sizeof address) != 0)
        error = errno;
    (void)!chdir("/");
    return error;
}

static int open_socket(void)
{
    int file = socket(AF_UNIX, SOCK_STREAM, 0);
    if (file >= 0)
        fcntl(file, F_SETFD, FD_CLOEXEC);
    return file;
}

int keeper_connect(const struct keeper_site *site)
{
    int file = open_socket();
    int error = file < 0 ? errno : call_in_folder(site->folder, file, connect);
    if (!error)
        return file;
    close_file(&file);
    errno = error;
    return -1;
}

/* Byte 0 of FOLDER/keeper is the keeper's for its life, byte 1 of whoever starts one. Waits until
 * others have started theirs, or left. 0, or an errno value. */
static int lock_byte(int file, off_t byte)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    for (int waited_ms = 0; fcntl(file, F_SETLK, &range) != 0; waited_ms += LOOK_MS) {
        if ((errno != EACCES && errno != EAGAIN) || waited_ms >= START_MS)
            return errno == EACCES || errno == EAGAIN ? EBUSY : errno;
        poll(NULL, 0, LOOK_MS);
    }
    return 0;
}

static int open_lock_file(int folder)
{
    return openat(folder, lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* Closes all descriptors but these two, which get the numbers 3 and 4. */
static void close_others(int *folder, int *ready)
{
    int high[2] = {fcntl(*folder, F_DUPFD, 10), fcntl(*ready, F_DUPFD, 10)};
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++)
        if (null != i)
            dup2(null, i);
    *folder = dup2(high[0], 3);
    *ready = dup2(high[1], 4);
    fcntl(*folder, F_SETFD, FD_CLOEXEC);
    fcntl(*ready, F_SETFD, FD_CLOEXEC);
    port_close_from(5);
}

/* 0, or an errno value. */
static int open_all(struct keeper *keeper)
{
    static const int taken[] = {SIGCHLD, SIGTERM, 0};
    static const int ignored[] = {SIGHUP, SIGPIPE, SIGINT, SIGQUIT};
    sigset_t none;
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    int lock = open_lock_file(keeper->folder); /* stays open */
    int error = lock < 0 ? errno : lock_byte(lock, 0);
    if (error)
        return error;
    keeper->signals = signals_open(taken);
    keeper->listener = keeper->signals < 0 ? -1 : open_socket();
    if (keeper->listener < 0)
        return errno;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    unlinkat(keeper->folder, socket_name, 0); /* of one that was killed */
    error = call_in_folder(keeper->folder, keeper->listener, bind);
    if (!error && listen(keeper->listener, MOST_AGENTS) != 0)
        error = errno;
    fcntl(keeper->listener, F_SETFL, O_NONBLOCK);
    return error;
}

static _Noreturn void live(const struct keeper_site *site, int ready)
{
    struct keeper *keeper = calloc(1, sizeof *keeper);
    unsigned char answer = ENOMEM;
    if (keeper) {
        keeper->site = site;
        keeper->folder = site->folder;
        keeper->lock = keeper->input = -1;
        for (int i = 0; i < MOST_AGENTS; i++)
            keeper->agents[i].file = keeper->agents[i].waits_for = -1;
        close_others(&keeper->folder, &ready);
        umask(022);
        answer = (unsigned char)open_all(keeper);
    }
    if (answer == 0) {
        jobs_read(&keeper->jobs, keeper->folder);
        keeper->alone_ms = now_ms() + START_MS; /* whoever started it may take so long to come */
    }
    (void)!write(ready, &answer, 1);
    close(ready);
    if (answer == 0)
        work(keeper);
    _exit(0);
}

/* Forks twice, so that init reaps the keeper. 0 once it can be reached, or an errno value. */
static int fork_keeper(const struct keeper_site *site)
{
    int ends[2];
    unsigned char answer;
    ssize_t got;
    if (pipe(ends) != 0)
        return errno;
    pid_t pid = port_fork();
    if (pid == 0) {
        close(ends[0]);
        port_leave_session();
        if (port_fork() == 0)
            live(site, ends[1]);
        _exit(0);
    }
    int error = pid < 0 ? errno : 0;
    close(ends[1]);
    if (pid > 0)
        (void)port_wait_for(pid);
    while (!error && (got = read(ends[0], &answer, 1)) != 1)
        if (got == 0 || errno != EINTR)
            error = EAGAIN;
    close(ends[0]);
    return error ? error : answer;
}

int keeper_start(const struct keeper_site *site)
{
    int file = keeper_connect(site);
    if (file >= 0)
        return file;
    int lock = open_lock_file(site->folder);
    int error = lock < 0 ? errno : lock_byte(lock, 1);
    if (!error)
        file = keeper_connect(site); /* of another agent */
    if (!error && file < 0) {
        error = fork_keeper(site);
        file = error ? -1 : keeper_connect(site);
    }
    if (!error && file < 0)
        error = errno;
    close_file(&lock);
    errno = error;
    return file;
}

int keeper_remove_folder(const struct keeper_site *site)
{
    int lock = open_lock_file(site->folder);
    if (lock < 0)
        return errno;
    int error = lock_byte(lock, 1);
    if (!error)
        error = lock_byte(lock, 0);
    if (!error)
        error = folder_remove(site->folder, site->path);
    close(lock);
    return error;
}

#endif
