/* hardstone-facts-of-root FOLDER: prints the port's facts about the files below FOLDER as lines
 * "NAME VALUE". Its file "uname" has two lines, the kernel's release and version. With --inflate
 * it unpacks a gzip file from standard input instead. */
#include "port/linux/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char *root = "";

const char *linux_root(void);
const char *linux_root(void)
{
    return root;
}

/* In place of that of libc. */
int uname(struct utsname *names)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/uname", root);
    if (syscall(SYS_uname, names) != 0)
        return -1;
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    names->release[0] = names->version[0] = '\0';
    int got = fscanf(file, "%64[^\n]\n%64[^\n]", names->release, names->version);
    fclose(file);
    return got == 2 ? 0 : -1;
}

static void text(void *context, const char *name, const char *value)
{
    (void)context;
    printf("%s %s%s\n", name, value && *value ? "=" : "null", value ? value : "");
}

static void number(void *context, const char *name, int64_t value)
{
    (void)context;
    printf("%s %lld\n", name, (long long)value);
}

static void truth(void *context, const char *name, bool value)
{
    (void)context;
    printf("%s %s\n", name, value ? "true" : "false");
}

static int unpack(void)
{
    enum { BYTES = 1 << 20 };
    unsigned char *from = malloc(BYTES), *to = malloc(BYTES);
    size_t bytes = from ? fread(from, 1, BYTES, stdin) : 0;
    long plain = to && bytes ? linux_inflate(from, bytes, to, BYTES) : -1;
    if (plain > 0)
        fwrite(to, 1, (size_t)plain, stdout);
    free(from);
    free(to);
    return plain < 0;
}

int main(int argc, char *argv[])
{
    const struct port_fact_sink sink = {text, number, truth, NULL};
    if (argc != 2)
        return 2;
    if (strcmp(argv[1], "--inflate") == 0)
        return unpack();
    root = argv[1];
    port_facts(&sink);
    return 0;
}
