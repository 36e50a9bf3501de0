/* The shield's calls and their order, which the final content of files does not show. The linker
 * wraps write, fsync and nanosleep (--wrap). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "made_up_files.h"
#include "port/linux/shield.h"
#include "shield/journal.h"
#include "tap.h"

#include <ftw.h>
#include <time.h>
#include <unistd.h>

#define JOURNAL_NAME "/hardstone-shield.journal"
#define IRQ "/proc/irq/7/smp_affinity_list"

static struct {
    char root[64];
    char log[2048];   /* "/path=text;" and "sync;" */
    const char *deaf; /* takes what is written and keeps what it has */
    int sync_error;
    const char *shown[4]; /* what the interrupt shows after each wait; NULL: the same */
    int waits;
} scene;

static bool path_of(int file, char path[256])
{
    char link[64], full[256];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, full, sizeof full - 1);
    size_t root = strlen(scene.root);
    full[length > 0 ? length : 0] = '\0';
    if (root == 0 || strncmp(full, scene.root, root) != 0)
        return false;
    snprintf(path, 256, "%s", full + root);
    return true;
}

static void add(const char *what, const char *text, size_t count)
{
    size_t used = strlen(scene.log);
    snprintf(scene.log + used, sizeof scene.log - used, "%s%.*s;", what, (int)count, text);
}

WRAP(ssize_t, write, int file, const void *bytes, size_t count)
{
    char path[256];
    if (!path_of(file, path))
        return __real_write(file, bytes, count);
    if (strcmp(path, JOURNAL_NAME) == 0) {
        add("journal", "", 0);
        return __real_write(file, bytes, count);
    }
    strcat(path, "=");
    add(path, bytes, strcspn(bytes, "\n"));
    path[strlen(path) - 1] = '\0';
    if (scene.deaf && strcmp(path, scene.deaf) == 0) {
        /* it was truncated, as no file of /proc is */
        CHECK_SAME(__real_write(file, "0-3\n", 4), 4);
        return (ssize_t)count;
    }
    return __real_write(file, bytes, count);
}

WRAP(int, fsync, int file)
{
    add("sync", "", 0);
    errno = scene.sync_error;
    return scene.sync_error ? -1 : __real_fsync(file);
}

WRAP(int, nanosleep, const struct timespec *time, struct timespec *left)
{
    (void)time, (void)left;
    if (scene.waits < 4 && scene.shown[scene.waits])
        made_up_file(scene.root, IRQ, scene.shown[scene.waits]);
    scene.waits++;
    return 0;
}

static struct journal journal;
static struct shield_notes notes;
static struct port_shield shield;
static char text[SHIELD_TEXT_BYTES];

static void put(const char *path, const char *content)
{
    made_up_file(scene.root, path, content);
}

/* Four CPUs, of which the last is to be reserved, and serves the one interrupt. */
static bool open_scene(void)
{
    if (!tap_is_wrapped())
        return false;
    memset(&scene, 0, sizeof scene);
    memset(&notes, 0, sizeof notes);
    char root[] = "/tmp/hardstone-test-XXXXXX";
    CHECK(mkdtemp(root) != NULL);
    shield = (struct port_shield){.root = scene.root,
                                  .log = &shield_log,
                                  .journal = &journal,
                                  .notes = &notes,
                                  .latency = -1};
    cpus_parse_list("3", &shield.reserved);
    cpus_parse_list("0-2", &shield.others);
    CHECK_SAME(journal_create(&journal, root), 0);
    struct journal_head head = {.boot = "abc", .owner = 5};
    CHECK_SAME(journal_begin(&journal, &head), 0);
    snprintf(scene.root, sizeof scene.root, "%s", root);
    put(IRQ, "0-3\n");
    put("/proc/irq/7/effective_affinity_list", "3\n");
    put("/proc/sys/kernel/watchdog_cpumask", "0-3\n");
    scene.log[0] = '\0';
    return true;
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    (void)facts, (void)kind, (void)where;
    return remove(path);
}

static void close_scene(void)
{
    journal_close(&journal);
    nftw(scene.root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    scene.root[0] = '\0';
}

#define SCENE_TEST(what) TEST_IN(open_scene(), close_scene(), what)

static int apply(enum shield_setting setting)
{
    return port_shield_apply(&shield, setting, text, sizeof text);
}

SCENE_TEST(an_interrupt_goes_to_the_cpu_that_served_it_first)
{
    struct journal_image image;
    CHECK_SAME(apply(SHIELD_INTERRUPTS), 0);
    CHECK_TEXT(scene.log, "journal;sync;" IRQ "=0-2;");
    scene.log[0] = '\0';
    CHECK_SAME(journal_reread(&journal, &image, text, sizeof text), 0);
    CHECK_SAME(port_shield_undo(&shield, &image.changes, 0, text, sizeof text), PORT_UNDONE);
    CHECK_TEXT(scene.log, IRQ "=3;" IRQ "=0-3;");
    journal_free_image(&image);
}

SCENE_TEST(the_journal_is_on_the_disk_before_a_change)
{
    CHECK_SAME(apply(SHIELD_WATCHDOG), 0);
    CHECK_TEXT(scene.log, "journal;sync;/proc/sys/kernel/watchdog_cpumask=0-2;");
    for (int i = 0; i < 2; i++) { /* where it cannot be there, nothing is changed */
        close_scene();
        open_scene();
        scene.sync_error = EIO;
        CHECK_SAME(apply(i ? SHIELD_WATCHDOG : SHIELD_INTERRUPTS), EIO);
        CHECK_TEXT(scene.log, "journal;sync;");
    }
}

/* In the moment in which an interrupt moves, its file shows CPUs of before. */
SCENE_TEST(an_interrupt_that_moves_is_looked_at_again)
{
    struct journal_image image;
    put(IRQ, "1\n");
    scene.shown[0] = "2\n";
    scene.shown[1] = "0-3\n";
    CHECK_SAME(apply(SHIELD_INTERRUPTS), 0);
    CHECK_HOLDS(text, "1 of 1 interrupts moved");
    CHECK_SAME(journal_reread(&journal, &image, text, sizeof text), 0);
    if (CHECK_SAME(image.changes.count, 1))
        CHECK_TEXT(image.changes.each[0].field[2], "0-3");

    put(IRQ, "2\n");
    scene.waits = 0;
    scene.shown[0] = "0-2\n";
    CHECK_SAME(port_shield_undo(&shield, &image.changes, 0, text, sizeof text), PORT_UNDONE);

    put(IRQ, "0-3\n");
    scene.log[0] = '\0';
    CHECK_SAME(port_shield_undo(&shield, &image.changes, 0, text, sizeof text), PORT_UNDO_NOTHING);
    CHECK_TEXT(scene.log, IRQ "=0-3;");
    journal_free_image(&image);
}

SCENE_TEST(a_move_that_shows_late_is_one)
{
    scene.deaf = IRQ;
    scene.shown[1] = "0-2\n"; /* the first wait comes before the write */
    CHECK_SAME(apply(SHIELD_INTERRUPTS), 0);
    CHECK_HOLDS(text, "1 of 1 interrupts moved");
    CHECK_SAME(notes.count, 1);
    CHECK_HOLDS(notes.note[0].reason, "they move when they next fire");
}
