/* The private folder of an agent on the target, and its jobs as their files tell them:
 *
 *   N.begun   made before job N starts       N.out, N.err   what it wrote
 *   N.exit    its exit code, or minus the    N.rec          what it recorded: --backing, the host
 *             signal; made by rename                        names it
 *
 * beside `hardstone-probe`, `socket`, `keeper` (its lock) and `brief`. Names in the folder never
 * have a "/", and links are never followed. */
#ifndef HS_AGENT_FOLDER_H
#define HS_AGENT_FOLDER_H

#include "base/posix_source.h"

#include "agent/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOLDER_PROGRAM "hardstone-probe" /* the probe that runs the jobs */
#define FOLDER_BRIEF "brief"             /* nobody comes back if no job has begun */

/* Opens the folder, which has to be private: of the mode 0700, of the caller (below sudo, of who
 * called it) or of root, neither the root folder nor the home folder. -1 with the reason, and what
 * to do, in `why`. */
int folder_open(const char *path, char *why, size_t bytes);

/* Opens a regular file to read: of the folder, or any by an absolute path. -1 with errno. */
int folder_open_file(int folder, const char *name);

/* Removes a file of the folder; one that is missing is fine. 0, or an errno value. */
int folder_remove_file(int folder, const char *name);

/* Removes the folder and all in it; follows no link and crosses no mount. 0, or the first errno
 * value, with the rest removed. */
int folder_remove(int folder, const char *path);

/* ---- jobs ---- */

/* As many as one frame can tell. */
enum {
    JOBS_MOST = 4096,
    JOB_MOST_NUMBER = 9999,
    JOB_MOST_MS = 2000000000, /* of a deadline, or a wait: 23 days */
    JOB_NAME_BYTES = 24,
};

enum job_state {
    JOB_QUEUED,
    JOB_RUNNING, /* code: its process */
    JOB_ENDED,   /* code: its exit code, or minus the signal */
    JOB_LOST,    /* it began, and nobody knows its end */
    JOB_DROPPED, /* it never began */
};

struct job {
    int number;
    enum job_state state;
    int code;
    bool is_unsaved;     /* its exit code is in no file */
    unsigned order;      /* in the queue */
    int64_t deadline_ms; /* after its start */
    char *words;         /* of a queued one, each ended by a 0 byte */
    size_t bytes;
};

/* Sorted by number. */
struct jobs {
    int count;
    struct job list[JOBS_MOST];
};

/* A whole number without sign or leading zeros, at most `most`. */
bool number_parse(const char *text, int64_t most, int64_t *number);

/* Reads the jobs that the folder's files tell. */
void jobs_read(struct jobs *jobs, int folder);

/* Whether the folder can go with its last agent, or keeper: it says so, and has nothing of a job. */
bool folder_is_unused(int folder);

/* NULL: not known. */
struct job *jobs_find(struct jobs *jobs, int number);

/* Adds a zeroed job; NULL where there is no room. Moves the others. */
struct job *jobs_add(struct jobs *jobs, int number);

/* Appends NUMBER STATE DETAIL of each. */
void jobs_tell(const struct jobs *jobs, struct frame *answer);

/* "NUMBER.KIND" */
const char *job_file(char name[JOB_NAME_BYTES], int number, const char *kind);

/* Writes N.exit: 0, or an errno value. */
int job_save_code(int folder, const struct job *job);

#endif
