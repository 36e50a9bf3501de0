/* Memory of 1003.1b: locking, protection, mapped files. */
#include "base/posix_source.h"

#include "family/posix/calls.h"

#include "base/options.h"
#include "family/posix/call_help.h"
#include "port/port.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Faults that others of the process may cause. */
enum { PAGES = 64, FEW_FAULTS = 8 };

/* The limit on locked memory is ENOMEM or EAGAIN, and EPERM where it is 0. */
static struct answer answer_not_locked(const char *call, int error)
{
    if (error == ENOMEM || error == EAGAIN || error == EPERM)
        return answer_denied("%s: %s; raise ulimit -l", call, strerror(error));
    return answer_error(call, error);
}

#if HS_HAS_MAPPED_FILES
static volatile char *map_pages(size_t bytes)
{
    void *memory = port_shared_memory(bytes);
    return memory;
}

/* Locked memory is there: its first use causes no page fault. Of a system that does not count
 * faults only the answer of the call is known. */
static struct answer touch_locked(volatile char *memory, size_t page)
{
    struct port_usage before, after;
    port_usage(&before);
    for (size_t i = 0; i < PAGES; i++)
        memory[i * page] = 1;
    port_usage(&after);
    int64_t faults = after.minor_faults - before.minor_faults;
    if (before.minor_faults < 0 || after.minor_faults < 0 || faults <= FEW_FAULTS)
        return answer_works();
    return answer_fails("%lld page faults at the first use of %d locked pages", (long long)faults,
                        PAGES);
}

struct answer call_memlock(const struct call_tools *tools)
{
    (void)tools;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        return answer_not_locked("mlockall", errno);
    volatile char *memory = map_pages(PAGES * page);
    if (!memory)
        return answer_not_locked("mmap after mlockall", errno);
    struct answer answer = touch_locked(memory, page);
    if (answer.result == CALL_WORKS && munlockall() != 0)
        return answer_error("munlockall", errno);
    return answer;
}
#else
struct answer call_memlock(const struct call_tools *tools)
{
    (void)tools;
    if (mlockall(MCL_CURRENT) != 0)
        return answer_not_locked("mlockall", errno);
    return answer_works();
}
#endif

#if HS_HAS_MAPPED_FILES && HS_HAS_MEMLOCK_RANGE
struct answer call_memlock_range(const struct call_tools *tools)
{
    (void)tools;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *memory = map_pages(PAGES * page);
    if (!memory)
        return answer_error("mmap", errno);
    if (mlock((void *)memory, PAGES * page) != 0)
        return answer_not_locked("mlock", errno);
    struct answer answer = touch_locked(memory, page);
    if (answer.result == CALL_WORKS && munlock((void *)memory, PAGES * page) != 0)
        return answer_error("munlock", errno);
    return answer;
}
#else
struct answer call_memlock_range(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("mlock");
}
#endif

#if HS_HAS_MAPPED_FILES && HS_HAS_MEMORY_PROTECTION && HS_HAS_FORK
static void end_well(int number)
{
    (void)number;
    _exit(0);
}

/* Writes where writing is forbidden; true: it was stopped, by a signal whose handler ends the
 * process. */
static bool is_stopped(void *argument)
{
    struct sigaction action = {.sa_handler = end_well};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    *(volatile char *)argument = 2;
    return false;
}

struct answer call_memory_protection(const struct call_tools *tools)
{
    (void)tools;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *memory = map_pages(page);
    if (!memory)
        return answer_error("mmap", errno);
    memory[0] = 1;
    if (mprotect((void *)memory, page, PROT_READ) != 0)
        return answer_error("mprotect", errno);
    if (memory[0] != 1)
        return answer_fails("mprotect changed the memory");
    int error = call_in_process(is_stopped, (void *)memory);
    if (error && error != ECHILD)
        return answer_error("fork", error);
    return error == 0 && memory[0] == 1 ? answer_works()
                                        : answer_fails("a page that is only readable was written");
}
#else
struct answer call_memory_protection(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("mprotect");
}
#endif

#if HS_HAS_MAPPED_FILES
struct answer call_mapped_files(const struct call_tools *tools)
{
    struct answer answer;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char back = 0;
    int file = call_file(tools, &answer);
    if (file < 0)
        return answer;
    if (ftruncate(file, (off_t)page) != 0)
        return answer_error("ftruncate", errno);
    char *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        return answer_error("mmap", errno);
    memory[9] = 'x';
    if (msync(memory, page, MS_SYNC) != 0)
        return answer_error("msync", errno);
    if (pread(file, &back, 1, 9) != 1 || back != 'x')
        return answer_fails("what was written to the mapping is not in the file");
    return munmap(memory, page) == 0 ? answer_works() : answer_error("munmap", errno);
}
#else
struct answer call_mapped_files(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("mmap");
}
#endif
