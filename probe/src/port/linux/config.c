/* Build configuration of the running kernel: /proc/config.gz, or the file that distributions
 * install with the kernel. */
#include "base/posix_source.h"

#include "port/linux/facts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum { PACKED_BYTES = 1 << 19, PLAIN_BYTES = 1 << 21, HEADER_BYTES = 10 };

/* The gzip header is fixed: the kernel adds no file name and no extra fields. */
static bool unpack(char *text)
{
    static const unsigned char magic[4] = {0x1f, 0x8b, 8, 0};
    FILE *file = linux_open("/proc/config.gz");
    unsigned char *packed = file ? malloc(PACKED_BYTES) : NULL;
    size_t bytes = packed ? fread(packed, 1, PACKED_BYTES, file) : 0;
    long plain = -1;
    if (bytes > HEADER_BYTES && memcmp(packed, magic, sizeof magic) == 0)
        plain = linux_inflate(packed + HEADER_BYTES, bytes - HEADER_BYTES, (unsigned char *)text,
                              PLAIN_BYTES - 1);
    text[plain < 0 ? 0 : plain] = '\0';
    free(packed);
    if (file)
        fclose(file);
    return plain > 0;
}

static bool read_plain(char *text)
{
    struct utsname names;
    char path[160];
    if (uname(&names) != 0)
        return false;
    snprintf(path, sizeof path, "/boot/config-%s", names.release);
    if (linux_read(path, text, PLAIN_BYTES))
        return true;
    snprintf(path, sizeof path, "/lib/modules/%s/config", names.release);
    return linux_read(path, text, PLAIN_BYTES);
}

static void find(const char *text, const char *name, char *value, size_t bytes)
{
    size_t length = strlen(name);
    snprintf(value, bytes, "n");
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0 && line[length] == '=') {
            snprintf(value, bytes, "%.*s", (int)strcspn(line + length + 1, "\n"),
                     line + length + 1);
            return;
        }
    }
}

bool linux_config(const char *name, char *value, size_t bytes)
{
    char *text = malloc(PLAIN_BYTES);
    bool is_there = text && (unpack(text) || read_plain(text));
    if (is_there)
        find(text, name, value, bytes);
    free(text);
    return is_there;
}
