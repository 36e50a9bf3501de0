#include "base/posix_source.h"

#include "agent/folder.h"

#include "base/options.h"

#if HS_HAS_FORK && HS_HAS_SOCKETS

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_name(const char *name)
{
    return *name != '\0' && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

bool number_parse(const char *text, int64_t most, int64_t *number)
{
    *number = 0;
    if (*text == '\0' || (*text == '0' && text[1] != '\0'))
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || *number > (most - (*text - '0')) / 10)
            return false;
        *number = *number * 10 + (*text - '0');
    }
    return true;
}

/* ---- the folder ---- */

static bool is_folder(const struct stat *state, const char *path)
{
    struct stat other;
    return path && stat(path, &other) == 0 && other.st_dev == state->st_dev &&
           other.st_ino == state->st_ino;
}

/* sudo says whose folder it is that root was given. */
static bool is_callers(uid_t owner)
{
    const char *caller = geteuid() == 0 ? getenv("SUDO_UID") : NULL;
    int64_t number;
    return owner == geteuid() || owner == 0 ||
           (caller && number_parse(caller, UINT32_MAX, &number) && owner == (uid_t)number);
}

static const char *fault_of(int folder)
{
    struct stat state;
    if (fstat(folder, &state) != 0)
        return strerror(errno);
    if (!is_callers(state.st_uid))
        return "it belongs to another user; give a folder of your own";
    if ((state.st_mode & 07777) != 0700)
        return "others may use it; type: chmod 700 FOLDER";
    if (is_folder(&state, "/") || is_folder(&state, getenv("HOME")))
        return "it would be removed as a whole; give a folder of its own";
    return NULL;
}

int folder_open(const char *path, char *why, size_t bytes)
{
    int folder = -1;
    const char *fault = "give an absolute path";
    if (*path == '/') {
        folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        fault = folder < 0 ? strerror(errno) : fault_of(folder);
    }
    if (!fault)
        return folder;
    snprintf(why, bytes, "%s: %s", path, fault);
    if (folder >= 0)
        close(folder);
    return -1;
}

int folder_open_file(int folder, const char *name)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    struct stat state;
    int file = -1;
    errno = EINVAL;
    if (*name == '/')
        file = open(name, flags);
    else if (is_name(name))
        file = openat(folder, name, flags | O_NOFOLLOW);
    if (file < 0 || (fstat(file, &state) == 0 && S_ISREG(state.st_mode)))
        return file;
    close(file);
    errno = S_ISDIR(state.st_mode) ? EISDIR : EINVAL;
    return -1;
}

int folder_remove_file(int folder, const char *name)
{
    if (!is_name(name))
        return EINVAL;
    return unlinkat(folder, name, 0) == 0 || errno == ENOENT ? 0 : errno;
}

static void keep_first(int *first, int error)
{
    if (*first == 0)
        *first = error;
}

enum { MOST_DEPTH = 64 };

static int empty_folder(int folder, dev_t device, int depth);

/* rmdir fails with EBUSY at a mount, before anything below is looked at. */
static int remove_entry(int folder, const char *name, dev_t device, int depth)
{
    struct stat state;
    if (fstatat(folder, name, &state, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : errno;
    bool is_below = S_ISDIR(state.st_mode);
    if (unlinkat(folder, name, is_below ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT)
        return 0;
    if (!is_below || (errno != ENOTEMPTY && errno != EEXIST))
        return errno;
    if (state.st_dev != device)
        return EXDEV;
    int below = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below < 0)
        return errno;
    int error = empty_folder(below, device, depth + 1);
    close(below);
    return unlinkat(folder, name, AT_REMOVEDIR) == 0 ? 0 : error ? error : errno;
}

static int empty_folder(int folder, dev_t device, int depth)
{
    int first = 0, copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy < 0 || depth > MOST_DEPTH ? NULL : fdopendir(copy);
    if (!entries) {
        first = depth > MOST_DEPTH ? ELOOP : errno;
        if (copy >= 0)
            close(copy);
        return first;
    }
    for (struct dirent *entry; (entry = readdir(entries));)
        if (is_name(entry->d_name))
            keep_first(&first, remove_entry(folder, entry->d_name, device, depth));
    closedir(entries);
    return first;
}

int folder_remove(int folder, const char *path)
{
    struct stat state;
    if (fstat(folder, &state) != 0)
        return errno;
    int first = empty_folder(folder, state.st_dev, 0);
    struct stat named;
    if (lstat(path, &named) != 0 || named.st_dev != state.st_dev || named.st_ino != state.st_ino)
        return first; /* it was moved or removed: what is there now is not the agent's */
    if (rmdir(path) == 0)
        return 0;
    keep_first(&first, errno);
    return first;
}

/* ---- jobs ---- */

const char *job_file(char name[JOB_NAME_BYTES], int number, const char *kind)
{
    snprintf(name, JOB_NAME_BYTES, "%d.%s", number, kind);
    return name;
}

/* Where it is, or would be. */
static int place_of(const struct jobs *jobs, int number)
{
    int from = 0, to = jobs->count;
    while (from < to) {
        int middle = (from + to) / 2;
        if (jobs->list[middle].number < number)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

bool folder_is_unused(int folder)
{
    struct stat found;
    if (fstatat(folder, FOLDER_BRIEF, &found, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    struct jobs *jobs = calloc(1, sizeof *jobs);
    if (!jobs)
        return false;
    jobs_read(jobs, folder);
    bool is_unused = jobs->count == 0;
    free(jobs);
    return is_unused;
}

struct job *jobs_find(struct jobs *jobs, int number)
{
    int at = place_of(jobs, number);
    return at < jobs->count && jobs->list[at].number == number ? &jobs->list[at] : NULL;
}

struct job *jobs_add(struct jobs *jobs, int number)
{
    int at = place_of(jobs, number);
    if (jobs->count == JOBS_MOST)
        return NULL;
    memmove(&jobs->list[at + 1], &jobs->list[at],
            (size_t)(jobs->count - at) * sizeof jobs->list[0]);
    jobs->count++;
    jobs->list[at] = (struct job){.number = number};
    return &jobs->list[at];
}

/* "CODE\n" and nothing else: a file that is cut is of no use. */
static bool read_code(int folder, int number, int *code)
{
    char name[JOB_NAME_BYTES], text[16], *end;
    int file = openat(folder, job_file(name, number, "exit"),
                      O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    if (got <= 1 || text[got - 1] != '\n')
        return false;
    text[got - 1] = '\0';
    long value = strtol(text, &end, 10);
    *code = (int)value;
    return *end == '\0' && value > -256 && value < 256;
}

/* The number of "N.begun" or "N.exit". */
static bool job_of(const char *name, int *number)
{
    char digits[8];
    int64_t value;
    size_t length = strcspn(name, ".");
    if (length >= sizeof digits ||
        (strcmp(name + length, ".begun") != 0 && strcmp(name + length, ".exit") != 0))
        return false;
    memcpy(digits, name, length);
    digits[length] = '\0';
    bool is_number = number_parse(digits, JOB_MOST_NUMBER, &value);
    *number = (int)value;
    return is_number;
}

void jobs_read(struct jobs *jobs, int folder)
{
    int number, copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    jobs->count = 0;
    if (!entries && copy >= 0)
        close(copy);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        if (!job_of(entry->d_name, &number) || jobs_find(jobs, number))
            continue;
        struct job *job = jobs_add(jobs, number);
        if (job)
            job->state = read_code(folder, number, &job->code) ? JOB_ENDED : JOB_LOST;
    }
    if (entries)
        closedir(entries);
}

/* The frame has room for the shortest detail of each of JOBS_MOST jobs. */
void jobs_tell(const struct jobs *jobs, struct frame *answer)
{
    static const char *const states[] = {"queued", "running", "ended", "lost", "dropped"};
    enum { SHORTEST_BYTES = 16 };
    for (int i = 0; i < jobs->count; i++) {
        const struct job *job = &jobs->list[i];
        char number[16], detail[32] = "";
        bool has_code = job->state == JOB_RUNNING || job->state == JOB_ENDED;
        size_t room = FRAME_MOST_BYTES - answer->length;
        bool has_room = room > (size_t)(jobs->count - i + 2) * SHORTEST_BYTES;
        snprintf(number, sizeof number, "%d", job->number);
        if (has_code)
            snprintf(detail, sizeof detail, "%d%s", job->code,
                     job->is_unsaved && has_room ? " unsaved" : "");
        frame_add(answer, number);
        frame_add(answer, states[job->state]);
        frame_add(answer, detail);
    }
}

int job_save_code(int folder, const struct job *job)
{
    char name[JOB_NAME_BYTES], fresh[JOB_NAME_BYTES], text[16];
    job_file(name, job->number, "exit");
    job_file(fresh, job->number, "exit.new");
    int length = snprintf(text, sizeof text, "%d\n", job->code), error = 0;
    unlinkat(folder, fresh, 0);
    int file = openat(folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return errno;
    ssize_t done = write(file, text, (size_t)length);
    if (done != length)
        error = done < 0 ? errno : ENOSPC;
    if (close(file) != 0 && !error)
        error = errno;
    if (!error && renameat(folder, fresh, folder, name) != 0)
        error = errno;
    if (error)
        unlinkat(folder, fresh, 0);
    return error;
}

#endif
