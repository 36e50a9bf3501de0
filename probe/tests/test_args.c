/* The command line: what is accepted, and the errors for the rest; every option with every command.
 */
#include "base/posix_source.h"

#include "base/text.h"
#include "command/args.h"
#include "shield/shield.h"
#include "tap.h"

#include <sched.h>

enum { MOST_WORDS = 12 };

struct line {
    char *words[MOST_WORDS]; /* after the program's name */
    const char *error;       /* part of it */
};

/* The request points to the words until the next call. */
static int parse(const struct line *line, struct request *request, char *error)
{
    static char *words[MOST_WORDS + 1] = {"hardstone-probe"};
    int count = 1;
    for (; line->words[count - 1]; count++)
        words[count] = line->words[count - 1];
    words[count] = NULL;
    error[0] = '\0';
    return args_parse(count, words, request, error, ARGS_ERROR_BYTES);
}

static void refuse_all(const struct line *lines, size_t count)
{
    struct request request;
    char error[ARGS_ERROR_BYTES];
    for (size_t i = 0; i < count; i++) {
        tap_row(lines[i].error);
        CHECK_SAME(parse(&lines[i], &request, error), -1);
        CHECK_HOLDS(error, lines[i].error);
        CHECK(strchr(error, '\n') == NULL);
    }
}
#define REFUSE(lines) refuse_all((lines), sizeof(lines) / sizeof(lines)[0])

static struct request take(const struct line *line)
{
    struct request request;
    char error[ARGS_ERROR_BYTES];
    CHECK_SAME(parse(line, &request, error), 0);
    CHECK_TEXT(error, "");
    return request;
}
#define TAKE(...) take(&(struct line){{__VA_ARGS__}, NULL})

#define LAT "TMR-P-LAT"
#define TWENTY_DIGITS "99999999999999999999"

TEST(wrong_lines)
{
    static const struct line lines[] = {
        {{"measure"},
         "there is no command 'measure'; list, run, load, facts, selftest, dump or shield"},
        {{""}, "there is no command ''"},
        {{"run"}, "run needs a test"},
        {{"run", "TMR-P-LATE"}, "there is no test 'TMR-P-LATE'"},
        {{"run", "--json"}, "there is no test '--json'"},
        {{"run", LAT, "--fast", "1"}, "unknown option '--fast'"},
        {{"run", LAT, "--fast"}, "unknown option '--fast'"},
        {{"list", "all", "of", "them"}, "unknown option 'all'"},
        {{"facts", "x"}, "'x'; see hardstone-probe --help"},
        {{"dump"}, "dump needs the file"},
        {{"run", LAT, "-p", "colour=red"}, "TMR-P-LAT has no parameter 'colour'"},
        {{"run", LAT, "-p", "interval=1ms"}, "no parameter 'interval'"},
        {{"run", LAT, "-p", "=1ms"}, "no parameter ''"},
        {{"run", LAT, "-p", "interval_ns"}, "write -p NAME=VALUE"},
        {{"run", "SEM-P-SIG", "-p", "kinds=unnamed,odd"}, "'odd' is not one of its names"},
        {{"run", "SEM-P-SIG", "-p", "kinds="}, "'' is not one of its names"},
        {{"run", LAT, "--policy", "deadline"}, "--policy deadline: fifo, rr or other"},
        {{"run", LAT, "--clock", "tsc"}, "--clock tsc: auto or monotonic"},
        {{"run", LAT, "--samples", "-1"}, "--samples -1: give a whole number from 0 to"},
        {{"run", LAT, "--samples", "1e6"}, "--samples 1e6: give a whole number"},
        {{"run", LAT, "--samples", "+1"}, "--samples +1: give a whole number"},
        {{"run", LAT, "--samples", " 1"}, "--samples  1: give a whole number"},
        {{"run", LAT, "--samples", "0x10"}, "--samples 0x10: give a whole number"},
        {{"run", LAT, "--samples", ""}, "--samples : give a whole number"},
        {{"run", LAT, "--samples", TWENTY_DIGITS}, "a whole number"},
        {{"run", LAT, "--cpu", "-1"}, "--cpu -1: give a whole number from 0 to 65535"},
        {{"run", LAT, "--cpu", "65536"}, "--cpu 65536: give a whole number"},
        {{"run", LAT, "--priority", "-1"}, "--priority -1: give a whole number"},
        {{"run", LAT, "--priority", "high"}, "--priority high: give a whole number"},
        {{"run", LAT, "--seed", "-5"}, "--seed -5: give a whole number"},
        {{"run", LAT, "--counter-hz", "2.4e9"}, "--counter-hz 2.4e9: give a whole number"},
        {{"run", LAT, "--counter-hz", "1000000000001"}, "from 0 to 1000000000000"},
        {{"run", LAT, "--dma-latency-us", "-1"}, "--dma-latency-us -1: give a whole number"},
        {{"run", LAT, "--dma-latency-us", "2000000001"}, "from 0 to 2000000000"},
        {{"run", LAT, "--duration", "-1s"}, "--duration -1s: not a duration; write 30s"},
        {{"run", LAT, "-D", "10 s"}, "-D 10 s: not a duration"},
        {{"run", LAT, "--duration-ns", "9223372036854775807"}, "not a duration"},
        {{"run", LAT, "--deadline-ns", "-1"}, "--deadline-ns -1: not a duration"},
        {{"run", LAT, "-p", "interval_ns=9us"}, "9us is out of limits; from 10000 to 10000000000"},
        {{"run", LAT, "-p", "interval_ns=11s"}, "11s is out of limits"},
        {{"run", LAT, "-p", "interval_ns=-1"}, "'-1' is not a number; write for example 1ms"},
        {{"run", LAT, "-p", "interval_ns=1ms,2ms"}, "'1ms,2ms' is not a number"},
        {{"run", LAT, "-p", "interval_ns="}, "'' is not a number"},
        {{"run", LAT, "-p", "cpus=0,,1"}, "cpus: '' is not a number"},
        {{"run", LAT, "-p", "cpus=0,8192"}, "cpus: 8192 is out of limits; from 0 to 8191"},
        {{"run", LAT, "-p", "cpus=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16"},
         "cpus: more than 16 values; give fewer"},
        {{"run", "TMR-P-JIT", "-p", "periods_ns=1ms,250us,7", "-p", "mechanisms=timerfd"},
         "periods_ns: 7 is out of limits"},
        {{"run", "SEM-P-RTP", "-p", "kinds=sysv,sysv"}, "'sysv' is given twice"},
        {{"run", LAT, "--samples", "0"}, "neither samples nor a duration"},
        {{"run", LAT, "--duration-ns", "0"}, "neither samples nor a duration"},
        {{"run", LAT, "--samples", "0", "-D", "0"}, "give --samples or --duration above 0"},
    };
    REFUSE(lines);
}

TEST(long_words)
{
    static char word[2000], assignment[2000];
    memset(word, 'x', sizeof word - 1);
    snprintf(assignment, sizeof assignment, "cpus=%.1900s", word);
    const struct line lines[] = {
        {{word}, "there is no command 'xxx"},
        {{"run", word}, "there is no test 'xxx"},
        {{"run", LAT, word, "1"}, "unknown option 'xxx"},
        {{"run", LAT, "--samples", word}, "a whole number"},
        {{"run", LAT, "-D", word}, "not a duration"},
        {{"run", LAT, "-p", word}, "write -p NAME=VALUE"},
        {{"run", LAT, "-p", assignment}, "cpus: the value is too long"},
    };
    REFUSE(lines);
}

TEST(defaults)
{
    struct request request = TAKE("run", "tmr-p-lat");
    CHECK_SAME(request.command, ARGS_RUN);
    CHECK_TEXT(request.test->id, LAT);
    CHECK(!request.has_counts && request.want_counter && !request.until_eof);
    CHECK_SAME(request.cpu, -1);
    CHECK_SAME(request.priority, -1);
    CHECK_SAME(request.policy, ARGS_FIFO);
    CHECK(request.backing == NULL);
    CHECK_SAME(request.params[0].number[0], 1000000);
    CHECK_SAME(request.params[2].count, 0);
}

TEST(all_options)
{
    struct request request = TAKE("run", LAT, "--samples", "9223372036854775807", "-D", "2m",
                                  "--deadline-ns", "7", "--cpu", "1");
    CHECK(request.has_counts);
    CHECK_SAME(request.samples, INT64_MAX);
    CHECK_SAME(request.duration_ns, INT64_C(120000000000));
    CHECK_SAME(request.deadline_ns, 7);
    CHECK_SAME(request.cpu, 1);
    request = TAKE("run", LAT, "--policy", "rr", "--clock", "monotonic", "--until-eof", "--text",
                   "--priority", "0");
    CHECK_SAME(request.policy, ARGS_RR);
    CHECK_SAME(request.priority, 0);
    CHECK(!request.want_counter && request.until_eof && !request.json);
}

TEST(the_highest_priority)
{
    static const struct line wrong[] = {
        {{"run", LAT, "--priority", "maximum"},
         "--priority maximum: give a whole number from 0 to"},
        {{"run", LAT, "--priority", "max", "--policy", "other"}, "--priority max is one of"},
        {{"shield", "--policy", "other", "--priority", "max", "--", "ls"}, "--priority max is one"},
    };
    REFUSE(wrong);
    struct request request = TAKE("run", LAT, "--priority", "max");
    CHECK_SAME(request.priority, sched_get_priority_max(SCHED_FIFO));
    request = TAKE("run", LAT, "--priority", "max", "--policy", "rr");
    CHECK_SAME(request.priority, sched_get_priority_max(SCHED_RR));
    request = TAKE("run", LAT, "--priority", "max", "--priority", "7");
    CHECK_SAME(request.priority, 7);
    request = TAKE("shield", "--priority", "max", "--", "ls");
    CHECK_SAME(request.policy, ARGS_FIFO);
    CHECK_SAME(request.priority, sched_get_priority_max(SCHED_FIFO));
}

TEST(lists)
{
    struct request request = TAKE("run", "TMR-P-JIT", "-p", "periods_ns=1ms,250us,10000", "-p",
                                  "mechanisms=timerfd", "--json");
    CHECK(request.json);
    CHECK_SAME(request.params[0].count, 3);
    CHECK_SAME(request.params[0].number[1], 250000);
    CHECK_SAME(request.params[0].number[2], 10000);
    CHECK_SAME(request.params[1].count, 1);
    CHECK_SAME(request.params[1].number[0], 3);
}

TEST(durations)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {{"0", 0},
                {"17", 17000},
                {"17ns", 17},
                {"3us", 3000},
                {"4ms", 4000000},
                {"5s", INT64_C(5000000000)},
                {"6m", INT64_C(360000000000)},
                {"6min", INT64_C(360000000000)},
                {"24h", INT64_C(86400000000000)},
                {"366d", INT64_C(366) * 86400 * 1000000000}};
    static const char *const bad[] = {"",     "s",   "-1",   "+1",   " 1",         "1 s",
                                      "1S",   "1e3", "1.5s", "1ss",  "366d1",      "8785h",
                                      "0x1s", "12 ", "soon", "367d", TWENTY_DIGITS};
    int64_t ns;
    foreach (row, good, NULL) {
        CHECK_SAME(duration_parse(row->text, 1000, &ns), 0);
        CHECK_SAME(ns, row->ns);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_SAME(duration_parse(bad[i], 1000, &ns), -1);
}

TEST(every_test_takes_its_defaults)
{
    for (int i = 0; test_register[i]; i++) {
        const struct line line = {{"run", (char *)test_register[i]->id}, NULL};
        struct request request = take(&line);
        CHECK(request.test == test_register[i]);
        CHECK(test_register[i]->default_samples > 0 || test_register[i]->default_duration_ns > 0 ||
              test_register[i]->verdicts);
    }
}

/* Or it says by itself what it has looked at. */
TEST(every_test_has_what_must_be_observed)
{
    for (int i = 0; test_register[i]; i++) {
        const struct test *test = test_register[i];
        int must = test->verdicts ? 1 : 0;
        for (int j = 0; test->series && test->series[j].name; j++)
            must += test->series[j].may_be_empty ? 0 : 1;
        CHECK(must > 0);
        CHECK(!test->counts_rounds || test->default_samples > 1);
    }
}

TEST(load)
{
    static const struct line wrong[] = {
        {{"load"}, "load needs a load"},
        {{"load", "--json"}, "load needs a load"},
        {{"load", "none"}, "not a load"},
        {{"load", "cpuu"}, "did you mean cpu?"},
        {{"load", "cpu", "-D", "0"}, "-D 0 is not a duration"},
        {{"load", "cpu", "--cpus", "1-0"}, "write a list such as"},
        {{"load", "cpu", "--cpus", "0,,1"}, "write a list such as"},
        {{"load", "cpu", "--cpus", "99999999999999999999"}, "write a list such as"},
        {{"run", LAT, "--load", "cpu=1"}, "write cpu=10ms/100ms"},
    };
    REFUSE(wrong);
    struct request request = TAKE("load", "cpu+disk", "--cpus", "0,2-3", "-D", "2s");
    CHECK_SAME(request.load.count, 2);
    CHECK_SAME(request.duration_ns, 2000000000);
    CHECK(cpus_has(&request.cpus, 0) && !cpus_has(&request.cpus, 1));
    CHECK(cpus_count(&request.cpus) == 3 && cpus_has(&request.cpus, 3));
    request = TAKE("run", LAT, "--load", "heavy");
    CHECK_TEXT(request.load.text, "heavy");
    CHECK_SAME(request.load.count, 7);
}

TEST(the_division_of_cpus)
{
    static const struct line wrong[] = {
        {{"run", LAT, "--cpu-config", "half"}, "--cpu-config half: shared, single or shielded"},
        {{"run", LAT, "--settings", "cpuset,fans"}, "--settings: 'fans' is not one of cpuset,"},
        {{"run", LAT, "--cpu-config", "single", "--settings", "cpuset"}, "leave out one of them"},
        {{"shield"}, "shield wants one of: -- COMMAND, --show, --restore"},
        {{"shield", "--"}, "shield wants one of"},
        {{"shield", "--show", "--", "true"}, "shield wants one of"},
        {{"shield", "--show", "--restore"}, "shield wants one of"},
        {{"shield", "true"}, "write -- before the command: shield -- true"},
        {{"shield", "--fast", "--", "true"}, "unknown option '--fast'"},
        {{"shield", "--cpus", "", "--", "true"}, "--cpus : write a list such as"},
        {{"shield", "--cpus", "2-1", "--", "true"}, "--cpus 2-1: write a list such as"},
        {{"shield", "--cpu", "1", "--cpus", "2", "--", "true"}, "give one of them"},
        {{"shield", "--cpu", "9000", "--", "true"}, "supports CPUs 0 to 8191"},
        {{"shield", "--priority", "0", "--", "true"}, "--priority 0: from "},
        {{"shield", "--priority", "100", "--policy", "rr", "--", "true"}, "--priority 100: from "},
        {{"shield", "--forget", "--", "true"}, "--forget belongs to --restore"},
        {{"shield", "--policy", "other", "--priority", "3", "--", "true"}, "--priority is one of"},
    };
    REFUSE(wrong);
    struct request request = TAKE("run", LAT);
    CHECK_SAME(request.cpu_config, CPU_CONFIG_SHARED);
    CHECK(!request.has_settings);
    request = TAKE("run", LAT, "--cpu-config", "shielded", "--settings", "dma_latency,cpuset");
    CHECK_SAME(request.cpu_config, CPU_CONFIG_SHIELDED);
    CHECK_SAME(request.settings, 1u << SHIELD_DMA_LATENCY | 1u << SHIELD_CPUSET);
    request = TAKE("shield", "--cpus", "1,3", "--", "ls", "--show");
    CHECK_SAME(request.policy, ARGS_OTHER);
    CHECK(cpus_has(&request.cpus, 1) && !cpus_has(&request.cpus, 2) && !request.show);
    CHECK_TEXT(request.words[0], "ls");
    CHECK_TEXT(request.words[1], "--show");
    request = TAKE("shield", "--priority", "7", "--", "ls");
    CHECK_SAME(request.policy, ARGS_FIFO);
}

/* ---- every option with every command: taken, or refused in one line ---- */

static const struct {
    const char *name;
    char *words[MOST_WORDS]; /* that the command needs */
} commands[] = {
    {"list", {"list"}},
    {"facts", {"facts"}},
    {"run", {"run", "SEM-P-SIG"}},
    {"load", {"load", "cpu"}},
    {"--list", {"load", "--list"}},
    {"--check", {"load", "--check", "cpu"}},
    {"dump", {"dump", "file"}},
    {"shield", {"shield"}},
    {"--help", {"--help"}},
    {"--version", {"--version"}},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

#define LOADS "load --list --check"

static const struct {
    char *name;
    char *value;        /* a good one; NULL: it takes none */
    const char *takers; /* commands that take it */
} options[] = {
    {"-p", "kinds=sysv", "run"},
    {"-D", "5s", "run " LOADS},
    {"--duration", "5s", "run " LOADS},
    {"--duration-ns", "5s", "run " LOADS},
    {"--samples", "5", "run"},
    {"--deadline-ns", "5s", "run"},
    {"--cpu", "0", "run shield"},
    {"--cpus", "0", "shield " LOADS},
    {"--policy", "rr", "run shield"},
    {"--priority", "5", "run shield"},
    {"--load", "cpu", "run"},
    {"--cpu-config", "shielded", "run"},
    {"--settings", "timers", "run shield"},
    {"--clock", "monotonic", "run facts"},
    {"--counter-hz", "5", "run"},
    {"--dma-latency-us", "5", "run"},
    {"--seed", "5", "run " LOADS},
    {"--backing", "file", "run"},
    {"--dir", "folder", "run"},
    {"--until-eof", NULL, "run " LOADS},
    {"--restore", NULL, "shield"},
    {"--forget", NULL, "shield"},
    {"--verbose", NULL, "shield"},
    {"--show", NULL, "shield"},
    {"--json", NULL, "list facts run dump shield --help --version " LOADS},
    {"--text", NULL, "list facts run dump shield --help --version " LOADS},
};
enum { OPTIONS = sizeof options / sizeof options[0] };

static bool takes(int option, int command)
{
    const char *name = commands[command].name;
    size_t length = strlen(name);
    for (const char *at = options[option].takers; (at = strstr(at, name)); at += length)
        if ((at == options[option].takers || at[-1] == ' ') &&
            (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* The command, and `more` behind the words that it needs. The error is one line, or none. */
static int parse_with(int command, char *const more[], char *error)
{
    char *words[2 * MOST_WORDS + 1] = {"hardstone-probe"};
    struct request request;
    int count = 1;
    for (int i = 0; commands[command].words[i]; i++)
        words[count++] = commands[command].words[i];
    for (int i = 0; more[i]; i++)
        words[count++] = more[i];
    error[0] = '\0';
    int answer = args_parse(count, words, &request, error, ARGS_ERROR_BYTES);
    CHECK(answer == 0 || answer == -1);
    CHECK_SAME(error[0] != '\0', answer != 0);
    CHECK(strlen(error) < ARGS_ERROR_BYTES);
    return answer;
}

TEST(options_of_other_commands_are_refused)
{
    char error[ARGS_ERROR_BYTES];
    for (int command = 0; command < COMMANDS; command++)
        for (int option = 0; option < OPTIONS; option++) {
            char wanted[80], *const more[] = {options[option].name, options[option].value, NULL};
            if (takes(option, command))
                continue;
            snprintf(wanted, sizeof wanted, "%s takes no %s; see hardstone-probe --help",
                     commands[command].words[0], options[option].name);
            CHECK_SAME(parse_with(command, more, error), -1);
            CHECK_TEXT(error, wanted);
        }
}

/* A shield wants something to do as well. */
static void finish(int command, int option, char *more[MOST_WORDS])
{
    int count = 0;
    while (more[count])
        count++;
    if (strcmp(commands[command].name, "shield") != 0)
        return;
    if (strcmp(options[option].name, "--forget") == 0) {
        more[count] = "--restore";
    } else if (strcmp(options[option].name, "--restore") != 0 &&
               strcmp(options[option].name, "--show") != 0) {
        more[count] = "--";
        more[count + 1] = "true";
    }
}

TEST(options_are_taken_once_and_twice)
{
    char error[ARGS_ERROR_BYTES];
    for (int command = 0; command < COMMANDS; command++)
        for (int option = 0; option < OPTIONS; option++) {
            char *once[MOST_WORDS] = {options[option].name, options[option].value};
            char *twice[MOST_WORDS] = {options[option].name, options[option].value};
            int count = options[option].value ? 2 : 1;
            if (!takes(option, command))
                continue;
            twice[count] = options[option].name;
            twice[count + 1] = options[option].value;
            finish(command, option, once);
            finish(command, option, twice);
            if (!CHECK_SAME(parse_with(command, once, error), 0) ||
                !CHECK_SAME(parse_with(command, twice, error), 0))
                printf("# %s %s: %s\n", commands[command].name, options[option].name, error);
        }
}

TEST(missing_values)
{
    char error[ARGS_ERROR_BYTES], wanted[80];
    for (int command = 0; command < COMMANDS; command++)
        for (int option = 0; option < OPTIONS; option++) {
            char *const more[] = {options[option].name, NULL};
            if (!takes(option, command) || !options[option].value)
                continue;
            snprintf(wanted, sizeof wanted, "%s: its value is missing", options[option].name);
            CHECK_SAME(parse_with(command, more, error), -1);
            CHECK_HOLDS(error, wanted);
        }
}

/* Whether they are taken depends on the option; it must be said, and nothing else may happen. */
TEST(strange_values)
{
    static char huge[70000], digits[70000];
    char *const values[] = {"",
                            "a=b",
                            "=",
                            "kinds=",
                            ",",
                            "-1",
                            "--",
                            "%s%n",
                            "max",
                            "\x1b[31m",
                            "\xff\xc2\x9b",
                            "9223372036854775807",
                            huge,
                            digits};
    char error[ARGS_ERROR_BYTES];
    int refused = 0;
    memset(huge, 'x', sizeof huge - 1);
    memset(digits, '9', sizeof digits - 1);
    for (int command = 0; command < COMMANDS; command++)
        for (int option = 0; option < OPTIONS; option++)
            for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
                char *const more[] = {options[option].name, values[i], NULL};
                char *const between[] = {"--json", values[i], options[option].name, NULL};
                refused += parse_with(command, more, error) != 0;
                CHECK(strchr(error, '\n') == NULL);
                refused += parse_with(command, between, error) != 0;
                CHECK(strchr(error, '\n') == NULL);
            }
    CHECK(refused > COMMANDS * OPTIONS);
}
