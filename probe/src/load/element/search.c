/* search: walks folders over and over and searches the files for a word.
 *
 * A walk stays in the file system where it starts, follows no symbolic links and opens only regular
 * files and folders. Network file systems and those of the kernel (/proc) are left out. The first
 * MiB of each file is read. A round is one folder. */
#include "base/posix_source.h"

#include "load/element.h"

#include "port/port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = COUNTER_OWN, BYTES, MATCHES };
enum { DEEPEST = 24, PART_BYTES = 65536, MOST_BYTES = 1 << 20 };

static const char *const starts[] = {"/usr", "/etc", "/opt", "/lib", "/bin", "/var/lib", "/system"};
enum { STARTS = sizeof starts / sizeof starts[0] };

static const char word[] = "real-time";

struct search {
    dev_t device;
    char part[PART_BYTES];
};

static uint64_t matches_in(const char *text, size_t length)
{
    uint64_t found = 0;
    const char *at = text, *end = text + length;
    while (at < end && (at = memchr(at, word[0], (size_t)(end - at))) != NULL) {
        if ((size_t)(end - at) < sizeof word - 1)
            break;
        found += memcmp(at, word, sizeof word - 1) == 0;
        at++;
    }
    return found;
}

static void search_file(struct worker *worker, int file)
{
    struct search *own = worker->own;
    ssize_t got;
    for (int read_bytes = 0; read_bytes < MOST_BYTES && !worker_should_stop(worker);
         read_bytes += (int)got) {
        got = read(file, own->part, sizeof own->part);
        if (got <= 0)
            break;
        worker_count(worker, BYTES, (uint64_t)got);
        worker_count(worker, MATCHES, matches_in(own->part, (size_t)got));
    }
    worker_count(worker, FILES, 1);
}

static void walk(struct worker *worker, int folder, int depth);

/* Checks the file again after opening: the name may refer to another file by then. */
static void visit(struct worker *worker, int folder, const char *name, int depth)
{
    const struct search *own = worker->own;
    struct stat facts;
    if (fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0 || facts.st_dev != own->device ||
        !(S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode)))
        return;
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0)
        return;
    bool is_good = fstat(file, &facts) == 0 && facts.st_dev == own->device;
    if (is_good && S_ISDIR(facts.st_mode) && depth < DEEPEST) {
        walk(worker, file, depth + 1);
        return;
    }
    if (is_good && S_ISREG(facts.st_mode))
        search_file(worker, file);
    close(file);
}

static void walk(struct worker *worker, int folder, int depth)
{
    DIR *listing = fdopendir(folder);
    if (!listing) {
        close(folder);
        return;
    }
    struct dirent *entry;
    while (!worker_should_stop(worker) && (entry = readdir(listing)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            visit(worker, folder, entry->d_name, depth);
            worker_works(worker);
        }
    closedir(listing);
    worker_count(worker, COUNTER_ROUNDS, 1);
}

/* Opens a folder to start from; -1: a link, missing, or on a network or kernel file system. */
static int open_start(struct search *own, const char *path)
{
    struct stat facts;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return -1;
    enum port_storage storage = port_storage(folder);
    if (fstat(folder, &facts) != 0 || storage == PORT_STORAGE_NETWORK ||
        storage == PORT_STORAGE_KERNEL) {
        close(folder);
        return -1;
    }
    own->device = facts.st_dev;
    return folder;
}

static int prepare(struct worker *worker)
{
    struct search *own = calloc(1, sizeof *own);
    if (!own)
        return ENOMEM;
    worker->own = own;
    for (int i = 0; i < STARTS; i++) {
        int folder = open_start(own, starts[i]);
        if (folder >= 0) {
            close(folder);
            return 0;
        }
    }
    worker_note(worker, "none of /usr, /etc, /opt, /lib, /bin, /var/lib can be searched");
    return ENOENT;
}

static void work(struct worker *worker)
{
    for (int turn = worker->place; !worker_should_stop(worker); turn++) {
        int folder = open_start(worker->own, starts[turn % STARTS]);
        if (folder >= 0)
            walk(worker, folder, 0);
    }
}

const struct load_element load_search = {
    .name = "search",
    .title = "searches the files of folders for a word",
    .kind = LOAD_CONTINUOUS,
    .counters = {NULL, "cpu_ns", NULL, "rounds_count", "files_count", "read_bytes",
                 "matches_count"},
    .prepare = prepare,
    .work = work,
};
