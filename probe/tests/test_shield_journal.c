/* The journal: it reads back as written, and nothing else is accepted as one. */
#include "base/posix_source.h"

#include "shield/journal.h"
#include "shield/shield.h"
#include "tap.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD "hardstone-shield\t1\nboot\tabc\nowner\t5\t77\nsince\t9\ncpus\t1\n"

static char path[300], reason[200];
static struct journal journal, found;
static struct journal_image image;

static bool begin(void)
{
    snprintf(path, sizeof path, "%s/hardstone-shield.journal", tap_folder());
    reason[0] = '\0';
    return true;
}

#define JOURNAL_TEST(what) TEST_IN(begin(), unlink(path), what)

static enum journal_state find(void)
{
    return journal_find(&found, tap_folder(), &image, reason, sizeof reason);
}

static int parse(char *text)
{
    reason[0] = '\0';
    return journal_parse(text, &image, reason, sizeof reason);
}

JOURNAL_TEST(there_and_back)
{
    struct journal_head head = {.boot = "abc", .owner = 5, .owner_start = 77, .since_utc_ns = 9};
    cpus_add(&head.reserved, 1);
    CHECK_SAME(journal_create(&journal, tap_folder()), 0);
    CHECK_SAME(journal_begin(&journal, &head), 0);
    const char *change[] = {"file", "/a b", "", "1"}, *bad[] = {"file", "/a\tb"};
    CHECK_SAME(journal_note(&journal, 4, change), 0);
    CHECK_SAME(journal_note(&journal, 2, bad), -1);
    CHECK_SAME(journal_sync(&journal), 0);
    CHECK_SAME(journal_create(&found, tap_folder()), EEXIST);
    CHECK_SAME(find(), JOURNAL_HELD);
    CHECK_SAME(image.head.owner, 5);
    CHECK_SAME(image.head.owner_start, 77);
    CHECK_TEXT(image.head.boot, "abc");
    CHECK(cpus_same(&image.head.reserved, &head.reserved));
    CHECK_SAME(image.changes.count, 1);
    CHECK_SAME(image.changes.each[0].count, 4);
    CHECK_TEXT(image.changes.each[0].field[1], "/a b");
    CHECK_TEXT(image.changes.each[0].field[2], "");
    journal_free_image(&image);
    journal_close(&found);
    journal_close(&journal);
    CHECK_SAME(find(), JOURNAL_STALE);
    journal_free_image(&image);
    journal_remove(&found);
    CHECK_SAME(find(), JOURNAL_NONE);
}

JOURNAL_TEST(more_changes_than_the_buffer_holds)
{
    struct journal_head head = {.boot = "abc"};
    CHECK_SAME(journal_create(&journal, tap_folder()), 0);
    journal_begin(&journal, &head);
    for (int i = 0; i < 20000; i++) {
        char number[16];
        const char *fields[] = {"task", number, "1", "0-1", "0"};
        snprintf(number, sizeof number, "%d", i);
        journal_note(&journal, 5, fields);
    }
    CHECK_SAME(journal_sync(&journal), 0);
    CHECK_SAME(journal_reread(&journal, &image, reason, sizeof reason), 0);
    CHECK_SAME(image.changes.count, 20000);
    CHECK_TEXT(image.changes.each[19999].field[1], "19999");
    journal_free_image(&image);
    journal_remove(&journal);
}

/* A line that was cut short was never acted upon: it was not synced. */
TEST(a_line_cut_short)
{
    char text[] = HEAD "file\ta\tb\tc\nfile\td\te", empty[] = "";
    CHECK_SAME(parse(text), 0);
    CHECK_SAME(image.changes.count, 1);
    free(image.changes.each);
    CHECK_SAME(parse(empty), 0);
    CHECK_SAME(image.changes.count, 0);
    CHECK_SAME(image.head.owner, 0);
}

#define A "aaaaaaaaaaaaaaaaaa"

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
        "hardstone-shield\t1\nboot\t" A A A A A "\nowner\t5\t77\nsince\t9\ncpus\t1\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[512], row[16];
        snprintf(text, sizeof text, "%s", texts[i]);
        snprintf(row, sizeof row, "head %zu", i);
        tap_row(row);
        CHECK_SAME(parse(text), -1);
        CHECK_HOLDS(reason, "not a journal");
    }
}

/* More fields than any line has are counted, not stored. */
TEST(a_line_of_many_fields)
{
    char text[4096] = HEAD;
    for (int i = 0; i < 500; i++)
        strcat(text, "x\t");
    strcat(text, "\n");
    CHECK_SAME(parse(text), 0);
    CHECK(image.changes.each[0].count > PORT_CHANGE_FIELDS);
    free(image.changes.each);
}

/* In the place of the former file. */
static void put(const char *text, size_t length)
{
    unlink(path);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK_SAME(write(file, text, length), length);
    close(file);
}

static void expect_bad(const char *why)
{
    reason[0] = '\0';
    CHECK_SAME(find(), JOURNAL_BAD);
    CHECK_HOLDS(reason, why);
}

JOURNAL_TEST(files_that_are_refused)
{
    char other[300];
    snprintf(other, sizeof other, "%s/other", tap_folder());
    put(HEAD "a\0b\n", sizeof HEAD + 3);
    expect_bad("damaged");
    put("garbage\n", 8);
    expect_bad("not a journal");
    put(HEAD, sizeof HEAD - 1);
    chmod(path, 0666);
    expect_bad("others may write");
    put(HEAD, sizeof HEAD - 1);
    CHECK_SAME(link(path, other), 0);
    expect_bad("second hard link");
    unlink(path);
    CHECK_SAME(symlink(other, path), 0);
    expect_bad("a link");
    unlink(path);
    unlink(other);
    CHECK_SAME(mkfifo(path, 0600), 0);
    expect_bad("not a regular file");
    put("", 0);
    CHECK_SAME(truncate(path, (off_t)JOURNAL_MOST_BYTES + 1), 0);
    expect_bad("too large");
}

JOURNAL_TEST(one_of_another_user)
{
    if (geteuid() != 0) {
        tap_skip("only root can give a file away");
        return;
    }
    put(HEAD, sizeof HEAD - 1);
    CHECK_SAME(chown(path, 65534, 65534), 0);
    expect_bad("another user owns it");
}

TEST(settings)
{
    unsigned settings;
    char bad[48] = "";
    /* offline is not to be named */
    CHECK_SAME(shield_parse_settings("offline", &settings, bad, sizeof bad), -1);
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
    for (int i = 0; i < 100; i++) {
        char why[20];
        snprintf(why, sizeof why, "reason %d", i);
        shield_note(&notes, "timers", NULL, why);
    }
    CHECK_SAME(notes.count, NOTES);
    CHECK_SAME(notes.dropped, 102 - NOTES);
    CHECK(shield_notes_fold(&notes, text, sizeof text));
    CHECK_TEXT(text, "interrupts (11), timers, and 70 more");
    CHECK(shield_notes_fold(&notes, text, 8)); /* cut, not overrun */
    CHECK_TEXT(text, "interru");
}
