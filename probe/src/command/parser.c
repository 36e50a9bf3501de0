#include "base/posix_source.h"

#include "command/parser.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int parser_fail(struct parser *parser, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(parser->error, parser->error_bytes, format, arguments);
    va_end(arguments);
    return -1;
}

int parser_number(const char *text, int64_t *number)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || (*text != '-' && (*text < '0' || *text > '9')))
        return -1;
    *number = value;
    return 0;
}
