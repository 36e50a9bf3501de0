/* Linked with a probe for small systems: says on standard error, when it ends, how much memory its
 * own code took: heap and mappings, stacks of threads and of main, each at its largest. To be
 * linked with -Wl,--wrap= for each __wrap_ function. */
#define _GNU_SOURCE

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

/* USUAL_LEAST_BYTES: what a thread needs at least; some processors have larger register sets. */
enum { STACK_BYTES = 512 * 1024, MARK = 0x5a, USUAL_LEAST_BYTES = 16384 };

static struct {
    atomic_long now, most;
} heap, stacks;
static char *main_top; /* of what main takes of its stack */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
int __real_posix_memalign(void **memory, size_t alignment, size_t bytes);
void __real_free(void *memory);
void *__real_mmap(void *place, size_t bytes, int protection, int flags, int file, off_t offset);
int __real_munmap(void *memory, size_t bytes);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument);
int __real_pthread_join(pthread_t thread, void **result);
int __real_main(int argc, char *argv[]);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes);
void __wrap_free(void *memory);
void *__wrap_mmap(void *place, size_t bytes, int protection, int flags, int file, off_t offset);
int __wrap_munmap(void *memory, size_t bytes);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument);
int __wrap_pthread_join(pthread_t thread, void **result);
int __wrap_main(int argc, char *argv[]);

static void add_heap(long bytes)
{
    long now = atomic_fetch_add(&heap.now, bytes) + bytes;
    if (now > heap.most)
        heap.most = now;
}

static void *taken(void *memory)
{
    add_heap(memory ? (long)malloc_usable_size(memory) : 0);
    return memory;
}

void *__wrap_malloc(size_t bytes)
{
    return taken(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return taken(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    long before = memory ? (long)malloc_usable_size(memory) : 0;
    void *after = taken(__real_realloc(memory, bytes));
    add_heap(after ? -before : 0);
    return after;
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    int error = __real_posix_memalign(memory, alignment, bytes);
    if (!error)
        taken(*memory);
    return error;
}

void __wrap_free(void *memory)
{
    add_heap(memory ? -(long)malloc_usable_size(memory) : 0);
    __real_free(memory);
}

void *__wrap_mmap(void *place, size_t bytes, int protection, int flags, int file, off_t offset)
{
    void *memory = __real_mmap(place, bytes, protection, flags, file, offset);
    add_heap(memory != MAP_FAILED ? (long)bytes : 0);
    return memory;
}

int __wrap_munmap(void *memory, size_t bytes)
{
    add_heap(-(long)bytes);
    return __real_munmap(memory, bytes);
}

static long stack_bytes(const pthread_attr_t *attributes)
{
    size_t bytes = 0;
    long least = sysconf(_SC_THREAD_STACK_MIN);
    pthread_attr_getstacksize(attributes, &bytes);
    return (long)bytes - (least > USUAL_LEAST_BYTES ? least - USUAL_LEAST_BYTES : 0);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument)
{
    int error = __real_pthread_create(thread, attributes, body, argument);
    long bytes = error || !attributes ? 0 : stack_bytes(attributes);
    long now = atomic_fetch_add(&stacks.now, bytes) + bytes;
    if (now > stacks.most)
        stacks.most = now;
    return error;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
    pthread_attr_t attributes;
    if (pthread_getattr_np(thread, &attributes) == 0) {
        atomic_fetch_sub(&stacks.now, stack_bytes(&attributes));
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

int __wrap_main(int argc, char *argv[])
{
    char here;
    main_top = &here;
    mark_stack();
    return __real_main(argc, argv);
}
