#include "base/posix_source.h"

#include "family/file/async_claim.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

struct async_claim async_claim_begin(struct run *run, const char *name, const char *kind)
{
    return (struct async_claim){.run = run, .name = name, .kind = kind};
}

bool async_expect(struct async_claim *claim, bool is_so, const char *format, ...)
{
    if (is_so || claim->has_failed)
        return is_so;
    va_list words;
    va_start(words, format);
    vsnprintf(claim->failure, sizeof claim->failure, format, words);
    va_end(words);
    claim->has_failed = true;
    return false;
}

void async_claim_end(const struct async_claim *claim, const char *seen)
{
    char name[ARENA_NAME_BYTES];
    if (run_should_stop())
        return;
    snprintf(name, sizeof name, "%s/%s", claim->name, claim->kind);
    arena_verdict(claim->run->arena, !claim->has_failed, 1, name, "%s",
                  claim->has_failed ? claim->failure : seen);
}

void async_pause(void)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    nanosleep(&moment, NULL);
}
