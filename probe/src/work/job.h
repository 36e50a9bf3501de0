/* Short jobs for load and for tests. A job is the probe's own program, executed with an internal
 * command. */
#ifndef HS_WORK_JOB_H
#define HS_WORK_JOB_H

#include <stdbool.h>
#include <stddef.h>

#define JOB_COMMAND "load-job"

/* Exit codes of a job. */
enum { JOB_DONE = 0, JOB_FAILED = 1, JOB_NOT_STARTED = 127 };

/* Descriptors of the job `compile`, and the size of its source. */
enum { JOB_SOURCE = 3, JOB_OBJECT = 4, JOB_SOURCE_BYTES = 65536 };

/* Runs the job of the command line "PROGRAM JOB_COMMAND NAME": its exit code. */
int job_main(const char *name);

/* Finds the path of this program; `called_as` is argv[0]. 0; ENOENT: not found, or too long. */
int job_find_program(const char *called_as, char *path, size_t bytes);

/* Searches PATH for a program, as execvp does: 0; ENOENT: not found, or too long. */
int job_find_in_path(const char *name, char *path, size_t bytes);

/* In a child after fork: executes the job `name` ("compile", "nothing"). Never returns; exits with
 * JOB_NOT_STARTED if exec fails. */
void job_be(const char *program, const char *name) __attribute__((noreturn));

#endif
