/* Waiters: how much stack their threads request, and how much they use. The stacks are allocated
 * here. */
#include "base/posix_source.h"

#include "command/args.h"
#include "family/semaphore/waiters.h"
#include "tap.h"

#include <sched.h>
#include <time.h>

enum { COUNT = 4, STACKS = SEMAPHORE_MUTEX * COUNT, PATTERN = 0xa5, MOST_TRIES = 60000 };

static struct {
    int count;
    size_t bytes[STACKS];
    unsigned char *memory[STACKS];
} stacks;

WRAP(int, pthread_create, pthread_t *thread, const pthread_attr_t *attributes,
     void *(*body)(void *), void *argument)
{
    pthread_attr_t own = *attributes;
    size_t bytes = 0;
    if (stacks.count == STACKS)
        return __real_pthread_create(thread, attributes, body, argument);
    pthread_attr_getstacksize(attributes, &bytes);
    unsigned char *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!memory)
        return EAGAIN;
    memset(memory, PATTERN, bytes);
    stacks.bytes[stacks.count] = bytes;
    stacks.memory[stacks.count++] = memory;
    int error = pthread_attr_setstack(&own, memory, bytes);
    return error ? error : __real_pthread_create(thread, &own, body, argument);
}

static int opened; /* semaphores */

/* Waiters are of the kind of the semaphore that is open when they start. */
static void wake_all(struct waiters *row, struct run *run, const struct ipc_cleanup *ipc_cleanup,
                     enum semaphore_kind kind)
{
    static const int priorities[COUNT] = {0};
    struct timespec while_they_run = {.tv_nsec = 1000000};
    struct semaphore *semaphore = &row->table->semaphore;
    if (semaphore_open(semaphore, kind, false, &ipc_cleanup->places[0]) != 0)
        return;
    opened += 1;
    CHECK_SAME(waiters_start(row, run, ipc_cleanup, PEER_THREAD, priorities, COUNT), 0);
    atomic_store(&row->table->woken_count, 0);
    for (int i = 0; i < COUNT; i++)
        waiters_ask(row->table, i);
    for (int i = 0; i < COUNT; i++)
        semaphore_signal(semaphore);
    for (int i = 0; i < MOST_TRIES && atomic_load(&row->table->woken_count) < COUNT; i++)
        nanosleep(&while_they_run, NULL);
    CHECK_SAME(atomic_load(&row->table->woken_count), COUNT);
    CHECK_SAME(waiters_end(row, run), 0);
    semaphore_close(semaphore);
}

/* What no thread wrote to at the end of its stack, which grows towards it. */
static size_t unused_bytes(const unsigned char *stack, size_t bytes)
{
    size_t unused = 0;
    while (unused < bytes && stack[unused] == PATTERN)
        unused++;
    return unused;
}

WRAP_TEST(the_small_stack_is_enough)
{
    char error[ARGS_ERROR_BYTES], *words[] = {"hardstone-probe", "run", "SEM-B-REL", NULL};
    struct request request;
    struct run run;
    struct ipc_cleanup ipc_cleanup;
    struct waiters row;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    tap_skip("sanitizers use the stack too");
    return;
#endif
    CHECK_SAME(args_parse(3, words, &request, error, sizeof error), 0);
    run_init(&run, &request);
    run.setup = (struct rt_thread_setup){SCHED_OTHER, 0, -1};
    clock_open(&run.clock, false, 0);
    CHECK_SAME(ipc_cleanup_open(&ipc_cleanup, &run, true), 0);
    if (!CHECK(waiters_make(&row, &run, &ipc_cleanup, COUNT) == 0))
        return;
    for (int kind = 0; kind < SEMAPHORE_MUTEX; kind++)
        wake_all(&row, &run, &ipc_cleanup, (enum semaphore_kind)kind);
    CHECK(opened > 0);
    CHECK_SAME(stacks.count, opened * COUNT);
    for (int i = 0; i < stacks.count; i++) {
        CHECK(stacks.bytes[i] < RT_THREAD_STACK_BYTES);
        CHECK(unused_bytes(stacks.memory[i], stacks.bytes[i]) >= RT_THREAD_SMALL_STACK_BYTES / 8);
        free(stacks.memory[i]);
    }
    waiters_free(&row);
    ipc_cleanup_close(&ipc_cleanup);
}
