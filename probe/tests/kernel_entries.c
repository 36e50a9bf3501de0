/* Prints for each kind of semaphore whether signal and wait in one thread enter the kernel: "KIND
 * always" or "KIND never". A child does both under a filter that refuses every system call. */
#include "base/posix_source.h"

#include "family/semaphore/kind.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

/* The end of the child is the only call that is left. */
static bool forbid_calls(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum { NEVER, ALWAYS, UNKNOWN };

static void use_in_child(struct semaphore *semaphore)
{
    if (!forbid_calls())
        _exit(UNKNOWN);
    semaphore_signal(semaphore);
    semaphore_wait(semaphore);
    _exit(atomic_load(&semaphore->error) == 0 ? NEVER : ALWAYS);
}

static int when_kernel(struct semaphore *semaphore)
{
    int end = 0;
    pid_t child = fork();
    if (child == 0)
        use_in_child(semaphore);
    if (child < 0 || waitpid(child, &end, 0) != child || !WIFEXITED(end))
        return UNKNOWN;
    return WEXITSTATUS(end);
}

int main(void)
{
    struct run run = {.test = NULL};
    struct ipc_cleanup ipc_cleanup;
    struct semaphore semaphore;
    if (ipc_cleanup_open(&ipc_cleanup, &run, true) != 0)
        return 1;
    for (int kind = 0; semaphore_and_mutex_names[kind]; kind++) {
        if (semaphore_open(&semaphore, (enum semaphore_kind)kind, false, &ipc_cleanup.places[0]))
            continue;
        int when = when_kernel(&semaphore);
        if (when != UNKNOWN)
            printf("%s %s\n", semaphore_and_mutex_names[kind], when == ALWAYS ? "always" : "never");
        semaphore_close(&semaphore);
    }
    ipc_cleanup_close(&ipc_cleanup);
    return 0;
}
