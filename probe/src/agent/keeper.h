/* The keeper: a daemon on the target that runs jobs of the probe one after another, while nobody is
 * connected, and holds the target's measuring lock. It sleeps in poll while a job runs.
 *
 * It is forked twice, in a session of its own, in the root folder, with /dev/null as its standard
 * files, and ignores HUP, PIPE, INT and QUIT. SIGTERM stops its jobs as `P stop` does; it exits
 * when the running one has ended. Agents reach it through the socket FOLDER/socket, in the frames
 * L, U, J, Q, W, P and B of agent.h; each is answered by a frame K. FOLDER/keeper is locked (fcntl)
 * while it lives, so that a folder has one.
 *
 * A job: a session of its own; its input a pipe that only the keeper holds, its output and error
 * N.out and N.err; the program FOLDER/hardstone-probe, else the keeper's own. At its deadline its
 * process group gets SIGTERM, `grace_ms` later SIGKILL. N.rec goes with the exit codes 0, 3 and 5,
 * with which the stream has all of it. If the keeper is killed, the end of the job's input and
 * port_end_with end the job.
 *
 * A job that comes when none runs begins `settle_ms` after the last that came: until then whoever
 * sent it can close the connection, whose end takes processor time here.
 *
 * With no job left and no agent for `lease_ms` the keeper exits; the folder stays,
 * unless it is brief and has nothing of a job. */
#ifndef HS_AGENT_KEEPER_H
#define HS_AGENT_KEEPER_H

#include "base/posix_source.h"

#include <stddef.h>

struct keeper_site {
    int folder;       /* of folder_open */
    const char *path; /* the same */
    int lease_ms, grace_ms, settle_ms;
};

/* Connects to the keeper of the folder. -1 with errno; ECONNREFUSED, ENOENT: there is none. Leaves
 * the working folder. */
int keeper_connect(const struct keeper_site *site);

/* Connects, and starts a keeper where there is none, also while another agent does the same. -1
 * with errno. */
int keeper_start(const struct keeper_site *site);

/* Removes the folder where no keeper lives. 0, or an errno value; EBUSY: one lives. */
int keeper_remove_folder(const struct keeper_site *site);

#endif
