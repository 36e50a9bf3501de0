/* The short jobs of the elements build and kernel: the probe's own program once more, with a
 * command that nobody types. */
#ifndef HS_LOAD_JOB_H
#define HS_LOAD_JOB_H

#include <stdbool.h>
#include <stddef.h>

#define JOB_COMMAND "load-job"

/* Exit codes of a job. */
enum { JOB_DONE = 0, JOB_FAILED = 1, JOB_NOT_STARTED = 127 };

/* What descriptors a job has. */
enum { JOB_SOURCE = 3, JOB_OBJECT = 4, JOB_SOURCE_BYTES = 65536 };

/* Whether the command line is a job's; then `code` is what the process ends with. */
bool job_main(int argc, char *const argv[], int *code);

/* A path that executes this program: 0, or ENOENT. `called_as` is argv[0]. */
int job_find_program(const char *called_as, char *path, size_t bytes);

/* In a child after fork: becomes the job `name` ("compile", "nothing"). Does not return. */
void job_be(const char *program, const char *name) __attribute__((noreturn));

#endif
