/* The measuring thread reads a load's counters without heap and stdio: their first use could cause
 * page faults or wait for a lock within the measurement. */
#include "running_load.h"

#include <dirent.h>

static bool is_watching;
static int calls;

static bool is_noted(void)
{
    calls += is_watching ? 1 : 0;
    return false;
}

WRAP_IF_LARGE(is_noted(), NULL, FILE *, fopen, (const char *path, const char *mode), (path, mode));
WRAP_IF(is_noted(), NULL, DIR *, opendir, (const char *path), (path));
WRAP_IF(is_noted(), NULL, void *, malloc, (size_t bytes), (bytes));
WRAP_IF(is_noted(), NULL, void *, calloc, (size_t count, size_t bytes), (count, bytes));

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
