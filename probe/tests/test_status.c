/* The outcome of a test: the first one counts; what to type is apart from the words. */
#include "base/status.h"
#include "tap.h"

#include <errno.h>

static void test_words_and_command(void)
{
    struct outcome outcome = {0};
    char text[200];
    outcome_set_remedy(&outcome, STATUS_DENIED, (struct remedy){"install it", "sudo apt install x"},
                       "%s is not there", "x");
    CHECK_TEXT(outcome.reason, "x is not there");
    CHECK_TEXT(outcome.remedy, "install it");
    CHECK_TEXT(outcome.command, "sudo apt install x");
    CHECK_TEXT(outcome_remedy_text(&outcome, text, sizeof text), "install it: sudo apt install x");
}

static void test_first_outcome_is_kept(void)
{
    struct outcome outcome = {0};
    char text[200];
    outcome_set(&outcome, STATUS_FAILED, "look at it", "first");
    outcome_set_remedy(&outcome, STATUS_DENIED, (struct remedy){"type it", "ls"}, "second");
    CHECK_SAME(outcome.status, STATUS_FAILED);
    CHECK_TEXT(outcome.reason, "first");
    CHECK_TEXT(outcome.command, "");
    CHECK_TEXT(outcome_remedy_text(&outcome, text, sizeof text), "look at it");
}

/* An error that names its limit has its own remedy: the caller's command would not help. */
static void test_remedy_of_the_error(void)
{
    static const struct remedy remedy = {"type it", "ls"};
    struct outcome limit = {0}, other = {0}, none = {0};
    outcome_set_errno_remedy(&limit, EMFILE, "a pipe", remedy);
    CHECK_HOLDS(limit.remedy, "ulimit -n");
    CHECK_TEXT(limit.command, "");
    outcome_set_errno_remedy(&other, EPERM, "a pipe", remedy);
    CHECK_SAME(other.status, STATUS_DENIED);
    CHECK_TEXT(other.remedy, "type it");
    CHECK_TEXT(other.command, "ls");
    outcome_set_errno(&none, EIO, "a pipe", NULL);
    CHECK_SAME(none.status, STATUS_FAILED);
    CHECK_TEXT(none.remedy, "");
    CHECK_TEXT(none.command, "");
}

static void test_one_line(void)
{
    char text[200];
    CHECK_TEXT(remedy_text((struct remedy){NULL, "ls"}, text, sizeof text), "ls");
    CHECK_TEXT(remedy_text((struct remedy){"look", NULL}, text, sizeof text), "look");
    CHECK_TEXT(remedy_text((struct remedy){NULL, NULL}, text, sizeof text), "");
}

TAP_MAIN({"words and command", test_words_and_command},
         {"the first outcome is kept", test_first_outcome_is_kept},
         {"the remedy of the error", test_remedy_of_the_error},
         {"a remedy in one line", test_one_line})
