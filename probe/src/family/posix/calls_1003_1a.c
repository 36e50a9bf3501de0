/* Options of the base, 1003.1a. */
#include "base/posix_source.h"

#include "family/posix/calls.h"

#include "base/options.h"
#include "family/posix/call_help.h"
#include "port/port.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if HS_HAS_FORK || HS_HAS_JOB_CONTROL
#include <sys/wait.h>
#endif
#if HS_HAS_TERMINALS
#include <termios.h>
#endif

/* An id that is not root's; "nobody" on most systems. */
enum { OTHER_ID = 65534 };

#if HS_HAS_JOB_CONTROL
/* Says when it is bound to its parent: a process that is stopped before would never end if the
 * probe is killed. */
static void wait_for_stop(pid_t parent, int ready)
{
    call_end_with(parent);
    if (write(ready, "r", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static bool is_ready(int ready)
{
    char word;
    return read(ready, &word, 1) == 1;
}

static bool is_stopped(pid_t process)
{
    int status = 0;
    return setpgid(process, process) == 0 && getpgid(process) == process &&
           kill(-process, SIGSTOP) == 0 && waitpid(process, &status, WUNTRACED) == process &&
           WIFSTOPPED(status);
}

struct answer call_job_control(const struct call_tools *tools)
{
    (void)tools;
    int ready[2];
    if (pipe(ready) != 0)
        return answer_error("pipe", errno);
    pid_t parent = getpid(), process = port_fork();
    int error = errno;
    if (process == 0)
        wait_for_stop(parent, ready[1]);
    close(ready[1]);
    bool is_there = process > 0 && is_ready(ready[0]);
    bool is_good = is_there && is_stopped(process);
    close(ready[0]);
    if (process < 0)
        return answer_error("fork", error);
    kill(process, SIGKILL);
    port_wait_for(process);
    if (!is_there)
        return answer_untried("the process to be stopped ended before");
    return is_good ? answer_works() : answer_fails("a process group was not stopped by SIGSTOP");
}
#else
struct answer call_job_control(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("setpgid");
}
#endif

struct answer call_saved_ids(const struct call_tools *tools)
{
    (void)tools;
    uid_t own = geteuid();
    if (own != 0)
        return answer_untried("only root has another id to switch to");
    if (seteuid(OTHER_ID) != 0)
        return answer_error("seteuid", errno);
    if (geteuid() != OTHER_ID)
        return answer_fails("seteuid did not change the effective id");
    if (seteuid(own) != 0 || geteuid() != own)
        return answer_fails("the saved id was not given back");
    return answer_works();
}

/* Not root tries to give its file away. */
struct answer call_chown_restricted(const struct call_tools *tools)
{
    struct answer answer;
    int file = call_file(tools, &answer);
    if (file < 0)
        return answer;
    if (geteuid() == 0 && (fchown(file, OTHER_ID, (gid_t)-1) != 0 || seteuid(OTHER_ID) != 0))
        return answer_error("becoming another user", errno);
    if (fchown(file, geteuid() + 1, (gid_t)-1) == 0)
        return answer_fails("a user gave a file away");
    return errno == EPERM ? answer_works() : answer_error("fchown", errno);
}

struct answer call_no_trunc(const struct call_tools *tools)
{
    enum { TOO_LONG = 2048 };
    struct answer answer;
    char path[CALL_PATH_BYTES + TOO_LONG];
    if (!call_path(tools, "", path, &answer))
        return answer;
    size_t used = strlen(path);
    memset(path + used, 'n', TOO_LONG - 1);
    path[used + TOO_LONG - 1] = '\0';
    int file = open(path, O_CREAT | O_RDWR, 0600), error = errno;
    if (file >= 0) {
        unlink(path);
        return answer_fails("a name of %d bytes was cut off", TOO_LONG - 1);
    }
    return error == ENAMETOOLONG ? answer_works() : answer_error("open", error);
}

#if HS_HAS_TERMINALS
/* The slave of a new pty; -1 with errno. */
static int open_terminal(int *master)
{
    *master = posix_openpt(O_RDWR | O_NOCTTY);
    if (*master < 0)
        return -1;
    const char *name = grantpt(*master) == 0 && unlockpt(*master) == 0 ? ptsname(*master) : NULL;
    return name ? open(name, O_RDWR | O_NOCTTY) : -1;
}

static struct answer answer_no_terminal(void)
{
    return errno == ENOENT || errno == ENXIO ? answer_untried("no pty: mount devpts")
                                             : answer_error("posix_openpt", errno);
}

/* The interrupt character is disabled, and then is a character as others are. */
struct answer call_vdisable(const struct call_tools *tools)
{
    (void)tools;
    int master, slave = open_terminal(&master);
    struct termios set, got;
    char sent = 3, back = 0;
    if (slave < 0)
        return answer_no_terminal();
    if (tcgetattr(slave, &set) != 0)
        return answer_error("tcgetattr", errno);
    set.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    set.c_lflag |= ISIG;
    set.c_cc[VMIN] = 1;
#ifdef _POSIX_VDISABLE
    set.c_cc[VINTR] = (cc_t)_POSIX_VDISABLE;
#else
    set.c_cc[VINTR] = (cc_t)fpathconf(slave, _PC_VDISABLE);
#endif
    if (tcsetattr(slave, TCSANOW, &set) != 0 || tcgetattr(slave, &got) != 0)
        return answer_error("tcsetattr", errno);
    if (got.c_cc[VINTR] != set.c_cc[VINTR])
        return answer_fails("the special character was not disabled");
    if (write(master, &sent, 1) != 1 || read(slave, &back, 1) != 1 || back != sent)
        return answer_fails("the disabled character did not arrive");
    return answer_works();
}

struct answer call_device_specific(const struct call_tools *tools)
{
    (void)tools;
    int master, slave = open_terminal(&master);
    struct termios set;
    char sent = 'x', back = 0;
    if (slave < 0)
        return answer_no_terminal();
    if (!isatty(slave) || tcgetattr(slave, &set) != 0)
        return answer_fails("a terminal is none for isatty or tcgetattr");
    set.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    if (tcsetattr(slave, TCSANOW, &set) != 0 || cfsetospeed(&set, B9600) != 0)
        return answer_error("tcsetattr", errno);
    if (write(master, &sent, 1) != 1 || read(slave, &back, 1) != 1 || back != sent)
        return answer_fails("a character without a line end did not arrive");
    return answer_works();
}
#else
struct answer call_vdisable(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("tcsetattr");
}

struct answer call_device_specific(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("tcsetattr");
}
#endif
