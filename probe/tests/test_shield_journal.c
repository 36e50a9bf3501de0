/* The journal: it reads back as written, and nothing else is accepted as one. */
#include "base/posix_source.h"

#include "shield/journal.h"
#include "shield/shield.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD "hardstone-shield\t1\nboot\tabc\nowner\t5\t77\nsince\t9\ncpus\t1\n"

enum { PATH_BYTES = 256 };

static char *new_folder(void)
{
    static char folder[64];
    snprintf(folder, sizeof folder, "/tmp/hardstone-test-XXXXXX");
    return mkdtemp(folder);
}

static void remove_folder(const char *folder)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/hardstone-shield.journal", folder);
    unlink(path);
    rmdir(folder);
}

static void put(const char *folder, const char *text, size_t length)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/hardstone-shield.journal", folder);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK_SAME(write(file, text, length), length);
    close(file);
}

TEST(there_and_back)
{
    char *folder = new_folder(), reason[200] = "";
    struct journal journal, found;
    struct journal_image image;
    struct journal_head head = {.boot = "abc", .owner = 5, .owner_start = 77, .since_utc_ns = 9};
    cpus_add(&head.reserved, 1);
    CHECK_SAME(journal_create(&journal, folder), 0);
    CHECK_SAME(journal_begin(&journal, &head), 0);
    const char *change[] = {"file", "/a b", "", "1"}, *bad[] = {"file", "/a\tb"};
    CHECK_SAME(journal_note(&journal, 4, change), 0);
    CHECK_SAME(journal_note(&journal, 2, bad), -1);
    CHECK_SAME(journal_sync(&journal), 0);
    CHECK_SAME(journal_create(&found, folder), EEXIST);
    CHECK_SAME(journal_find(&found, folder, &image, reason, sizeof reason), JOURNAL_HELD);
    CHECK_SAME(image.head.owner, 5);
    CHECK_SAME(image.head.owner_start, 77);
    CHECK_TEXT(image.head.boot, "abc");
    CHECK(cpus_same(&image.head.reserved, &head.reserved));
    CHECK_SAME(image.count, 1);
    CHECK_SAME(image.records[0].count, 4);
    CHECK_TEXT(image.records[0].field[1], "/a b");
    CHECK_TEXT(image.records[0].field[2], "");
    journal_free_image(&image);
    journal_close(&found);
    journal_close(&journal);
    CHECK_SAME(journal_find(&found, folder, &image, reason, sizeof reason), JOURNAL_STALE);
    journal_free_image(&image);
    journal_remove(&found);
    CHECK_SAME(journal_find(&found, folder, &image, reason, sizeof reason), JOURNAL_NONE);
    remove_folder(folder);
}

TEST(more_changes_than_the_buffer_holds)
{
    char *folder = new_folder(), reason[200];
    struct journal journal;
    struct journal_image image;
    struct journal_head head = {.boot = "abc"};
    CHECK_SAME(journal_create(&journal, folder), 0);
    journal_begin(&journal, &head);
    for (int i = 0; i < 20000; i++) {
        char number[16];
        const char *fields[] = {"task", number, "1", "0-1", "0"};
        snprintf(number, sizeof number, "%d", i);
        journal_note(&journal, 5, fields);
    }
    CHECK_SAME(journal_sync(&journal), 0);
    CHECK_SAME(journal_reread(&journal, &image, reason, sizeof reason), 0);
    CHECK_SAME(image.count, 20000);
    CHECK_TEXT(image.records[19999].field[1], "19999");
    journal_free_image(&image);
    journal_remove(&journal);
    remove_folder(folder);
}

/* A line that was cut short was never acted upon: it was not synced. */
TEST(a_line_cut_short)
{
    char text[] = HEAD "file\ta\tb\tc\nfile\td\te", reason[200];
    struct journal_image image;
    CHECK_SAME(journal_parse(text, &image, reason, sizeof reason), 0);
    CHECK_SAME(image.count, 1);
    free(image.records);
}

TEST(an_empty_one)
{
    char text[] = "", reason[200];
    struct journal_image image;
    CHECK_SAME(journal_parse(text, &image, reason, sizeof reason), 0);
    CHECK_SAME(image.count, 0);
    CHECK_SAME(image.head.owner, 0);
}

TEST(damaged_heads)
{
    static const char *const texts[] = {
        "\n",
        "hello\n",
        "hardstone-shield\t2\nboot\tabc\nowner\t5\t77\nsince\t9\ncpus\t1\n",
        "hardstone-shield\t1\nboot\tabc\nowner\t5\t77\nsince\t9\n",
        "hardstone-shield\t1\nboot\tabc\nowner\t-5\t77\nsince\t9\ncpus\t1\n",
        "hardstone-shield\t1\nboot\tabc\nowner\t99999999999\t77\nsince\t9\ncpus\t1\n",
        "hardstone-shield\t1\nboot\tabc\nowner\t5\nsince\t9\ncpus\t1\n",
        "hardstone-shield\t1\nboot\tabc\nowner\t5\t77\nsince\t9\ncpus\tall\n",
        "hardstone-shield\t1\nboot\tabc\nowner\t5\t77\nsince\tnow\ncpus\t1\n",
        "hardstone-shield\t1\nboot\t"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "\nowner\t5\t77\nsince\t9\ncpus\t1\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[512], reason[200] = "";
        struct journal_image image;
        snprintf(text, sizeof text, "%s", texts[i]);
        if (!CHECK_SAME(journal_parse(text, &image, reason, sizeof reason), -1))
            printf("# it was number %zu\n", i);
        CHECK_HOLDS(reason, "not a journal");
    }
}

/* More fields than any line has are counted, not stored. */
TEST(a_line_of_many_fields)
{
    char text[4096] = HEAD, reason[200];
    struct journal_image image;
    for (int i = 0; i < 500; i++)
        strcat(text, "x\t");
    strcat(text, "\n");
    CHECK_SAME(journal_parse(text, &image, reason, sizeof reason), 0);
    CHECK(image.records[0].count > JOURNAL_FIELDS);
    free(image.records);
}

static void expect_bad(const char *folder, const char *why)
{
    char reason[200] = "";
    struct journal found;
    struct journal_image image;
    CHECK_SAME(journal_find(&found, folder, &image, reason, sizeof reason), JOURNAL_BAD);
    CHECK_HOLDS(reason, why);
}

TEST(files_that_are_refused)
{
    char *folder = new_folder(), path[PATH_BYTES], other[PATH_BYTES];
    snprintf(path, sizeof path, "%s/hardstone-shield.journal", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    put(folder, HEAD "a\0b\n", sizeof HEAD + 3);
    expect_bad(folder, "damaged");
    put(folder, "garbage\n", 8);
    expect_bad(folder, "not a journal");
    put(folder, HEAD, sizeof HEAD - 1);
    chmod(path, 0666);
    expect_bad(folder, "others may write");
    chmod(path, 0600);
    CHECK_SAME(link(path, other), 0);
    expect_bad(folder, "second hard link");
    unlink(path);
    CHECK_SAME(symlink(other, path), 0);
    expect_bad(folder, "a link");
    unlink(path);
    unlink(other);
    CHECK_SAME(mkfifo(path, 0600), 0);
    expect_bad(folder, "not a regular file");
    unlink(path);
    put(folder, "", 0);
    CHECK_SAME(truncate(path, (off_t)JOURNAL_MOST_BYTES + 1), 0);
    expect_bad(folder, "larger");
    remove_folder(folder);
}

TEST(one_of_another_user)
{
    if (geteuid() != 0) {
        tap_skip("only root can give a file away");
        return;
    }
    char *folder = new_folder(), path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/hardstone-shield.journal", folder);
    put(folder, HEAD, sizeof HEAD - 1);
    CHECK_SAME(chown(path, 65534, 65534), 0);
    expect_bad(folder, "another user owns it");
    remove_folder(folder);
}

TEST(settings)
{
    unsigned settings;
    char bad[48] = "";
    CHECK_SAME(shield_parse_settings("offline", &settings, bad, sizeof bad),
               -1); /* not to be named */
    CHECK_SAME(shield_parse_settings("cpuset,dma_latency", &settings, bad, sizeof bad), 0);
    CHECK_SAME(settings, 1u << SHIELD_CPUSET | 1u << SHIELD_DMA_LATENCY);
    for (int i = 0; i < SHIELD_OFFLINE; i++)
        CHECK_SAME(shield_parse_settings(shield_setting_name((enum shield_setting)i), &settings,
                                         bad, sizeof bad),
                   0);
    CHECK_SAME(shield_parse_settings("cpuset,cpu", &settings, bad, sizeof bad), -1);
    CHECK_TEXT(bad, "cpu");
    CHECK_SAME(shield_parse_settings("", &settings, bad, sizeof bad), -1);
    CHECK_SAME(shield_parse_settings("cpuset,", &settings, bad, sizeof bad), -1);
}

TEST(notes_are_grouped)
{
    static struct shield_notes notes;
    char text[NOTE_TEXT_BYTES];
    for (int i = 0; i < 10; i++) {
        char name[8];
        snprintf(name, sizeof name, "%d", i);
        shield_note(&notes, "interrupts", name, "the reason");
    }
    CHECK(!shield_notes_fold(&(struct shield_notes){.count = 0}, text, sizeof text));
    shield_note(&notes, "interrupts", "11", "another");
    CHECK_SAME(notes.count, 2);
    CHECK(shield_notes_fold(&notes, text, sizeof text));
    CHECK_TEXT(text, "interrupts (11)");
    shield_note_text(&notes.note[0], text, sizeof text);
    CHECK_TEXT(text, "interrupts: 10 (0, 1, 2, 3, ...): the reason");
    shield_note_text(&notes.note[1], text, sizeof text);
    CHECK_TEXT(text, "interrupts: 11: another");
    for (int i = 0; i < 100; i++)
        shield_note(&notes, "timers", NULL, "reason %d", i);
    CHECK_SAME(notes.count, NOTES);
    CHECK_SAME(notes.dropped, 102 - NOTES);
    CHECK(shield_notes_fold(&notes, text, sizeof text));
    CHECK_TEXT(text, "interrupts (11), timers, and 70 more");
    CHECK(shield_notes_fold(&notes, text, 8)); /* cut, not overrun */
    CHECK_TEXT(text, "interru");
}
