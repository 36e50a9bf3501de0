#include "base/posix_source.h"

#include "base/message.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

void message_write(const char *format, ...)
{
    char line[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    utf8_make_printable(line);
    fprintf(stderr, "hardstone-probe: %s\n", line);
}
