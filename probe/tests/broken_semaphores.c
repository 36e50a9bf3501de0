/* Breaches of semaphores; broken.c says how they are used.
 *   sem_right    none: a correct replacement, whatever the real semaphore does
 *   sem_zero     P passes at value 0
 *   sem_forked   the same, only in a forked process
 *   sem_lost     V at value 0 without a waiter does nothing
 *   sem_later    V with a waiter wakes it some milliseconds later
 *   sem_lowest   V wakes the waiter of the lowest priority
 *   sem_fifo     V wakes the longest waiting, whatever its priority
 *   sem_lifo     V wakes the last to wait among those of the highest priority
 *   sem_first    V wakes the highest of six waiters, and the lowest of fewer
 * They act on unnamed, named and System V semaphores and on eventfd, between threads and between
 * processes; sem_zero and sem_forked also on futexes. on_unnamed, on_named, on_sysv, on_eventfd
 * and on_futex restrict them to one kind. in_thread and in_process restrict a wrong wake-up order
 * to waiters of the first or of a forked process; others are woken in the right order. The gates
 * of the tests are not affected.
 */
#define _GNU_SOURCE
#include "broken.h"

#include "family/semaphore/kind.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include <linux/futex.h>

enum { FAKES = 16, WAITING = 64, FIRST_OF = 6, LATER_NS = 3000000 };

struct waiting {
    bool is_forked;
    bool is_used, is_called; /* the place is freed by who waited there */
    sem_t wake;
    int priority;
    unsigned number; /* in the order of coming */
};

/* In memory that forked processes share. */
struct fake {
    atomic_bool is_used;
    enum semaphore_kind kind;
    const void *key;
    sem_t handle; /* what the program holds of a named one; never used as one */
    pthread_mutex_t lock;
    int value;
    unsigned come_count;
    struct waiting waiting[WAITING];
};

static struct fake *fakes;
static pid_t first_process;

__attribute__((constructor)) static void make_fakes(void)
{
    first_process = getpid();
    fakes = mmap(NULL, FAKES * sizeof *fakes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                 -1, 0);
    if (fakes == MAP_FAILED)
        abort();
}

static bool is_one_of(const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (breaks(words[i]))
            return true;
    return false;
}

static bool breaks_semaphores(enum semaphore_kind kind)
{
    static const char *const breaches[] = {"sem_right", "sem_zero",  "sem_forked",
                                           "sem_lost",  "sem_later", "sem_lowest",
                                           "sem_fifo",  "sem_lifo",  "sem_first"};
    static const char *const kinds[] = {"on_unnamed", "on_named", "on_sysv", "on_eventfd",
                                        "on_futex"};
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    return is_one_of(breaches, sizeof breaches / sizeof breaches[0]) &&
           (breaks(kinds[kind]) || !is_one_of(kinds, KINDS));
}

static struct fake *find_fake(enum semaphore_kind kind, const void *key)
{
    for (int i = 0; i < FAKES; i++)
        if (atomic_load(&fakes[i].is_used) && fakes[i].kind == kind && fakes[i].key == key)
            return &fakes[i];
    return NULL;
}

static void init_shared(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

/* `key` NULL: its own handle. */
static struct fake *make_fake(enum semaphore_kind kind, const void *key)
{
    for (int i = 0; i < FAKES; i++) {
        struct fake *fake = &fakes[i];
        if (atomic_exchange(&fake->is_used, true))
            continue;
        fake->kind = kind;
        fake->value = 0;
        fake->come_count = 0;
        for (int j = 0; j < WAITING; j++)
            fake->waiting[j].is_used = false;
        init_shared(&fake->lock);
        fake->key = key ? key : &fake->handle;
        return fake;
    }
    abort();
}

static bool drop_fake(enum semaphore_kind kind, const void *key)
{
    struct fake *fake = find_fake(kind, key);
    if (fake)
        atomic_store(&fake->is_used, false);
    return fake != NULL;
}

static int own_priority(void)
{
    struct sched_param own = {0};
    return sched_getparam(0, &own) == 0 ? own.sched_priority : 0;
}

static bool passes_at_zero(void)
{
    return breaks("sem_zero") || (breaks("sem_forked") && getpid() != first_process);
}

static struct waiting *queue_up(struct fake *fake)
{
    for (int i = 0; i < WAITING; i++) {
        struct waiting *own = &fake->waiting[i];
        if (own->is_used)
            continue;
        own->is_used = true;
        own->is_called = false;
        own->is_forked = getpid() != first_process;
        own->priority = own_priority();
        own->number = fake->come_count++;
        REAL(sem_init)(&own->wake, 1, 0);
        return own;
    }
    abort();
}

static int fake_wait(struct fake *fake)
{
    struct waiting *own = NULL;
    pthread_mutex_lock(&fake->lock);
    bool passes = fake->value > 0 || passes_at_zero();
    if (fake->value > 0)
        fake->value--;
    if (!passes)
        own = queue_up(fake);
    pthread_mutex_unlock(&fake->lock);
    while (own && REAL(sem_wait)(&own->wake) != 0)
        ;
    if (own)
        own->is_used = false;
    return 0;
}

/* Whether `one` is to be woken before `other`, of so many that wait. */
static bool comes_first(const struct waiting *one, const struct waiting *other, int count)
{
    bool is_older = (int)(one->number - other->number) < 0;
    bool is_spared = breaks(one->is_forked ? "in_thread" : "in_process");
    if (!is_spared && breaks("sem_fifo"))
        return is_older;
    if (one->priority == other->priority)
        return is_older != (!is_spared && breaks("sem_lifo"));
    if (is_spared)
        return one->priority > other->priority;
    bool is_lowest_first = breaks("sem_lowest") || (breaks("sem_first") && count < FIRST_OF);
    return (one->priority < other->priority) == is_lowest_first;
}

static bool is_waiting(const struct waiting *one)
{
    return one->is_used && !one->is_called;
}

static struct waiting *take_waiter(struct fake *fake)
{
    struct waiting *chosen = NULL;
    int count = 0;
    for (int i = 0; i < WAITING; i++)
        count += is_waiting(&fake->waiting[i]) ? 1 : 0;
    for (int i = 0; i < WAITING; i++) {
        struct waiting *one = &fake->waiting[i];
        if (is_waiting(one) && (!chosen || comes_first(one, chosen, count)))
            chosen = one;
    }
    if (chosen)
        chosen->is_called = true;
    return chosen;
}

static void *wake_later(void *argument)
{
    struct timespec later = {.tv_nsec = LATER_NS};
    REAL(clock_nanosleep)(CLOCK_MONOTONIC, 0, &later, NULL);
    REAL(sem_post)(argument);
    return NULL;
}

static void wake(struct waiting *waiter)
{
    pthread_t helper;
    if (!breaks("sem_later") ||
        REAL(pthread_create)(&helper, NULL, wake_later, &waiter->wake) != 0) {
        REAL(sem_post)(&waiter->wake);
        return;
    }
    pthread_detach(helper);
}

static int fake_post(struct fake *fake)
{
    pthread_mutex_lock(&fake->lock);
    struct waiting *waiter = take_waiter(fake);
    if (!waiter && !breaks("sem_lost"))
        fake->value++;
    pthread_mutex_unlock(&fake->lock);
    if (waiter)
        wake(waiter);
    return 0;
}

/* ---- POSIX ---- */

/* What the probe tests lies in a struct that points to it; a gate does not. */
static bool is_tested(const sem_t *semaphore)
{
    const char *place = (const char *)semaphore - offsetof(struct semaphore, unnamed);
    return ((const struct semaphore *)place)->posix == semaphore;
}

int sem_init(sem_t *semaphore, int shared, unsigned value)
{
    bool is_fake = breaks_semaphores(SEMAPHORE_UNNAMED) && is_tested(semaphore);
    if (!is_fake)
        return broken_lends_semaphore(semaphore, value) ||
                       REAL(sem_init)(semaphore, shared, value) == 0
                   ? 0
                   : -1;
    make_fake(SEMAPHORE_UNNAMED, semaphore);
    return 0;
}

int sem_destroy(sem_t *semaphore)
{
    if (drop_fake(SEMAPHORE_UNNAMED, semaphore) || broken_drop_lent(semaphore))
        return 0;
    return REAL(sem_destroy)(semaphore);
}

sem_t *sem_open(const char *name, int flags, ...)
{
    if (!breaks_semaphores(SEMAPHORE_NAMED))
        return REAL(sem_open)(name, flags, 0700, 0); /* as the probe asks */
    return &make_fake(SEMAPHORE_NAMED, NULL)->handle;
}

int sem_close(sem_t *semaphore)
{
    return drop_fake(SEMAPHORE_NAMED, semaphore) ? 0 : REAL(sem_close)(semaphore);
}

static struct fake *find_posix(const sem_t *semaphore)
{
    struct fake *fake = find_fake(SEMAPHORE_UNNAMED, semaphore);
    return fake ? fake : find_fake(SEMAPHORE_NAMED, semaphore);
}

bool broken_post(sem_t *semaphore)
{
    struct fake *fake = find_posix(semaphore);
    return fake ? fake_post(fake) == 0 : broken_let_go_lent(semaphore);
}

bool broken_wait(sem_t *semaphore)
{
    struct fake *fake = find_posix(semaphore);
    return fake ? fake_wait(fake) == 0 : broken_take_lent(semaphore);
}

/* ---- sets, descriptors, words ---- */

static const void *key_of(int number)
{
    return (const void *)(intptr_t)(number + 1);
}

int semget(key_t key, int count, int flags)
{
    int set = REAL(semget)(key, count, flags);
    if (set >= 0 && breaks_semaphores(SEMAPHORE_SYSV))
        make_fake(SEMAPHORE_SYSV, key_of(set));
    return set;
}

int semctl(int set, int place, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (command == IPC_RMID)
        drop_fake(SEMAPHORE_SYSV, key_of(set));
    return REAL(semctl)(set, place, command, argument);
}

int semop(int set, struct sembuf *operations, size_t count)
{
    struct fake *fake = find_fake(SEMAPHORE_SYSV, key_of(set));
    if (!fake)
        return REAL(semop)(set, operations, count);
    return operations[0].sem_op > 0 ? fake_post(fake) : fake_wait(fake);
}

int eventfd(unsigned value, int flags)
{
    int file = REAL(eventfd)(value, flags);
    if (file >= 0 && breaks_semaphores(SEMAPHORE_EVENTFD))
        make_fake(SEMAPHORE_EVENTFD, key_of(file));
    return file;
}

int close(int file)
{
    if (getpid() == first_process)
        drop_fake(SEMAPHORE_EVENTFD, key_of(file));
    return REAL(close)(file);
}

ssize_t write(int file, const void *data, size_t bytes)
{
    struct fake *fake = find_fake(SEMAPHORE_EVENTFD, key_of(file));
    ssize_t put;
    if (!fake)
        return broken_write_channel(file, data, bytes, &put) ? put : REAL(write)(file, data, bytes);
    fake_post(fake);
    return (ssize_t)bytes;
}

bool broken_read(int file)
{
    struct fake *fake = find_fake(SEMAPHORE_EVENTFD, key_of(file));
    return fake && fake_wait(fake) == 0;
}

/* Who waits on a word at zero finds that it is one. */
long syscall(long number, ...)
{
    long words[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(rest, long);
    va_end(rest);
    bool is_wait = number == SYS_futex && (words[1] & FUTEX_CMD_MASK) == FUTEX_WAIT;
    if (is_wait && breaks_semaphores(SEMAPHORE_FUTEX) && passes_at_zero()) {
        atomic_store((atomic_int *)words[0], 1);
        return 0;
    }
    long answer;
    if (broken_ring(number, words, &answer) ||
        (number == SYS_ioprio_set && broken_io_priority(&answer)))
        return answer;
    return REAL(syscall)(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
