/* The first program of an image that runs one command without any input: the command is in memory
 * that the emulator filled before the boot, at CONFIG_HARDSTONE_JOB_ADDRESS, and the machine is
 * powered off after it. Input would arrive at another moment in each boot, and a clock that counts
 * instructions would no longer be repeatable. Without a command there: the shell. */
#include "base/posix_source.h"

#ifdef CONFIG_HARDSTONE_JOB

#include <builtin/builtin.h>
#include <nshlib/nshlib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/boardctl.h>
#include <sys/wait.h>

int nsh_main(int argc, char *argv[]);
int hardstone_job_main(int argc, char *argv[]);

/* MAGIC, the words of the command with single spaces between them, a 0 byte. */
static const char magic[] = "@hs-job ";
enum { MOST_BYTES = 2048, MOST_WORDS = 64 };

/* False: there is no command, or it does not end. */
static bool take_job(char *job)
{
    const volatile char *memory = (const volatile char *)(uintptr_t)CONFIG_HARDSTONE_JOB_ADDRESS;
    for (size_t at = 0; at < sizeof magic - 1; at++)
        if (memory[at] != magic[at])
            return false;
    for (size_t at = 0; at < MOST_BYTES; at++) {
        job[at] = memory[sizeof magic - 1 + at];
        if (!job[at])
            return at > 0;
    }
    return false;
}

/* False: there are more words than `words` holds. The last one is followed by NULL. */
static bool split(char *job, char **words)
{
    int count = 0;
    char *rest = job;
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
        if (count == MOST_WORDS)
            return false;
        words[count++] = word;
    }
    words[count] = NULL;
    return count > 0;
}

static void run(char **words)
{
    pid_t process = exec_builtin(words[0], words, NULL);
    int status = 0;
    if (process < 0)
        printf("%s: there is no such program in this image\n", words[0]);
    else
        (void)waitpid(process, &status, 0);
}

/* As the shell does first: what its scripts mount is there for both. */
int hardstone_job_main(int argc, char *argv[])
{
    static char job[MOST_BYTES];
    static char *words[MOST_WORDS + 1];
    if (!take_job(job))
        return nsh_main(argc, argv);
    nsh_initialize();
    if (split(job, words))
        run(words);
    fflush(stdout);
    return boardctl(BOARDIOC_POWEROFF, 0);
}

#endif
