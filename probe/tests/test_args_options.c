/* Every option with every command: taken, or refused in one line. */
#include "base/posix_source.h"

#include "command/args.h"
#include "tap.h"

enum { MOST_WORDS = 8 };

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
static int parse(int command, char *const more[], char *error)
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
            CHECK_SAME(parse(command, more, error), -1);
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
            if (!CHECK_SAME(parse(command, once, error), 0) ||
                !CHECK_SAME(parse(command, twice, error), 0))
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
            CHECK_SAME(parse(command, more, error), -1);
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
                refused += parse(command, more, error) != 0;
                CHECK(strchr(error, '\n') == NULL);
                refused += parse(command, between, error) != 0;
                CHECK(strchr(error, '\n') == NULL);
            }
    CHECK(refused > COMMANDS * OPTIONS);
}
