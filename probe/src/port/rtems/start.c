/* The system's start and configuration. RTEMS links an application and its system into one image;
 * its own shell cuts a line at 128 bytes, so this one reads longer lines: words without quotes. */
#include <rtems.h>
#include <rtems/posix/aio_misc.h>
#include <rtems/termiostypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 4096, MOST_WORDS = 200, STACK_BYTES = 256 * 1024 };

int main(int argc, char *argv[]);

static int split(char *line, char *words[])
{
    int count = 0;
    for (char *word = strtok(line, " \t\r\n"); word && count < MOST_WORDS;
         word = strtok(NULL, " \t\r\n"))
        words[count++] = word;
    words[count] = NULL;
    return count;
}

/* Reads a line. False: it is longer than `bytes`; what is left of it must not run. A console may
 * answer a read before there is anything. */
static bool read_line(char *line, size_t bytes)
{
    static const struct timespec moment = {.tv_nsec = 2000000};
    size_t length = 0;
    for (char letter = 0; letter != '\n';) {
        if (read(STDIN_FILENO, &letter, 1) != 1)
            nanosleep(&moment, NULL);
        else if (length < bytes)
            line[length++] = letter;
    }
    line[length < bytes ? length : bytes - 1] = '\0';
    return length < bytes;
}

/* Reads commands from the console for ever, and runs those that begin with the probe's name. */
void rtems_command_loop(void);
void rtems_command_loop(void)
{
    static char line[LINE_BYTES];
    char *words[MOST_WORDS + 1];
    for (;;) {
        fputs("rtems> ", stdout);
        fflush(stdout);
        int count = read_line(line, sizeof line) ? split(line, words) : 0;
        if (count == 0)
            continue;
        if (strcmp(words[0], "hardstone") == 0)
            printf("exit code %d\n", main(count, words));
        else if (strcmp(words[0], "exit") == 0)
            exit(0);
        else
            printf("not a command: hardstone, exit\n");
    }
}

void *POSIX_Init(void *argument);
void *POSIX_Init(void *argument)
{
    (void)argument;
    (void)rtems_aio_init(); /* aio_read without it: an exception */
    (void)mkdir("/tmp", S_IRWXU | S_IRWXG | S_IRWXO);
    rtems_command_loop();
    return NULL;
}

static void size_the_console(void) __attribute__((constructor));
static void size_the_console(void)
{
    rtems_termios_bufsize(LINE_BYTES, LINE_BYTES, 512);
}

#define CONFIGURE_APPLICATION_NEEDS_CONSOLE_DRIVER
#define CONFIGURE_APPLICATION_NEEDS_CLOCK_DRIVER
#define CONFIGURE_MICROSECONDS_PER_TICK 1000
#define CONFIGURE_TICKS_PER_TIMESLICE 50
#define CONFIGURE_UNIFIED_WORK_AREAS
#define CONFIGURE_UNLIMITED_OBJECTS
#define CONFIGURE_UNLIMITED_ALLOCATION_SIZE 32
#define CONFIGURE_STACK_CHECKER_ENABLED
#define CONFIGURE_MAXIMUM_FILE_DESCRIPTORS 64
#define CONFIGURE_IMFS_ENABLE_MKFIFO
#define CONFIGURE_MAXIMUM_POSIX_QUEUED_SIGNALS 64
#define CONFIGURE_MINIMUM_TASK_STACK_SIZE 16384
#define CONFIGURE_POSIX_INIT_THREAD_TABLE
#define CONFIGURE_POSIX_INIT_THREAD_STACK_SIZE STACK_BYTES
#define CONFIGURE_INIT
#include <rtems/confdefs.h>
