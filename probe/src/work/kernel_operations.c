#include "base/posix_source.h"

#include "work/kernel_operations.h"

#include "base/options.h"
#include "port/port.h"
#include "work/job.h"
#include "work/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

/* ---- single operations ---- */

enum { SCANNED = 2000 };

int kernel_in_child(int (*act)(void *argument), void *argument)
{
    pid_t parent = getpid(), child = port_fork();
    if (child == 0) {
        int error = port_kill_with_parent(parent);
        _exit(error != 0 && error != ENOTSUP ? 1 : act(argument));
    }
    return child < 0 ? errno : port_wait_for(child) == 0 ? 0 : ECANCELED;
}

/* Anonymous memory: POSIX.1-2008 lacks MAP_ANONYMOUS, so it maps /dev/zero. */
static void *fresh_memory(size_t bytes)
{
    int zero = open("/dev/zero", O_RDWR | O_CLOEXEC);
    if (zero < 0)
        return NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
    int error = errno;
    close(zero);
    errno = error;
    return memory == MAP_FAILED ? NULL : memory;
}

static void *touched_memory(size_t bytes, size_t page_bytes)
{
    unsigned char *memory = fresh_memory(bytes);
    for (size_t at = 0; memory && at < bytes; at += page_bytes)
        ((volatile unsigned char *)memory)[at] = 1;
    return memory;
}

int kernel_map(size_t bytes, size_t page_bytes)
{
    void *memory = touched_memory(bytes, page_bytes);
    return memory && munmap(memory, bytes) == 0 ? 0 : errno;
}

int kernel_grow(size_t bytes, size_t page_bytes)
{
    return touched_memory(bytes, page_bytes) ? 0 : errno;
}

static int error_of(ssize_t transferred)
{
    return transferred < 0 ? errno : EIO;
}

int kernel_transfer(int to, int from, unsigned char *buffer, size_t bytes)
{
    ssize_t written = write(to, buffer, bytes);
    if (written != (ssize_t)bytes)
        return error_of(written);
    ssize_t got = read(from, buffer, bytes);
    return got == (ssize_t)bytes ? 0 : error_of(got);
}

int kernel_scan(const char *folder)
{
    DIR *listing = opendir(folder);
    struct dirent *entry;
    struct stat facts;
    if (!listing)
        return errno;
    for (int i = 0; i < SCANNED && (entry = readdir(listing)) != NULL; i++)
        (void)fstatat(dirfd(listing), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW);
    closedir(listing);
    return 0;
}

/* ---- the classes ---- */

enum { LARGE_BYTES = 8 << 20, SMALL_BYTES = 4096, TEXT_BYTES = 1024, PROCESSES = 512 };
enum { LEAST_LARGE_BYTES = 1 << 20, AVAILABLE_PARTS = 64 };

static int do_nothing(void *space)
{
    (void)space;
    return 0;
}

static int class_fork(struct kernel_space *space)
{
    return kernel_in_child(do_nothing, space);
}

static int run_job(void *space)
{
    job_be(((const struct kernel_space *)space)->program, "nothing");
}

static int class_exec(struct kernel_space *space)
{
    return kernel_in_child(run_job, space);
}

/* The exit frees it. */
static int grow_large(void *argument)
{
    const struct kernel_space *space = argument;
    return kernel_grow(space->large_bytes, space->page_bytes) == 0 ? 0 : 1;
}

static int class_exit(struct kernel_space *space)
{
    return kernel_in_child(grow_large, space);
}

static int class_copy(struct kernel_space *space)
{
    if (space->file < 0)
        return ENOENT;
    if (scratch_is_short(space->file))
        return ENOSPC;
    ssize_t length = (ssize_t)space->large_bytes;
    if (pwrite(space->file, space->buffer, space->large_bytes, 0) != length ||
        pread(space->file, space->buffer, space->large_bytes, 0) != length)
        return errno ? errno : ENOSPC;
    return 0;
}

static int class_file(struct kernel_space *space)
{
    if (space->names[0][0] == '\0')
        return ENOENT;
    int file = open(space->names[0], O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return errno;
    int error = write(file, space->buffer, SMALL_BYTES) == SMALL_BYTES ? 0 : errno;
    close(file);
    if (rename(space->names[0], space->names[1]) != 0) {
        error = errno;
        unlink(space->names[0]);
    } else if (unlink(space->names[1]) != 0) {
        error = errno;
    }
    return error;
}

static int class_map(struct kernel_space *space)
{
    return kernel_map(space->large_bytes / 4, space->page_bytes);
}

/* Reads back what the terminal shows at its master end, which does not block. */
static int class_terminal(struct kernel_space *space)
{
    char text[TEXT_BYTES], shown[4 * TEXT_BYTES];
    if (space->terminal < 0)
        return ENODEV;
    memset(text, 'x', sizeof text);
    for (size_t at = 79; at < sizeof text; at += 80)
        text[at] = '\n';
    ssize_t written = write(space->terminal, text, sizeof text);
    while (read(space->master, shown, sizeof shown) > 0)
        ;
    return written > 0 ? 0 : errno;
}

static int class_socket(struct kernel_space *space)
{
    const int *socket = space->socket;
    return socket[0] < 0 ? ENODEV
                         : kernel_transfer(socket[0], socket[1], space->buffer, SMALL_BYTES);
}

static int class_pipe(struct kernel_space *space)
{
    const int *pipe = space->pipe;
    return pipe[0] < 0 ? ENODEV : kernel_transfer(pipe[1], pipe[0], space->buffer, SMALL_BYTES);
}

static int class_fsync(struct kernel_space *space)
{
    if (space->small < 0)
        return ENOENT;
    if (scratch_is_short(space->small))
        return ENOSPC;
    if (pwrite(space->small, space->buffer, SMALL_BYTES, 0) != SMALL_BYTES)
        return errno ? errno : ENOSPC;
    return fsync(space->small) == 0 ? 0 : errno;
}

static int class_scan(struct kernel_space *space)
{
    struct port_process list[PROCESSES];
    (void)space;
    port_processes(list, PROCESSES); /* not on every system; the folder is */
    return kernel_scan("/etc");
}

const struct kernel_class kernel_classes[KERNEL_CLASSES] = {
    {"fork", "fork, exit and wait", class_fork, true},
    {"exec", "fork and exec of a small program", class_exec},
    {"exit", "exit of a large process", class_exit, true},
    {"copy", "large write and read of a file", class_copy},
    {"file", "create, rename and delete a file", class_file},
    {"map", "mmap, page faults, munmap", class_map},
    {"terminal", "output to a terminal", class_terminal},
    {"socket", "a transfer through a socket", class_socket},
    {"pipe", "a transfer through a pipe", class_pipe},
    {"fsync", "write and fsync", class_fsync},
    {"scan", "a scan of the process table and of a folder", class_scan},
};

static void open_terminal(struct kernel_space *space)
{
    space->terminal = space->master = -1;
#if HS_HAS_TERMINALS
    space->master = posix_openpt(O_RDWR | O_NOCTTY);
    if (space->master < 0)
        return;
    const char *name =
        grantpt(space->master) == 0 && unlockpt(space->master) == 0 ? ptsname(space->master) : NULL;
    if (name)
        space->terminal = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    fcntl(space->master, F_SETFD, FD_CLOEXEC);
    fcntl(space->master, F_SETFL, O_NONBLOCK);
#endif
}

static void open_channels(struct kernel_space *space)
{
    if (pipe(space->pipe) != 0)
        space->pipe[0] = space->pipe[1] = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, space->socket) != 0)
        space->socket[0] = space->socket[1] = -1;
    for (int i = 0; i < 2; i++) {
        fcntl(space->pipe[i], F_SETFD, FD_CLOEXEC);
        fcntl(space->socket[i], F_SETFD, FD_CLOEXEC);
    }
}

static size_t choose_large_bytes(void)
{
    int64_t available = port_available_bytes(NULL);
    if (available < 0 || available / AVAILABLE_PARTS > LARGE_BYTES)
        return LARGE_BYTES;
    return available / AVAILABLE_PARTS > LEAST_LARGE_BYTES ? (size_t)(available / AVAILABLE_PARTS)
                                                           : LEAST_LARGE_BYTES;
}

int kernel_space_open(struct kernel_space *space, const struct scratch *scratch,
                      const char *program)
{
    memset(space, 0, sizeof *space);
    space->program = program;
    space->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    space->large_bytes = choose_large_bytes();
    space->buffer = malloc(space->large_bytes);
    if (!space->buffer)
        return ENOMEM;
    memset(space->buffer, 'h', space->large_bytes);
    space->file = scratch_file(scratch);
    space->small = scratch_file(scratch);
    for (int i = 0; scratch->own[0] && i < 2; i++)
        snprintf(space->names[i], sizeof space->names[i], "%s/%ld-%d", scratch->own, (long)getpid(),
                 i);
    open_terminal(space);
    open_channels(space);
    return 0;
}

void kernel_space_close(struct kernel_space *space)
{
    int all[] = {space->file,    space->small,   space->master,    space->terminal,
                 space->pipe[0], space->pipe[1], space->socket[0], space->socket[1]};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] >= 0)
            close(all[i]);
    free(space->buffer);
}
