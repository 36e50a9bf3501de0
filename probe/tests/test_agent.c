/* The agent's own frames: commands, files, and what it does not understand. */
#include "base/posix_source.h"

#include "agent/folder.h"
#include "agent_host.h"
#include "command/args.h"

#include <time.h>

static struct host host;
static char *folder;

static bool open_agent(void)
{
    folder = new_folder("agent");
    host_open(&host, folder);
    return true;
}

static void close_agent(void)
{
    CHECK_ANSWER(&host, "K ", 'B');
    CHECK(!is_there(folder, ""));
    host_close(&host);
}

/* The agent of `folder` and its own end, in a test. */
#define AGENT_TEST(what) TEST_IN(open_agent(), close_agent(), what)
/* As AGENT_TEST, but the agent ends in the test. */
#define LAST_AGENT_TEST(what) TEST_IN(open_agent(), remove_alone(), what)

static void remove_alone(void)
{
    host_open(&host, folder);
    close_agent();
}

/* ---- commands ---- */

/* Takes the frames of a command: all of its output and its end, "OUT/ERR/TAKEN CODE ERRNO". */
static const char *outcome_of_command(void)
{
    static char text[400];
    char out[100] = "", error[100] = "";
    int taken = 0;
    for (;;) {
        char type = host_receive(&host);
        char *to = type == 'O' ? out : error;
        if (type == 'T')
            taken++;
        else if (type == 'O' || type == 'E')
            snprintf(to + strlen(to), 100 - strlen(to), "%.50s", (char *)host.frame.bytes);
        else
            break;
    }
    if (host.frame.type == 'X')
        snprintf(text, sizeof text, "%s/%s/%d %d %d", out, error, taken, host.frame.bytes[0],
                 host.frame.bytes[1]);
    else
        snprintf(text, sizeof text, "%.300s", host_text(&host));
    return text;
}

AGENT_TEST(a_command_runs_with_its_streams)
{
    host_say(&host, 'R', "/bin/sh", "-c", "cat; echo b >&2; exit 7", NULL);
    host_send(&host, 'I', "a", 1);
    host_send(&host, 'Z', "", 0);
    CHECK_TEXT(outcome_of_command(), "a/b\n/1 7 0");
    host_say(&host, 'R', in_folder(folder, "hardstone-probe"), "words", "", "a b", NULL);
    CHECK_TEXT(outcome_of_command(), "|a b|//0 0 0");
}

AGENT_TEST(a_command_gets_signals_and_the_clock_is_told_meanwhile)
{
    host_say(&host, 'R', "/bin/sh", "-c", "echo on; exec cat", NULL);
    CHECK_SAME(host_receive(&host), 'O');
    host_send(&host, 'C', "", 0);
    CHECK_SAME(host_receive(&host), 'C');
    CHECK_SAME(host.frame.length, 8);
    host_send(&host, 'S', "\017", 1);
    CHECK_TEXT(outcome_of_command(), "//0 143 0");
}

AGENT_TEST(a_command_that_cannot_start)
{
    char text[40];
    host_say(&host, 'R', in_folder(folder, "missing"), NULL);
    snprintf(text, sizeof text, "//0 127 %d", ENOENT);
    CHECK_TEXT(outcome_of_command(), text);
    host_say(&host, 'R', NULL);
    snprintf(text, sizeof text, "//0 127 %d", E2BIG);
    CHECK_TEXT(outcome_of_command(), text);
}

/* A real host sends these before it knows that the command has ended. */
AGENT_TEST(input_and_signals_without_a_command_are_ignored)
{
    host_send(&host, 'I', "a", 1);
    host_send(&host, 'Z', "", 0);
    host_send(&host, 'S', "\017", 1);
    host_send(&host, 'C', "", 0);
    CHECK_SAME(host_receive(&host), 'C');
}

AGENT_TEST(the_clock_is_monotonic)
{
    struct timespec now;
    uint64_t ns = 0;
    host_send(&host, 'C', "", 0);
    CHECK_SAME(host_receive(&host), 'C');
    for (int i = 7; i >= 0; i--)
        ns = ns << 8 | host.frame.bytes[i];
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t later_ns = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
    CHECK(ns <= later_ns && ns > later_ns - 60 * UINT64_C(1000000000));
}

/* Ends the host's side while a command runs: all of the command's processes end. */
static void end_host_while(const char *command)
{
    host_say(&host, 'R', in_folder(folder, "hardstone-probe"), command, NULL);
    int alive = wait_until_alive(folder);
    host_close(&host);
    CHECK(wait_until_dead(alive));
}

LAST_AGENT_TEST(a_command_ends_with_the_host)
{
    end_host_while("hang");
}

static bool open_hasty_agent(void)
{
    host_start.grace_ms = 1;
    open_agent();
    host_start.grace_ms = 0;
    return true;
}

TEST_IN(open_hasty_agent(), remove_alone(), a_command_that_ignores_sigterm_is_killed)
{
    end_host_while("ignore");
}

/* Also one that does not read its input, where the system can do that. */
LAST_AGENT_TEST(a_command_ends_with_a_killed_agent)
{
    const char *what = port_adopt_orphans() == 0 ? "hang" : "until_eof";
    host_say(&host, 'R', in_folder(folder, "hardstone-probe"), what, NULL);
    int alive = wait_until_alive(folder);
    kill(host.agent, SIGKILL);
    CHECK(wait_until_dead(alive));
    CHECK_SAME(host_wait(&host), -SIGKILL);
    while (waitpid(-1, NULL, 0) > 0)
        ; /* the command is this process's child by now */
}

LAST_AGENT_TEST(a_running_command_takes_no_other_frame)
{
    host_say(&host, 'R', in_folder(folder, "hardstone-probe"), "hang", NULL);
    int alive = wait_until_alive(folder);
    host_say(&host, 'Q', NULL);
    CHECK_HOLDS(outcome_of_command(), "N while a command runs");
    CHECK(wait_until_dead(alive));
    host_close(&host);
}

/* ---- silence ---- */

/* It waits for 30 ms. */
static bool open_impatient_agent(const void *first, size_t bytes)
{
    (void)port_adopt_orphans();
    folder = new_folder("agent");
    write_file(folder, "large", "", 0600);
    CHECK_SAME(truncate(in_folder(folder, "large"), 1 << 24), 0); /* it has no blocks */
    host_start.idle_ms = 30;
    host_start.first = first;
    host_start.first_bytes = bytes;
    host_open(&host, folder);
    memset(&host_start, 0, sizeof host_start);
    return true;
}

#define BYTES(text) (text), sizeof(text) - 1

TEST(a_host_that_falls_silent_is_left)
{
    static const struct {
        const char *name, *bytes;
        size_t count;
    } rows[] = {{"at once", BYTES("")},
                {"in a frame", BYTES("F\5\0\0\0a")},
                /* the command would be a child of this process then */
                {"with a command", BYTES("R\13\0\0\0sleep\0"
                                         "1000\0")}};
    foreach (row, rows, row->name) {
        open_impatient_agent(row->bytes, row->count);
        CHECK_SAME(host_receive(&host), '\0');
        host_close(&host);
        CHECK_SAME(waitpid(-1, NULL, WNOHANG), -1);
        remove_alone();
    }
}

TEST_IN(open_impatient_agent(BYTES("F\21\0\0\0large\0"
                                   "0\0"
                                   "16777216\0")),
        remove_alone(), a_host_that_does_not_read_is_left)
{
    int status;
    CHECK_SAME(waitpid(host.agent, &status, 0), host.agent);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(host.to);
    close(host.from);
}

/* ---- what is not understood ---- */

/* The agent says why, and ends. */
TEST(frames_that_are_refused)
{
    static const struct {
        const char *reason, *begin;
        size_t begin_bytes, more; /* bytes `filling` that follow */
        char filling;
    } rows[] = {
        {"no frame of this type", BYTES("%\0\0\0\0")},
        {"longer than 65536 bytes", BYTES("F\x01\0\x01\0")},
        {"longer than 65536 bytes", BYTES("\x81\x13\x05\xf7\x7f"), 1 << 16, '\x99'}, /* garbage */
        {"the words do not end", BYTES("F\0\0\1\0"), FRAME_MOST_BYTES, 'a'}, /* it is taken */
        {"the words do not end", BYTES("D\3\0\0\0a\0b")},
        {"more than 512", BYTES("D\1\2\0\0"), FRAME_MOST_WORDS + 1, '\0'},
        {"F: PATH OFFSET MOST", BYTES("F\7\0\0\0a\0"
                                      "0\0-1\0")},
        {"W: NUMBER MOST_MS", BYTES("W\4\0\0\0a\0"
                                    "0\0")},
        {"P: stop or kill", BYTES("P\6\0\0\0maybe\0")},
    };
    static char bytes[FRAME_MOST_BYTES + 8];
    foreach (row, rows, row->reason) {
        memset(bytes, row->filling, sizeof bytes);
        memcpy(bytes, row->begin, row->begin_bytes);
        open_agent();
        (void)!write(host.to, bytes, row->begin_bytes + row->more);
        CHECK_SAME(host_receive(&host), 'N');
        CHECK_HOLDS(host_text(&host), row->reason);
        CHECK_SAME(host_receive(&host), '\0');
        host_close(&host);
        remove_alone();
    }
}

/* ---- files ---- */

/* "CONTENT ERRNO" */
static const char *content(const char *path, const char *offset, const char *most)
{
    static char text[FRAME_MOST_BYTES];
    size_t used = 0;
    host_say(&host, 'F', path, offset, most, NULL);
    while (host_receive(&host) == 'O')
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%.100s", (char *)host.frame.bytes);
    CHECK_SAME(host.frame.type, 'X');
    CHECK_SAME(host.frame.bytes[0], 0);
    snprintf(text + used, sizeof text - used, " %d", host.frame.bytes[1]);
    return text;
}

static void check_no_content(const char *path, int error)
{
    char text[16];
    snprintf(text, sizeof text, " %d", error);
    CHECK_TEXT(content(path, "0", "9"), text);
}

AGENT_TEST(parts_of_files)
{
    write_file(folder, "1.out", "0123456789", 0600);
    CHECK_TEXT(content("1.out", "0", "100"), "0123456789 0");
    CHECK_TEXT(content("1.out", "3", "4"), "3456 0");
    CHECK_TEXT(content("1.out", "10", "4"), " 0");
    CHECK_TEXT(content("1.out", "0", "0"), " 0");
    CHECK_TEXT(content(in_folder(folder, "1.out"), "8", "9223372036854775807"), "89 0");
}

/* In frames of the greatest length, and none is lost. */
AGENT_TEST(a_large_file)
{
    char *text = tap_memory(300001);
    size_t got = 0;
    memset(text, 'a', 300000);
    write_file(folder, "1.out", text, 0600);
    host_say(&host, 'F', "1.out", "0", "1000000", NULL);
    while (host_receive(&host) == 'O')
        got += host.frame.length;
    CHECK_SAME(got, 300000);
}

/* Their size is 0. */
AGENT_TEST(files_of_the_kernel)
{
    if (access("/proc/self/status", R_OK) != 0) {
        tap_skip("this system has no /proc");
        return;
    }
    CHECK_HOLDS(content("/proc/self/status", "0", "100000"), "Name:");
}

AGENT_TEST(what_is_no_file_of_the_folder)
{
    write_file(tap_folder(), "secret", "secret", 0600);
    CHECK_SAME(symlink("../secret", in_folder(folder, "2.out")), 0);
    CHECK_SAME(mkdir(in_folder(folder, "3.out"), 0700), 0);
    check_no_content("1.out", ENOENT);
    check_no_content("2.out", ELOOP);
    check_no_content("3.out", EISDIR);
    check_no_content("../secret", EINVAL);
    check_no_content("..", EINVAL);
    check_no_content("", EINVAL);
    check_no_content("alive", EINVAL); /* a pipe, without waiting for its writer */
    CHECK_ANSWER(&host, "K failed|../secret|Invalid argument|", 'D', "2.out", "../secret");
    CHECK_TEXT(file_text(tap_folder(), "secret"), "secret");
    CHECK(!is_there(folder, "2.out"));
    unlink(in_folder(tap_folder(), "secret"));
}

AGENT_TEST(files_are_removed)
{
    write_file(folder, "1.out", "", 0600);
    write_file(folder, "1.err", "", 0600);
    CHECK_ANSWER(&host, "K ", 'D', "1.out", "missing", "1.err");
    CHECK(!is_there(folder, "1.out") && !is_there(folder, "1.err"));
    CHECK_SAME(mkdir(in_folder(folder, "2"), 0700), 0);
    CHECK_HOLDS(ASK(&host, 'D', "2", "1.out"), "K failed|2|");
    CHECK_ANSWER(&host, "K ", 'D');
}

AGENT_TEST(the_folder_goes_with_all_in_it_and_no_link_is_followed)
{
    char *other = new_folder("other");
    CHECK_SAME(symlink(other, in_folder(folder, "link")), 0);
    CHECK_SAME(mkdir(in_folder(folder, "a"), 0700), 0);
    CHECK_SAME(mkdir(in_folder(folder, "a/b"), 0), 0);
    CHECK_SAME(symlink(other, in_folder(folder, "a/link")), 0);
    write_file(folder, "a/file", "", 0);
    if (geteuid() != 0)
        chmod(in_folder(folder, "a/b"), 0700);
    CHECK_ANSWER(&host, "K ", 'B');
    CHECK(!is_there(folder, ""));
    CHECK(is_there(other, "hardstone-probe"));
    host_close(&host);
    folder = other;
    host_open(&host, folder);
}

/* ---- the folder ---- */

/* Why the agent refuses a folder; its descriptor is of no use then. */
static const char *why_refused(const char *path)
{
    static char why[400];
    int file = folder_open(path, why, sizeof why);
    if (file < 0)
        return why;
    close(file);
    return "taken";
}

TEST(folders_that_are_not_private)
{
    char *own = new_empty_folder("own");
    CHECK_TEXT(why_refused(own), "taken");
    CHECK_HOLDS(why_refused("own"), "own: give an absolute path");
    CHECK_HOLDS(why_refused(in_folder(own, "missing")), strerror(ENOENT));
    CHECK_SAME(symlink(own, in_folder(own, "link")), 0);
    CHECK(strcmp(why_refused(in_folder(own, "link")), "taken") != 0);
    unlink(in_folder(own, "link"));
    write_file(own, "file", "", 0700);
    CHECK_HOLDS(why_refused(in_folder(own, "file")), strerror(ENOTDIR));
    unlink(in_folder(own, "file"));
    for (const mode_t *mode = (const mode_t[]){0710, 0701, 0755, 01700, 0500, 0}; *mode; mode++) {
        chmod(own, *mode);
        CHECK_HOLDS(why_refused(own), "others may use it; type: chmod 700 FOLDER");
    }
    chmod(own, 0700);
    setenv("HOME", own, 1);
    CHECK_HOLDS(why_refused(own), "it would be removed as a whole");
    unsetenv("HOME");
    rmdir(own);
}

TEST(folders_of_another_user)
{
    if (geteuid() != 0) {
        tap_skip("only root can make one");
        return;
    }
    char *own = new_empty_folder("own");
    CHECK_SAME(chown(own, 12345, (gid_t)-1), 0);
    unsetenv("SUDO_UID");
    CHECK_HOLDS(why_refused(own), "it belongs to another user");
    setenv("SUDO_UID", "12346", 1);
    CHECK_HOLDS(why_refused(own), "it belongs to another user");
    setenv("SUDO_UID", "12345", 1);
    CHECK_TEXT(why_refused(own), "taken");
    unsetenv("SUDO_UID");
    rmdir(own);
}

TEST(an_agent_without_a_folder_ends)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        _exit(agent_serve(&(struct agent){"/nonexistent", "W", 0, 1, 1, 1, 1}));
    }
    int status;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 2);
}

/* ---- the command line ---- */

static const char *fault(int count, ...)
{
    static char error[ARGS_ERROR_BYTES];
    static struct request request;
    char *words[6] = {(char *)"hardstone-probe", (char *)"agent"};
    va_list given;
    va_start(given, count);
    for (int i = 0; i < count; i++)
        words[2 + i] = va_arg(given, char *);
    va_end(given);
    error[0] = '\0';
    if (args_parse(2 + count, words, &request, error, sizeof error) == 0) {
        CHECK_SAME(request.command, ARGS_AGENT);
        CHECK_TEXT(request.path, words[2]);
        CHECK_TEXT(request.word, words[3]);
    }
    return error;
}

TEST(words_of_the_command)
{
    char longest[AGENT_MOST_WORD_BYTES + 2];
    memset(longest, 'a', sizeof longest);
    longest[AGENT_MOST_WORD_BYTES + 1] = '\0';
    CHECK_TEXT(fault(2, "/a", longest + 1), "");
    CHECK_TEXT(fault(3, "/a", "Az09@._-", "me@laptop"), "");
    for (const char *const *word =
             (const char *const[]){"", "a b", "a\n", "\033", "a/b", "\xc3\xa9", longest, NULL};
         *word; word++) {
        CHECK_HOLDS(fault(2, "/a", *word), "is not a word of at most 64");
        CHECK_HOLDS(fault(3, "/a", "w", *word), "is not a word of at most 64");
    }
    CHECK_HOLDS(fault(1, "/a"), "agent wants FOLDER WORD [WHO]");
    CHECK_HOLDS(fault(2, "a", "w"), "agent wants FOLDER WORD [WHO]");
    CHECK_HOLDS(fault(2, "", "w"), "agent wants FOLDER WORD [WHO]");
    CHECK_HOLDS(fault(4, "/a", "w", "w", "w"), "agent wants FOLDER WORD [WHO]");
}
