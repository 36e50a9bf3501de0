/* The measuring thread reads a load's counters without heap and stdio: their first use could cause
 * page faults or wait for a lock within the measurement. */
#include "base/posix_source.h"

#include "port/port.h"
#include "running_load.h"
#include "tap.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef WRAPPED
static bool is_watching;
static int calls;

static void note(void)
{
    calls += is_watching ? 1 : 0;
}

FILE *__real_fopen(const char *path, const char *mode);
FILE *__real_fopen64(const char *path, const char *mode);
DIR *__real_opendir(const char *path);
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);
DIR *__wrap_opendir(const char *path);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

FILE *__wrap_fopen(const char *path, const char *mode)
{
    note();
    return __real_fopen(path, mode);
}

FILE *__wrap_fopen64(const char *path, const char *mode)
{
    note();
    return __real_fopen64(path, mode);
}

DIR *__wrap_opendir(const char *path)
{
    note();
    return __real_opendir(path);
}

void *__wrap_malloc(size_t bytes)
{
    note();
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    note();
    return __real_calloc(count, bytes);
}

TEST_IN(start("interrupt+network+disk+cpu"), load_free(&load), begin_and_end_allocate_nothing)
{
    is_watching = true;
    load_begin(&load);
    int at_begin = calls;
    load_end(&load);
    is_watching = false;
    end();
    CHECK_SAME(at_begin, 0);
    CHECK_SAME(calls, 0);
}

/* What load_end counts for stress-ng, which need not be installed here. */
TEST(the_process_table_allocates_nothing)
{
    struct port_process list[4];
    calls = 0;
    is_watching = true;
    int count = port_processes(list, 4);
    is_watching = false;
    CHECK_SAME(calls, 0);
    if (count >= 0)
        CHECK(count > 0 && list[0].id > 0);
}
#endif
