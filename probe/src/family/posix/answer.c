#include "base/posix_source.h"

#include "family/posix/answer.h"

#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *call_result_name(enum call_result result)
{
    static const char *const names[] = {"untried", "works", "partly", "fails", "missing", "denied"};
    return names[result];
}

static struct answer answer(enum call_result result, const char *format, va_list words)
{
    struct answer given = {.result = result};
    vsnprintf(given.why, sizeof given.why, format, words);
    return given;
}

struct answer answer_works(void)
{
    return (struct answer){.result = CALL_WORKS};
}

#define ANSWER(name, result)                                                                       \
    struct answer name(const char *format, ...)                                                    \
    {                                                                                              \
        va_list words;                                                                             \
        va_start(words, format);                                                                   \
        struct answer given = answer(result, format, words);                                       \
        va_end(words);                                                                             \
        return given;                                                                              \
    }

ANSWER(answer_partly, CALL_PARTLY)
ANSWER(answer_fails, CALL_FAILS)
ANSWER(answer_untried, CALL_UNTRIED)
ANSWER(answer_denied, CALL_DENIED)

struct answer answer_missing(const char *call)
{
    struct answer given = {.result = CALL_MISSING};
    snprintf(given.why, sizeof given.why, "this build has no %s", call);
    return given;
}

struct answer answer_error(const char *call, int error)
{
    struct answer given = {.result = CALL_FAILS};
    const char *limit = status_limit_remedy(error);
    if (error == ENOSYS || error == ENOTSUP)
        given.result = CALL_MISSING;
    else if (error == EPERM || error == EACCES || limit)
        given.result = CALL_DENIED;
    snprintf(given.why, sizeof given.why, "%s: %s%s%s", call, strerror(error), limit ? "; " : "",
             limit ? limit : "");
    return given;
}
