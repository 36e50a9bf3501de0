#include "base/posix_source.h"

#include "linux_machine.h"

#include "port/linux/files.h"

#include <ftw.h>

char machine_root[64] = "";

/* In the place of the port's. */
const char *linux_root(void)
{
    return machine_root;
}

bool machine_open(void)
{
    /* In memory where that can be had: each line of a shield's journal waits for the disk. */
    snprintf(machine_root, sizeof machine_root, "/dev/shm/hardstone-test-XXXXXX");
    if (mkdtemp(machine_root))
        return true;
    snprintf(machine_root, sizeof machine_root, "/tmp/hardstone-test-XXXXXX");
    if (!mkdtemp(machine_root))
        abort();
    return true;
}

void machine_put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", machine_root, path);
    for (char *at = strchr(full + strlen(machine_root) + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(full, 0755);
        *at = '/';
    }
    FILE *file = fopen(full, "w");
    if (CHECK(file != NULL)) {
        fputs(text, file);
        fclose(file);
    }
}

void machine_put_in(const char *folder, const char *name, const char *text)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    machine_put(path, text);
}

const char *machine_path(const char *path)
{
    static char full[300];
    snprintf(full, sizeof full, "%s%s", machine_root, path);
    return full;
}

static int drop(const char *path, const struct stat *status, int kind, struct FTW *ftw)
{
    (void)status, (void)kind, (void)ftw;
    return remove(path);
}

void machine_remove(const char *path)
{
    CHECK_SAME(nftw(machine_path(path), drop, 16, FTW_DEPTH | FTW_PHYS), 0);
}

void machine_close(void)
{
    machine_remove("");
    machine_root[0] = '\0';
}
