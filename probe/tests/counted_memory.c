/* Linked with a probe for small systems: says on standard error, when it ends, how much memory its
 * own code took: heap and mappings, stacks of threads and of main, each at its largest. To be
 * linked with -Wl,--wrap= for each WRAP. */
#define _GNU_SOURCE
#define WRAPPED
#include "tap.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

/* USUAL_LEAST_BYTES: what a thread needs at least; some processors have larger register sets. */
enum { STACK_BYTES = 512 * 1024, MARK = 0x5a, USUAL_LEAST_BYTES = 16384 };

static struct level {
    atomic_long now, most;
} heap, stacks;
static char *main_top; /* of what main takes of its stack */

static void add(struct level *level, long bytes)
{
    long now = atomic_fetch_add(&level->now, bytes) + bytes;
    if (now > level->most)
        level->most = now;
}

static void *taken(void *memory)
{
    add(&heap, memory ? (long)malloc_usable_size(memory) : 0);
    return memory;
}

WRAP_IF(true, taken(__real_malloc(bytes)), void *, malloc, (size_t bytes), (bytes));
WRAP_IF(true, taken(__real_calloc(count, bytes)), void *, calloc, (size_t count, size_t bytes),
        (count, bytes));

WRAP(void *, realloc, void *memory, size_t bytes)
{
    long before = memory ? (long)malloc_usable_size(memory) : 0;
    void *after = taken(__real_realloc(memory, bytes));
    add(&heap, after ? -before : 0);
    return after;
}

WRAP(int, posix_memalign, void **memory, size_t alignment, size_t bytes)
{
    int error = __real_posix_memalign(memory, alignment, bytes);
    taken(error ? NULL : *memory);
    return error;
}

WRAP(void, free, void *memory)
{
    add(&heap, memory ? -(long)malloc_usable_size(memory) : 0);
    __real_free(memory);
}

WRAP(void *, mmap, void *place, size_t bytes, int protection, int flags, int file, off_t offset)
{
    void *memory = __real_mmap(place, bytes, protection, flags, file, offset);
    add(&heap, memory != MAP_FAILED ? (long)bytes : 0);
    return memory;
}

WRAP(int, munmap, void *memory, size_t bytes)
{
    add(&heap, -(long)bytes);
    return __real_munmap(memory, bytes);
}

static long stack_bytes(const pthread_attr_t *attributes)
{
    size_t bytes = 0;
    long least = sysconf(_SC_THREAD_STACK_MIN);
    pthread_attr_getstacksize(attributes, &bytes);
    return (long)bytes - (least > USUAL_LEAST_BYTES ? least - USUAL_LEAST_BYTES : 0);
}

WRAP(int, pthread_create, pthread_t *thread, const pthread_attr_t *attributes,
     void *(*body)(void *), void *argument)
{
    int error = __real_pthread_create(thread, attributes, body, argument);
    add(&stacks, error || !attributes ? 0 : stack_bytes(attributes));
    return error;
}

WRAP(int, pthread_join, pthread_t thread, void **result)
{
    pthread_attr_t attributes;
    if (pthread_getattr_np(thread, &attributes) == 0) {
        add(&stacks, -stack_bytes(&attributes));
        pthread_attr_destroy(&attributes);
    }
    return __real_pthread_join(thread, result);
}

static __attribute__((noinline)) void mark_stack(void)
{
    volatile char below[STACK_BYTES];
    for (size_t i = 0; i < sizeof below; i++)
        below[i] = MARK;
}

static __attribute__((noinline)) long used_stack(void)
{
    volatile char *lowest = main_top - STACK_BYTES + 4096; /* inside of what was marked */
    while (*lowest == MARK)
        lowest++;
    return (long)(main_top - (char *)lowest);
}

static __attribute__((destructor)) void tell(void)
{
    fprintf(stderr, "heap %ld\nthreads %ld\nmain %ld\n", atomic_load(&heap.most),
            atomic_load(&stacks.most), used_stack());
}

WRAP(int, main, int argc, char *argv[])
{
    char here;
    main_top = &here;
    mark_stack();
    return __real_main(argc, argv);
}
