/* The classes of kernel operations, one at a time, and that they leave nothing behind. */
#include "base/posix_source.h"

#include "tap.h"
#include "work/job.h"
#include "work/kernel_operations.h"
#include "work/scratch.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct scratch scratch;
static struct kernel_space space;
static char program[512];

static void set_up(bool needs_names)
{
    memset(&scratch, 0, sizeof scratch);
    CHECK_SAME(scratch_choose(&scratch, needs_names, (uint64_t)getpid()), 0);
    CHECK_SAME(scratch_make(&scratch), 0);
    CHECK_SAME(kernel_space_open(&space, &scratch, program), 0);
}

static void tear_down(void)
{
    kernel_space_close(&space);
    scratch_remove(&scratch);
    struct stat facts;
    CHECK(scratch.own[0] == '\0' || stat(scratch.own, &facts) != 0);
}

TEST(every_class_can_be_done)
{
    set_up(true);
    for (int i = 0; i < KERNEL_CLASSES; i++)
        for (int round = 0; round < 3; round++) {
            int error = kernel_classes[i].act(&space);
            if (error)
                printf("# class %s: %s\n", kernel_classes[i].name, strerror(error));
            CHECK_SAME(error, 0);
        }
    CHECK_SAME(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    CHECK_SAME(errno, ECHILD);
    tear_down();
}

/* Not a success that did nothing. */
TEST(a_class_without_its_means_says_so)
{
    set_up(true);
    struct kernel_space without = space;
    without.file = without.small = without.terminal = -1;
    without.pipe[0] = without.socket[0] = -1;
    without.names[0][0] = '\0';
    without.program = "/nowhere/at/all";
    static const char *const needy[] = {"exec",   "copy", "file", "terminal",
                                        "socket", "pipe", "fsync"};
    for (int i = 0; i < KERNEL_CLASSES; i++)
        for (size_t j = 0; j < sizeof needy / sizeof needy[0]; j++)
            if (strcmp(kernel_classes[i].name, needy[j]) == 0)
                CHECK(kernel_classes[i].act(&without) != 0);
    tear_down();
}

TEST(names_are_only_made_where_they_are_needed)
{
    set_up(false);
    if (scratch.own[0])
        tap_skip("this system has no files without names");
    else
        CHECK_SAME(kernel_classes[4].act(&space), ENOENT); /* file: create, rename, delete */
    tear_down();
}

static void touch_in(const char *folder, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (CHECK(file != NULL))
        fclose(file);
}

/* And what links lead to stays. */
TEST(the_scratch_folder_goes_with_all_in_it)
{
    char below[600], link[620], outside[600];
    set_up(true);
    snprintf(outside, sizeof outside, "%s-outside", scratch.own);
    CHECK_SAME(mkdir(outside, 0700), 0);
    touch_in(outside, "kept");
    snprintf(below, sizeof below, "%s/below", scratch.own);
    CHECK_SAME(mkdir(below, 0700), 0);
    touch_in(below, "a file");
    snprintf(link, sizeof link, "%s/link", below);
    CHECK_SAME(symlink(outside, link), 0);
    tear_down();
    snprintf(link, sizeof link, "%s/kept", outside);
    CHECK_SAME(unlink(link), 0);
    CHECK_SAME(rmdir(outside), 0);
}

int main(int argc, char *argv[])
{
    if (argc == 3 && strcmp(argv[1], JOB_COMMAND) == 0)
        return job_main(argv[2]);
    tap_program = argv[0];
    if (job_find_program(argv[0], program, sizeof program) != 0)
        return 1;
    return tap_run();
}
