/* A process that goes one instruction after the other: what a kill at any of them leaves behind. */
#ifndef HS_SINGLE_STEP_H
#define HS_SINGLE_STEP_H

#include "tap.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/ptrace.h>
#endif

/* They multiply the steps, and add nothing to what a step stores. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define NO_STEPS "built with a sanitizer"
#elif defined(NO_SINGLE_STEPS)
#define NO_STEPS "shown by the build for Linux, which records alike"
#else
#define NO_STEPS NULL
#endif

#ifdef __linux__
static inline void be_traced(void (*act)(void *), void *own)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(1);
    raise(SIGSTOP);
    act(own);
    _exit(0);
}

/* Calls `act` in a process of its own, which shares memory that is mapped as such, and `look` after
 * each of its instructions. False with the test skipped where that is not possible. */
static inline bool single_step(void (*act)(void *), void (*look)(void *), void *own)
{
    int status = 0;
    if (NO_STEPS) {
        tap_skip(NO_STEPS);
        return false;
    }
    pid_t process = fork();
    if (process == 0)
        be_traced(act, own);
    if (process < 0 || waitpid(process, &status, 0) != process || !WIFSTOPPED(status)) {
        tap_skip("no right to trace a process of one's own");
        return false;
    }
    while (ptrace(PTRACE_SINGLESTEP, process, NULL, NULL) == 0 &&
           waitpid(process, &status, 0) == process && WIFSTOPPED(status))
        look(own);
    return CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#else
static inline bool single_step(void (*act)(void *), void (*look)(void *), void *own)
{
    (void)act;
    (void)look;
    (void)own;
    tap_skip("no single steps on this system");
    return false;
}
#endif

#endif
