/* hardstone-facts-of-root FOLDER: hardstone-probe facts --json about the files below FOLDER. Its
 * file "uname" has two lines, the kernel's release and version. */
#include "command/commands.h"

#include <stdio.h>
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

int main(int argc, char *argv[])
{
    static struct emit emit;
    if (argc != 2)
        return 2;
    root = argv[1];
    emit_open(&emit, STDOUT_FILENO);
    facts_send(&emit, false, true);
    return emit_flush(&emit) ? 1 : 0;
}
