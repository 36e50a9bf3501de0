/* The base: options of 1003.1a, and its units that have no macro; their names are those of
 * 1003.13-2003. */
#include "base/posix_source.h"

#include "family/posix/calls.h"

#include "base/options.h"
#include "port/port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#if HS_HAS_JUMPS
#include <setjmp.h>
#endif
#if HS_HAS_FORK || HS_HAS_JOB_CONTROL
#include <sys/wait.h>
#endif
#if HS_HAS_TERMINALS
#include <termios.h>
#endif

/* ---- options ---- */

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

/* ---- units ---- */

struct answer call_single_process(const struct call_tools *tools)
{
    (void)tools;
    struct utsname facts;
    if (uname(&facts) < 0)
        return answer_error("uname", errno);
    if (setenv("HARDSTONE_INVENTORY", "here", 1) != 0)
        return answer_error("setenv", errno);
    const char *back = getenv("HARDSTONE_INVENTORY");
    if (!back || strcmp(back, "here") != 0)
        return answer_fails("getenv does not find what setenv has set");
    return sysconf(_SC_VERSION) > 0 ? answer_works() : answer_fails("sysconf has no version");
}

#if HS_HAS_FORK
/* The process must become the program that is named. */
struct answer call_multi_process(const struct call_tools *tools)
{
    (void)tools;
    struct call_program program;
    int status = 0;
    if (!call_program(&program))
        return answer_untried("no program to execute");
    pid_t process = fork();
    if (process < 0)
        return answer_error("fork", errno);
    if (process == 0) {
        execv(program.path, program.arguments);
        _exit(1);
    }
    if (waitpid(process, &status, 0) != process)
        return answer_error("waitpid", errno);
    return WIFEXITED(status) && WEXITSTATUS(status) == program.status
               ? answer_works()
               : answer_fails("exec ran another program");
}
#else
struct answer call_multi_process(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("fork");
}
#endif

/* Says that it ran by what it does to its signal: no variable of the file is needed. */
static void ignore_from_now(int number)
{
    signal(number, SIG_IGN);
}

static bool has_run(void)
{
    struct sigaction now;
    return sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

struct answer call_signals(const struct call_tools *tools)
{
    (void)tools;
    struct sigaction action = {.sa_handler = ignore_from_now};
    sigset_t set, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    if (sigaction(SIGUSR1, &action, NULL) != 0 || pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
        return answer_error("sigaction", errno);
    kill(getpid(), SIGUSR1);
    if (has_run() || sigpending(&pending) != 0 || sigismember(&pending, SIGUSR1) != 1)
        return answer_fails("a blocked signal is not pending");
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    return has_run() ? answer_works() : answer_fails("the handler did not run");
}

#if HS_HAS_JUMPS
struct answer call_c_lang_jump(const struct call_tools *tools)
{
    (void)tools;
    jmp_buf place;
    volatile int jumps = 0;
    int back = setjmp(place);
    if (jumps++ == 0)
        longjmp(place, 7);
    return back == 7 && jumps == 2 ? answer_works() : answer_fails("longjmp did not return 7");
}

/* siglongjmp restores the mask that sigsetjmp saved. */
struct answer call_signal_jump(const struct call_tools *tools)
{
    (void)tools;
    sigjmp_buf place;
    sigset_t set, now;
    volatile int jumps = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    int back = sigsetjmp(place, 1);
    if (jumps++ == 0) {
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        siglongjmp(place, 7);
    }
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    return back == 7 && sigismember(&now, SIGUSR2) == 0 ? answer_works()
                                                        : answer_fails("the mask was not restored");
}
#else
struct answer call_c_lang_jump(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("setjmp");
}

struct answer call_signal_jump(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("sigsetjmp");
}
#endif

static int by_value(const void *one, const void *other)
{
    return *(const int *)one - *(const int *)other;
}

struct answer call_c_lang_support(const struct call_tools *tools)
{
    (void)tools;
    int numbers[] = {3, 1, 2};
    char *end, text[16];
    qsort(numbers, 3, sizeof numbers[0], by_value);
    bool is_good = numbers[0] == 1 && numbers[2] == 3 && strtol("0x1fz", &end, 16) == 31 &&
                   *end == 'z' && snprintf(text, sizeof text, "%d/%s", 42, "x") == 4;
    return is_good ? answer_works() : answer_fails("qsort, strtol or snprintf is wrong");
}

struct answer call_c_lang_math(const struct call_tools *tools)
{
    (void)tools;
    volatile double nine = 9, one = 1;
    bool is_good = fabs(sqrt(nine) - 3) < 1e-12 && fabs(4 * atan(one) - 3.14159265358979) < 1e-12;
    return is_good ? answer_works() : answer_fails("sqrt or atan is wrong");
}

struct answer call_device_io(const struct call_tools *tools)
{
    (void)tools;
    char byte = 1;
    int device = open("/dev/null", O_RDWR);
    if (device < 0)
        return answer_untried("no /dev/null here");
    if (write(device, &byte, 1) != 1 || read(device, &byte, 1) != 0)
        return answer_fails("/dev/null does not take a byte, or gives one");
    if (close(device) != 0)
        return answer_error("close", errno);
    return write(device, &byte, 1) < 0 ? answer_works() : answer_fails("close does not close");
}

struct answer call_fd_mgmt(const struct call_tools *tools)
{
    struct answer answer;
    char back[4] = "";
    int file = call_file(tools, &answer), copy;
    if (file < 0)
        return answer;
    if ((copy = dup(file)) < 0)
        return answer_error("dup", errno);
    if (write(file, "abc", 3) != 3 || lseek(copy, 1, SEEK_SET) != 1 || read(file, back, 2) != 2)
        return answer_fails("a copy of a descriptor has another offset");
    if (memcmp(back, "bc", 2) != 0 || ftruncate(file, 1) != 0 || lseek(copy, 0, SEEK_END) != 1)
        return answer_fails("ftruncate or lseek is wrong");
    return fcntl(copy, F_SETFD, FD_CLOEXEC) == 0 && fcntl(copy, F_GETFD) == FD_CLOEXEC
               ? answer_works()
               : answer_fails("fcntl does not keep FD_CLOEXEC");
}

static bool has_entry(const char *folder, const char *name)
{
    DIR *entries = opendir(folder);
    bool is_here = false;
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        is_here = is_here || strcmp(entry->d_name, name) == 0;
    if (entries)
        closedir(entries);
    return is_here;
}

struct answer call_file_system(const struct call_tools *tools)
{
    struct answer answer;
    struct stat facts;
    char folder[CALL_PATH_BYTES], old[CALL_PATH_BYTES + 8], new[CALL_PATH_BYTES + 8];
    if (!call_path(tools, "folder", folder, &answer))
        return answer;
    snprintf(old, sizeof old, "%s/old", folder);
    snprintf(new, sizeof new, "%s/new", folder);
    if (mkdir(folder, 0700) != 0)
        return answer_error("mkdir", errno);
    int file = open(old, O_CREAT | O_EXCL | O_RDWR, 0600);
    bool is_good = file >= 0 && write(file, "x", 1) == 1 && rename(old, new) == 0 &&
                   has_entry(folder, "new") && !has_entry(folder, "old") &&
                   stat(new, &facts) == 0 && facts.st_size == 1 && unlink(new) == 0 &&
                   rmdir(folder) == 0 && access(folder, F_OK) != 0;
    return is_good ? answer_works() : answer_fails("mkdir, rename, readdir, stat or unlink");
}

struct answer call_file_attributes(const struct call_tools *tools)
{
    struct answer answer;
    struct stat facts;
    int file = call_file(tools, &answer);
    if (file < 0)
        return answer;
    mode_t before = umask(0027);
    if (umask(before) != 0027)
        return answer_fails("umask does not keep its value");
    if (fchmod(file, 0640) != 0 || fstat(file, &facts) != 0)
        return answer_error("fchmod", errno);
    return (facts.st_mode & 0777) == 0640 ? answer_works()
                                          : answer_fails("fchmod did not change the mode");
}

#if HS_HAS_FIFO
struct answer call_fifo(const struct call_tools *tools)
{
    struct answer answer;
    char path[CALL_PATH_BYTES], back = 0;
    if (!call_path(tools, "fifo", path, &answer))
        return answer;
    if (mkfifo(path, 0600) != 0)
        return answer_error("mkfifo", errno);
    int reader = open(path, O_RDONLY | O_NONBLOCK), writer = open(path, O_WRONLY | O_NONBLOCK);
    unlink(path);
    if (reader < 0 || writer < 0 || write(writer, "x", 1) != 1 || read(reader, &back, 1) != 1)
        return answer_fails("a byte does not pass");
    return back == 'x' ? answer_works() : answer_fails("another byte arrived");
}
#else
struct answer call_fifo(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("mkfifo");
}
#endif

struct answer call_pipe(const struct call_tools *tools)
{
    (void)tools;
    int ends[2];
    char back = 0;
    if (pipe(ends) != 0)
        return answer_error("pipe", errno);
    if (write(ends[1], "x", 1) != 1 || read(ends[0], &back, 1) != 1 || back != 'x')
        return answer_fails("a byte does not pass");
    close(ends[1]);
    return read(ends[0], &back, 1) == 0 ? answer_works()
                                        : answer_fails("no end of file without a writer");
}

struct answer call_user_groups(const struct call_tools *tools)
{
    (void)tools;
    if (getgroups(0, NULL) < 0)
        return answer_error("getgroups", errno);
    return setuid(getuid()) == 0 && setgid(getgid()) == 0
               ? answer_works()
               : answer_fails("setuid to the own id was refused");
}
