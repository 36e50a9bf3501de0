/* Output over a console: the frames against sums that zlib computed, letters among noise, and runs
 * whose lines are sent again. tests/process/targets/test_probe_console.py reads the frames of the
 * whole probe with a decoder of its own. */
#include "base/posix_source.h"

#include "base/console.h"
#include "base/status.h"
#include "child_run.h"
#include "command/commands.h"
#include "patient_stop.h"
#include "run/run.h"
#include "tap.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 60000 };

/* Writes to standard output while a test measures, in the child that runs it. */
static atomic_bool is_measuring;
static atomic_int late_writes, early_writes;

/* How many writes had come before the last wait for the line. */
static atomic_int drained_writes;

/* What the host sends at the end of each pass, and where. */
static const char *const *answers;
static int host = -1;

/* What ends a run that takes too long would end one that sends, too. */
static bool has_deadline;

/* Writes that a console refuses, which is open without waiting. */
static int full_writes;

static void answer(const void *bytes, size_t length)
{
    char text[CONSOLE_PAYLOAD + 64];
    snprintf(text, sizeof text, "%.*s", (int)length, (const char *)bytes);
    if (!strstr(text, " ! ") || !answers)
        return;
    struct sigaction last;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    sigaction(SIGVTALRM, NULL, &last);
    has_deadline = sigismember(&mask, SIGTERM) != 0 || last.sa_handler != SIG_DFL;
    if (*answers) {
        CHECK(write(host, *answers, strlen(*answers)) > 0);
        answers++;
    } else {
        close(host);
    }
}

WRAP(ssize_t, write, int descriptor, const void *bytes, size_t length)
{
    if (descriptor == STDOUT_FILENO)
        atomic_fetch_add(&early_writes, 1);
    if (atomic_load(&is_measuring) && descriptor <= STDERR_FILENO)
        atomic_fetch_add(&late_writes, 1);
    if (descriptor == STDOUT_FILENO)
        answer(bytes, length);
    if (full_writes > 0 && length > 0) {
        full_writes--;
        return tap_fail(EAGAIN);
    }
    return __real_write(descriptor, bytes, length);
}

#if HS_HAS_OUTPUT_DRAIN
WRAP(int, tcdrain, int descriptor)
{
    atomic_store(&drained_writes, atomic_load(&early_writes));
    return __real_tcdrain(descriptor);
}
#endif

/* A descriptor from which these bytes can be read, then the end. */
static int input_of(const char *bytes)
{
    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], bytes, strlen(bytes)) != (ssize_t)strlen(bytes))
        abort();
    host = answers ? ends[1] : -1;
    if (!answers)
        close(ends[1]);
    return ends[0];
}

/* What `act` wrote on a console whose input is `bytes`. */
static const char *output_of(void (*act)(struct console *console), const char *bytes)
{
    static char text[MOST_BYTES];
    struct console console;
    FILE *file = tmpfile();
    if (!file)
        abort();
    console_open(&console, "1a2b", input_of(bytes), fileno(file));
    act(&console);
    message_to(NULL);
    close(console.input);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* ---- frames ---- */

static void send_little(struct console *console)
{
    console_begin(console);
    message_to(console);
    message_print("%s", "no");
    console_put(console, "{\"a\":1}\n", 8);
    console_end(console, 5);
}

TEST(known_sums)
{
    CHECK_TEXT(output_of(send_little, ""), "\n@hs:1a2b 0 ^ 50a528f7 1\n"
                                           "@hs:1a2b 1 . aaa3ea62 {\"a\":1}\n"
                                           "@hs:1a2b 2 - 9ce6306d hardstone-probe: no\n"
                                           "@hs:1a2b 3 ! 4ef7e88e 5 8 74e8a346\n");
}

/* 119 bytes, and one character of two; an empty line, and a rest without a line end. */
static void send_widths(struct console *console)
{
    static const char end[] = {'\xc3', '\xa9', '\n'};
    char line[CONSOLE_PAYLOAD + 2];
    memset(line, 'x', sizeof line);
    memcpy(line + CONSOLE_PAYLOAD - 1, end, sizeof end);
    console_begin(console);
    console_put(console, line, CONSOLE_PAYLOAD);
    console_put(console, line + CONSOLE_PAYLOAD, 2);
    console_put(console, line, CONSOLE_PAYLOAD - 1);
    console_put(console, "e\n\nrest", 7);
    console_end(console, 0);
}

static const char *frame(const char *text, const char *begin)
{
    static char line[CONSOLE_PAYLOAD + 64];
    const char *at = strstr(text, begin);
    snprintf(line, sizeof line, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
    return line;
}

TEST(a_payload_is_full_a_character_is_cut_and_a_line_is_empty)
{
    const char *text = output_of(send_widths, "");
    const char *cut = frame(text, "@hs:1a2b 1 + ");
    CHECK_SAME(strlen(cut), 22 + CONSOLE_PAYLOAD);
    CHECK(cut[strlen(cut) - 1] == '\xc3');
    CHECK_HOLDS(text, "@hs:1a2b 2 . ");
    CHECK_HOLDS(frame(text, "@hs:1a2b 2 . "), " \xa9");
    CHECK_SAME(strlen(frame(text, "@hs:1a2b 3 . ")), 22 + CONSOLE_PAYLOAD);
    CHECK_SAME(strlen(frame(text, "@hs:1a2b 4 . ")), 22);
    CHECK_HOLDS(frame(text, "@hs:1a2b 5 + "), " rest");
    CHECK_HOLDS(frame(text, "@hs:1a2b 6 ! "), " 0 248 ");
}

/* XON and XOFF among them. */
static void send_controls(struct console *console)
{
    console_begin(console);
    for (char byte = 1; byte < 0x20; byte++)
        console_put(console, &byte, 1);
    console_put(console, "\x7f\n", 2);
    console_end(console, 0);
}

TEST(no_control_character_reaches_the_line)
{
    const char *text = output_of(send_controls, "");
    for (const char *at = text; *at; at++)
        CHECK(*at == '\n' || (*at >= 0x20 && *at != 0x7f));
}

/* A long one in several frames, at a space; those that have no room are counted. */
static void send_messages(struct console *console)
{
    char word[101];
    memset(word, 'w', sizeof word);
    word[100] = '\0';
    console_begin(console);
    message_to(console);
    message_print("%s %s", word, word);
    for (int i = 0; i < 9; i++)
        message_print("%s", word);
    console_end(console, 0);
}

TEST(messages_that_are_long_and_many)
{
    const char *text = output_of(send_messages, "");
    CHECK_SAME(strlen(frame(text, "@hs:1a2b 1 - ")), 22 + 17 + 100);
    CHECK_SAME(strlen(frame(text, "@hs:1a2b 2 - ")), 22 + 100);
    CHECK_HOLDS(text, " 3 more messages did not fit\n");
}

/* ---- letters ---- */

TEST(letters_among_noise)
{
    static const struct {
        const char *input;
        bool is_stop, is_again;
    } rows[] = {
        {"", false, false},     {"s\n", true, false},
        {"s\r\n", true, false}, {"a\n", false, true},
        {"ss\n", true, false},  {"\nx\na\n", false, true},
        {"xs\n", false, false}, {"sx\n", false, false},
        {"sa\n", false, false}, {"hardstone-probe console 1a2b facts\n", false, false},
        {"s", false, false},    {"q\n", false, false},
    };
    foreach (row, rows, row->input) {
        struct console console;
        console_open(&console, "1a2b", input_of(row->input), -1);
        CHECK_SAME(console_is_asked_to_stop(&console), row->is_stop);
        close(console.input);
        console_open(&console, "1a2b", input_of(row->input), -1);
        CHECK_SAME(console_is_asked_again(&console), row->is_again);
        CHECK_SAME(console.is_over, !row->is_again);
        close(console.input);
    }
    tap_row(NULL);
}

/* A terminal in line mode answers one read with nothing after Ctrl-D; an end never ends. */
TEST(the_end_of_the_input)
{
    struct console console;
    console_open(&console, "1a2b", input_of(""), -1);
    CHECK(!console_is_asked_to_stop(&console));
    CHECK(console_listens(&console));
    for (int i = 0; i < 20; i++)
        console_is_asked_to_stop(&console);
    CHECK(!console_listens(&console));
    close(console.input);
}

/* Nobody writes, and nobody has closed the line. */
TEST(the_end_of_the_wait)
{
    struct console console;
    int ends[2];
    if (pipe(ends) != 0)
        abort();
    console_open(&console, "1a2b", ends[0], -1);
    CHECK_SAME(console.wait_ns, INT64_C(30000000000));
    console.wait_ns = 1000000;
    CHECK(!console_is_asked_again(&console));
    CHECK(console.is_over && console_listens(&console));
    close(ends[0]);
    close(ends[1]);
}

/* A system that cannot wait for a console: its input is read again and again, and has its flags
 * back. A message says so where a run is to be stopped. */
static int select_error;

WRAP_IF(select_error != 0, tap_fail(select_error), int, pselect,
        (int count, fd_set *readers, fd_set *writers, fd_set *others,
         const struct timespec *timeout, const sigset_t *mask),
        (count, readers, writers, others, timeout, mask));

WRAP_TEST(a_system_that_cannot_wait_for_its_console)
{
    struct console console;
    select_error = ENOTSUP;
    console_open(&console, "1a2b", input_of("\na\n"), -1);
    int flags = fcntl(console.input, F_GETFL);
    CHECK(console_is_asked_again(&console));
    CHECK(!console_is_asked_again(&console));
    CHECK_SAME(fcntl(console.input, F_GETFL), flags);
    close(console.input);
    select_error = 0;
    console_open(&console, "1a2b", -1, -1);
    console_stop_listening(&console, ENOTSUP);
    CHECK(!console_listens(&console));
    CHECK_HOLDS(console.messages, "no letter stops a run");
}

/* Each frame has the time of a short command anew, and the wait none. */
TEST(the_alarm_of_a_slow_line)
{
    struct console console;
    int ends[2];
    if (pipe(ends) != 0)
        abort();
    console_open(&console, "1a2b", ends[0], ends[1]);
    console.life_s = 45000;
    console_begin(&console);
    CHECK(alarm(1000000) > 40000);
    console_put(&console, "\n", 1);
    CHECK(alarm(1000000) <= 45000);
    console_end(&console, 0);
    CHECK_SAME(alarm(0), 0);
    close(ends[0]);
    close(ends[1]);
}

WRAP_TEST(a_line_that_takes_nothing_for_a_while)
{
    full_writes = 3;
    const char *text = output_of(send_little, "");
    CHECK_SAME(full_writes, 0);
    CHECK_HOLDS(text, "@hs:1a2b 0 ^ 50a528f7 1\n@hs:1a2b 1 . ");
}

/* ---- the command line ---- */

#define WORDS(...) ((char *[]){"hardstone-probe", "console", __VA_ARGS__, NULL})

TEST(command_lines_that_were_damaged)
{
    char error[ARGS_ERROR_BYTES];
    CHECK_SAME(console_check_form(5, WORDS("1a2b", "1d8f7230", "list"), error, sizeof error), 0);
    CHECK_SAME(console_check_sum(5, WORDS("1a2b", "1d8f7230", "list"), error, sizeof error), 0);
    CHECK_SAME(console_check_sum(7, WORDS("1a2b", "8950799a", "run", "TMR-P-LAT", "--json"), error,
                                 sizeof error),
               0);
    CHECK_SAME(
        console_check_sum(6, WORDS("1a2b", "8950799a", "run", "TMR-P-LAT"), error, sizeof error),
        -1);
    CHECK_HOLDS(error, "damaged on its way");
    CHECK_SAME(console_check_sum(5, WORDS("1a2c", "1d8f7230", "list"), error, sizeof error), -1);
    CHECK_SAME(console_check_form(4, WORDS("1a2b", "1d8f7230"), error, sizeof error), -1);
    CHECK_SAME(console_check_form(5, WORDS("1a2", "1d8f7230", "list"), error, sizeof error), -1);
    CHECK_SAME(console_check_form(5, WORDS("1A2b", "1d8f7230", "list"), error, sizeof error), -1);
    CHECK_SAME(console_check_form(5, WORDS("1a2b", "12345", "list"), error, sizeof error), -1);
}

TEST(commands_that_a_console_has)
{
    static char *const rows[][5] = {
        {"list"},         {"facts"},           {"help"}, {"load", "--list"}, {"load", "heavy"},
        {"dump", "file"}, {"agent", "/a", "b"}};
    char error[ARGS_ERROR_BYTES];
    struct request request;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *words[5] = {"hardstone-probe"};
        int count = 1;
        for (; rows[i][count - 1]; count++)
            words[count] = rows[i][count - 1];
        CHECK_SAME(args_parse(count, words, &request, error, sizeof error), 0);
        CHECK_SAME(console_check_command(&request, words[1], error, sizeof error), i < 4 ? 0 : -1);
    }
    CHECK_HOLDS(error, "console has no agent");
}

/* What a test says meanwhile waits, too. */
static int count_to_ten(struct run *run)
{
    int early = atomic_load(&early_writes), drained = atomic_load(&drained_writes);
    atomic_store(&is_measuring, true);
    message_print("said while it measures");
    for (int i = 0; i < 10; i++)
        record_value(arena_record(run->arena, 0), i, 0);
    atomic_store(&is_measuring, false);
    arena_event(run->arena, "writes", -1,
                DATA(data_integer("early", early), data_integer("late", atomic_load(&late_writes)),
                     data_integer("drained", drained)),
                "are counted");
    return 0;
}

static int until_stopped(struct run *run)
{
    static const struct timespec rest = {0, 1000000};
    record_value(arena_record(run->arena, 0), 1, 0);
    while (!run_should_stop())
        nanosleep(&rest, NULL);
    return 0;
}

/* The lines of a run of `measure` by a process of its own, whose host sends `input`. */
static const char *run_on_console(int (*measure)(struct run *run), const char *input)
{
    static char text[MOST_BYTES];
    struct test invented = {.id = "INVENTED",
                            .title = "runs",
                            .setup_ns = 1000000,
                            .series = child_series,
                            .measure = measure};
    char *const words[] = {"hardstone-probe", "run",       "SEM-P-SIG", "--policy",   "other",
                           "--clock",         "monotonic", "--json",    "--until-eof"};
    FILE *file = tmpfile();
    fflush(stdout);
    if (!file)
        abort();
    pid_t child = fork();
    if (child == 0) {
        struct console console;
        struct request request;
        char error[ARGS_ERROR_BYTES];
        dup2(input_of(input), STDIN_FILENO);
        dup2(fileno(file), STDOUT_FILENO);
        console_open(&console, "1a2b", STDIN_FILENO, STDOUT_FILENO);
        message_to(&console);
        if (args_parse(9, words, &request, error, sizeof error) != 0)
            abort();
        request.test = &invented;
        request.deadline_ns = LONG_DEADLINE_NS;
        request.console = &console;
        console_begin(&console);
        int code = run_test(&request);
        _exit(has_deadline ? EXIT_INTERNAL : code);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_SAME(status, 0);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static int count_of(const char *text, const char *what)
{
    int count = 0;
    while ((text = strstr(text, what))) {
        count++;
        text++;
    }
    return count;
}

WRAP_TEST(a_run_is_sent_again_and_not_measured_again)
{
    answers = (const char *const[]){"a\n", "a\n", "q\n", NULL};
    const char *text = run_on_console(count_to_ten, "");
    answers = NULL;
    CHECK_HOLDS(text, "@hs:1a2b 1 + ");
    size_t length = strlen(text), third = length / 3;
    CHECK_SAME(length % 3, 0);
    CHECK(strncmp(text, text + third, third) == 0);
    CHECK(strncmp(text, text + 2 * third, third) == 0);
    CHECK_SAME(count_of(text, " ^ "), 3);
    CHECK_SAME(count_of(text, " ! "), 3);
    CHECK_SAME(count_of(text, "hardstone-probe: said while it measures"), 3);
}

WRAP_TEST(nothing_is_written_while_a_test_measures)
{
    /* before it a line end and a frame */
    CHECK_HOLDS(run_on_console(count_to_ten, ""), "\"data\":{\"early\":2,\"late\":0,");
}

#if HS_HAS_OUTPUT_DRAIN
/* A line whose bytes still leave interrupts while the test measures. */
WRAP_TEST(the_first_frame_has_left_before_a_test_measures)
{
    CHECK_HOLDS(run_on_console(count_to_ten, ""), "\"drained\":2}");
}
#endif

/* The end of the input alone would leave it until its deadline. */
TEST(a_letter_stops_a_run)
{
    const char *text = run_on_console(until_stopped, "s\n");
    CHECK_HOLDS(text, "\"interrupted\":true", "stopped early");
}
