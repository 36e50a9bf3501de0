#include "base/posix_source.h"

#include "command/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_hexadecimal(const char *text, size_t length)
{
    return strlen(text) == length && strspn(text, "0123456789abcdef") == length;
}

int console_check_form(int argc, char *const argv[], char *error, size_t error_bytes)
{
    if (argc > CONSOLE_WORDS && is_hexadecimal(argv[2], CONSOLE_TOKEN) &&
        is_hexadecimal(argv[3], 8))
        return 0;
    snprintf(error, error_bytes,
             "console wants TOKEN CRC COMMAND; hardstone --target console:DEVICE sends it");
    return -1;
}

int console_check_sum(int argc, char *const argv[], char *error, size_t error_bytes)
{
    char sum[9];
    uint32_t crc = emit_crc32_add(UINT32_MAX, argv[2], strlen(argv[2]));
    for (int i = CONSOLE_WORDS; i < argc; i++) {
        crc = emit_crc32_add(crc, " ", 1);
        crc = emit_crc32_add(crc, argv[i], strlen(argv[i]));
    }
    snprintf(sum, sizeof sum, "%08" PRIx32, ~crc);
    if (strcmp(sum, argv[3]) == 0)
        return 0;
    snprintf(error, error_bytes,
             "the command line was damaged on its way: its checksum is %s, not %s; send it again",
             sum, argv[3]);
    return -1;
}

/* What may run for ever, starts other programs or changes the machine needs a better line. */
int console_check_command(const struct request *request, const char *word, char *error,
                          size_t error_bytes)
{
    switch (request->command) {
    case ARGS_LIST:
    case ARGS_FACTS:
    case ARGS_SELFTEST:
    case ARGS_RUN:
    case ARGS_VERSION:
    case ARGS_HELP:
        return 0;
    case ARGS_LOAD:
        if (request->is_load_list || request->is_load_check)
            return 0;
        break;
    case ARGS_SHIELD:
        if (request->show)
            return 0;
        break;
    case ARGS_DUMP:
    case ARGS_AGENT:
        break;
    }
    snprintf(error, error_bytes,
             "console has no %.20s; it has list, facts, selftest, run, load --list, load --check "
             "and shield --show",
             word);
    return -1;
}
