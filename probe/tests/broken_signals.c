/* Breaches of signals, a library of its own beside the broken libc; HARDSTONE_BROKEN names them as
 * for broken.c. Real-time signals:
 *   sig_lost       each 100th is accepted and not queued
 *   sig_twice      each 100th is queued twice
 *   sig_swapped    the 10th of each 50 of one number is queued after the 11th
 *   sig_value      each 64th carries another value
 *   sig_half       the upper half of the value is lost
 *   sig_code       a receiver is told SI_USER
 *   sig_blocked    blocking them unblocks them
 *   sig_unseen     sigpending tells none
 *   sig_highest    the highest number comes first
 *   sig_early      the sender gets EAGAIN, three times after each 500
 *   sig_none       the sender gets EAGAIN for each
 *   sig_no_eagain  where the kernel says EAGAIN the sender is told that all is well
 *   sig_other      the same with ENOMEM
 *   sig_drop       after an EAGAIN the receiver loses one
 *   sig_others     500 others are queued in the middle of a burst, and the limit cannot be raised:
 * no breach, other processes may do that
 *   sig_leave      500 others are queued in the first burst and leave in the second: no breach
 * and of SIGPWR: pwr_lost       each 10th is not sent
 *   pwr_late       each 10th is sent 30 ms later
 *   pwr_idle       the process that keeps the CPU busy hardly runs: no breach
 */
#define _GNU_SOURCE
#include "broken.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { NUMBERS = 8, EVERY = 100, LATE_NS = 30000000, MOST_SIGNALS = 65 };

/* In memory that forked processes share. */
struct shared {
    atomic_bool has_refused;
};

static struct shared *shared;
static void (*handlers[MOST_SIGNALS])(int, siginfo_t *, void *);

__attribute__((constructor)) static void make_shared(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        abort();
}

static bool is_queued(int number)
{
    return number >= SIGRTMIN && number < SIGRTMIN + NUMBERS;
}

static int mirrored(int number)
{
    return breaks("sig_highest") && is_queued(number) ? 2 * SIGRTMIN + NUMBERS - 1 - number
                                                      : number;
}

/* ---- sending ---- */

static union sigval bent(union sigval value, unsigned count)
{
    if (breaks("sig_value") && count % 64 == 63)
        value.sival_ptr = (void *)((uintptr_t)value.sival_ptr ^ 1);
    if (breaks("sig_half"))
        value.sival_ptr = (void *)((uintptr_t)value.sival_ptr & UINT32_MAX);
    return value;
}

static int refuse(int error)
{
    errno = error;
    return -1;
}

/* What the kernel has refused. */
static int answer_refusal(void)
{
    if (errno != EAGAIN)
        return -1;
    atomic_store(&shared->has_refused, true);
    if (breaks("sig_other"))
        errno = ENOMEM;
    return breaks("sig_no_eagain") ? 0 : -1;
}

static int swap(pid_t process, int number, union sigval value)
{
    static unsigned counts[MOST_SIGNALS];
    static union sigval held[MOST_SIGNALS];
    unsigned place = counts[number]++ % 50;
    if (place == 10)
        held[number] = value;
    if (place == 10)
        return 0;
    int answer = REAL(sigqueue)(process, number, value);
    return place == 11 ? REAL(sigqueue)(process, number, held[number]) : answer;
}

/* Of a number that the tests do not use; nobody takes them. */
static void queue_others(unsigned count)
{
    static const struct timespec at_once = {0, 0};
    union sigval value = {.sival_int = 0};
    bool comes = (count == 300 && breaks("sig_others")) || (count == 5 && breaks("sig_leave"));
    for (int i = 0; comes && i < 500; i++)
        REAL(sigqueue)(getpid(), SIGRTMIN + NUMBERS, value);
    sigset_t others;
    sigemptyset(&others);
    sigaddset(&others, SIGRTMIN + NUMBERS);
    while (count == 300 && breaks("sig_leave") && sigtimedwait(&others, NULL, &at_once) > 0)
        ;
}

int sigqueue(pid_t process, int number, const union sigval value)
{
    static unsigned count;
    if (!is_queued(number))
        return REAL(sigqueue)(process, number, value);
    queue_others(++count);
    if (breaks("sig_lost") && count % EVERY == 0)
        return 0;
    if (breaks("sig_none") || (breaks("sig_early") && count % 500 < 3))
        return refuse(EAGAIN);
    if (breaks("sig_swapped"))
        return swap(process, number, value);
    if (breaks("sig_twice") && count % EVERY == 0)
        REAL(sigqueue)(process, number, value);
    int answer = REAL(sigqueue)(process, mirrored(number), bent(value, count));
    return answer == 0 ? 0 : answer_refusal();
}

/* The busy process of PWR-B-SIG hardly runs. */
void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t place)
{
    static const struct timespec idle = {0, 40000000};
    if (breaks("pwr_idle") && sched_getscheduler(0) == SCHED_OTHER)
        nanosleep(&idle, NULL);
    return REAL(mmap)(at, bytes, protection, flags, file, place);
}

int kill(pid_t process, int number)
{
    static const struct timespec late = {0, LATE_NS};
    static unsigned count;
    bool is_tenth = number == SIGPWR && ++count % 10 == 0;
    if (is_tenth && breaks("pwr_lost"))
        return 0;
    if (is_tenth && breaks("pwr_late"))
        nanosleep(&late, NULL);
    return REAL(kill)(process, number);
}

/* ---- receiving ---- */

static void bend_info(siginfo_t *info)
{
    info->si_signo = mirrored(info->si_signo);
    if (breaks("sig_code"))
        info->si_code = SI_USER;
}

static bool drops(void)
{
    return breaks("sig_drop") && atomic_exchange(&shared->has_refused, false);
}

static void on_queued(int number, siginfo_t *info, void *context)
{
    siginfo_t copy = *info;
    if (drops())
        return;
    bend_info(&copy);
    handlers[mirrored(number)](mirrored(number), &copy, context);
}

int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    struct sigaction own;
    if (!action || !is_queued(number) || !(action->sa_flags & SA_SIGINFO))
        return REAL(sigaction)(number, action, before);
    own = *action;
    handlers[number] = action->sa_sigaction;
    own.sa_sigaction = on_queued;
    return REAL(sigaction)(number, &own, before);
}

static int received(int number, siginfo_t *info)
{
    if (is_queued(number) && info)
        bend_info(info);
    return mirrored(number);
}

int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    if (drops())
        REAL(sigtimedwait)(set, info, timeout);
    return received(REAL(sigtimedwait)(set, info, timeout), info);
}

int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    return received(REAL(sigwaitinfo)(set, info), info);
}

int sigpending(sigset_t *set)
{
    int answer = REAL(sigpending)(set);
    if (answer == 0 && breaks("sig_unseen"))
        sigemptyset(set);
    return answer;
}

/* A set of the tests' own, and no set of all. */
int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    bool is_theirs = set && sigismember(set, SIGRTMIN) == 1 && sigismember(set, SIGINT) == 0;
    if (how == SIG_BLOCK && is_theirs && breaks("sig_blocked"))
        how = SIG_UNBLOCK;
    return REAL(pthread_sigmask)(how, set, before);
}
