/* A mount in the folder of an agent: what is there is not the agent's. */
#include "agent/folder.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANNOT_MOUNT = 77 };

/* Mounts FOLDER/../kept on FOLDER/mount, of the same file system, and removes the folder. */
static int remove_with_mount(const char *folder, const char *kept, const char *mounted)
{
    char why[400];
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(kept, mounted, NULL, MS_BIND, NULL) != 0)
        return CANNOT_MOUNT;
    return folder_remove(folder_open(folder, why, sizeof why), folder);
}

TEST(a_mount_is_not_crossed)
{
    char folder[400], mounted[400], kept[400], file[400];
    struct stat state;
    int status;
    snprintf(folder, sizeof folder, "%s/folder", tap_folder());
    snprintf(mounted, sizeof mounted, "%s/folder/mount", tap_folder());
    snprintf(kept, sizeof kept, "%s/kept", tap_folder());
    snprintf(file, sizeof file, "%s/kept/file", tap_folder());
    mkdir(folder, 0700);
    mkdir(mounted, 0700);
    mkdir(kept, 0700);
    close(open(file, O_WRONLY | O_CREAT, 0600));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(remove_with_mount(folder, kept, mounted));
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) == CANNOT_MOUNT)
        tap_skip("this process may not mount: run it as root");
    else
        CHECK_SAME(WEXITSTATUS(status), EBUSY);
    CHECK_SAME(stat(file, &state), 0);
    unlink(file);
    rmdir(kept);
    rmdir(mounted);
    rmdir(folder);
}
